"""What is counted of each request, on the way of every one of them: a few additions in shared memory."""

import time
from bisect import bisect_left
from dataclasses import dataclass

from lakeshare.telemetry.board import Meter
from lakeshare.telemetry.metrics import (
    DECISIONS,
    ERRORS,
    IN_FLIGHT,
    LATENCY,
    RECEIVED,
    REQUESTS,
    SECONDS,
    SENT,
    SIGNATURES,
)

SAMPLE_SECONDS = 1.0
"""Shortest time between two looks at the numbers that others keep."""

UNKNOWN = "none"
"""The operation of a request that no route was found for."""

_SUM = len(SECONDS) + 1


@dataclass(frozen=True, slots=True)
class _Places:
    """Where one kind of request counts."""

    requests: int
    latency: int
    received: int
    sent: int


class RequestMeter:
    """Counts the requests of one worker."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._numbers = meter.numbers
        self._in_flight = meter.slot(IN_FLIGHT)
        self._places: dict[tuple[str, str, int], _Places] = {}
        self._outcomes: dict[str, int] = {}
        self._decisions: dict[str, int] = {}
        self._sample_at = 0.0

    def began(self) -> None:
        """Count a request that came."""
        self._numbers[self._in_flight] += 1.0

    def ended(  # noqa: PLR0913 - one call for a request, and no value made for it
        self,
        family: str,
        operation: str,
        status: int,
        *,
        error: str,
        outcome: str,
        decision: str,
        seconds: float,
        bytes_in: int,
        bytes_out: int,
    ) -> None:
        """Count a request whose answer has left."""
        numbers = self._numbers
        places = self._places.get((family, operation, status)) or self._place(family, operation, status)
        numbers[self._in_flight] -= 1.0
        numbers[places.requests] += 1.0
        numbers[places.latency + bisect_left(SECONDS, seconds)] += 1.0
        numbers[places.latency + _SUM] += seconds
        if bytes_in:
            numbers[places.received] += bytes_in
        if bytes_out:
            numbers[places.sent] += bytes_out
        if outcome:
            numbers[self._outcomes.get(outcome) or self._outcome(outcome)] += 1.0
        if decision != "none":
            numbers[self._decisions.get(decision) or self._decision(decision)] += 1.0
        if error:
            self._meter.add(ERRORS, family, error)
        if (now := time.monotonic()) >= self._sample_at:
            self._sample_at = now + SAMPLE_SECONDS
            self._meter.sample()

    def _place(self, family: str, operation: str, status: int) -> _Places:
        slot, shown = self._meter.slot, operation or UNKNOWN
        found = _Places(
            slot(REQUESTS, family, shown, str(status)),
            slot(LATENCY, family, shown),
            slot(RECEIVED, family),
            slot(SENT, family),
        )
        self._places[family, operation, status] = found
        return found

    def _outcome(self, outcome: str) -> int:
        found = self._outcomes[outcome] = self._meter.slot(SIGNATURES, outcome)
        return found

    def _decision(self, decision: str) -> int:
        found = self._decisions[decision] = self._meter.slot(DECISIONS, decision)
        return found
