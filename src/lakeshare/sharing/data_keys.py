"""The keys that data URLs are signed with: one for each token and OAuth client, derived and never stored.

A URL ends with its time, or as soon as its token is revoked, expires, or its recipient is suspended. Nobody but the
server has the secret, so that what such a key signs is what sharing signed: a GET of one object.
"""

from collections.abc import Awaitable, Callable
from hmac import digest
from uuid import UUID

from lakeshare.identity.caller import Caller, CallerKind
from lakeshare.identity.errors import AccessKeyUnknown
from lakeshare.identity.policy.compiled import compile_stored
from lakeshare.identity.sigv4.keys import Credentials
from lakeshare.settings import Secret
from lakeshare.sharing.model.recipients import Credential
from lakeshare.sharing.view import View

PREFIX = "LSDS"
PURPOSE = "data url"
_READ = (
    '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:GetObject","s3:GetObjectVersion"],'
    '"Resource":["arn:aws:s3:::*"]}]}'
)


def data_credentials(view: View, credential: Credential) -> Credentials | None:
    """Return what to sign the data URLs of a recipient's credential with; None before anything is shared."""
    key = view.key(PURPOSE)
    if key is None:
        return None
    secret = digest(key, credential.id.encode() + credential.sha256, "sha256").hex()
    return Credentials(PREFIX + UUID(credential.id).hex.upper(), Secret(secret))


class DataKeys:
    """Data keys as identity asks for them: the secret of one, and the caller that it stands for."""

    prefix = PREFIX

    def __init__(self, current: Callable[[], Awaitable[View]]) -> None:
        self._current = current

    async def secret_of(self, access_key: str) -> Secret | None:
        """Return the secret of a data key; None where its credential is gone."""
        view = await self._current()
        credential = _credential(view, access_key)
        found = None if credential is None else data_credentials(view, credential)
        return None if found is None else found.secret

    async def resolve(self, access_key: str, now: float) -> Caller:
        """Return the caller that a data key stands for. Raises AccessKeyUnknown."""
        view = await self._current()
        credential = _credential(view, access_key)
        recipient = None if credential is None else view.recipient_by_id(credential.recipient_id)
        if credential is None or recipient is None or credential.is_expired(now) or recipient.suspended:
            raise AccessKeyUnknown(access_key)
        return Caller(
            CallerKind.RECIPIENT,
            access_key,
            user=f"recipient/{recipient.name}",
            grants=compile_stored(_READ, "data url"),
            holder=credential.id,
        )


def _credential(view: View, access_key: str) -> Credential | None:
    try:
        credential_id = str(UUID(access_key[len(PREFIX) :]))
    except ValueError:
        return None
    return view.token(credential_id) or view.client(credential_id)
