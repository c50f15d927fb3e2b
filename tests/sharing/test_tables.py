"""Tables that are asked for again: what was seen of a log saves work, and never hides a commit."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lakeshare.sharing.errors import TableBroken
from lakeshare.sharing.inspector import OwnStore
from lakeshare.sharing.model.places import DeltaPlace
from lakeshare.sharing.tables import SEEN_ENTRIES, Tables
from lakeshare.storage.memory import MemoryStore
from lakeshare.storage.port import Delete, Listing
from tests.admin.tables import COMMIT
from tests.sharing.logs import add, write

PLACE = DeltaPlace("lake", "t")


@pytest.fixture
async def store() -> MemoryStore:
    """A store with a table of two versions."""
    store = MemoryStore()
    await store.create_bucket("lake")
    await write(store, 0, *COMMIT)
    await write(store, 1, add("a"))
    return store


@pytest.fixture
async def tables(store: MemoryStore, tmp_path: Path) -> AsyncIterator[Tables]:
    """The tables of one worker."""
    found = Tables(OwnStore(store), tmp_path / "tables")
    yield found
    await found.close()


async def clear(store: MemoryStore) -> None:
    page = await store.list(Listing("lake", "t/"))
    await store.delete("lake", [Delete(entry.key) for entry in page.objects])


async def paths(tables: Tables) -> list[str]:
    snapshot = await tables.open(PLACE)
    batches = snapshot.files.everything().batches(("path",))
    return sorted(path for batch in batches for path in batch.column("path").to_pylist())


async def test_a_log_that_is_as_it_was_is_the_same_snapshot(tables: Tables):
    """A table that nothing was committed to is not looked into again."""
    first = await tables.open(PLACE)
    assert [await tables.open(PLACE) for _ in range(3)] == [first] * 3
    assert await tables.latest(PLACE) == 1


async def test_each_commit_is_in_the_next_answer(store: MemoryStore, tables: Tables):
    """However often a table was asked for, the next answer has what was committed meanwhile."""
    for version in range(2, 8):
        await write(store, version, add(f"file-{version}"))
        for _ in range(3):
            assert await tables.latest(PLACE) == version
            assert f"file-{version}" in await paths(tables)


async def test_a_version_is_known_of_a_table_that_was_never_opened(store: MemoryStore, tables: Tables):
    """Versions alone are followed too."""
    for version in range(2, 8):
        assert [await tables.latest(PLACE) for _ in range(3)] == [version - 1] * 3
        await write(store, version, add(f"file-{version}"))
    await write(store, 8)
    await write(store, 9)
    assert await tables.latest(PLACE) == 9


@pytest.mark.parametrize("opened", [True, False])
async def test_a_table_made_again_at_its_path_is_another(store: MemoryStore, tables: Tables, *, opened: bool):
    """A table that was removed is no more; one made again with fewer versions, or as many, is told from it."""
    await write(store, 2, add("b"))
    for _ in range(3):
        assert await tables.latest(PLACE) == 2
        assert not opened or await paths(tables) == ["a", "b"]
    await clear(store)
    with pytest.raises(TableBroken):
        await tables.latest(PLACE)
    with pytest.raises(TableBroken):
        await tables.open(PLACE)
    await write(store, 0, *COMMIT)
    await write(store, 1, add("new"))
    assert await tables.latest(PLACE) == 1
    assert await paths(tables) == ["new"]
    await write(store, 2, add("newer"))
    assert await tables.latest(PLACE) == 2
    assert await paths(tables) == ["new", "newer"]


async def test_a_commit_that_was_changed_is_read_again(store: MemoryStore, tables: Tables):
    """Other bytes under the name of a commit are another table, though no version is new."""
    for _ in range(3):
        assert await paths(tables) == ["a"]
    await write(store, 1, add("changed"))
    assert await tables.latest(PLACE) == 1
    assert await paths(tables) == ["changed"]


async def test_long_logs_are_followed_too(store: MemoryStore, tables: Tables):
    """A log of more files than are remembered is looked through each time."""
    for version in range(2, SEEN_ENTRIES + 5):
        await write(store, version, add(f"file-{version}"))
    for _ in range(3):
        assert await tables.latest(PLACE) == SEEN_ENTRIES + 4
        assert len(await paths(tables)) == SEEN_ENTRIES + 4
    await write(store, SEEN_ENTRIES + 5, add("last"))
    assert "last" in await paths(tables)
    assert await tables.latest(PLACE) == SEEN_ENTRIES + 5
