"""The admin API of AIStor's table sharing, under `/minio/admin/v4/delta-sharing`, for clients that know that one."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import orjson

from lakeshare.admin.errors import BadField
from lakeshare.admin.room import Room
from lakeshare.admin.wire import aistor_shapes as shapes
from lakeshare.admin.wire.faults import fault_of
from lakeshare.errors import LakeshareError
from lakeshare.http.json import JSON_LIMIT_BYTES, read_json
from lakeshare.http.paths import NoSuchMethod, Paths
from lakeshare.http.request import Request
from lakeshare.http.response import Response
from lakeshare.identity.caller import Caller
from lakeshare.identity.gate import Admission
from lakeshare.identity.wire.match import RouteMatch
from lakeshare.identity.wire.proof import check_body
from lakeshare.sharing.operations import contents, shares, tokens
from lakeshare.sharing.operations.shares import CreateShare, ListShares, ShareCall, UpdateShare
from lakeshare.sharing.operations.shown import DELETE, GET
from lakeshare.sharing.operations.tokens import CreateShareToken, ListTokens, NewCredential, ShownCredential, TokenCall
from lakeshare.sharing.view import View

PREFIX = "/minio/admin/v4/delta-sharing"
_HEADERS = [("content-type", "application/json"), ("cache-control", "no-store")]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a decoder may look at."""

    caller: Caller
    view: View
    names: Mapping[str, str]
    body: Mapping[str, Any]
    origin: str


@dataclass(frozen=True, slots=True)
class Route:
    """One operation: how it is found, read, done and answered."""

    name: str
    method: str
    path: str
    decode: Callable[[Asked], Any]
    operate: Callable[..., Awaitable[Any]]
    encode: Callable[[Any], Any] | None = None
    status: int = 200


def _create(asked: Asked) -> CreateShare:
    body = asked.body
    return CreateShare(
        asked.caller.name,
        shapes.text_of(body, "name"),
        shapes.text_of(body, "description", ""),
        shapes.offers_of(body),
        shapes.schemas_of(body),
    )


def _update(asked: Asked) -> Any:
    share = asked.names["share"]
    if asked.body.get("schemas") is not None:
        return shapes.replacement_of(asked.view, share, asked.body)
    return UpdateShare(share, description=shapes.text_of(asked.body, "description", ""))


async def _updated(room: Any, call: Any) -> Any:
    if isinstance(call, UpdateShare):
        return await shares.update_share(room, call)
    return await contents.replace_schemas(room, call)


def _new_token(asked: Asked) -> CreateShareToken:
    new = NewCredential(
        asked.caller.name,
        asked.origin,
        description=shapes.text_of(asked.body, "description", ""),
        expires_at=shapes.end_of(asked.body),
    )
    return CreateShareToken(asked.names["share"], new)


def _tokens(found: tuple[ShownCredential, ...]) -> dict[str, Any]:
    return {"tokens": [shapes.token(each) for each in found if shapes.is_bearer(each)]}


def _about(action: str) -> Any:
    return lambda asked: ShareCall(asked.names["share"], action)


def _token(action: str) -> Any:
    return lambda asked: TokenCall(asked.names["token"], action, asked.origin)


def _share(shown: Any) -> dict[str, Any]:
    return {"share": shapes.share(shown)}


def _shares(found: Any) -> dict[str, Any]:
    return {"shares": [shapes.share(each) for each in found]}


# fmt: off
ROUTES = (
    Route("CreateShare", "POST", "/shares", _create, shares.create_share, _share, 201),
    Route("ListShares", "GET", "/shares", lambda _asked: ListShares(), shares.list_shares, _shares),
    Route("GetShare", "GET", "/shares/{share}", _about(GET), shares.get_share, _share),
    Route("UpdateShare", "PUT", "/shares/{share}", _update, _updated, _share),
    Route("DeleteShare", "DELETE", "/shares/{share}", _about(DELETE), shares.remove_share, status=204),
    Route("CreateShareToken", "POST", "/shares/{share}/tokens", _new_token, tokens.create_share_token,
          shapes.issued, 201),
    Route("ListShareTokens", "GET", "/shares/{share}/tokens", lambda asked: ListTokens(asked.names["share"]),
          tokens.list_tokens, _tokens),
    Route("GetTokenProfile", "GET", "/tokens/{token}/profile", _token(tokens.LIST), tokens.get_profile,
          lambda profile: profile.document()),
    Route("DeleteToken", "DELETE", "/tokens/{token}", _token(tokens.DELETE), tokens.remove_token, status=204),
)
# fmt: on
PATHS: Paths[Route] = Paths(PREFIX, ((route.method, route.path, route) for route in ROUTES))


@dataclass(slots=True)
class AistorMatch(RouteMatch[Room, Route]):
    """A request that was found a route."""

    services: ClassVar[frozenset[str]] = frozenset({"s3"})

    @property
    def early_limit_bytes(self) -> int:
        """Read a body early only where the head does not name its digest, which some signers leave out."""
        return 0 if "x-amz-content-sha256" in self.request.headers else JSON_LIMIT_BYTES

    async def decode(self, admission: Admission, early_body: bytes) -> Any:
        """Turn the body into a value; it is what was signed, or nothing of it counts."""
        body = early_body if self.early_limit_bytes else await self.request.body(JSON_LIMIT_BYTES)
        check_body(admission.verified, body)
        given = read_json(body) if body.strip() else {}
        if not isinstance(given, dict):
            raise BadField("", "the body must be a JSON object")
        view = await self.room.sharing.directory.current()
        return self.route.decode(Asked(admission.caller, view, self.names, given, self.origin))

    async def perform(self, operation: Any) -> Response:
        """Do it, and write the answer."""
        result = await self.route.operate(self.room.sharing, operation)
        if self.route.encode is None:
            return Response(self.route.status, _HEADERS[1:])
        return Response(self.route.status, list(_HEADERS), orjson.dumps(self.route.encode(result)))


class AistorFamily:
    """AIStor's admin API of table sharing."""

    def __init__(self, room: Room) -> None:
        self._room = room

    def find(self, request: Request) -> AistorMatch:
        """Return the route of a request, or refuse it."""
        found = PATHS.find(request.method, request.raw_path)
        return AistorMatch(self._room, request, found.target, found.names)

    def refuse(self, error: LakeshareError, request: Request) -> tuple[str, Response]:
        """Write an error as JSON; also return its code."""
        fault = fault_of(error)
        body = {
            "Code": fault.code,
            "Message": error.message.encode("utf-8", "replace").decode(),
            "Resource": request.raw_path.encode("utf-8", "replace").decode(),
            "RequestId": request.id,
        }
        headers = list(_HEADERS)
        if isinstance(error, NoSuchMethod):
            headers.append(("allow", ", ".join(error.allowed)))
        return fault.code, Response(fault.status, headers, orjson.dumps(body))

    def finish(self, response: Response, request: Request) -> Response:
        """Add the id that every answer has."""
        response.headers += (("x-amz-request-id", request.id), ("x-content-type-options", "nosniff"))
        return response
