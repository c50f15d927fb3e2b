"""Namespaces, warehouses and the places of tables, as operations on values."""

import pytest

from lakeshare.tables.errors import BadRequest, NamespaceExists, NamespaceNotEmpty, NoSuchNamespace, WarehouseExists
from lakeshare.tables.model.entries import EntryKind
from lakeshare.tables.model.jobs import JOBS, JobKind
from lakeshare.tables.model.names import Identifier
from lakeshare.tables.operations import namespaces, tables, warehouses
from lakeshare.tables.operations.history import forget_history
from lakeshare.tables.records import LOCATIONS, METADATA_FILES, NAMES, POINTERS, VERSIONS
from tests.tables.estate import Estate, anything


async def test_a_namespace_goes_when_it_is_empty():
    """Tables and namespaces below keep a namespace from being dropped, and what is not there cannot be."""
    estate = Estate()
    await estate.table()
    warehouse = await estate.warehouse()
    with pytest.raises(NamespaceNotEmpty):
        await namespaces.drop_namespace(estate.room, namespaces.DropNamespace(warehouse, ("ns",)))
    with pytest.raises(NamespaceExists):
        await namespaces.create_namespace(estate.room, namespaces.CreateNamespace(warehouse, ("ns",), {}))
    with pytest.raises(NoSuchNamespace):
        await namespaces.drop_namespace(estate.room, namespaces.DropNamespace(warehouse, ("none",)))


async def test_a_drop_leaves_a_job_and_nothing_else():
    """A table that is dropped leaves a job in the same transaction, which finds its history; all else is gone."""
    estate = Estate()
    made = await estate.table()
    warehouse = await estate.warehouse()
    target = await estate.room.catalog.target(warehouse, Identifier(("ns",), "t"), EntryKind.TABLE)
    await tables.drop(estate.room, tables.Drop(target, "root", purge=True))
    for space in (NAMES, POINTERS, LOCATIONS, METADATA_FILES):
        assert [each async for each in space.all(estate.state)] == []
    (job,) = [each.value async for each in JOBS.all(estate.state)]
    assert (job.kind, job.uuid, job.name) == (JobKind.PURGE_TABLE, made.uuid, "ns.t")
    assert (job.metadata_location, job.metadata_etag) == (made.pointer.metadata_location, made.pointer.metadata_etag)
    await forget_history(estate.state, job.history)
    assert [each async for each in VERSIONS.all(estate.state)] == []


async def test_a_table_that_keeps_its_files_is_not_purged():
    """A purge is refused where gc.enabled is false, and a drop is not."""
    estate = Estate()
    await estate.table(properties={"gc.enabled": "false"})
    warehouse = await estate.warehouse()
    target = await estate.room.catalog.target(warehouse, Identifier(("ns",), "t"), EntryKind.TABLE)
    with pytest.raises(BadRequest, match=r"gc\.enabled"):
        await tables.drop(estate.room, tables.Drop(target, "root", purge=True))
    await tables.drop(estate.room, tables.Drop(target, "root"))


async def test_another_worker_sees_it_at_once():
    """What one worker changed, another finds in its next question: names, pointers, listings and warehouses."""
    estate = Estate()
    await estate.table("a")
    other = estate.beside()
    warehouse = await other.warehouse()
    listed = await other.room.catalog.listing(warehouse, ("ns",), EntryKind.TABLE)
    assert list(listed.names) == ["a"]
    found = await other.room.catalog.find(warehouse, Identifier(("ns",), "a"), EntryKind.TABLE)
    assert found is not None
    await estate.table("b")
    target = await estate.room.catalog.target(warehouse, Identifier(("ns",), "a"), EntryKind.TABLE)
    await tables.rename(estate.room, tables.Rename(target, Identifier(("ns",), "c"), "root"))
    listed = await other.room.catalog.listing(warehouse, ("ns",), EntryKind.TABLE)
    assert list(listed.names) == ["b", "c"]
    assert await other.room.catalog.find(warehouse, Identifier(("ns",), "a"), EntryKind.TABLE) is None
    again = await other.room.catalog.find(warehouse, Identifier(("ns",), "c"), EntryKind.TABLE)
    assert again is not None
    assert again.uuid == found.uuid


async def test_a_warehouse_that_leaves_is_not_made_again():
    """While a warehouse is purged its name is taken, and its job is in state."""
    estate = Estate()
    await estate.table()
    await warehouses.delete_warehouse(estate.room, warehouses.DeleteWarehouse("lake", "root", purge=True, force=True))
    with pytest.raises(WarehouseExists, match="is being removed"):
        await warehouses.create_warehouse(estate.room, warehouses.CreateWarehouse("lake", "root"), anything)
    (job,) = [each.value async for each in JOBS.all(estate.state)]
    assert (job.kind, job.bucket) == (JobKind.PURGE_WAREHOUSE, "lake")
