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

    counts: tuple[int, ...]
    latency: int
    received: int
    sent: int


class RequestMeter:
    """Counts the requests of one worker."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._numbers = meter.numbers
        self._in_flight = meter.slot(IN_FLIGHT)
        self._places: dict[tuple[str, str, int, str, str], _Places] = {}
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
        kind = family, operation, status, outcome, decision
        places = self._places.get(kind) or self._place(kind)
        numbers[self._in_flight] -= 1.0
        for slot in places.counts:
            numbers[slot] += 1.0
        numbers[places.latency + bisect_left(SECONDS, seconds)] += 1.0
        numbers[places.latency + _SUM] += seconds
        if bytes_in:
            numbers[places.received] += bytes_in
        if bytes_out:
            numbers[places.sent] += bytes_out
        if error:
            self._meter.add(ERRORS, family, error)
        if (now := time.monotonic()) >= self._sample_at:
            self._sample_at = now + SAMPLE_SECONDS
            self._meter.sample()

    def _place(self, kind: tuple[str, str, int, str, str]) -> _Places:
        family, operation, status, outcome, decision = kind
        slot, shown = self._meter.slot, operation or UNKNOWN
        counts = [slot(REQUESTS, family, shown, str(status))]
        if outcome:
            counts.append(slot(SIGNATURES, outcome))
        if decision != "none":
            counts.append(slot(DECISIONS, decision))
        found = _Places(tuple(counts), slot(LATENCY, family, shown), slot(RECEIVED, family), slot(SENT, family))
        self._places[kind] = found
        return found
