"""Numbers in memory that all workers share through the fork: each writes a region of its own, any reads them all.

Laws:

- A region has one writer, so that no number needs a lock; a number is eight aligned bytes, so that none is read torn.
- A series is found by its name, which stands beside its numbers: a region is read without asking who wrote it.
- A process that takes a dead one's place goes on where that one was, but for its gauges, which begin at nothing.
- When a region is full, a series that is new is counted as not kept, and nothing else changes.
"""

import mmap
from bisect import bisect_left
from collections.abc import Callable, Iterable

from lakeshare.telemetry.metrics import BY_NAME, OVERFLOW, Kind, Metric, Series

SLOTS = 8192
NAME_BYTES = 120
"""Longest name of a series: those of the metric and of its labels, with a byte between them."""

SINK_WIDTH = 64
"""Numbers past the slots, where that counts for which there was no room; no metric is wider."""

_NUMBER_BYTES = 8
_PARTING = "\x1f"
_NAMES_AT = (1 + SLOTS + SINK_WIDTH) * _NUMBER_BYTES
_REGION_BYTES = _NAMES_AT + SLOTS * NAME_BYTES

Sample = tuple[Metric, tuple[str, ...], float]
Sampler = Callable[[], Iterable[Sample]]


class Board:
    """The memory of all processes. Make it before they are forked."""

    def __init__(self, processes: int) -> None:
        self._memory = mmap.mmap(-1, _REGION_BYTES * processes)
        self._processes = processes

    def meter(self, process: int) -> "Meter":
        """Return what writes the numbers of one process; -1 is the last."""
        return Meter(self._region(process % self._processes))

    def read(self) -> list[Series]:
        """Return every series, summed over all processes."""
        found: dict[tuple[str, ...], list[float]] = {}
        for process in range(self._processes):
            for name, numbers in self._region(process).series():
                held = found.setdefault(name, [0.0] * len(numbers))
                held[:] = [before + more for before, more in zip(held, numbers, strict=True)]
        return [Series(BY_NAME[name[0]], name[1:], tuple(numbers)) for name, numbers in found.items()]

    def _region(self, process: int) -> "Region":
        start = process * _REGION_BYTES
        return Region(memoryview(self._memory)[start : start + _REGION_BYTES])


class Region:
    """The memory of one process: how many slots are taken, a number for each, a name for each."""

    def __init__(self, memory: memoryview) -> None:
        cells = memory[:_NAMES_AT].cast("d")
        self.numbers = cells[1:]
        self._taken = cells[:1]
        self._names = memory[_NAMES_AT:]

    def series(self) -> list[tuple[tuple[str, ...], list[float]]]:
        """Return the series that are there: (metric, labels…) and their numbers."""
        return [(name, list(self.numbers[slot : slot + metric.width])) for slot, name, metric in self.slots()]

    def slots(self) -> list[tuple[int, tuple[str, ...], Metric]]:
        """Return where each series begins."""
        found = []
        slot, taken = 0, int(self._taken[0])
        while slot < taken:
            at = slot * NAME_BYTES
            text = bytes(self._names[at : at + NAME_BYTES]).rstrip(b"\0").decode()
            name = tuple(text.split(_PARTING))
            metric = BY_NAME[name[0]]
            found.append((slot, name, metric))
            slot += metric.width
        return found

    def take(self, metric: Metric, labels: tuple[str, ...]) -> int | None:
        """Take slots for a series and return the first; None if there is no room, or its name is too long."""
        text = _PARTING.join((metric.name, *labels)).encode()
        slot = int(self._taken[0])
        if len(text) > NAME_BYTES or slot + metric.width > SLOTS:
            return None
        at = slot * NAME_BYTES
        self._names[at : at + len(text)] = text
        self._taken[0] = slot + metric.width
        return slot


class Meter:
    """Counts for one process."""

    def __init__(self, region: Region) -> None:
        self.numbers = region.numbers
        self._region = region
        self._slots: dict[tuple[str, ...], int] = {name: slot for slot, name, _ in region.slots()}
        for slot, _, metric in region.slots():
            if metric.kind is Kind.GAUGE:
                self.numbers[slot] = 0.0
        self._overflow = self.slot(OVERFLOW)
        self._samplers: list[Sampler] = []

    def slot(self, metric: Metric, *labels: str) -> int:
        """Return where a series counts; one that there is no room for counts where nobody looks."""
        name = (metric.name, *labels)
        found = self._slots.get(name)
        if found is None:
            found = self._region.take(metric, labels)
            if found is None:
                found = SLOTS
                self.numbers[self._overflow] += 1.0
            self._slots[name] = found
        return found

    def add(self, metric: Metric, *labels: str, amount: float = 1.0) -> None:
        """Count."""
        self.numbers[self.slot(metric, *labels)] += amount

    def observe(self, metric: Metric, *labels: str, value: float) -> None:
        """Put a value into a histogram."""
        slot = self.slot(metric, *labels)
        self.numbers[slot + bisect_left(metric.bounds, value)] += 1.0
        self.numbers[slot + len(metric.bounds) + 1] += value

    def watch(self, sampler: Sampler) -> None:
        """Ask for numbers that others keep, whenever `sample` is called."""
        self._samplers.append(sampler)

    def sample(self) -> None:
        """Take over the numbers that others keep."""
        for sampler in self._samplers:
            for metric, labels, value in sampler():
                self.numbers[self.slot(metric, *labels)] = value
