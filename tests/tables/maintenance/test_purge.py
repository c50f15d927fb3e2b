"""What drops and removals leave to do."""

import json
from typing import Any

import pytest

from lakeshare.formats.iceberg.creating import parse_create_table
from lakeshare.formats.iceberg.table import encode_table
from lakeshare.state.port import Transaction
from lakeshare.storage.errors import NoSuchBucket
from lakeshare.storage.port import Delete
from lakeshare.tables.errors import BadRequest
from lakeshare.tables.maintenance.choices import Activity, Choices
from lakeshare.tables.maintenance.records import CHOICES
from lakeshare.tables.maintenance.runner import run_due, run_jobs
from lakeshare.tables.model.entries import EntryKind
from lakeshare.tables.model.jobs import JOBS
from lakeshare.tables.model.names import Identifier
from lakeshare.tables.model.targets import Target
from lakeshare.tables.operations import publish
from lakeshare.tables.operations.tables import CreateTable, Register, create_table, register
from lakeshare.tables.operations.warehouses import DeleteWarehouse, delete_warehouse
from lakeshare.tables.records import LOCATIONS, NAMES, POINTERS, TABLES, VERSIONS
from tests.tables.estate import anything
from tests.tables.maintenance.kit import DAY, SCHEMA, Lake, Table


@pytest.fixture
async def lake() -> Lake:
    """A catalog."""
    return await Lake().open()


async def drop(table: Table, *, purge: bool) -> None:
    """Drop a table."""
    plan = publish.drop(await table.found(), "tests", table.lake.room.now_ms(), purge=purge)
    await table.lake.state.commit(Transaction(plan.expect, plan.changes))


async def test_a_purge_removes_all_that_lies_below_the_location(lake: Lake):
    """Data, manifests, lists, metadata, and what failed writers left: all go, and so does the version log."""
    table, other = await lake.table("t"), await lake.table("other")
    for each in (table, other):
        await each.append("a.parquet")
    await lake.write(f"{await table.location()}/data/lost.parquet", b"x")
    kept = len(await other.files())
    history = (await table.found()).value.history
    await drop(table, purge=True)
    assert await run_jobs(lake.room) == 1
    assert len(await lake.keys()) == kept == len(await other.files())
    assert not (await VERSIONS.page(lake.state, history)).items
    assert not (await JOBS.page(lake.state)).items


async def test_a_drop_without_purge_keeps_every_file(lake: Lake):
    """Only what state kept of the table is forgotten."""
    table = await lake.table()
    await table.append("a.parquet")
    before, found = await lake.keys(), await table.found()
    put = CHOICES.put(Choices(snapshots_enabled=True), "table", lake.warehouse.id, found.uuid)
    await lake.state.commit(Transaction(changes=(put,)))
    await drop(table, purge=False)
    await run_jobs(lake.room)
    assert await lake.keys() == before
    assert not (await VERSIONS.page(lake.state, found.value.history)).items
    assert await CHOICES.get(lake.state, "table", lake.warehouse.id, found.uuid) is None


async def test_a_table_that_does_not_own_its_files_loses_none(lake: Lake):
    """With gc.enabled=false a purge is a drop."""
    table = await lake.table(**{"gc.enabled": "false"})
    await table.append("a.parquet")
    before = await lake.keys()
    await drop(table, purge=True)
    await run_jobs(lake.room)
    assert await lake.keys() == before


async def test_files_that_are_gone_already_are_no_failure(lake: Lake):
    """Some clients delete files themselves, metadata too."""
    table = await lake.table()
    await table.append("a.parquet")
    await lake.store.delete("wh-1", [Delete(key) for key in await lake.keys() if not key.endswith("a.parquet")])
    await drop(table, purge=True)
    await run_jobs(lake.room)
    assert await lake.keys() == []


async def test_a_table_that_was_registered_again_keeps_its_files(lake: Lake):
    """Between a drop and its purge a location may have become a table's again: then nothing is removed."""
    table = await lake.table()
    await table.append("a.parquet")
    found = await table.found()
    await drop(table, purge=True)
    target = Target(lake.warehouse, table.identifier, EntryKind.TABLE, None)
    await register(lake.room, Register(target, found.value.metadata_location, "tests"), anything)
    before = await lake.keys()
    await run_jobs(lake.room)
    assert await lake.keys() == before
    assert not (await JOBS.page(lake.state)).items
    assert (await table.metadata()).current_snapshot_id == 1


async def test_metadata_of_another_table_outlives_everything(lake: Lake):
    """A metadata file that a pointer refers to stays, in whichever folder: neither purge nor a search removes it."""
    place = "s3://wh-1/shared/folder"
    keeper = await lake.table("keeper", **{"write.metadata.path": f"{place}/metadata"})
    body = {"name": "around", "schema": SCHEMA, "location": place}
    identifier = Identifier(("ns",), "around")
    await create_table(lake.room, CreateTable(lake.warehouse, identifier, parse_create_table(body), "tests"))
    table = Table(lake, identifier)
    await table.append("a.parquet")
    lake.clock.now += 30 * DAY
    await lake.ask(table, Activity.UNREFERENCED)
    await run_due(lake.room)
    await keeper.commit({"action": "set-properties", "updates": {"a": "b"}})
    await drop(table, purge=True)
    await run_jobs(lake.room)
    assert (await Lake.room_beside(lake).files.table((await keeper.found()).value)).properties["a"] == "b"


async def test_a_log_that_another_hand_wrote_removes_nothing_elsewhere(lake: Lake):
    """Of the metadata files that fall off a log, those go that lie below the table's own location."""
    victim = await lake.table("victim")
    theirs = (await victim.found()).value.metadata_location
    table = await lake.table("t", **{"write.metadata.delete-after-commit.enabled": "true"})
    found = await table.found()
    document = json.loads(encode_table(await table.metadata()))
    document["properties"]["write.metadata.previous-versions-max"] = "1"
    document["metadata-log"] = [{"metadata-file": theirs, "timestamp-ms": document["last-updated-ms"]}]
    crafted = f"{await table.location()}/metadata/00007-crafted.metadata.json"
    await lake.write(crafted, json.dumps(document).encode())
    target = Target(lake.warehouse, table.identifier, EntryKind.TABLE, found)
    await register(lake.room, Register(target, crafted, "tests", overwrite=True), anything)
    for value in "abc":
        await table.commit({"action": "set-properties", "updates": {"a": value}})
    assert (await Lake.room_beside(lake).files.table((await victim.found()).value)).uuid
    assert crafted.removeprefix("s3://wh-1/") not in await lake.keys()


async def test_a_purge_that_fails_is_tried_again_later(lake: Lake, monkeypatch: pytest.MonkeyPatch):
    """A failure is written down with its job, which waits longer each time."""
    table = await lake.table()
    await drop(table, purge=True)

    async def fail(*_: object) -> None:
        raise NoSuchBucket("wh-1")

    with monkeypatch.context() as broken:
        broken.setattr(lake.store, "delete", fail)
        await run_jobs(lake.room)
    (job,) = (await JOBS.page(lake.state)).items
    assert job.value.attempts == 1
    assert "wh-1" in job.value.last_error
    assert await run_jobs(lake.room) == 0
    lake.clock.now += 60
    assert await run_jobs(lake.room) == 1
    assert await lake.keys() == []


async def test_a_warehouse_goes_with_everything_in_it(lake: Lake):
    """Tables, versions, claims, objects, the bucket and the record itself are removed, and the name is free again."""
    table = await lake.table()
    await table.append("a.parquet")
    await lake.write("s3://wh-1/other/object", b"x")
    await delete_warehouse(lake.room, DeleteWarehouse("wh-1", "tests", purge=True, force=True))
    await run_jobs(lake.room)
    with pytest.raises(NoSuchBucket):
        await lake.store.bucket("wh-1")
    for space in (NAMES, POINTERS, VERSIONS, LOCATIONS):
        assert not (await space.page(lake.state)).items
    assert not (await lake.state.scan(TABLES, None, 10)).records
    await Lake.open(lake)


async def test_a_location_is_nobodys_while_its_files_go(lake: Lake, monkeypatch: pytest.MonkeyPatch):
    """A table cannot be registered in a location that is being purged; it is free again afterwards."""
    table = await lake.table()
    await table.append("a.parquet")
    found = await table.found()
    await drop(table, purge=True)
    target = Target(lake.warehouse, table.identifier, EntryKind.TABLE, None)
    delete = lake.store.delete

    async def register_first(*arguments: Any) -> Any:
        with pytest.raises(BadRequest, match="lies inside another table's"):
            await register(lake.room, Register(target, found.value.metadata_location, "tests"), anything)
        return await delete(*arguments)

    monkeypatch.setattr(lake.store, "delete", register_first)
    await run_jobs(lake.room)
    assert await lake.keys() == []
    assert not (await LOCATIONS.page(lake.state)).items
