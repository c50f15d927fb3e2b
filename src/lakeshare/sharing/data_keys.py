"""The keys that data URLs are signed with: one for each token or OAuth client and share, derived and never stored.

A URL ends with its time, and as soon as its token is revoked or expires, its recipient is suspended, or the share is
removed or taken from the recipient. Nobody but the server has the secret, so that what such a key signs is what
sharing signed: a GET of one object.
"""

from collections.abc import Awaitable, Callable
from hmac import digest
from uuid import UUID

from lakeshare.identity.caller import Caller, CallerKind
from lakeshare.identity.errors import AccessKeyUnknown
from lakeshare.identity.policy.compiled import compile_stored
from lakeshare.identity.sigv4.keys import Credentials
from lakeshare.settings import Secret
from lakeshare.sharing.folder_keys import PREFIX, folder_policy, folder_secret, is_folder_key, mark_of
from lakeshare.sharing.model.recipients import Credential, Token
from lakeshare.sharing.model.shares import Share
from lakeshare.sharing.view import View

PURPOSE = "data url"
_ID_CHARACTERS = 32
_MARK_CHARACTERS = 8
_READ = (
    '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:GetObject","s3:GetObjectVersion"],'
    '"Resource":["arn:aws:s3:::*"]}]}'
)


def data_credentials(view: View, credential: Credential, share: Share) -> Credentials | None:
    """Return what to sign the data URLs of a credential and a share with; None before anything is shared."""
    key = view.key(PURPOSE)
    if key is None:
        return None
    secret = digest(key, f"{credential.id}{share.id}".encode() + credential.sha256, "sha256").hex()
    return Credentials(PREFIX + UUID(credential.id).hex.upper() + mark_of(share), Secret(secret))


class DataKeys:
    """Data keys as identity asks for them: the secret of one, and the caller that it stands for."""

    prefix = PREFIX

    def __init__(self, current: Callable[[], Awaitable[View]]) -> None:
        self._current = current

    async def secret_of(self, access_key: str) -> Secret | None:
        """Return the secret of a data key; None where its credential or share is gone."""
        view = await self._current()
        credential, share = _found(view, access_key)
        if credential is None or share is None:
            return None
        if is_folder_key(access_key):
            return folder_secret(view, credential, access_key)
        found = data_credentials(view, credential, share)
        return None if found is None else found.secret

    async def resolve(self, access_key: str, now: float, session_token: Secret | None = None) -> Caller:
        """Return the caller that a data key stands for. Raises AccessKeyUnknown, TokenInvalid, TokenExpired."""
        view = await self._current()
        credential, share = _found(view, access_key)
        recipient = None if credential is None else view.recipient_by_id(credential.recipient_id)
        if credential is None or share is None or recipient is None:
            raise AccessKeyUnknown(access_key)
        withheld = isinstance(credential, Token) and (share.oauth_only or recipient.oauth_only)
        if credential.is_expired(now) or recipient.suspended or withheld:
            raise AccessKeyUnknown(access_key)
        return Caller(
            CallerKind.RECIPIENT,
            access_key,
            user=f"recipient/{recipient.name}",
            grants=compile_stored(self._grants(view, share, access_key, now, session_token), "data url"),
            holder=credential.id,
        )

    @staticmethod
    def _grants(view: View, share: Share, access_key: str, now: float, session_token: Secret | None) -> str:
        if not is_folder_key(access_key):
            return _READ
        return folder_policy(view, share, access_key, now, session_token)


def _found(view: View, access_key: str) -> tuple[Credential | None, Share | None]:
    body = access_key[len(PREFIX) :]
    try:
        credential_id = str(UUID(body[:_ID_CHARACTERS]))
    except ValueError:
        return None, None
    credential = view.token(credential_id) or view.client(credential_id)
    if credential is None:
        return None, None
    mark = body[_ID_CHARACTERS : _ID_CHARACTERS + _MARK_CHARACTERS]
    return credential, next((share for share in view.reach(credential) if mark_of(share) == mark), None)
