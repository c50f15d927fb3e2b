"""A backup of a store in use is one moment of it, whole."""

import asyncio
import os
from pathlib import Path

import pytest

from lakeshare.storage.local.backup import WrongBackup, backup, restore
from lakeshare.storage.local.fsck import check
from lakeshare.storage.local.layout import prepare
from lakeshare.storage.local.store import LocalStore
from lakeshare.storage.local.sweep import SweepPolicy, sweep
from lakeshare.storage.port import Listing

BIG = 200_000


@pytest.fixture
def root(tmp_path):
    return tmp_path / "data"


@pytest.mark.parametrize("hard_links", [False, True])
async def test_what_was_there_is_there_after_a_restore(local, root, tmp_path, world_of, hard_links):
    """Objects of every size, uploads under way and documents come back, and later writes do not."""
    await local.put("small", b"s")
    await local.put("big", b"b" * BIG)
    await local.store.set_document("b", "tagging", b"t")
    upload = await local.begin("upload")
    part = await local.part(upload, 1, b"p" * BIG)
    calls = []
    report = backup(root, tmp_path / "kept", hard_links=hard_links, progress=lambda *call: calls.append(call))
    assert (report.blobs, report.kept) == (2, 0)
    assert calls[-1] == ("blobs", 2, 2)
    await local.put("later", b"l")
    await local.delete("big")
    restore(tmp_path / "kept", tmp_path / "new")
    assert check(tmp_path / "new", deep=True).clean
    again = world_of(LocalStore.open_root(tmp_path / "new"))
    assert (await again.keys())[0] == ["big", "small"]
    assert await again.read("big") == b"b" * BIG
    assert await again.read("small") == b"s"
    assert await again.store.document("b", "tagging") == b"t"
    await again.complete(upload, [part])
    assert await again.read("upload") == b"p" * BIG
    await again.store.close()


async def test_a_backup_again_carries_what_is_new(local, root, tmp_path, world_of):
    """A second backup copies new blobs alone, and drops what is no longer named."""
    target = tmp_path / "kept"
    await local.put("one", b"1" * BIG)
    await local.put("two", b"2" * BIG)
    assert backup(root, target).bytes_copied == 2 * BIG
    await local.put("three", b"3" * BIG)
    await local.delete("one")
    sweep(root, SweepPolicy(grace_seconds=0))
    report = backup(root, target)
    assert (report.blobs, report.kept, report.bytes_copied) == (2, 1, BIG)
    assert len(list(target.glob("blobs/*/*"))) == 2
    assert len(list(target.glob("index-*.db"))) == 1
    restore(target, tmp_path / "new")
    again = world_of(LocalStore.open_root(tmp_path / "new"))
    assert (await again.keys())[0] == ["three", "two"]
    await again.store.close()


async def test_a_backup_under_load_is_one_moment(local, root, tmp_path):
    """Backups taken while keys are written, overwritten, deleted and collected restore clean every time."""
    done = asyncio.Event()

    async def back_up() -> None:
        try:
            for number in (0, 1, 2, 0):
                await asyncio.to_thread(backup, root, tmp_path / f"kept{number}")
        finally:
            done.set()

    async with asyncio.TaskGroup() as group:
        for worker in range(3):
            group.create_task(_write(local, worker, done))
        group.create_task(_collect(root, done))
        group.create_task(back_up())
    for number in range(3):
        restore(tmp_path / f"kept{number}", tmp_path / f"new{number}")
        report = check(tmp_path / f"new{number}", deep=True)
        assert report.clean, report
    assert check(root, deep=True).clean


async def _write(local, worker: int, done: asyncio.Event) -> None:
    for number in range(1000):
        if done.is_set():
            return
        await local.put(f"{worker}/{number % 7}", os.urandom(70_000 if number % 3 else 100))
        if number % 5 == 0:
            await local.delete(f"{worker}/{number % 7}")


async def _collect(root: Path, done: asyncio.Event) -> None:
    while not done.is_set():
        await asyncio.to_thread(sweep, root, SweepPolicy(grace_seconds=0))
        await asyncio.sleep(0.01)


async def test_a_damaged_backup_is_not_restored(local, root, tmp_path):
    """A blob that fails its checksum, or is gone, stops a restore, which leaves nothing that could be opened."""
    await local.put("big", b"b" * BIG)
    backup(root, tmp_path / "kept")
    (blob,) = (tmp_path / "kept").glob("blobs/*/*")
    blob.write_bytes(b"c" * BIG)
    with pytest.raises(WrongBackup, match="checksum"):
        restore(tmp_path / "kept", tmp_path / "new")
    assert not (tmp_path / "new" / "format.json").exists()
    blob.unlink()
    with pytest.raises(WrongBackup, match="cannot be copied"):
        restore(tmp_path / "kept", tmp_path / "newer")


async def test_nothing_is_overwritten(local, root, tmp_path):
    """A restore needs an empty folder, a backup a folder of the same deployment."""
    backup(root, tmp_path / "kept")
    with pytest.raises(WrongBackup, match="not empty"):
        restore(tmp_path / "kept", root)
    prepare(tmp_path / "other", fanout_digits=1)
    store = LocalStore.open_root(tmp_path / "other")
    await store.close()
    with pytest.raises(WrongBackup, match="another deployment"):
        backup(tmp_path / "other", tmp_path / "kept")


def test_half_a_backup_is_no_backup(tmp_path):
    """A folder without backup.json, or with one of another release, is refused."""
    with pytest.raises(WrongBackup, match="no whole backup"):
        restore(tmp_path, tmp_path / "new")
    Path(tmp_path / "backup.json").write_text(
        '{"backup":9,"layout":1,"fanout_digits":1,"deployment":"d","index":"i","blobs":0,"bytes":0,"completed_at":"t"}'
    )
    with pytest.raises(WrongBackup, match="version 9"):
        restore(tmp_path, tmp_path / "new")


async def test_a_restored_store_goes_on(local, root, tmp_path, world_of):
    """A restored store takes new writes and lists old and new together."""
    await local.put("a", b"1")
    backup(root, tmp_path / "kept")
    restore(tmp_path / "kept", tmp_path / "new")
    again = world_of(LocalStore.open_root(tmp_path / "new"))
    await again.put("b", b"2" * BIG)
    page = await again.store.list(Listing("b"))
    assert [one.key for one in page.objects] == ["a", "b"]
    await again.store.close()


async def test_a_restore_counts_once_all_is_there(local, root, tmp_path):
    """What else is put into a restored directory is there before the directory can be opened."""
    backup(root, tmp_path / "kept")
    seen = []
    restore(
        tmp_path / "kept",
        tmp_path / "new",
        before_it_counts=lambda: seen.append((tmp_path / "new" / "format.json").exists()),
    )
    assert seen == [False]
    assert (tmp_path / "new" / "format.json").exists()
