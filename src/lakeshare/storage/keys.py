"""The order of keys, and how a listing rolls them up. Pure.

Python compares strings by code point, which is the order of their UTF-8 bytes, so keys stay strings throughout.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")

_FIRST_SURROGATE, _LAST_SURROGATE, _LAST_CODE_POINT = 0xD800, 0xDFFF, 0x10FFFF

STEPS_BEFORE_SEEK = 8
"""Rows of one common prefix passed over one by one before seeking past them all: a seek costs about as much."""


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
class Roll(Generic[T]):
    """How to roll rows up. `seek` yields the rows from a key on (inclusive), within the prefix, in order."""

    prefix: str
    delimiter: str
    limit: int
    key_of: Callable[[T], str]
    seek: Callable[[str], Iterable[T]]

    def page(self, first: Iterable[T]) -> Rolled[T]:
        """Gather one page from the rows of `first` on."""
        page: Rolled[T] = Rolled()
        rows: Iterable[T] | None = first if self.limit > 0 else None
        while rows is not None:
            past = self._gather(page, rows)
            rows = None if past is None else self.seek(past)
        return page

    def _gather(self, page: Rolled[T], rows: Iterable[T]) -> str | None:
        """Take rows until the page is full or they end; return the key to seek to when a prefix is long."""
        inside, steps = None, 0
        for row in rows:
            key = self.key_of(row)
            if inside is not None and key.startswith(inside):
                steps += 1
                if steps >= STEPS_BEFORE_SEEK:
                    return successor(inside)
                continue
            if len(page) == self.limit:
                page.more = True
                return None
            inside, steps = common_prefix(key, self.prefix, self.delimiter), 0
            if inside is None:
                page.rows.append(row)
            else:
                page.prefixes.append(inside)
            page.ends_in_prefix = inside is not None
        return None
