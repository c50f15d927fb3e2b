"""Commits of more tables than are written together: all of them or none, and no file of one that was refused."""

import pytest

from lakeshare.formats.iceberg.errors import RequirementFailed
from lakeshare.storage.errors import StoreFull
from lakeshare.storage.memory import MemoryStore
from lakeshare.storage.port import ObjectInfo, Put, Staging
from lakeshare.tables.operations.commit import WRITTEN_TOGETHER, Commit, commit
from tests.tables.estate import Estate

NAMES = [f"t{place}" for place in range(2 * WRITTEN_TOGETHER + 1)]
ANOTHER_UUID = {"type": "assert-table-uuid", "uuid": "00000000-0000-0000-0000-000000000000"}


class SmallStore(MemoryStore):
    """A store that is full after some more objects, and has room again for the one after."""

    room = 1_000

    async def put(self, put: Put, staging: Staging) -> ObjectInfo:
        self.room -= 1
        if not self.room:
            raise StoreFull(0, 1)
        return await super().put(put, staging)


async def with_tables(estate: Estate) -> Estate:
    for name in NAMES:
        await estate.table(name)
    return estate


async def test_many_tables_change_together():
    """A commit of more tables than are written together changes each of them, and answers them in their order."""
    estate = await with_tables(Estate())
    steps = await commit(estate.room, await estate.setting("a", *NAMES))
    assert [step.pointer.name for step in steps] == NAMES
    for name in NAMES:
        assert "a" in await estate.properties(name)


async def test_a_refusal_of_the_last_leaves_nothing():
    """Where the last table refuses, no table changes, and no metadata file is left behind."""
    estate = await with_tables(Estate())
    before = await estate.files()
    mine = await estate.setting("a", *NAMES[:-1])
    last = await estate.change(NAMES[-1], [ANOTHER_UUID], {"action": "set-properties", "updates": {"a": "x"}})
    with pytest.raises(RequirementFailed):
        await commit(estate.room, Commit((*mine.changes, last), "root"))
    assert await estate.files() == before
    assert "a" not in await estate.properties(NAMES[0])


@pytest.mark.parametrize("written", [1, 3, WRITTEN_TOGETHER + 2])
async def test_a_file_that_cannot_be_written_leaves_nothing(written: int):
    """Where one file cannot be written, those that are written at the same time are taken away too."""
    store = SmallStore()
    estate = await with_tables(Estate(store=store))
    before = await estate.files()
    store.room = written
    with pytest.raises(StoreFull):
        await commit(estate.room, await estate.setting("a", *NAMES))
    assert await estate.files() == before
    assert "a" not in await estate.properties(NAMES[0])
