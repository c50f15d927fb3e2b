"""Settings that change while the server runs: who hears of it, and what they change."""

import ast
import asyncio
import inspect
import textwrap
import time
from dataclasses import fields
from pathlib import Path

import pytest

from lakeshare.admin.book import Book
from lakeshare.admin.model.overrides import Override
from lakeshare.server import app, catalog, jobs
from lakeshare.server.bell import Bell
from lakeshare.server.jobs import jobs_of, sweep_policy
from lakeshare.server.live import LiveSettings
from lakeshare.server.opened import open_state
from lakeshare.settings import Settings, sources_of
from lakeshare.storage.local.layout import prepare
from tests.admin.client import Client
from tests.live import running
from tests.patience import until


def settings_read_by(*code: object) -> set[str]:
    """Name the settings that pieces of code read from a value called `settings`, or from what a call returns."""
    found: set[str] = set()
    for each in code:
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(each)))):
            if isinstance(node, ast.Attribute):
                found.add(node.attr)
    return found & {item.name for item in fields(Settings)}


def test_what_is_called_live_is_what_is_read_anew():
    """A setting is marked live if, and only if, it is read where rooms are put together anew or where a job runs."""
    live = {item.name for item in fields(Settings) if item.metadata["live"]}
    composed = settings_read_by(app.Rooms, catalog, app.set_level, jobs.jobs_of, jobs.sweep_policy)
    secrets = {"metrics_token"}  # read anew like the others, and never kept in state
    at_start = {"workers"}  # compose says how many there are; it does not start them
    assert composed - secrets - at_start == live


async def changed(root: Path, name: str, text: str, bell: Bell) -> None:
    state = open_state(root)
    try:
        await Book(state, Settings(), {}, bell.ring).change(name, Override(text))
    finally:
        await state.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    prepare(tmp_path / "data")
    return tmp_path / "data"


async def test_a_job_follows_the_settings(root: Path):
    """The interval and the policy of the sweep are those of the newest change, heard by the bell."""
    bell = Bell()
    live = LiveSettings(root, Settings(), {}, bell)
    (sweep,) = jobs_of(root, live)
    assert await asyncio.to_thread(sweep.interval) == 60
    await changed(root, "sweep_interval", "7", bell)
    await changed(root, "garbage_grace", "5m", bell)
    await changed(root, "free_space_watermark", "1", bell)
    assert await asyncio.to_thread(sweep.interval) == 7
    policy = sweep_policy(await asyncio.to_thread(live.current))
    assert (policy.grace_seconds, policy.free_space_watermark) == (300, 1)


async def test_a_change_that_rang_no_bell_is_seen_at_the_next_round(root: Path):
    """An import or another server rings no bell here: what a job runs by is read from state, not remembered."""
    live = LiveSettings(root, Settings(), {}, Bell())
    assert (await asyncio.to_thread(live.heard)).garbage_grace == 7200
    await changed(root, "garbage_grace", "60", Bell())
    assert (await asyncio.to_thread(live.heard)).garbage_grace == 7200
    assert (await asyncio.to_thread(live.current)).garbage_grace == 60


async def test_a_flag_wins_for_jobs_too(root: Path):
    """What was given at the start is not changed by what lies in state."""
    bell, given = Bell(), {"sweep_interval": "30"}
    await changed(root, "sweep_interval", "7", bell)
    live = LiveSettings(root, Settings.read({}, given), sources_of({}, given), bell)
    assert (await asyncio.to_thread(live.current)).sweep_interval == 30


def test_a_running_server_collects_by_the_new_settings(tmp_path: Path):
    """With a grace of nothing and a round a second, removed content leaves the disk without a restart."""
    with running(tmp_path / "data") as server:
        root = Client.root(server)
        root.raw("PUT", "/swept")
        root.raw("PUT", "/swept/key", b"x" * 300_000)
        blobs = tmp_path / "data" / "blobs"
        held = [path for path in blobs.rglob("*") if path.is_file()]
        assert held
        root.raw("DELETE", "/swept/key")
        root.ok("PUT", "/settings/garbage_grace", {"value": "0"})
        root.ok("PUT", "/settings/sweep_interval", {"value": "1"})
        until(lambda: not any(path.exists() for path in held))


def test_a_running_server_rotates_by_the_new_settings(tmp_path: Path):
    """A smaller size rotates the audit files of workers that are running, and so many are kept."""
    with running(tmp_path / "data", workers=1) as server:
        root, folder = Client.root(server), tmp_path / "data" / "audit"
        root.raw("GET", "/")
        assert not [*folder.glob("worker-0.*.jsonl")]
        root.ok("PUT", "/settings/audit_rotate", {"value": "1"})
        root.ok("PUT", "/settings/audit_keep", {"value": "2"})

        def rotated() -> bool:
            root.raw("GET", "/")
            return len([*folder.glob("worker-0.*.jsonl")]) == 2

        until(rotated)
        for _ in range(3):
            time.sleep(0.15)
            root.raw("GET", "/")
        assert len([*folder.glob("worker-0.*.jsonl")]) <= 2
