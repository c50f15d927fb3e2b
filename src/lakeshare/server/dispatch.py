"""How one request flows, always the same way.

Find the family and the route; identity says who it is; the room decodes the head into a value; the value says
what it requires, and all of it is authorised here; the operation works; the room encodes the answer; one audit
event. Nothing turns back, and an operation cannot be reached around the check: only `_serve` calls `perform`.
"""

import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

from lakeshare.errors import LakeshareError
from lakeshare.http.request import Request
from lakeshare.http.response import Response
from lakeshare.identity.caller import ANONYMOUS, Caller, Need
from lakeshare.identity.gate import Admission, Gate
from lakeshare.telemetry.audit import AuditEvent


class Operation(Protocol):
    """A decoded request: a value that says what it needs."""

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        ...


class Match(Protocol):
    """A request that was found a route."""

    @property
    def name(self) -> str:
        """Name the operation."""
        ...

    @property
    def services(self) -> frozenset[str]:
        """Name the services that the request may be signed for."""
        ...

    @property
    def host_bucket(self) -> str:
        """Name the bucket that the host name holds, if any: signature version 2 signs it."""
        ...

    @property
    def early_limit_bytes(self) -> int:
        """Say how large a body is read before the signature is looked at, which signs it; 0 reads none."""
        ...

    async def decode(self, admission: Admission, early_body: bytes) -> Operation:
        """Turn the head, and a bounded body where it names resources, into a value."""
        ...

    async def perform(self, operation: Any) -> Response:
        """Do it, and write the answer."""
        ...


class Family(Protocol):
    """A protocol on the server's port: its routes, and its dialect of errors."""

    def find(self, request: Request) -> Match:
        """Return the route of a request, or refuse it."""
        ...

    def refuse(self, error: LakeshareError, request: Request) -> tuple[str, Response]:
        """Write an error in the family's dialect; also return its code."""
        ...

    def finish(self, response: Response, request: Request) -> Response:
        """Add what every answer of the family has."""
        ...


Open = Callable[[Request], Awaitable[Response]]

STS = "sts"
"""The key of the family that answers `POST /`."""


class Trace:
    """What one request turned out to be, gathered for its audit event."""

    __slots__ = ("caller", "decision", "error", "name", "needs")

    def __init__(self) -> None:
        self.name = ""
        self.caller: Caller = ANONYMOUS
        self.needs: tuple[Need, ...] = ()
        self.decision = "none"  # refused before it came to the check
        self.error = ""


class Dispatcher:
    """The server's one handler."""

    def __init__(
        self,
        gate: Gate,
        objects: Family,
        families: Mapping[str, Family],
        open_routes: Mapping[str, Open],
        audit: Callable[[AuditEvent], None],
    ) -> None:
        self._gate = gate
        self._objects = objects
        self._families = families
        self._open = open_routes
        self._audit = audit

    async def __call__(self, request: Request) -> Response:
        """Answer one request."""
        if (handler := self._open.get(request.raw_path)) is not None:
            return await handler(request)
        started = time.perf_counter()
        family = self._family(request)
        trace = Trace()
        try:
            response = await self._serve(family, request, trace)
        except LakeshareError as error:
            trace.error, response = family.refuse(error, request)
        family.finish(response, request)
        response.after = self._auditor(request, response.status, trace, started)
        return response

    def _auditor(self, request: Request, status: int, trace: Trace, started: float) -> Callable[[int, bool], None]:
        """Return what writes the request's one audit event, once its answer has left or failed."""

        def write(bytes_out: int, whole: bool) -> None:  # noqa: FBT001 - the edge's signature
            self._audit(
                AuditEvent(
                    time=datetime.now(UTC),
                    request_id=request.id,
                    peer=request.peer,
                    access_key=trace.caller.name,
                    action=trace.name,
                    resources=tuple(need.resource for need in trace.needs),
                    decision=trace.decision,
                    status=status,
                    error=trace.error if whole else trace.error or "AnswerCut",
                    bytes_in=_length(request),
                    bytes_out=bytes_out,
                    duration_ms=(time.perf_counter() - started) * 1000,
                    user_agent=request.headers.get("user-agent", ""),
                )
            )

        return write

    def _family(self, request: Request) -> Family:
        """Return the family of a request: by the first part of its path, `POST /` being STS's; S3 has the rest."""
        path = request.raw_path
        if path.startswith(("/_", "/minio/")):
            return self._families.get(path[1:].partition("/")[0], self._objects)
        if path == "/" and request.method == "POST" and _is_form(request):
            return self._families.get(STS, self._objects)
        return self._objects

    async def _serve(self, family: Family, request: Request, trace: Trace) -> Response:
        match = family.find(request)
        trace.name = match.name
        early, digest = b"", None
        if match.early_limit_bytes:
            early = await request.body(match.early_limit_bytes)
            digest = hashlib.sha256(early).hexdigest()
        admission = await self._gate.authenticate(request, match.services, match.host_bucket, digest)
        trace.caller = admission.caller
        operation = await match.decode(admission, early)
        trace.name = match.name
        trace.needs = operation.requires()
        trace.decision = "deny"
        await self._gate.authorise(admission, trace.needs)
        trace.decision = "allow"
        return await match.perform(operation)


def _is_form(request: Request) -> bool:
    """Say whether `POST /` asks STS: under a bucket's own host name it may also be a bulk delete of S3's."""
    if request.raw_query and "Action=" not in request.raw_query:
        return False
    return request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded")


def _length(request: Request) -> int:
    text = request.headers.get("content-length", "")
    return int(text) if text.isdigit() else 0
