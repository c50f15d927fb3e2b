"""A full disk refuses writes, and nothing else."""

import errno
import os

import apsw
import pytest

from lakeshare.storage.errors import StoreFailed, StoreFull
from lakeshare.storage.local.fsck import check
from lakeshare.storage.local.layout import prepare
from lakeshare.storage.local.space import FreeSpace
from lakeshare.storage.local.store import LocalStore
from lakeshare.storage.port import LATEST


@pytest.fixture
async def nearly_full(tmp_path, world_of):
    """Give a store whose disk is under the watermark, with one object from before."""
    prepare(tmp_path / "data", fanout_digits=1)
    roomy = world_of(LocalStore.open_root(tmp_path / "data"))
    await roomy.store.create_bucket("b")
    await roomy.put("k", b"x" * 100_000)
    await roomy.store.close()
    world = world_of(LocalStore.open_root(tmp_path / "data", free_space_watermark=2**62))
    yield world
    await world.store.close()


async def test_under_the_watermark_reads_and_deletes_go_on(nearly_full):
    """With too little free space a write is refused before its first byte; reads and deletes are not."""
    with pytest.raises(StoreFull) as refused:
        await nearly_full.put("new", b"x")
    assert refused.value.watermark_bytes == 2**62
    assert await nearly_full.read("k") == b"x" * 100_000
    (deleted,) = await nearly_full.delete("k")
    assert deleted.existed
    assert await nearly_full.keys() == ([], [], None)


async def test_under_the_watermark_nothing_grows(nearly_full):
    """What moves no bytes adds rows: copies, uploads, buckets and tags are refused; uploads can be ended."""
    roomy = nearly_full.store.set_watermark
    roomy(0)
    upload = await nearly_full.begin("up")
    part = await nearly_full.part(upload, 1, b"part")
    info = await nearly_full.store.head("b", "k")
    roomy(2**62)
    for refused in (
        nearly_full.copy("k", "other"),
        nearly_full.store.create_bucket("c"),
        nearly_full.store.set_tags("b", "k", LATEST, (("a", "1"),)),
        nearly_full.begin("more"),
        nearly_full.part(upload, 2, b"more"),
        nearly_full.store.copy_part(upload, 2, await nearly_full.store.open("b", "k"), 0, info.size),
        nearly_full.complete(upload, [part]),
    ):
        with pytest.raises(StoreFull):
            await refused
    await nearly_full.store.set_tags("b", "k", LATEST, ())
    await nearly_full.store.set_document("b", "policy", b"{}")
    await nearly_full.store.abort(upload)
    assert await nearly_full.keys() == (["k"], [], None)


def test_free_space_is_looked_up_once_a_second(tmp_path, monkeypatch):
    """Many writers ask the file system once."""
    asked = []
    real = os.statvfs
    monkeypatch.setattr(os, "statvfs", lambda path: asked.append(path) or real(path))
    space = FreeSpace(tmp_path, 1)
    for _ in range(100):
        space.check()
    assert len(asked) == 1
    FreeSpace(tmp_path, 0).check()
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("number", "kind"), [(errno.ENOSPC, StoreFull), (errno.EDQUOT, StoreFull), (errno.EIO, StoreFailed)]
)
async def test_a_failed_write_is_told_apart(local, tmp_path, monkeypatch, number, kind):
    """No room and a failed disk are different errors, and neither leaves a file or a row."""

    def fail(*_args):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "writev", fail)
    with pytest.raises(kind):
        await local.put("k", b"x" * 3_000_000)
    monkeypatch.undo()
    assert await local.keys() == ([], [], None)
    assert not list((tmp_path / "data").glob("blobs/*/*"))


@pytest.mark.parametrize("call", ["fdatasync", "link", "fsync"])
async def test_a_failed_sync_is_never_tried_again(local, tmp_path, monkeypatch, call):
    """A write whose sync failed is refused; the call is made once, and the same key can be written later."""
    calls = []
    real = getattr(os, call)

    def fail(*args, **kwargs):
        calls.append(args)
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, call, fail)
    monkeypatch.setattr("lakeshare.storage.local.blobs._sync_data", fail if call == "fdatasync" else os.fdatasync)
    with pytest.raises(StoreFailed):
        await local.put("k", b"x" * 100_000)
    assert len(calls) == 1
    monkeypatch.undo()
    assert getattr(os, call) is real
    await local.put("k", b"y" * 100_000)
    assert await local.read("k") == b"y" * 100_000
    assert check(tmp_path / "data", deep=True).clean


async def test_an_index_that_cannot_grow_is_full(local, tmp_path):
    """When the index has no room the write is refused as on a full disk, and reads go on."""
    await local.put("k", b"x")
    connection: apsw.Connection = local.store._committer._connection
    connection.pragma("max_page_count", connection.pragma("page_count"))
    with pytest.raises(StoreFull):
        await local.put("no room", os.urandom(60_000))
    assert await local.read("k") == b"x"
    connection.pragma("max_page_count", 2**30)
    await local.put("again", b"x")
    assert check(tmp_path / "data", deep=True).clean


async def test_a_closed_store_refuses(tmp_path, world_of):
    """A write after the store was closed fails, and is not acknowledged."""
    prepare(tmp_path / "data", fanout_digits=1)
    world = world_of(LocalStore.open_root(tmp_path / "data"))
    await world.store.create_bucket("b")
    await world.store.close()
    with pytest.raises(StoreFailed):
        await world.put("k", b"x")
