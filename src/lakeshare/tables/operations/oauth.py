"""The token endpoint: a Bearer token for an access key and its secret, or for a token that still holds."""

import hmac
from dataclasses import dataclass, field

from lakeshare.identity.caller import Caller, Need
from lakeshare.identity.errors import IdentityError, TooManyFailures
from lakeshare.identity.sts import BearerToken, issue_bearer
from lakeshare.identity.view import View
from lakeshare.settings import Secret
from lakeshare.tables.errors import BadGrant, ClientRefused
from lakeshare.tables.room import Room

CLIENT_CREDENTIALS = "client_credentials"
TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"  # noqa: S105 - the name of a grant


@dataclass(frozen=True, slots=True)
class GetToken:
    """A client that asks for a token."""

    grant_type: str
    client_id: str
    peer: str
    client_secret: Secret = field(default=Secret(""), repr=False)
    subject_token: Secret = field(default=Secret(""), repr=False)

    def requires(self) -> tuple[Need, ...]:
        """Need nothing but the secret."""
        return ()


async def get_token(room: Room, call: GetToken) -> BearerToken:
    """Give a client a token. Raises BadGrant, ClientRefused, TooManyFailures."""
    now = room.clock()
    if room.throttle.blocked(now, call.client_id, call.peer):
        raise TooManyFailures(call.client_id, call.peer)
    view = await room.directory.current()
    try:
        caller = _caller(view, call, now)
    except (ClientRefused, IdentityError):
        room.throttle.failed(now, call.client_id, call.peer)
        raise ClientRefused(call.client_id) from None
    return await issue_bearer(room.directory, caller, room.token_seconds, now)


def _caller(view: View, call: GetToken, now: float) -> Caller:
    if call.grant_type == TOKEN_EXCHANGE:
        return view.resolve_bearer(call.subject_token, now)
    if call.grant_type != CLIENT_CREDENTIALS:
        raise BadGrant("unsupported_grant_type", f"the grant type must be {CLIENT_CREDENTIALS} or token exchange")
    secret = view.secret_of(call.client_id)
    given = call.client_secret.reveal().encode("utf-8", "replace")
    if not hmac.compare_digest(b"" if secret is None else secret.reveal().encode(), given) or secret is None:
        raise ClientRefused(call.client_id)
    return view.resolve(call.client_id, None, now)
