"""The admin API as one family of the server's port: from a request to a route, and from an error to JSON."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import orjson

from lakeshare.admin.room import Room
from lakeshare.admin.wire.call import Call, read_query
from lakeshare.admin.wire.faults import encode_fault, fault_of
from lakeshare.admin.wire.route import Gives, Route, Takes
from lakeshare.admin.wire.routes import PATHS
from lakeshare.errors import LakeshareError
from lakeshare.http.json import JSON_LIMIT_BYTES, read_json
from lakeshare.http.request import Request
from lakeshare.http.response import Response
from lakeshare.identity.gate import Admission
from lakeshare.identity.wire.answer import identified
from lakeshare.identity.wire.match import RouteMatch
from lakeshare.identity.wire.proof import check_body, require_whole

_NO_STORE = ("cache-control", "no-store")
_JSON = ("content-type", "application/json")
_LINES = ("content-type", "application/x-ndjson")


@dataclass(slots=True)
class AdminMatch(RouteMatch[Room, Route]):
    """A request that was found a route."""

    services: ClassVar[frozenset[str]] = frozenset({"s3"})

    admission: Admission | None = None

    @property
    def early_limit_bytes(self) -> int:
        """Read a body early only where the head does not name its digest, which some signers leave out."""
        if self.route.takes is Takes.STREAM or "x-amz-content-sha256" in self.request.headers:
            return 0
        return JSON_LIMIT_BYTES

    async def decode(self, admission: Admission, early_body: bytes) -> Any:
        """Turn the query and the body into a value; the body is what was signed, or nothing of it counts."""
        self.admission = admission
        route = self.route
        if route.takes is Takes.STREAM:
            require_whole(admission.verified)
            body = b""
        else:
            body = early_body if self.early_limit_bytes else await self.request.body(JSON_LIMIT_BYTES)
            check_body(admission.verified, body)
        return route.decode(await self._call(admission, body))

    async def perform(self, operation: Any) -> Response:
        """Do it, and write the answer."""
        route = self.route
        if route.takes is Takes.STREAM:
            result = await route.operate(self.room, operation, self._stream())
        else:
            result = await route.operate(self.room, operation)
        if route.gives is Gives.NOTHING or (route.encode is None and route.gives is Gives.JSON):
            return Response(route.status, [_NO_STORE])
        if route.gives is Gives.LINES:
            return Response(route.status, [_LINES, _NO_STORE], result)
        encode = route.encode or (lambda found: found)
        return Response(route.status, [_JSON, _NO_STORE], orjson.dumps(encode(result)))

    async def _call(self, admission: Admission, body: bytes) -> Call:
        route = self.route
        query = read_query(route.query, self.request.raw_query)
        fields: Mapping[str, Any] = {}
        if route.takes is Takes.JSON and route.body is not None:
            fields = route.body.read(read_json(body) if body.strip() else {}, "")
        view = await self.room.directory.current()
        return Call(admission.caller, view, self.names, query, fields, body, self.origin)

    async def _stream(self) -> AsyncIterator[bytes]:
        verified = self.admission.verified if self.admission else None
        if verified is None:
            return
        decoder = verified.decoder()
        async for chunk in self.request.chunks():
            for piece in decoder.feed(chunk):
                yield cast("bytes", piece)
        decoder.finish()


class AdminFamily:
    """The admin API."""

    finish = staticmethod(identified)

    def __init__(self, room: Room) -> None:
        self._room = room

    def find(self, request: Request) -> AdminMatch:
        """Return the route of a request, or refuse it."""
        found = PATHS.find(request.method, request.raw_path)
        return AdminMatch(self._room, request, found.target, found.names)

    def refuse(self, error: LakeshareError, request: Request) -> tuple[str, Response]:
        """Write an error as JSON; also return its code."""
        fault = fault_of(error)
        return fault.code, encode_fault(error, fault, request.id)
