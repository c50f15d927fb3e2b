"""The collector removes what is over, and nothing else."""

import os
import time
from pathlib import Path

import pytest

from lakeshare.storage.errors import NoSuchUpload, NoSuchVersion
from lakeshare.storage.local.fsck import check
from lakeshare.storage.local.layout import existing
from lakeshare.storage.local.pausing import collection_paused
from lakeshare.storage.local.sweep import Collector, SweepPolicy, SweepReport, sweep
from lakeshare.storage.port import UploadListing, VersionRef

BIG = 200_000
AT_ONCE = SweepPolicy(grace_seconds=0, stale_upload_seconds=0)


@pytest.fixture
def root(tmp_path):
    return tmp_path / "data"


def files(root: Path) -> int:
    return sum(1 for _ in root.glob("blobs/*/*"))


def age(path: Path) -> None:
    """Make a file look two days old; its change time cannot be set, so the clock is what a test moves."""
    os.utime(path, (time.time() - 2 * 86400,) * 2)


async def test_the_grace_keeps_what_was_removed(local, root):
    """Within the grace a pin reads what was overwritten or deleted; after it neither row nor file is left."""
    old = [await local.put("big", b"1" * BIG), await local.put("small", b"1")]
    await local.put("big", b"2" * BIG)
    await local.delete("big", "small")
    assert sweep(root, SweepPolicy(grace_seconds=3600)) == SweepReport()
    assert await local.read("big", VersionRef(pin=old[0].pin)) == b"1" * BIG
    assert await local.read("small", VersionRef(pin=old[1].pin)) == b"1"
    assert sweep(root, AT_ONCE) == SweepReport(versions=3, blobs=2)
    for key, info in zip(("big", "small"), old, strict=True):
        with pytest.raises(NoSuchVersion):
            await local.read(key, VersionRef(pin=info.pin))
    assert files(root) == 0
    assert sweep(root, AT_ONCE) == SweepReport()
    assert check(root, deep=True).clean


async def test_bytes_stay_while_anything_holds_them(local, root):
    """A blob shared by copies goes with the last of them."""
    await local.put("one", b"x" * BIG)
    await local.copy("one", "two")
    await local.delete("one")
    sweep(root, AT_ONCE)
    assert files(root) == 1
    assert await local.read("two") == b"x" * BIG
    await local.delete("two")
    sweep(root, AT_ONCE)
    assert files(root) == 0


async def test_an_object_of_parts_keeps_them(local, root):
    """Parts that became an object stay with it, those that were replaced or left out go."""
    upload = await local.begin("k")
    await local.part(upload, 1, b"0" * BIG)
    parts = [await local.part(upload, number, b"%d" % number * BIG) for number in (1, 2, 3)]
    await local.complete(upload, [parts[0], parts[2]])
    assert files(root) == 4
    assert sweep(root, SweepPolicy()) == SweepReport(blobs=2)
    assert files(root) == 2
    assert await local.read("k") == b"1" * BIG + b"3" * BIG
    assert check(root, deep=True).clean


async def test_a_stale_upload_is_forgotten(local, root):
    """An upload that nobody finished goes with its parts once it is old, and not before."""
    upload = await local.begin("k")
    await local.part(upload, 1, b"x" * BIG)
    await local.part(upload, 2, b"x")
    assert sweep(root, SweepPolicy()) == SweepReport()
    assert sweep(root, AT_ONCE) == SweepReport(uploads=1, blobs=1)
    with pytest.raises(NoSuchUpload):
        await local.store.upload("b", "k", upload.id)
    assert not (await local.store.list_uploads(UploadListing("b"))).uploads
    assert (files(root), check(root).inline) == (0, 0)


async def test_a_completion_is_remembered_for_a_day(local, root, monkeypatch):
    """That an upload was completed is forgotten after a day."""
    upload = await local.begin("k")
    await local.complete(upload, [await local.part(upload, 1, b"x")])
    assert sweep(root, AT_ONCE).completions == 0
    assert (await local.store.upload("b", "k", upload.id)).completed_pin
    monkeypatch.setattr("lakeshare.storage.local.sweep.COMPLETION_MEMORY_SECONDS", 0)
    assert sweep(root, AT_ONCE).completions == 1
    with pytest.raises(NoSuchUpload):
        await local.store.upload("b", "k", upload.id)


async def test_many_removals_take_many_transactions(local, root, monkeypatch):
    """More rows than one transaction takes are all removed in one sweep."""
    monkeypatch.setattr("lakeshare.storage.local.index.collect.BATCH", 3)
    keys = [f"k{number}" for number in range(10)]
    for key in keys:
        await local.put(key, b"x" * 70_000)
    await local.delete(*keys)
    assert sweep(root, AT_ONCE) == SweepReport(versions=10, blobs=10)
    assert files(root) == 0


async def test_orphans_go_once_they_are_old(local, root, monkeypatch):
    """A blob that no row names stays while a writer might still name it, and then goes; a named one stays."""
    await local.put("k", b"x" * BIG)
    orphan = root / "blobs" / "0" / ("ab" * 15 + "c0")
    orphan.write_bytes(b"lost")
    assert sweep(root, AT_ONCE).orphans == 0
    monkeypatch.setattr("lakeshare.storage.local.sweep.ORPHAN_AGE_SECONDS", -5)
    assert sweep(root, AT_ONCE).orphans == 1
    assert not orphan.exists()
    assert await local.read("k") == b"x" * BIG


async def test_a_sweep_searches_some_folders_and_the_next_the_others(local, root, monkeypatch):
    """Sweeps search folder after folder, so that all are searched in the end."""
    monkeypatch.setattr("lakeshare.storage.local.sweep.ORPHAN_AGE_SECONDS", -5)
    monkeypatch.setattr("lakeshare.storage.local.sweep.FOLDERS_A_SWEEP", 4)
    for digit in "0123456789abcdef":
        (root / "blobs" / digit / ("ab" * 15 + "c" + digit)).write_bytes(b"lost")
    collector = Collector(root)
    assert [collector.sweep(AT_ONCE).orphans for _ in range(5)] == [4, 4, 4, 4, 0]
    collector.close()


async def test_temporary_files_of_the_dead_go(local, root):
    """A temporary file goes when its writer is gone or it is a day old; a living writer's stays."""
    mine = root / "tmp" / f"{os.getpid()}-aa"
    dead = root / "tmp" / "999999999-bb"
    old = root / "tmp" / f"{os.getpid()}-cc"
    foreign = root / "tmp" / "note"
    for path in (mine, dead, old, foreign):
        path.write_bytes(b"")
    age(old)
    assert sweep(root, SweepPolicy()).temporary == 2
    assert sorted(path.name for path in (root / "tmp").iterdir()) == sorted([mine.name, "note"])


async def test_a_backup_makes_the_collector_wait(local, root):
    """While someone needs blobs to stay, a sweep removes nothing and says so."""
    await local.put("k", b"x" * BIG)
    await local.delete("k")
    with collection_paused(existing(root)):
        assert sweep(root, AT_ONCE) == SweepReport(paused=True)
    assert sweep(root, AT_ONCE).blobs == 1


async def test_a_full_disk_cuts_the_grace_short(local, root, monkeypatch):
    """Under the watermark what was removed a minute ago goes, whatever the grace."""
    await local.put("k", b"x" * BIG)
    await local.delete("k")
    monkeypatch.setattr("lakeshare.storage.local.sweep.PRESSED_GRACE_SECONDS", 0)
    assert sweep(root, SweepPolicy()).blobs == 0
    assert sweep(root, SweepPolicy(free_space_watermark=2**62)).blobs == 1


async def test_history_of_a_removed_bucket_is_collected(local, root):
    """What a bucket held before it was removed goes after the grace like anything else."""
    await local.put("k", b"x" * BIG)
    await local.delete("k")
    await local.store.delete_bucket("b")
    assert sweep(root, AT_ONCE) == SweepReport(versions=1, blobs=1)
    assert files(root) == 0
