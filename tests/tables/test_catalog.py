"""What a worker remembers of tables: never older than anything that was answered."""

import asyncio
from collections.abc import Mapping, Sequence

from lakeshare.state.keys import Key
from lakeshare.state.port import Record
from lakeshare.tables.catalog import Catalog
from lakeshare.tables.model.entries import EntryKind, Warehouse
from lakeshare.tables.model.names import Identifier
from lakeshare.tables.model.targets import Found
from lakeshare.tables.operations.commit import commit
from tests.tables.estate import Estate, FaultyState

TABLE = Identifier(("ns",), "t")


class Slow(Catalog):
    """A catalog whose reads take until a test lets them go on, and then return what they saw at first."""

    def __init__(self, state: FaultyState) -> None:
        super().__init__(state)
        self.read, self.go_on = asyncio.Event(), asyncio.Event()

    async def find_now(self, warehouse: Warehouse, identifier: Identifier, kind: EntryKind) -> Found | None:
        found = await super().find_now(warehouse, identifier, kind)
        self.read.set()
        await self.go_on.wait()
        return found


class Counting(FaultyState):
    """State that counts how often records are read."""

    asked = 0

    async def get(self, keys: Sequence[Key]) -> Mapping[Key, Record | None]:
        self.asked += 1
        return await super().get(keys)


async def found_in(catalog: Catalog, warehouse: Warehouse) -> str:
    found = await catalog.find(warehouse, TABLE, EntryKind.TABLE)
    assert found is not None
    return found.value.metadata_location


async def test_a_commit_of_another_worker_is_seen_at_once():
    """A table that is remembered is found anew after a commit, of this worker or of another."""
    estate = Estate()
    await estate.table()
    warehouse = await estate.warehouse()
    before = await found_in(estate.room.catalog, warehouse)
    other = estate.beside()
    (step,) = await commit(other.room, await other.setting("a", "t"))
    assert await found_in(estate.room.catalog, warehouse) == step.pointer.metadata_location != before


async def test_what_was_read_before_a_commit_is_not_remembered_after_it():
    """A read that began before a commit and ended after it is not what the next request is told."""
    estate = Estate()
    await estate.table()
    warehouse = await estate.warehouse()
    slow = Slow(estate.state)
    early = asyncio.create_task(found_in(slow, warehouse))
    await slow.read.wait()
    (step,) = await commit(estate.room, await estate.setting("a", "t"))
    slow.go_on.set()
    late = await found_in(slow, warehouse)
    await early
    assert late == step.pointer.metadata_location
    assert await found_in(slow, warehouse) == step.pointer.metadata_location


async def test_nothing_is_read_while_nothing_is_committed():
    """Tables that are remembered are not read again until something is committed."""
    state = Counting()
    estate = Estate(state)
    await estate.table()
    warehouse = await estate.warehouse()
    await found_in(estate.room.catalog, warehouse)
    asked = state.asked
    for _ in range(5):
        await found_in(estate.room.catalog, warehouse)
    assert state.asked == asked
