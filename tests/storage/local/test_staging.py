"""Bytes on their way in leave nothing behind unless they are published."""

import asyncio
import hashlib
import os

import pytest

from lakeshare.storage.errors import ConditionFailed, StoreFull, WriteOnce
from lakeshare.storage.local import blobs
from lakeshare.storage.local import staging as staging_module
from lakeshare.storage.local.fsck import check
from lakeshare.storage.port import Condition, Put

MIB = 1024 * 1024


@pytest.fixture
def root(tmp_path):
    return tmp_path / "data"


async def settled(local) -> None:
    """Wait until the threads have let go of what was discarded."""
    for _ in range(100):
        await asyncio.sleep(0.01)
        if not local.store._threads._work_queue.qsize():
            break
    await asyncio.sleep(0.02)


def names(root) -> list[str]:
    return [path.name for folder in ("blobs/*/*", "tmp/*") for path in root.glob(folder)]


@pytest.mark.parametrize("size", [100, 100_000, 3 * MIB])
async def test_discarded_bytes_leave_nothing(local, root, size):
    """A block that is left without a put leaves no file."""
    async with local.store.stage(frozenset({"SHA256"})) as staging:
        await staging.write(b"x" * size)
        await staging.digest("SHA256")
    await settled(local)
    assert names(root) == []


async def test_a_refused_blob_is_removed_at_once(local, root):
    """A blob that lost its race, or that was there already, does not wait for the collector."""
    await local.put("k", b"x" * 100_000)
    with pytest.raises(ConditionFailed):
        await local.put("k", b"y" * 100_000, condition=Condition(absent=True))
    with pytest.raises(WriteOnce):
        await local.put("k", b"y" * 100_000, write_once=True)
    await local.put("k", b"x" * 100_000, write_once=True)
    await settled(local)
    assert len(names(root)) == 1
    assert check(root, deep=True).clean


async def test_a_cancelled_write_leaves_nothing(local, root):
    """A request that is cancelled in the midst of its bytes leaves no file, and harms no other."""

    async def endless() -> None:
        async with local.store.stage(frozenset({"SHA256"})) as staging:
            while True:
                await staging.write(os.urandom(MIB))

    tasks = [asyncio.create_task(endless()) for _ in range(4)]
    await asyncio.sleep(0.1)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await local.put("k", b"x" * 3 * MIB)
    assert await local.read("k") == b"x" * 3 * MIB
    await settled(local)
    assert len(names(root)) == 1
    assert check(root, deep=True).clean


async def test_a_write_cancelled_while_it_is_published_is_whole_or_nowhere(local, root):
    """Cancelled at any moment of its put, an object is there whole or not at all, and the store is sound."""
    for number in range(20):

        async def put(number: int = number) -> None:
            async with local.store.stage(frozenset()) as staging:
                await staging.write(b"%02d" % number * 50_000)
                await local.store.put(Put("b", f"k{number}"), staging)

        task = asyncio.create_task(put())
        await asyncio.sleep(number / 4000)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    await settled(local)
    for key in (await local.keys())[0]:
        assert await local.read(key) == b"%02d" % int(key[1:]) * 50_000
    report = check(root, deep=True)
    assert report.clean, report


async def test_a_file_system_without_unnamed_files(local, root, monkeypatch):
    """Where files cannot be without a name, a temporary name does, and is gone afterwards."""
    monkeypatch.setattr(blobs, "_UNNAMED", 0)
    async with local.store.stage(frozenset()) as staging:
        await staging.write(b"x" * 2 * MIB)
        await staging.digest("MD5")
        assert len(names(root)) == 1
        await local.store.put(Put("b", "k"), staging)
    await settled(local)
    assert len(names(root)) == 1
    assert list((root / "tmp").iterdir()) == []
    assert await local.read("k") == b"x" * 2 * MIB


async def test_a_write_that_takes_fewer_bytes_is_finished(local, monkeypatch):
    """A system call that writes a part of what it was given is followed by others."""
    real = os.writev
    monkeypatch.setattr(os, "writev", lambda fd, chunks: real(fd, [chunks[0][:1000]]))
    data = os.urandom(2 * MIB)
    await local.put("k", data)
    monkeypatch.undo()
    assert await local.read("k") == data


async def test_a_blob_says_what_it_is(local, root):
    """A blob's extended attribute names the key that it was written for, where the file system keeps such notes."""
    await local.put("some/key", b"x" * 100_000)
    (path,) = root.glob("blobs/*/*")
    try:
        note = os.getxattr(path, blobs.ATTRIBUTE)
    except OSError as error:
        pytest.skip(f"this file system keeps no notes ({error.strerror})")
    assert b'"key":"some/key"' in note


async def test_an_unknown_digest_is_refused(local):
    """A digest that the store cannot compute is refused when staging begins."""
    with pytest.raises(ValueError, match="CRC99"):
        local.store.stage(frozenset({"CRC99"}))


async def test_discarded_bytes_that_were_written_at_once_leave_nothing(local, root):
    """A block that is left without a put leaves no file."""
    async with local.store.stage(frozenset()) as staging:
        await asyncio.to_thread(staging.write_now, [b"x" * MIB])
    await settled(local)
    assert names(root) == []


async def test_bytes_written_side_by_side_are_each_as_alone(local, root):
    """One body alone has another thread's help, several have none, and none is left waiting for help once all ended."""
    blocks = [os.urandom(MIB), os.urandom(70_000)]
    async with (
        local.store.stage(frozenset({"SHA256"})) as first,
        local.store.stage(frozenset({"SHA256"})) as second,
    ):
        for block in blocks:
            for staging in (first, second):
                await asyncio.to_thread(staging.write_now, [memoryview(block)])
        expected = hashlib.sha256(b"".join(blocks)).digest()
        assert await first.digest("SHA256") == await second.digest("SHA256") == expected
        assert await first.digest("MD5") == hashlib.md5(b"".join(blocks)).digest()
    assert not staging_module._at_work


async def test_a_disk_that_fails_a_write_at_once_is_told_of(local, monkeypatch):
    """A failed write on a thread of its own is the store's failure, and nothing is left of it."""

    def fail(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "writev", fail)
    with pytest.raises(StoreFull):
        async with local.store.stage(frozenset()) as staging:
            await asyncio.to_thread(staging.write_now, [b"x" * MIB])
    assert not staging_module._at_work
