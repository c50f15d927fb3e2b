"""How one request flows, always the same way.

Find the family and the route; identity says who it is; the room decodes the head into a value; the value says
what it requires, and all of it is authorised here; the operation works; the room encodes the answer; one audit
event. Nothing turns back, and an operation cannot be reached around the check: only `_serve` calls `perform`.
"""

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol, runtime_checkable

from lakeshare.errors import LakeshareError
from lakeshare.http.request import Request
from lakeshare.http.response import Response
from lakeshare.identity.caller import ANONYMOUS, Caller, Need
from lakeshare.identity.errors import AccessDenied
from lakeshare.identity.gate import Admission
from lakeshare.telemetry.audit import AuditEvent
from lakeshare.telemetry.requests import RequestMeter


class Operation(Protocol):
    """A decoded request: a value that says what it needs."""

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        ...


@runtime_checkable
class Divisible(Operation, Protocol):
    """An operation that can be done in part, each need on its own: a bulk delete."""

    def sparing(self, denied: Iterable[Need]) -> Operation:
        """Return the same operation without what is denied."""
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


class Doorkeeper(Protocol):
    """Says who asks, and whether they may: a family may bring one of its own."""

    async def authenticate(
        self, request: Request, services: frozenset[str], host_bucket: str = "", body_sha256: str | None = None
    ) -> Admission:
        """Say who a request comes from, or refuse it."""
        ...

    async def authorise(self, admission: Admission, needs: Sequence[Need]) -> Any:
        """Allow all of the needs, or refuse them."""
        ...


Open = Callable[[Request], Awaitable[Response | None]]
"""Answers a request that needs no signature, or leaves it to its family."""

S3 = "s3"
"""The label of the family that has every path that no other has."""

STS = "sts"
"""The key of the family that answers `POST /`."""

METRICS = "metrics"
"""The key of the family that answers `/metrics`."""


READS = frozenset({"GET", "HEAD"})

FAILED = "InternalError"
FAILED_STATUS = 500
CUT = "AnswerCut"
"""The error of a request whose answer did not leave whole."""


class Trace:
    """What one request turned out to be, gathered for its audit event."""

    __slots__ = ("caller", "claimed", "decision", "error", "family", "name", "needs", "outcome", "started")

    def __init__(self, family: str) -> None:
        self.started = time.perf_counter()
        self.family = family
        self.name = ""
        self.outcome = ""  # of asking who it is: signed, anonymous or refused
        self.caller: Caller = ANONYMOUS
        self.claimed = ""  # the access key of a signature that did not hold
        self.needs: tuple[Need, ...] = ()
        self.decision = "none"  # refused before it came to the check
        self.error = ""


@dataclass(frozen=True, slots=True)
class Witnesses:
    """Who is told of each request once it is over."""

    audit: Callable[[AuditEvent], None]
    meter: RequestMeter


class Dispatcher:
    """The server's one handler."""

    def __init__(
        self,
        gates: Mapping[str, Doorkeeper],
        objects: Family,
        families: Mapping[str, Family],
        open_routes: Mapping[str, Open],
        witnesses: Witnesses,
    ) -> None:
        """Take a gate for each family, by its label; that of S3 serves every family that has none."""
        self._gates = gates
        self._gate = gates[S3]
        self._objects = objects
        self._families = families
        self._open = open_routes
        self._audit = witnesses.audit
        self._meter = witnesses.meter

    async def __call__(self, request: Request) -> Response:
        """Answer one request."""
        opened = self._open.get(request.raw_path)
        if opened is not None and (answer := await opened(request)) is not None:
            return answer
        label, family = self._family(request)
        trace = Trace(label)
        response: Response | None = None
        self._meter.began()
        try:
            response = await self._answer(family, request, trace)
        finally:
            if response is None:  # neither answered nor refused: the edge says 500
                trace.error = FAILED
                self._tell(request, FAILED_STATUS, trace, 0)
        response.after = self._teller(request, response.status, trace)
        return response

    async def _answer(self, family: Family, request: Request, trace: Trace) -> Response:
        try:
            response = await self._serve(family, request, trace)
        except LakeshareError as error:
            trace.error, response = family.refuse(error, request)
            if trace.outcome == "refused":
                trace.claimed = getattr(error, "access_key", "")
        return family.finish(response, request)

    def _teller(self, request: Request, status: int, trace: Trace) -> Callable[[int, bool], None]:
        """Return what tells of the request once its answer has left or failed."""

        def tell(bytes_out: int, whole: bool) -> None:  # noqa: FBT001 - the edge's signature
            if not whole:
                trace.error = trace.error or CUT
            self._tell(request, status, trace, bytes_out)

        return tell

    def _tell(self, request: Request, status: int, trace: Trace, bytes_out: int) -> None:
        """Count the request, and write its one audit event."""
        bytes_in = _length(request)
        seconds = time.perf_counter() - trace.started
        self._meter.ended(
            trace.family,
            trace.name,
            status,
            error=trace.error,
            outcome=trace.outcome,
            decision=trace.decision,
            seconds=seconds,
            bytes_in=bytes_in,
            bytes_out=bytes_out,
        )
        self._audit(
            AuditEvent(
                time=datetime.now(UTC),
                request_id=request.id,
                peer=request.peer,
                access_key=trace.caller.name or trace.claimed,
                action=trace.name,
                resources=tuple([need.resource for need in trace.needs]),
                decision=trace.decision,
                status=status,
                error=trace.error,
                bytes_in=bytes_in,
                bytes_out=bytes_out,
                duration_ms=seconds * 1000,
                user_agent=request.headers.get("user-agent", ""),
            )
        )

    def _family(self, request: Request) -> tuple[str, Family]:
        """Return a request's family and its label, by the first part of the path; S3 has what no other has."""
        path, key = request.raw_path, S3
        if path.startswith(("/_", "/minio/", "/delta-sharing/")):
            key = path[1:].partition("/")[0]
        elif path == "/metrics" and request.method in READS:
            key = METRICS
        elif path == "/" and request.method == "POST" and _is_form(request):
            key = STS
        if (family := self._families.get(key)) is None:
            return S3, self._objects
        return key.lstrip("_"), family

    async def _serve(self, family: Family, request: Request, trace: Trace) -> Response:
        match = family.find(request)
        trace.name = match.name
        early, digest = b"", None
        if match.early_limit_bytes:
            early = await request.body(match.early_limit_bytes)
            digest = hashlib.sha256(early).hexdigest()
        trace.outcome = "refused"
        gate = self._gates.get(trace.family, self._gate)
        admission = await gate.authenticate(request, match.services, match.host_bucket, digest)
        trace.caller = admission.caller
        trace.outcome = "anonymous" if admission.caller.is_anonymous else "signed"
        operation = await match.decode(admission, early)
        trace.name = match.name
        trace.needs = operation.requires()
        trace.decision = "deny"
        operation, trace.decision = await _authorised(gate, admission, operation, trace.needs)
        return await match.perform(operation)


async def _authorised(
    gate: Doorkeeper, admission: Admission, operation: Operation, needs: Sequence[Need]
) -> tuple[Operation, str]:
    """Return what may be done once it is allowed, and how that was decided: all of it, or the part that is allowed."""
    try:
        await gate.authorise(admission, needs)
    except AccessDenied as refusal:
        return await _allowed_part(gate, admission, operation, refusal), "partial"
    return operation, "allow"


async def _allowed_part(
    gate: Doorkeeper, admission: Admission, operation: Operation, refusal: AccessDenied
) -> Operation:
    """Return what of a refused operation is allowed, where it can be done in part and some of it is."""
    needs = operation.requires()
    if not isinstance(operation, Divisible) or len(needs) == 1:
        raise refusal
    denied = [need for need in needs if not await _is_allowed(gate, admission, need)]
    if len(denied) == len(needs):
        raise refusal
    return operation.sparing(denied)


async def _is_allowed(gate: Doorkeeper, admission: Admission, need: Need) -> bool:
    await asyncio.sleep(0)  # a thousand of them take a while
    try:
        await gate.authorise(admission, (need,))
    except AccessDenied:
        return False
    return True


def _is_form(request: Request) -> bool:
    """Say whether `POST /` asks STS: under a bucket's own host name it may also be a bulk delete of S3's."""
    if request.raw_query and "Action=" not in request.raw_query:
        return False
    return request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded")


def _length(request: Request) -> int:
    text = request.headers.get("content-length", "")
    return int(text) if text.isdigit() else 0
