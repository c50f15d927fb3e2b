"""Facts that are read together and change together: all the records below a prefix, under one key, their epoch.

Every change writes the epoch. So records that were read page by page are those of one moment if it stood still
meanwhile, and a change that expects it as it was may rely on all that it read.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from lakeshare.state.decide import decide
from lakeshare.state.errors import Contended
from lakeshare.state.keys import Key
from lakeshare.state.port import Absent, At, Change, Put, Record, State, Transaction

T = TypeVar("T")
READ_ATTEMPTS = 8


@dataclass(frozen=True, slots=True)
class Plan(Generic[T]):
    """Changes, and what to answer once they are made."""

    changes: tuple[Change, ...]
    answer: T


@dataclass(frozen=True, slots=True)
class Epoch:
    """The key that every change of the records below a prefix writes."""

    prefix: Key
    key: Key

    def unchanged(self, seen: Record | None) -> At | Absent:
        """Expect that nothing has changed since the epoch was seen."""
        return Absent(self.key) if seen is None else At(self.key, seen.generation)

    async def read(self, state: State) -> tuple[dict[Key, Record], Record | None]:
        """Return all records as of one moment, and the epoch then. Raises Contended."""
        for _ in range(READ_ATTEMPTS):
            before = (await state.get((self.key,)))[self.key]
            records = await self._records(state)
            if (await state.get((self.key,)))[self.key] == before:
                return records, before
        raise Contended(READ_ATTEMPTS, (self.key,))

    async def change(self, state: State, planned: Callable[[], Awaitable[tuple[At | Absent, Plan[T]]]]) -> T:
        """Make the changes of a plan if nothing has changed since it was made, else plan again. Raises Contended."""
        answers: list[T] = []

        async def transaction() -> Transaction:
            unchanged, plan = await planned()
            answers[:] = [plan.answer]
            return Transaction((unchanged,), (*plan.changes, Put(self.key, b"")))

        await decide(state, transaction)
        return answers[0]

    async def _records(self, state: State) -> dict[Key, Record]:
        records: dict[Key, Record] = {}
        after: Key | None = None
        while True:  # ends with the last page: each page begins after the one before
            page = await state.scan(self.prefix, after)
            records.update((record.key, record) for record in page.records)
            if (after := page.next_after) is None:
                return records
