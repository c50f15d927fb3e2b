"""Files that nothing refers to."""

from dataclasses import replace

import pytest

from lakeshare.state.port import Transaction
from lakeshare.tables.maintenance.choices import Activity, settled
from lakeshare.tables.maintenance.orphans import Current, References, unreferenced
from lakeshare.tables.maintenance.records import DUE, ENDED
from lakeshare.tables.maintenance.runner import run_due
from lakeshare.tables.maintenance.running import dry_run, folder_of
from tests.tables.maintenance.kit import DAY, Lake, Table

UNREFERENCED = Activity.UNREFERENCED


@pytest.fixture
async def lake() -> Lake:
    """A catalog."""
    return await Lake().open()


async def littered(lake: Lake, **properties: str) -> Table:
    """Make a table with a snapshot, statistics, and two files of writers that failed, one of them young."""
    table = await lake.table(**properties)
    await table.append("a.parquet")
    location = await table.location()
    for name in ("data/lost.parquet", "metadata/lost.avro", "stats/s.puffin", "stats/p.parquet"):
        await lake.write(f"{location}/{name}", b"x" * 10)
    await table.commit(
        {
            "action": "set-statistics",
            "statistics": {
                "snapshot-id": 1,
                "statistics-path": f"s3a://{location.removeprefix('s3://')}/stats//s.puffin",
                "file-size-in-bytes": 10,
                "file-footer-size-in-bytes": 1,
                "blob-metadata": [],
            },
        },
        {
            "action": "set-partition-statistics",
            "partition-statistics": {
                "snapshot-id": 1,
                "statistics-path": f"{location}/stats/p.parquet",
                "file-size-in-bytes": 10,
            },
        },
    )
    lake.clock.now += 4 * DAY
    await lake.write(f"{location}/data/young.parquet", b"x")
    return table


async def test_old_files_that_nothing_refers_to_are_deleted(lake: Lake):
    """Young files, files of snapshots, metadata of the log and statistics stay, under whatever spelling."""
    table = await littered(lake)
    before = set(await table.files())
    said = await dry_run(lake.room, await table.found(), UNREFERENCED, settled([]))
    await lake.ask(table, UNREFERENCED)
    await run_due(lake.room)
    gone = before - set(await table.files())
    assert gone == {"data/lost.parquet", "metadata/lost.avro"}
    location = await table.location()
    assert {uri.removeprefix(location + "/") for uri in said.files} == gone
    assert said.tally.unreferenced == 2
    assert said.tally.bytes == 20
    ended = await ENDED.get(lake.state, lake.warehouse.id, (await table.found()).uuid, UNREFERENCED.value)
    assert ended is not None
    assert ended.value.tally.unreferenced == 2
    assert len((await table.metadata()).snapshots) == 1


async def test_files_of_other_tables_are_not_looked_at(lake: Lake):
    """What lies beside the location, even under a name that begins like it, stays."""
    table = await littered(lake)
    location = await table.location()
    await lake.write(f"{location}0/data/lost.parquet", b"x")
    lake.clock.now += 10 * DAY
    await lake.ask(table, UNREFERENCED)
    await run_due(lake.room)
    assert any(key.endswith("0/data/lost.parquet") for key in await lake.keys())


async def test_what_is_committed_while_files_are_looked_through_is_spared(lake: Lake):
    """A writer that comes late with old files finds them where it left them."""
    table = await littered(lake)
    found, folder = await table.found(), folder_of(lake.room, await table.found())
    looks = 0

    async def look() -> Current:
        nonlocal looks
        looks += 1
        if looks == 2:
            await table.append("lost.parquet")
        return Current(await table.metadata(), (await table.found()).value.metadata_location)

    assert found
    references = References(folder, look)
    gone = [entry.key async for _, page in unreferenced(folder, references, 2**60) for entry in page]
    names = {key.removeprefix(folder.prefix) for key in gone}
    assert "data/lost.parquet" not in names
    assert "metadata/lost.avro" in names


async def test_a_run_goes_on_where_the_one_before_it_stopped(lake: Lake):
    """What lies before the place that was written down is not looked at again."""
    table = await littered(lake)
    await lake.ask(table, UNREFERENCED)
    (due,) = (await DUE.page(lake.state)).items
    folder = folder_of(lake.room, await table.found())
    put = DUE.put(replace(due.value, cursor=f"{folder.prefix}data/~"), *due.key[len(DUE.prefix) :])
    await lake.state.commit(Transaction(changes=(put,)))
    await run_due(lake.room)
    files = await table.files()
    assert "data/lost.parquet" in files
    assert "metadata/lost.avro" not in files


async def test_a_table_that_does_not_own_its_files_is_left_alone(lake: Lake):
    """With gc.enabled=false nothing is unreferenced."""
    table = await littered(lake, **{"gc.enabled": "false"})
    before = await table.files()
    await lake.ask(table, UNREFERENCED)
    await run_due(lake.room)
    assert await table.files() == before


async def test_nothing_is_deleted_where_a_manifest_is_missing(lake: Lake):
    """A table that cannot be read whole keeps everything."""
    table = await littered(lake)
    location = await table.location()
    await lake.write(f"{location}/metadata/m1.avro", b"")
    before = await table.files()
    await lake.ask(table, UNREFERENCED)
    for _ in range(6):
        await run_due(lake.room)
        lake.clock.now += 3_600
    assert await table.files() == before
    ended = await ENDED.get(lake.state, lake.warehouse.id, (await table.found()).uuid, UNREFERENCED.value)
    assert ended is not None
    assert "m1.avro" in ended.value.failure
