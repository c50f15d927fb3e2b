"""The OAuth token endpoint on the wire: a form in, an access token out (RFC 6749, sections 2.3.1, 4.4 and 5.1)."""

import orjson

from lakeshare.http.response import Response
from lakeshare.identity.wire.client import client_of
from lakeshare.identity.wire.errors import FormError
from lakeshare.identity.wire.form import read_form
from lakeshare.settings import Secret
from lakeshare.sharing.errors import BadGrant, ClientRefused
from lakeshare.sharing.model.profiles import SCOPE
from lakeshare.sharing.operations.oauth import AccessToken, GetAccessToken, get_access_token
from lakeshare.sharing.room import Room
from lakeshare.sharing.wire.call import Call, Route

PATH = "/oauth/token"
FORM_LIMIT_BYTES = 8 * 1024


def _decode(call: Call) -> GetAccessToken:
    try:
        form = read_form("", call.body)
    except FormError as error:
        raise BadGrant("invalid_request", error.message) from None
    client = client_of(call.request.headers.get("authorization", ""), form)
    if client is None:
        raise ClientRefused
    client_id, secret = client
    return GetAccessToken(
        client_id,
        call.request.peer,
        form.get("grant_type", ""),
        form.get("scope", ""),
        Secret(secret),
    )


async def _answer(room: Room, _call: Call, asked: GetAccessToken) -> Response:
    return _encode(await get_access_token(room, asked))


def _encode(found: AccessToken) -> Response:
    body = {
        "access_token": found.token.reveal(),
        "token_type": "Bearer",
        "expires_in": found.lifetime_seconds,
        "scope": SCOPE,
    }
    headers = [("content-type", "application/json"), ("cache-control", "no-store"), ("pragma", "no-cache")]
    return Response(200, headers, orjson.dumps(body))


ROUTES = (Route("GetAccessToken", "POST", PATH, _decode, _answer, is_open=True, body_limit_bytes=FORM_LIMIT_BYTES),)
