"""STS as one family of the server's port: `POST /` with a form."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from lakeshare.errors import LakeshareError
from lakeshare.http.request import Request
from lakeshare.http.response import Response
from lakeshare.identity.directory import Directory
from lakeshare.identity.gate import Admission
from lakeshare.identity.wire.faults import encode_fault, fault_of
from lakeshare.identity.wire.form import FORM_LIMIT_BYTES, read_form
from lakeshare.identity.wire.proof import check_body
from lakeshare.identity.wire.sts import Route, find


@dataclass(slots=True)
class StsMatch:
    """A form on its way: which action it asks for is known once its body is read.

    It is read early: clients sign its digest without sending it.
    """

    services: ClassVar[frozenset[str]] = frozenset({"sts"})
    host_bucket: ClassVar[str] = ""
    early_limit_bytes: ClassVar[int] = FORM_LIMIT_BYTES

    directory: Directory
    request: Request
    clock: Callable[[], float]
    route: Route | None = None

    @property
    def name(self) -> str:
        """Name the action."""
        return self.route.name if self.route else "STS"

    async def decode(self, admission: Admission, early_body: bytes) -> Any:
        """Turn the form into a value."""
        check_body(admission.verified, early_body)
        form = read_form(self.request.raw_query, early_body)
        self.route = find(form)
        return self.route.decode(admission.caller, form)

    async def perform(self, operation: Any) -> Response:
        """Do it, and write the answer."""
        if self.route is None:
            raise RuntimeError("performed before it was decoded")
        result = await self.route.operate(self.directory, operation, self.clock())
        return self.route.encode(operation, result, self.request.id)


class StsFamily:
    """The security token service."""

    def __init__(self, directory: Directory, clock: Callable[[], float]) -> None:
        self._directory = directory
        self._clock = clock

    def find(self, request: Request) -> StsMatch:
        """Take a request; its form decides the rest."""
        return StsMatch(self._directory, request, self._clock)

    def refuse(self, error: LakeshareError, request: Request) -> tuple[str, Response]:
        """Write an error as STS does; also return its code."""
        fault = fault_of(error)
        return fault.code, encode_fault(error, fault, request.id)

    def finish(self, response: Response, request: Request) -> Response:
        """Add the id that every answer has."""
        response.headers.append(("x-amzn-requestid", request.id))
        return response
