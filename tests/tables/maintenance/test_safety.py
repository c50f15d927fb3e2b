"""Whatever became of a table, maintenance leaves every snapshot that it keeps whole."""

import asyncio
import random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakeshare.tables.maintenance.choices import Activity
from lakeshare.tables.maintenance.reach import listed_files, manifests_of
from lakeshare.tables.maintenance.records import ENDED
from lakeshare.tables.maintenance.runner import run_due
from lakeshare.tables.maintenance.running import folder_of
from tests.tables.maintenance.kit import DAY, Lake, Table

STEPS = ("append", "replace", "tag", "branch", "rollback", "litter", "wait", "expire", "sweep", "expire")


@given(st.lists(st.sampled_from(STEPS), min_size=3, max_size=14), st.integers(0, 2**32))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_snapshot_that_is_kept_can_be_read_whole(steps: list[str], seed: int):
    """After any run, the lists, manifests and files of every snapshot of the table are there."""
    asyncio.run(_played(steps, random.Random(seed)))


async def _played(steps: list[str], chance: random.Random) -> None:
    lake = await Lake().open()
    table = await lake.table()
    await table.append("first.parquet")
    for number, step in enumerate(steps):
        await _step(table, step, number, chance)
        await _check(table)


async def _step(table: Table, step: str, number: int, chance: random.Random) -> None:
    lake = table.lake
    snapshots = [each.id for each in (await table.metadata()).snapshots]
    ref: dict[str, Any] = {
        "action": "set-snapshot-ref",
        "ref-name": f"r{number}",
        "snapshot-id": chance.choice(snapshots),
    }
    match step:
        case "append" | "replace":
            await table.append(f"{number}.parquet", replaces=step == "replace")
        case "tag":
            await table.commit({**ref, "type": "tag", "max-ref-age-ms": int(chance.choice([1, 30]) * DAY * 1000)})
        case "branch":
            await table.commit({**ref, "type": "branch", "min-snapshots-to-keep": chance.choice([1, 2, 3])})
        case "rollback":
            await table.commit({**ref, "ref-name": "main", "type": "branch"})
            table.manifests = table.by_snapshot[ref["snapshot-id"]]
        case "litter":
            await lake.write(f"{await table.location()}/data/lost-{number}.parquet", b"x")
        case "wait":
            lake.clock.now += chance.choice([1, 3, 7]) * DAY
        case _:
            activity = Activity.SNAPSHOTS if step == "expire" else Activity.UNREFERENCED
            await lake.ask(table, activity)
            await run_due(lake.room)
            ended = await ENDED.get(lake.state, lake.warehouse.id, (await table.found()).uuid, activity.value)
            assert ended is not None
            assert not ended.value.failure


async def _check(table: Table) -> None:
    metadata = await table.metadata()
    folder = folder_of(table.lake.room, await table.found())
    there = set(await table.lake.keys())
    assert metadata.current_snapshot is not None
    for snapshot in metadata.snapshots:
        for manifest in await manifests_of(folder, snapshot):
            for file in await listed_files(folder, manifest):
                assert folder.key_of(file.uri) in there
