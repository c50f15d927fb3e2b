"""What needs compaction."""

import pytest

from lakeshare.formats.iceberg_files.retention import Retention
from lakeshare.tables.maintenance.report import Needs, needs_of
from lakeshare.tables.maintenance.running import folder_of
from tests.tables.maintenance.kit import DAY, Lake, Table


@pytest.fixture
async def lake() -> Lake:
    """A catalog."""
    return await Lake().open()


async def needs(table: Table) -> Needs:
    """Look through a table."""
    room = table.lake.room
    return await needs_of(folder_of(room, await table.found()), await table.metadata(), Retention(), room.now_ms())


async def test_an_empty_table_needs_nothing(lake: Lake):
    """Without a snapshot there is nothing to look through."""
    found = await needs(await lake.table())
    assert found.advice == ()
    assert found.snapshot_id is None


async def test_small_files_and_manifests_are_counted(lake: Lake):
    """A file under three quarters of the target is small; enough of them are worth a rewrite."""
    table = await lake.table(**{"write.target-file-size-bytes": "2000"})
    for number in range(10):
        await table.append(f"{number}.parquet")
    await table.append("large.parquet", file_size_in_bytes=1_600)
    found = await needs(table)
    assert (found.data_files, found.small_files, found.records) == (11, 10, 110)
    assert found.small_bytes == 10_000
    assert found.manifests == found.small_manifests == 11
    assert found.advice == ("rewrite data files: 10 of 11 are small", "rewrite manifests: 11 of 11 are small")


async def test_delete_files_are_told_apart(lake: Lake):
    """Equality deletes cost every reader, position deletes once they are many."""
    table = await lake.table()
    await table.append("a.parquet", file_size_in_bytes=10**9)
    await table.append("p.parquet", content=1, record_count=2)
    await table.append("e.parquet", content=2)
    await table.append("gone.parquet", status=2)
    lake.clock.now += 10 * DAY
    found = await needs(table)
    assert (found.data_files, found.position_delete_files, found.equality_delete_files) == (1, 1, 1)
    assert found.deleted_records == 2
    assert [line.split(":")[1].split()[0] for line in found.advice] == ["1", "2", "3"]
