"""The token endpoint on the wire (iceberg.md 1.14; RFC 6749, sections 2.3.1, 4.4 and 5; RFC 8693)."""

from lakeshare.errors import Kind, LakeshareError
from lakeshare.http.response import Response
from lakeshare.identity.wire.client import client_of
from lakeshare.identity.wire.errors import FormError
from lakeshare.identity.wire.form import read_form
from lakeshare.settings import Secret
from lakeshare.tables.errors import BadGrant, ClientRefused
from lakeshare.tables.operations.oauth import GetToken, get_token
from lakeshare.tables.room import Room
from lakeshare.tables.wire.answers import NO_STORE, json_answer
from lakeshare.tables.wire.call import Call, Route

PATH = "/oauth/tokens"
FORM_LIMIT_BYTES = 64 * 1024
_ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105 - the name of a type


async def _decode(call: Call) -> GetToken:
    try:
        form = read_form("", call.body)
    except FormError as error:
        raise BadGrant("invalid_request", error.message) from None
    client = client_of(call.header("authorization"), form)
    if client is None:
        raise ClientRefused
    client_id, secret = client
    subject = Secret(form.get("subject_token", ""))
    return GetToken(form.get("grant_type", ""), client_id, call.request.peer, Secret(secret), subject)


async def _answer(room: Room, call: Call, asked: GetToken) -> Response:
    made = await get_token(room, asked)
    body = {
        "access_token": made.token.reveal(),
        "token_type": "bearer",
        "expires_in": max(1, made.expires_at - int(room.clock())),
        "issued_token_type": _ACCESS_TOKEN,
        "scope": read_form("", call.body).get("scope", "catalog"),
    }
    return json_answer(body, NO_STORE, ("pragma", "no-cache"))


def encode_oauth_fault(error: LakeshareError, status: int, text: str) -> Response:
    """Write an error as a token endpoint does (RFC 6749, section 5.2)."""
    if isinstance(error, BadGrant):
        code = error.code
    elif error.kind in (Kind.UNAUTHENTICATED, Kind.DENIED):
        code, status = "invalid_client", 401
    else:
        code = "invalid_request" if status < 500 else "server_error"
    headers = [NO_STORE]
    if status == 401:
        headers.append(("www-authenticate", 'Basic realm="iceberg"'))
    if status == 429:
        headers.append(("retry-after", "1"))
    body = {"error": code, "error_description": text.encode("ascii", "replace").decode()}
    return json_answer(body, *headers, status=status)


ROUTES = (
    Route(
        "GetToken", "POST", PATH, "", _decode, _answer, endpoint=False, is_open=True, body_limit_bytes=FORM_LIMIT_BYTES
    ),
)
