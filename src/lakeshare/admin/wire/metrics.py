"""Metrics on the wire: `GET /metrics` for whoever has the token, or signs and may."""

import hmac
from collections.abc import Callable
from dataclasses import dataclass

from lakeshare.admin.errors import WrongToken
from lakeshare.admin.operations.server import ServerCall
from lakeshare.admin.wire.faults import encode_fault, fault_of
from lakeshare.errors import LakeshareError
from lakeshare.http.paths import NoSuchMethod, NoSuchPath
from lakeshare.http.request import Request
from lakeshare.http.response import Response
from lakeshare.identity.gate import Admission
from lakeshare.identity.wire.proof import require_whole
from lakeshare.settings import Settings
from lakeshare.telemetry.metrics import CONTENT_TYPE

PATH = "/metrics"
NAME = "GetMetrics"
ACTION = "admin:Prometheus"
_BEARER = "Bearer "
_SERVICES = frozenset({"s3"})

Scrape = Callable[[], bytes]
"""Returns the metrics of all workers, as Prometheus reads them."""


def is_open(settings: Settings, request: Request) -> bool:
    """Say whether a request needs no signature: metrics are public, or it has the token."""
    if request.method != "GET":
        return False
    token, given = settings.metrics_token.reveal(), request.headers.get("authorization", "")
    if token and given.startswith(_BEARER):
        return hmac.compare_digest(given[len(_BEARER) :].strip().encode(), token.encode())
    return settings.metrics_public and not given


def answer(scrape: Scrape) -> Response:
    """Write the metrics."""
    return Response(200, [("content-type", CONTENT_TYPE), ("cache-control", "no-store")], scrape())


@dataclass(frozen=True, slots=True)
class MetricsMatch:
    """A request for the metrics."""

    scrape: Scrape

    @property
    def name(self) -> str:
        """Name the operation."""
        return NAME

    @property
    def services(self) -> frozenset[str]:
        """Name the services that the request may be signed for."""
        return _SERVICES

    @property
    def host_bucket(self) -> str:
        """Name no bucket."""
        return ""

    @property
    def early_limit_bytes(self) -> int:
        """Read no body."""
        return 0

    async def decode(self, admission: Admission, _early_body: bytes) -> ServerCall:
        """Return the one thing that can be asked."""
        require_whole(admission.verified)
        return ServerCall(ACTION)

    async def perform(self, _operation: ServerCall) -> Response:
        """Write the metrics."""
        return answer(self.scrape)


class MetricsFamily:
    """The metrics, for callers that sign."""

    def __init__(self, scrape: Scrape) -> None:
        self._scrape = scrape

    def find(self, request: Request) -> MetricsMatch:
        """Return the one route. Raises NoSuchPath, NoSuchMethod, WrongToken."""
        if request.raw_path != PATH:
            raise NoSuchPath(request.raw_path)
        if request.method != "GET":
            raise NoSuchMethod(request.method, ("GET",))
        if request.headers.get("authorization", "").startswith(_BEARER):
            raise WrongToken
        return MetricsMatch(self._scrape)

    def refuse(self, error: LakeshareError, request: Request) -> tuple[str, Response]:
        """Write an error as JSON; also return its code."""
        fault = fault_of(error)
        return fault.code, encode_fault(error, fault, request.id)

    def finish(self, response: Response, request: Request) -> Response:
        """Add the id that every answer has."""
        response.headers.append(("x-request-id", request.id))
        return response
