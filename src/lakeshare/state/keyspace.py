"""A keyspace: the keys under one prefix whose values are all dataclasses of one kind.

A room declares its keyspaces once, and then speaks of its own values:

    SHARES = Keyspace(("share",), Share)

    stored = await SHARES.get(state, "sales")
    outcome = await state.commit(Transaction(
        expect=(stored.unchanged,), changes=(SHARES.put(renamed, "turnover"), SHARES.delete("sales"))))
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from lakeshare.state.codec import decode, encode, reader
from lakeshare.state.errors import CorruptValue
from lakeshare.state.keys import Key, Part
from lakeshare.state.limits import MAX_PAGE_ROWS
from lakeshare.state.port import Absent, At, Delete, Empty, Exists, Put, Record, State

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Stored(Generic[T]):
    """A value as it was read, with what a later commit needs to know that it has not changed."""

    key: Key
    value: T
    generation: int

    @property
    def unchanged(self) -> At:
        """Expect that nobody has written it since it was read."""
        return At(self.key, self.generation)

    @property
    def name(self) -> Part:
        """Return the last part of the key."""
        return self.key[-1]


@dataclass(frozen=True, slots=True)
class StoredPage(Generic[T]):
    """Values in order of their keys. `next_after` goes on where it ends, None is the end."""

    items: Sequence[Stored[T]]
    next_after: Key | None = None


@dataclass(frozen=True, slots=True)
class Keyspace(Generic[T]):
    """All keys under `prefix`, each with a value of `kind`. The parts after the prefix are what its methods take."""

    prefix: Key
    kind: type[T]

    def __post_init__(self) -> None:
        """Refuse at once a kind that cannot be stored."""
        reader(self.kind)

    def key(self, *parts: Part) -> Key:
        """Name one value."""
        return self.prefix + parts

    def put(self, value: T, *parts: Part) -> Put:
        """Set one value."""
        return Put(self.prefix + parts, encode(value))

    def delete(self, *parts: Part) -> Delete:
        """Remove one value."""
        return Delete(self.prefix + parts)

    def absent(self, *parts: Part) -> Absent:
        """Expect that there is no such value."""
        return Absent(self.prefix + parts)

    def exists(self, *parts: Part) -> Exists:
        """Expect the value, whatever it is."""
        return Exists(self.prefix + parts)

    def empty(self, *parts: Part) -> Empty:
        """Expect that nothing lies under these parts."""
        return Empty(self.prefix + parts)

    def read(self, record: Record) -> Stored[T]:
        """Decode a record. Raises CorruptValue."""
        try:
            return Stored(record.key, decode(self.kind, record.value), record.generation)
        except ValueError as error:
            raise CorruptValue(record.key, str(error)) from error

    async def get(self, state: State, *parts: Part) -> Stored[T] | None:
        """Return one value."""
        key = self.prefix + parts
        record = (await state.get((key,)))[key]
        return None if record is None else self.read(record)

    async def page(
        self, state: State, *parts: Part, after: Key | None = None, limit: int = MAX_PAGE_ROWS
    ) -> StoredPage[T]:
        """Return one page of what lies under these parts."""
        page = await state.scan(self.prefix + parts, after, limit)
        return StoredPage([self.read(record) for record in page.records], page.next_after)

    async def all(self, state: State, *parts: Part) -> AsyncIterator[Stored[T]]:
        """Yield everything under these parts, a page at a time: each page is one moment, the whole is not."""
        after: Key | None = None
        while True:
            page = await self.page(state, *parts, after=after)
            for item in page.items:
                yield item
            if (after := page.next_after) is None:
                return
