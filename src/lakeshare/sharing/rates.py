"""How many requests a second each token, and all of them together, may send, counted by all workers together.

A table in shared memory, made before the fork. Each entry is a name's tag and the time up to which it has used what it
may use (the generic cell rate algorithm): a burst of one second's requests is borne, and after it one request each time
a place comes free. Nothing is locked: of two workers that count at one instant, one count may be lost.
"""

import mmap
import secrets
from dataclasses import dataclass
from hashlib import blake2b
from math import ceil

from lakeshare.sharing.errors import RateLimited

ENTRIES = 16_384
PROBES = 16
"""Entries that are looked at for a name before the one that rested longest is taken from its owner."""
SECOND = 1_000_000
"""Of the table's clock, in microseconds."""

_ENTRY_CELLS = 2
_FIRST = 2  # the cell of all together stands in the first entry
_SIZE = (_FIRST + ENTRIES * _ENTRY_CELLS) * 8
_NAMES_REMEMBERED = 8_192


@dataclass(frozen=True, slots=True)
class Limits:
    """Requests a second for one token and for all; 0 is no limit."""

    each: int = 100
    total: int = 1_000


class Rates:
    """One worker's hold on the table."""

    def __init__(self, memory: mmap.mmap, seed: bytes, limits: Limits) -> None:
        self._cells = memoryview(memory).cast("Q")
        self._seed = seed
        self._tags: dict[str, int] = {}
        self.limits = limits

    @classmethod
    def in_memory(cls, limits: Limits | None = None) -> "Rates":
        """Make a table that this process and those it forks share."""
        return cls(mmap.mmap(-1, _SIZE), secrets.token_bytes(16), limits or Limits())

    def take(self, name: str, now: float) -> None:
        """Count one request of a token, or refuse it; a refused one does not count. Raises RateLimited."""
        limits, at = self.limits, int(now * SECOND)
        own = self._place(name) if limits.each else 0
        if own and (wait := self._wait(own, limits.each, at)):
            raise RateLimited(limits.each, wait, shared=False)
        if limits.total and (wait := self._wait(0, limits.total, at)):
            raise RateLimited(limits.total, wait, shared=True)
        if own:
            self._count(own, limits.each, at)
        if limits.total:
            self._count(0, limits.total, at)

    def _wait(self, cell: int, limit: int, at: int) -> int:
        """Return in how many seconds a request may come; 0 is now."""
        ahead = self._cells[cell] - at
        room = SECOND - SECOND // limit
        return ceil((ahead - room) / SECOND) if ahead > room else 0

    def _count(self, cell: int, limit: int, at: int) -> None:
        self._cells[cell] = max(self._cells[cell], at) + SECOND // limit

    def _place(self, name: str) -> int:
        """Find a name's cell, or take the one that rested longest for it."""
        cells, tag = self._cells, self._tag(name)
        start, oldest = tag % ENTRIES, 0
        for step in range(PROBES):
            place = _FIRST + (start + step) % ENTRIES * _ENTRY_CELLS
            if cells[place] == tag:
                return place + 1
            if not oldest or cells[place + 1] < cells[oldest]:
                oldest = place + 1
        cells[oldest], cells[oldest - 1] = 0, tag
        return oldest

    def _tag(self, name: str) -> int:
        tag = self._tags.get(name)
        if tag is None:
            digest = blake2b(name.encode("utf-8", "replace"), digest_size=8, key=self._seed).digest()
            tag = int.from_bytes(digest, "little") or 1
            if len(self._tags) >= _NAMES_REMEMBERED:
                self._tags.clear()
            self._tags[name] = tag
        return tag
