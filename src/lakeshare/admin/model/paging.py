"""Pages of lists that are in order of names."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

T = TypeVar("T")

PAGE_LIMIT = 1000


@dataclass(frozen=True, slots=True)
class Page:
    """How many, and after which name."""

    limit: int = PAGE_LIMIT
    after: str = ""


@dataclass(frozen=True, slots=True)
class Taken(Generic[T]):
    """One page; `next` is the name to go on after, and empty at the end."""

    items: tuple[T, ...]
    next: str = ""


def take(items: Iterable[T], name: Callable[[T], str], page: Page) -> Taken[T]:
    """Return a page of items that come by name."""
    found = list(islice((item for item in items if name(item) > page.after), page.limit + 1))
    kept = tuple(found[: page.limit])
    return Taken(kept, name(kept[-1]) if len(found) > page.limit else "")
