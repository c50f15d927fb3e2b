"""Snapshot expiry, from what is due to the last file."""

import pytest

from lakeshare.errors import LakeshareError
from lakeshare.formats.iceberg.errors import RequirementFailed
from lakeshare.formats.iceberg_files.retention import Retention
from lakeshare.state.port import Transaction
from lakeshare.tables.maintenance.choices import Activity, Choices, settled
from lakeshare.tables.maintenance.expiry import planned, remove_snapshots
from lakeshare.tables.maintenance.operations import list_work
from lakeshare.tables.maintenance.records import CHOICES, DUE, ENDED
from lakeshare.tables.maintenance.runner import run_due, schedule
from lakeshare.tables.maintenance.running import dry_run
from lakeshare.tables.operations.publish import drop
from tests.formats.iceberg_files.manifests import entry, listed, manifest, manifest_list
from tests.tables.maintenance.kit import DAY, Lake, Table, without_metadata

SNAPSHOTS = Activity.SNAPSHOTS
DEFAULT = settled([])


@pytest.fixture
async def lake() -> Lake:
    """A catalog."""
    return await Lake().open()


async def aged(lake: Lake, **properties: str) -> Table:
    """Make a table with two old snapshots, the second of which replaced the files of the first, and a young one."""
    table = await lake.table(**properties)
    await table.append("a.parquet", "b.parquet")
    lake.clock.now += 3_600
    await table.append("c.parquet", replaces=True)
    lake.clock.now += 10 * DAY
    await table.append("d.parquet")
    return table


async def test_what_only_old_snapshots_reach_is_deleted(lake: Lake):
    """The snapshots go by a commit, then their lists, their manifests, and the files that no other has."""
    table = await aged(lake)
    await lake.ask(table, SNAPSHOTS)
    assert await run_due(lake.room) == 1
    metadata = await table.metadata()
    assert [each.id for each in metadata.snapshots] == [3]
    assert metadata.current_snapshot_id == 3
    assert without_metadata(await table.files()) == [
        "data/c.parquet",
        "data/d.parquet",
        "metadata/m2.avro",
        "metadata/m3.avro",
        "metadata/snap-3.avro",
    ]
    ended = await ENDED.get(lake.state, lake.warehouse.id, (await table.found()).uuid, SNAPSHOTS.value)
    assert ended is not None
    assert ended.value.failure == ""
    assert (ended.value.tally.snapshots, ended.value.tally.data_files, ended.value.tally.manifests) == (2, 2, 1)
    assert not (await DUE.page(lake.state)).items


async def test_a_dry_run_says_the_same_and_removes_nothing(lake: Lake):
    """What a dry run counts and names is what a run then removes."""
    table = await aged(lake)
    before = await table.files()
    said = await dry_run(lake.room, await table.found(), SNAPSHOTS, DEFAULT)
    assert await table.files() == before
    assert said.expiry.snapshot_ids == (1, 2)
    location = await table.location()
    assert sorted(uri.removeprefix(location + "/") for uri in said.files) == [
        "data/a.parquet",
        "data/b.parquet",
        "metadata/m1.avro",
        "metadata/snap-1.avro",
        "metadata/snap-2.avro",
    ]
    await lake.ask(table, SNAPSHOTS)
    await run_due(lake.room)
    assert set(before) - set(await table.files()) == {uri.removeprefix(location + "/") for uri in said.files}


async def test_a_tag_keeps_the_files_of_its_snapshot(lake: Lake):
    """A file that a tagged snapshot has stays."""
    table = await aged(lake)
    await table.commit({"action": "set-snapshot-ref", "ref-name": "audit", "type": "tag", "snapshot-id": 1})
    await lake.ask(table, SNAPSHOTS)
    await run_due(lake.room)
    assert [each.id for each in (await table.metadata()).snapshots] == [1, 3]
    assert "data/a.parquet" in await table.files()


async def test_a_reference_that_appears_meanwhile_saves_its_snapshot(lake: Lake):
    """The commit is refused where a snapshot that was to go is kept by then."""
    table = await aged(lake)
    expiry = planned(await table.metadata(), Retention(), lake.room.now_ms())
    found = await table.found()
    await table.commit({"action": "set-snapshot-ref", "ref-name": "audit", "type": "tag", "snapshot-id": 2})
    with pytest.raises(RequirementFailed, match="kept now"):
        await remove_snapshots(lake.room, found, expiry, Retention(), lake.room.now_ms())
    assert len((await table.metadata()).snapshots) == 3


async def test_an_append_meanwhile_is_no_hindrance(lake: Lake):
    """What others commit beside it does not make expiry fail."""
    table = await aged(lake)
    expiry = planned(await table.metadata(), Retention(), lake.room.now_ms())
    found = await table.found()
    await table.append("e.parquet")
    await remove_snapshots(lake.room, found, expiry, Retention(), lake.room.now_ms())
    assert [each.id for each in (await table.metadata()).snapshots] == [3, 4]


async def test_a_run_that_died_after_its_commit_is_finished_by_the_next(lake: Lake, monkeypatch: pytest.MonkeyPatch):
    """Files of snapshots that are gone already are found from the metadata file of before."""
    table = await aged(lake)
    await lake.ask(table, SNAPSHOTS)
    with monkeypatch.context() as broken:

        def die(*_: object) -> None:
            raise KeyboardInterrupt

        broken.setattr("lakeshare.tables.maintenance.running.delete_unreached", die)
        with pytest.raises(KeyboardInterrupt):
            await run_due(lake.room)
    assert [each.id for each in (await table.metadata()).snapshots] == [3]
    assert "data/a.parquet" in await table.files()
    assert await run_due(lake.room) == 0
    lake.clock.now += 60
    await run_due(lake.room)
    assert "data/a.parquet" not in await table.files()
    assert "data/c.parquet" in await table.files()


async def test_nothing_is_deleted_where_a_manifest_that_is_kept_cannot_be_read(lake: Lake):
    """Without knowing what is kept, nothing is known to be unneeded: the run fails and says why."""
    table = await aged(lake)
    await lake.write(f"{await table.location()}/metadata/m3.avro", b"not avro")
    before = without_metadata(await table.files())
    await lake.ask(table, SNAPSHOTS)
    await run_due(lake.room)
    (work,) = await list_work(lake.room)
    assert "m3.avro cannot be read" in work.failure
    for _ in range(10):
        await run_due(lake.room)
        lake.clock.now += 3_600
    assert without_metadata(await table.files()) == before
    ended = await ENDED.get(lake.state, lake.warehouse.id, (await table.found()).uuid, SNAPSHOTS.value)
    assert ended is not None
    assert "m3.avro cannot be read" in ended.value.failure


async def test_a_table_that_does_not_own_its_files_is_left_alone(lake: Lake):
    """With gc.enabled=false neither snapshots nor files go."""
    table = await aged(lake, **{"gc.enabled": "false"})
    before = await table.files()
    await lake.ask(table, SNAPSHOTS)
    await run_due(lake.room)
    assert await table.files() == before


async def test_files_outside_of_the_location_are_never_deleted(lake: Lake):
    """A manifest that names the file of another table cannot make the server delete it."""
    other = await lake.table("other")
    await other.append("precious.parquet")
    table = await lake.table("t")
    victim = f"{await other.location()}/data/precious.parquet"
    number = await table.append("a.parquet")
    await _list_also(table, number, victim)
    lake.clock.now += 10 * DAY
    await table.append("b.parquet", replaces=True)
    await lake.ask(table, SNAPSHOTS)
    await run_due(lake.room)
    assert "data/precious.parquet" in await other.files()
    ended = await ENDED.get(lake.state, lake.warehouse.id, (await table.found()).uuid, SNAPSHOTS.value)
    assert ended is not None
    assert (ended.value.tally.outside, ended.value.tally.data_files) == (1, 1)


async def test_one_file_under_two_names_is_one_file(lake: Lake):
    """A manifest that is kept under `s3a` is not deleted for being gone under `s3`."""
    table = await lake.table()
    await table.append("a.parquet")
    lake.clock.now += 10 * DAY
    table.manifests = [
        {**each, "manifest_path": each["manifest_path"].replace("s3:", "s3a:")} for each in table.manifests
    ]
    await table.append("b.parquet")
    await lake.ask(table, SNAPSHOTS)
    await run_due(lake.room)
    files = await table.files()
    assert "metadata/m1.avro" in files
    assert "data/a.parquet" in files
    assert "metadata/snap-1.avro" not in files


async def _list_also(table: Table, number: int, uri: str) -> None:
    location = await table.location()
    data = manifest([entry(uri, snapshot=number)], 2)
    await table.lake.write(f"{location}/metadata/evil.avro", data)
    lines = [*table.manifests, listed(f"{location}/metadata/evil.avro", data, snapshot=number)]
    await table.lake.write(f"{location}/metadata/snap-{number}.avro", manifest_list(lines, 2))


async def test_what_is_enabled_above_is_done_for_the_tables_below(lake: Lake):
    """A choice for the warehouse makes its tables due, once in an interval; none is due without a choice."""
    table = await aged(lake)
    assert await schedule(lake.room) == 0
    chosen = Choices(snapshots_enabled=True)
    await lake.state.commit(Transaction(changes=(CHOICES.put(chosen, "warehouse", lake.warehouse.id),)))
    assert await schedule(lake.room) == 1
    await run_due(lake.room)
    assert len((await table.metadata()).snapshots) == 1
    assert await schedule(lake.room) == 0
    lake.clock.now += DAY
    assert await schedule(lake.room) == 1


async def test_what_was_chosen_for_a_namespace_goes_with_it(lake: Lake):
    """A namespace that is made again under the same name begins without choices."""
    chosen = Choices(snapshots_enabled=True)
    puts = (CHOICES.put(chosen, "namespace", lake.warehouse.id, name) for name in ("ns", "gone"))
    await lake.state.commit(Transaction(changes=tuple(puts)))
    await schedule(lake.room)
    assert [each.name for each in (await CHOICES.page(lake.state)).items] == ["ns"]


async def test_what_is_due_for_a_table_that_is_gone_is_forgotten(lake: Lake):
    """A table that does not exist any more has nothing to be done for it."""
    table = await lake.table()
    await lake.ask(table, SNAPSHOTS)
    found = await table.found()
    plan = drop(found, "tests", lake.room.now_ms(), purge=False)
    await lake.state.commit(Transaction(plan.expect, plan.changes))
    await run_due(lake.room)
    assert not (await DUE.page(lake.state)).items


def test_failures_are_errors_of_ours():
    """What a run may meet is caught by one name."""
    assert issubclass(RequirementFailed, LakeshareError)
