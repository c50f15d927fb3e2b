"""Keys that read the folder of one shared table for a while: derived from a recipient's token as data keys are.

Such a key stands beside a session token, which says what folder, and until when. It ends with its time, and with
whatever ends the recipient's token, the share, or the table's place in it.
"""

import secrets
from dataclasses import dataclass
from hashlib import sha256
from hmac import digest
from uuid import UUID

from lakeshare.identity.errors import TokenExpired, TokenInvalid
from lakeshare.identity.vending import Scope, policy_for
from lakeshare.settings import Secret
from lakeshare.sharing.model.places import DeltaPlace
from lakeshare.sharing.model.recipients import Credential
from lakeshare.sharing.model.shares import Share
from lakeshare.sharing.operations.catalog import Located
from lakeshare.sharing.tickets import BadTicket, seal, unseal
from lakeshare.sharing.view import View

PREFIX = "LSDS"
PURPOSE = "folder of a table"
_DATA_KEY_CHARACTERS = 44
_RANDOM_BYTES = 8
_MARK_CHARACTERS = 8
_NOT_OURS = "it was not issued by this server for this access key, or the table is not shared any more"


@dataclass(frozen=True, slots=True)
class FolderTicket:
    """What a session token says: a table of a share by its names and its place, and an end."""

    schema: str
    table: str
    bucket: str
    path: str
    expires_at: int


@dataclass(frozen=True, slots=True)
class FolderKey:
    """A key with its secret and the token that must accompany every use."""

    access_key: str
    secret: Secret
    session_token: Secret
    expires_at: int


def issue_folder_key(view: View, credential: Credential, located: Located, place: DeltaPlace, end: int) -> FolderKey:
    """Make a key for the folder of a table."""
    tail = secrets.token_hex(_RANDOM_BYTES).upper()
    access_key = PREFIX + UUID(credential.id).hex.upper() + mark_of(located.share) + tail
    ticket = FolderTicket(located.schema.name, located.table.name, place.bucket, place.path, end)
    secret = folder_secret(view, credential, access_key)
    if secret is None:
        raise BadTicket
    return FolderKey(access_key, secret, Secret(seal(view, ticket, access_key)), end)


def is_folder_key(access_key: str) -> bool:
    """Tell a key of this kind from one that signs data URLs."""
    return len(access_key) > _DATA_KEY_CHARACTERS


def folder_secret(view: View, credential: Credential, access_key: str) -> Secret | None:
    """Return the secret of a key; None before anything is shared."""
    key = view.key(PURPOSE)
    return None if key is None else Secret(digest(key, access_key.encode() + credential.sha256, "sha256").hex())


def folder_policy(view: View, share: Share, access_key: str, now: float, session_token: Secret | None) -> str:
    """Return the policy of a key: to read and to list one folder. Raises TokenInvalid, TokenExpired."""
    try:
        ticket = unseal(view, FolderTicket, session_token.reveal() if session_token else "", access_key)
    except BadTicket:
        raise TokenInvalid(access_key, _NOT_OURS) from None
    if now >= ticket.expires_at:
        raise TokenExpired(access_key)
    if not _is_shared(view, share, ticket):
        raise TokenInvalid(access_key, _NOT_OURS)
    return policy_for((Scope(ticket.bucket, ticket.path),))


def mark_of(share: Share) -> str:
    """Tell a share from the few others of its recipient; the secret tells it from all."""
    return sha256(share.id.encode()).hexdigest()[:_MARK_CHARACTERS].upper()


def _is_shared(view: View, share: Share, ticket: FolderTicket) -> bool:
    schema = view.schema(share, ticket.schema)
    if schema is None:
        return False
    place = DeltaPlace(ticket.bucket, ticket.path)
    named = schema.table(ticket.table)
    if named is not None:
        return named.place == place and named.history and not named.start_version
    return any(whole.below(ticket.table) == place for whole in schema.whole_delta)
