"""The token endpoint of OAuth client credentials (RFC 6749, section 4.4)."""

from dataclasses import dataclass, field

from lakeshare.identity.caller import Need
from lakeshare.settings import Secret
from lakeshare.sharing import access_tokens
from lakeshare.sharing.credentials import digest_of, same
from lakeshare.sharing.errors import BadGrant, ClientRefused
from lakeshare.sharing.model.profiles import SCOPE
from lakeshare.sharing.room import Room

GRANT_TYPE = "client_credentials"


@dataclass(frozen=True, slots=True)
class GetAccessToken:
    """A client that asks for an access token."""

    client_id: str
    peer: str
    grant_type: str = GRANT_TYPE
    scope: str = ""
    client_secret: Secret = field(default=Secret(""), repr=False)

    def requires(self) -> tuple[Need, ...]:
        """Need nothing but the secret."""
        return ()


@dataclass(frozen=True, slots=True)
class AccessToken:
    """An access token and how long it lives."""

    token: Secret = field(repr=False)
    lifetime_seconds: int


async def get_access_token(room: Room, call: GetAccessToken) -> AccessToken:
    """Give a client an access token. Raises BadGrant, ClientRefused, and what keeps its recipient out."""
    if call.grant_type != GRANT_TYPE:
        raise BadGrant("unsupported_grant_type", f"the grant type must be {GRANT_TYPE}")
    if call.scope and set(call.scope.split()) != {SCOPE}:
        raise BadGrant("invalid_scope", f"the one scope there is is {SCOPE}")
    view, now = await room.directory.current(), room.clock()
    client = view.client(call.client_id)
    digest = digest_of(call.client_secret.reveal())
    if client is None or not same(client.sha256, digest) or client.is_expired(now):
        raise ClientRefused
    view.admit(client, now, call.peer)
    lifetime = room.access_token_seconds
    if client.expires_at is not None:
        lifetime = min(lifetime, max(1, client.expires_at - int(now)))
    return AccessToken(access_tokens.issue(view, client, now, lifetime), lifetime)
