"""Tables are opened before they are shared."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lakeshare.sharing.errors import IcebergNotShared, NoTableThere, SourceUnreachable, TableUnreadable
from lakeshare.sharing.inspection import OpenedTables
from lakeshare.sharing.inspector import OwnStore
from lakeshare.sharing.model.places import DeltaPlace, UniformPlace
from lakeshare.sharing.tables import Tables
from lakeshare.storage.memory import MemoryStore
from tests.admin.tables import COMMIT
from tests.sharing.logs import add, write

PLACE = DeltaPlace("lake", "t")


@pytest.fixture
async def store() -> MemoryStore:
    """A store with a bucket."""
    store = MemoryStore()
    await store.create_bucket("lake")
    return store


@pytest.fixture
async def inspector(store: MemoryStore, tmp_path: Path) -> AsyncIterator[OpenedTables]:
    """An inspector over the store."""
    tables = Tables(OwnStore(store), tmp_path / "tables")
    yield OpenedTables(tables)
    await tables.close()


def part(number: int, size: int) -> dict[str, dict[str, object]]:
    return add(f"part-{number}.parquet", size)


async def test_a_table_is_reported_as_it_is(store: MemoryStore, inspector: OpenedTables):
    """The newest version, the files with their sizes and whether changes are recorded are found."""
    protocol, metadata = json.loads(json.dumps(COMMIT))
    metadata["metaData"]["configuration"] = {"delta.enableChangeDataFeed": "true"}
    await write(store, 0, protocol, metadata)
    await write(store, 1, part(1, 1000), part(2, 500))
    found = await inspector.inspect(PLACE)
    assert (found.version, found.files, found.size_bytes, found.changes_recorded) == (1, 2, 1500, True)
    assert (found.min_reader_version, found.features, found.warnings) == (1, (), ())


async def test_rows_are_counted_where_every_file_says_how_many_it_has(store: MemoryStore, inspector: OpenedTables):
    """The rows of all files but those that vectors take away; without statistics nothing is claimed."""
    features = ["deletionVectors"]
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features}
    first, second = part(1, 10), part(2, 10)
    first["add"] |= {"stats": '{"numRecords":7}'}
    vector = {"storageType": "i", "pathOrInlineDv": "0" * 40, "sizeInBytes": 32, "cardinality": 2}
    second["add"] |= {"stats": '{"numRecords":5}', "deletionVector": vector}
    await write(store, 0, {"protocol": protocol}, COMMIT[1], first, second)
    assert (await inspector.inspect(PLACE)).rows == 10
    await write(store, 1, {"remove": {"path": "part-1.parquet", "dataChange": True}})
    assert (await inspector.inspect(PLACE)).rows == 3
    await write(store, 2, part(3, 10))
    assert (await inspector.inspect(PLACE)).rows is None


async def test_features_are_named(store: MemoryStore, inspector: OpenedTables):
    """What a reader must know is named, and of what the log alone needs nothing is said."""
    features = ["deletionVectors", "v2Checkpoint", "columnMapping"]
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features}
    await write(store, 0, {"protocol": protocol}, COMMIT[1])
    assert (await inspector.inspect(PLACE)).features == ("columnMapping", "deletionVectors")


async def test_small_files_are_warned_of(store: MemoryStore, inspector: OpenedTables):
    """Many small files are warned of, with what to do about them; few of them are not."""
    await write(store, 0, *COMMIT)
    await write(store, 1, *(part(number, 10_000) for number in range(100)))
    (warning,) = (await inspector.inspect(PLACE)).warnings
    assert "100 files of 9 KiB on average" in warning
    assert "OPTIMIZE" in warning


async def test_a_table_that_cannot_be_read_is_refused_with_the_reason(store: MemoryStore, inspector: OpenedTables):
    """A feature that is not known is refused by name, and so is a log with a gap."""
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["newThing"], "writerFeatures": []}
    await write(store, 0, {"protocol": protocol}, COMMIT[1])
    with pytest.raises(TableUnreadable, match="newThing"):
        await inspector.inspect(PLACE)
    await write(store, 0, *COMMIT)
    await write(store, 2, part(1, 1))
    with pytest.raises(TableUnreadable, match="commit 1 is missing"):
        await inspector.inspect(PLACE)


async def test_what_is_no_table_here_is_said_so(inspector: OpenedTables):
    """An empty place, a bucket that is not there, a remote source and an Iceberg table are each told apart."""
    for place, error in (
        (PLACE, NoTableThere),
        (DeltaPlace("nowhere", "t"), NoTableThere),
        (DeltaPlace("lake", "t", "elsewhere"), SourceUnreachable),
        (UniformPlace("w", ("n",), "t"), IcebergNotShared),
    ):
        with pytest.raises(error):
            await inspector.inspect(place)
