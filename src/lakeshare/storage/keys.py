"""The order of keys, and how a listing rolls them up. Pure.

Python compares strings by code point, which is the order of their UTF-8 bytes, so keys stay strings throughout.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")
P = TypeVar("P")
R = TypeVar("R")

_FIRST_SURROGATE, _LAST_SURROGATE, _LAST_CODE_POINT = 0xD800, 0xDFFF, 0x10FFFF

FIRST_CHUNK = 16
"""Rows fetched at first when there is a delimiter, before it is known how many share a prefix."""


def successor(prefix: str) -> str | None:
    """Return the least string above every string that starts with `prefix`; None if there is none."""
    for end in range(len(prefix), 0, -1):
        following = ord(prefix[end - 1]) + 1
        if _FIRST_SURROGATE <= following <= _LAST_SURROGATE:
            following = _LAST_SURROGATE + 1
        if following <= _LAST_CODE_POINT:
            return prefix[: end - 1] + chr(following)
    return None


def common_prefix(key: str, prefix: str, delimiter: str) -> str | None:
    """Return what `key` rolls up to: up to and with the first delimiter after `prefix`; None if it stands alone."""
    if not delimiter:
        return None
    cut = key.find(delimiter, len(prefix))
    return None if cut < 0 else key[: cut + len(delimiter)]


@dataclass(frozen=True, slots=True)
class Start:
    """Where a scan begins: at a key, or just after it."""

    key: str
    inclusive: bool


def start_of(prefix: str, delimiter: str, after: str) -> Start | None:
    """Say where a page begins that goes on after `after`; None if nothing can follow."""
    if after.startswith(prefix) and after and common_prefix(after, prefix, delimiter) == after:
        past = successor(after)
        return None if past is None else Start(past, inclusive=True)
    if after < prefix:
        return Start(prefix, inclusive=True)
    return Start(after, inclusive=False)


@dataclass(slots=True)
class Rolled(Generic[T]):
    """A page under way: rows that stand alone, common prefixes, and whether anything follows."""

    rows: list[T] = field(default_factory=list)
    prefixes: list[str] = field(default_factory=list)
    more: bool = False
    ends_in_prefix: bool = False

    def __len__(self) -> int:
        return len(self.rows) + len(self.prefixes)


@dataclass(frozen=True, slots=True)
class Roll(Generic[T, P]):
    """How to gather a page of rows of type T from a scan whose places are of type P.

    `fetch` returns up to so many rows under the prefix from a place on, in order; `after` is the place behind a row,
    `at` the place of a key.
    """

    prefix: str
    delimiter: str
    limit: int
    key_of: Callable[[T], str]
    fetch: Callable[[P, int], Sequence[T]]
    after: Callable[[T], P]
    at: Callable[[str], P]

    def page(self, start: P) -> Rolled[T]:
        """Gather one page from a place on, at once."""
        return finished(self.steps(start))

    def steps(self, start: P) -> Generator[None, None, Rolled[T]]:
        """Gather one page from a place on, and pause after every fetch.

        Rows are fetched in chunks that grow while each row counts, and shrink where most hide behind one prefix: past
        it the scan seeks, so that a page costs the same whatever lies under its prefixes.
        """
        page: Rolled[T] = Rolled()
        place: P | None = start if self.limit > 0 else None
        count = FIRST_CHUNK if self.delimiter else self.limit + 1
        while place is not None:
            before = len(page)
            rows = self.fetch(place, count)
            place = self._take(page, rows, last=len(rows) < count)
            count = _next_chunk(count, len(page) - before, self.limit)
            yield
        return page

    def _take(self, page: Rolled[T], rows: Sequence[T], *, last: bool) -> P | None:
        """Add rows to the page; return where to go on, None when it is full or the rows have ended."""
        inside: str | None = None
        room = self.limit - len(page)
        for row in rows:
            key = self.key_of(row)
            if inside is not None and key.startswith(inside):
                continue
            if room == 0:
                page.more = True
                return None
            room -= 1
            inside = common_prefix(key, self.prefix, self.delimiter)
            if inside is None:
                page.rows.append(row)
            else:
                page.prefixes.append(inside)
            page.ends_in_prefix = inside is not None
        if last:
            return None
        if inside is None:
            return self.after(rows[-1])
        past = successor(inside)
        return None if past is None else self.at(past)


def finished(steps: Generator[None, None, R]) -> R:
    """Run steps to their end, and return what they return."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            result: R = done.value
            return result


def _next_chunk(count: int, counted: int, limit: int) -> int:
    if counted * 2 > count:
        return min(count * 2, limit + 1)
    return max(count // 4, 1)
