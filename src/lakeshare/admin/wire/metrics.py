"""Metrics on the wire: `GET /metrics` for whoever has the token, or signs and may."""

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from lakeshare.admin.errors import WrongToken
from lakeshare.admin.operations.server import ServerCall
from lakeshare.admin.wire.faults import encode_fault, fault_of
from lakeshare.errors import LakeshareError
from lakeshare.http.paths import NoSuchMethod, NoSuchPath
from lakeshare.http.request import Request
from lakeshare.http.response import Response
from lakeshare.identity.errors import TooManyFailures
from lakeshare.identity.gate import Admission
from lakeshare.identity.throttle import Throttle
from lakeshare.identity.wire.proof import require_whole
from lakeshare.settings import Secret
from lakeshare.telemetry.metrics import CONTENT_TYPE

PATH = "/metrics"
NAME = "GetMetrics"
ACTION = "admin:Prometheus"
_BEARER = "Bearer "
_COUNTED_AS = ":metrics-token"
"""Stands where an access key does among the failures; no access key has a colon in front."""

Scrape = Callable[[], bytes]
"""Returns the metrics of all workers, as Prometheus reads them."""


@dataclass(frozen=True, slots=True)
class MetricsDoor:
    """Lets in who needs no signature: everyone where metrics are public, and who has the token.

    A wrong token counts as a failed signature does, and too many of them are answered without a look at the next.
    """

    token: Secret
    public: bool
    throttle: Throttle
    clock: Callable[[], float]

    def admits(self, request: Request) -> bool:
        """Say whether a request needs no signature."""
        if request.method != "GET":
            return False
        given = request.headers.get("authorization", "")
        if not given.startswith(_BEARER):
            return self.public and not given
        token = self.token.reveal()
        if not token or self._blocked(request):
            return False
        return hmac.compare_digest(given[len(_BEARER) :].strip().encode(), token.encode())

    def check(self, request: Request) -> None:
        """Refuse a bearer token, and count it: the right one was let in before. Raises WrongToken, TooManyFailures."""
        if not request.headers.get("authorization", "").startswith(_BEARER):
            return
        if self._blocked(request):
            raise TooManyFailures(_COUNTED_AS, request.peer)
        self.throttle.failed(self.clock(), _COUNTED_AS, request.peer)
        raise WrongToken

    def _blocked(self, request: Request) -> bool:
        return self.throttle.blocked(self.clock(), _COUNTED_AS, request.peer)


def answer(scrape: Scrape) -> Response:
    """Write the metrics."""
    return Response(200, [("content-type", CONTENT_TYPE), ("cache-control", "no-store")], scrape())


@dataclass(frozen=True, slots=True)
class MetricsMatch:
    """A request for the metrics, which has no body."""

    name: ClassVar[str] = NAME
    services: ClassVar[frozenset[str]] = frozenset({"s3"})
    host_bucket: ClassVar[str] = ""
    early_limit_bytes: ClassVar[int] = 0

    scrape: Scrape

    async def decode(self, admission: Admission, _early_body: bytes) -> ServerCall:
        """Return the one thing that can be asked."""
        require_whole(admission.verified)
        return ServerCall(ACTION)

    async def perform(self, _operation: ServerCall) -> Response:
        """Write the metrics."""
        return answer(self.scrape)


class MetricsFamily:
    """The metrics, for callers that sign."""

    def __init__(self, scrape: Scrape, door: MetricsDoor) -> None:
        self._scrape = scrape
        self._door = door

    def find(self, request: Request) -> MetricsMatch:
        """Return the one route. Raises NoSuchPath, NoSuchMethod, WrongToken, TooManyFailures."""
        if request.raw_path != PATH:
            raise NoSuchPath(request.raw_path)
        if request.method != "GET":
            raise NoSuchMethod(request.method, ("GET",))
        self._door.check(request)
        return MetricsMatch(self._scrape)

    def refuse(self, error: LakeshareError, request: Request) -> tuple[str, Response]:
        """Write an error as JSON; also return its code."""
        fault = fault_of(error)
        return fault.code, encode_fault(error, fault, request.id)

    def finish(self, response: Response, request: Request) -> Response:
        """Add the id that every answer has."""
        response.headers.append(("x-request-id", request.id))
        return response
