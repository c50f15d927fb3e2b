"""Delta Sharing as one family of the server's port: from a request to a route, and from an error to JSON."""

from dataclasses import dataclass
from typing import Any, ClassVar

from lakeshare.errors import LakeshareError
from lakeshare.http.request import Request
from lakeshare.http.response import Response
from lakeshare.identity.gate import Admission
from lakeshare.identity.wire.answer import identified
from lakeshare.identity.wire.match import RouteMatch
from lakeshare.sharing.gate import SERVICE, RecipientAdmission
from lakeshare.sharing.room import Room
from lakeshare.sharing.wire import oauth
from lakeshare.sharing.wire.call import Call, Route
from lakeshare.sharing.wire.faults import encode_fault, encode_oauth_fault, fault_of
from lakeshare.sharing.wire.routes import find

_SERVICES = frozenset({SERVICE})
_NO_SERVICES: frozenset[str] = frozenset()


@dataclass(slots=True)
class SharingMatch(RouteMatch[Room, Route]):
    """A request that was found a route. No body is read before it is known who asks."""

    early_limit_bytes: ClassVar[int] = 0

    call: Call | None = None

    @property
    def services(self) -> frozenset[str]:
        """Name the service that a token must be for; an open route needs none."""
        return _NO_SERVICES if self.route.is_open else _SERVICES

    async def decode(self, admission: Admission, early_body: bytes) -> Any:
        """Turn the head and the body into a value."""
        limit = self.route.body_limit_bytes
        body = await self.request.body(limit) if limit else early_body
        recipient = admission if isinstance(admission, RecipientAdmission) else None
        self.call = Call(self.request, self.names, body, recipient)
        return self.route.decode(self.call)

    async def perform(self, operation: Any) -> Response:
        """Do it, and write the answer."""
        if self.call is None:
            raise RuntimeError("performed before it was decoded")
        return await self.route.answer(self.room, self.call, operation)


class SharingFamily:
    """Delta Sharing."""

    finish = staticmethod(identified)

    def __init__(self, room: Room) -> None:
        self._room = room

    def find(self, request: Request) -> SharingMatch:
        """Return the route of a request, or refuse it."""
        found = find(request.method, request.raw_path)
        return SharingMatch(self._room, request, found.target, found.names)

    def refuse(self, error: LakeshareError, request: Request) -> tuple[str, Response]:
        """Write an error as JSON; also return its code."""
        fault = fault_of(error)
        if request.raw_path.endswith(oauth.PATH):
            return fault.code, encode_oauth_fault(error, fault)
        return fault.code, encode_fault(error, fault)
