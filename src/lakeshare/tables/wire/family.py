"""The Iceberg REST catalog as one family of the server's port: from a request to a route, from an error to JSON."""

import re
from dataclasses import dataclass
from typing import Any

from lakeshare.errors import LakeshareError
from lakeshare.http.request import Request
from lakeshare.http.response import Response
from lakeshare.identity.gate import Admission
from lakeshare.identity.wire.answer import identified
from lakeshare.identity.wire.match import RouteMatch
from lakeshare.identity.wire.proof import check_body
from lakeshare.tables.gate import SERVICES, CatalogAdmission
from lakeshare.tables.operations.receipts import Once, refuse_once
from lakeshare.tables.room import Room
from lakeshare.tables.wire import oauth
from lakeshare.tables.wire.call import Call, Route
from lakeshare.tables.wire.faults import encode_fault, fault_of, is_final, text_of
from lakeshare.tables.wire.routes import PREFIX, find

EARLY_LIMIT_BYTES = 4 * 1024 * 1024
"""Largest body that is read before it is known who sends it: PyIceberg signs its digest and does not send it."""

_NO_SERVICES: frozenset[str] = frozenset()
_DIGEST = re.compile(r"[0-9a-fA-F]{64}")
_UNSIGNED = "UNSIGNED-PAYLOAD"
_WITH_BODY = frozenset({"POST", "PUT"})


@dataclass(slots=True)
class CatalogMatch(RouteMatch[Room, Route]):
    """A request that was found a route."""

    call: Call | None = None

    @property
    def services(self) -> frozenset[str]:
        """Name the services that the request may be signed for; an open route needs none."""
        return _NO_SERVICES if self.route.is_open else SERVICES

    @property
    def early_limit_bytes(self) -> int:
        """Read a body early only where the head does not name its digest, which some signers leave out."""
        headers = self.request.headers
        if self.request.method not in _WITH_BODY or not headers.get("authorization", "").startswith("AWS4-"):
            return 0
        told = headers.get("x-amz-content-sha256", "")
        return 0 if told == _UNSIGNED or _DIGEST.fullmatch(told) else EARLY_LIMIT_BYTES

    @property
    def _body_is_left(self) -> bool:
        """Whether there may be a body, and it was not read early."""
        headers = self.request.headers
        bodiless = "transfer-encoding" not in headers and headers.get("content-length", "0") == "0"
        return not bodiless and not self.early_limit_bytes

    async def decode(self, admission: Admission, early_body: bytes) -> Any:
        """Turn the head and the body into a value; the body is what was signed, or nothing of it counts."""
        body = early_body
        if self._body_is_left:
            body = await self.request.body(self.route.body_limit_bytes)
        check_body(admission.verified, body, may_be_unsigned=True)  # as some signers do (iceberg.md 3.4)
        if not isinstance(admission, CatalogAdmission):
            raise TypeError("the catalog's requests come by its own gate")
        self.call = Call(self.room, self.request, self.names, body, admission)
        return await self.route.decode(self.call)

    async def perform(self, operation: Any) -> Response:
        """Do it, and write the answer."""
        if self.call is None:
            raise RuntimeError("performed before it was decoded")
        if (warehouse := self.names.get("warehouse")) is not None:
            await self.room.catalog.warehouse(warehouse)
        once = getattr(operation, "once", None)
        if once is None:
            return await self.route.answer(self.room, self.call, operation)
        return await self._once(operation, self.call, once)

    async def _once(self, operation: Any, call: Call, once: Once) -> Response:
        """Do what has an idempotency key; a refusal that is final is remembered as an effect would be."""
        try:
            return await self.route.answer(self.room, call, operation)
        except LakeshareError as error:
            if not is_final(error):
                raise
            fault = fault_of(error)
            refusal = once.refusal(fault.status, fault.code, text_of(error))
            if not await refuse_once(self.room.state, refusal):
                raise
        # Another request with the same key was ended meanwhile: it is answered as that one was.
        return await self.route.answer(self.room, call, operation)


class CatalogFamily:
    """The Iceberg REST catalog."""

    finish = staticmethod(identified)

    def __init__(self, room: Room) -> None:
        self._room = room

    def find(self, request: Request) -> CatalogMatch:
        """Return the route of a request, or refuse it."""
        found = find(request.method, request.raw_path)
        return CatalogMatch(self._room, request, found.target, found.names)

    def refuse(self, error: LakeshareError, request: Request) -> tuple[str, Response]:
        """Write an error as JSON; also return its type. A HEAD's has no body."""
        fault = fault_of(error)
        if request.raw_path == PREFIX + oauth.PATH:
            return fault.code, oauth.encode_oauth_fault(error, fault.status, text_of(error))
        response = encode_fault(error, fault)
        if request.method == "HEAD":
            response.body = b""
        return fault.code, response
