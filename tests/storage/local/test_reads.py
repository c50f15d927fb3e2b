"""Bytes that are lost are never made up."""

import apsw
import pytest

from lakeshare.storage.errors import ContentLost
from lakeshare.storage.port import Facts, VersionRef

BIG = 200_000


@pytest.fixture
def root(tmp_path):
    return tmp_path / "data"


def change(root, statement):
    connection = apsw.Connection(str(root / "index" / "meta.db"))
    connection.execute(statement)
    connection.close()


async def test_a_missing_blob_is_said_to_be_lost(local, root):
    """Opening an object whose blob is gone or cut fails with a word about fsck; its head is still there."""
    await local.put("k", b"x" * BIG)
    (path,) = root.glob("blobs/*/*")
    path.write_bytes(b"x")
    with pytest.raises(ContentLost, match="fsck"):
        await local.store.open("b", "k")
    path.unlink()
    with pytest.raises(ContentLost, match="No such file"):
        await local.store.open("b", "k")
    assert (await local.store.head("b", "k")).size == BIG


async def test_a_missing_part_is_said_to_be_lost_where_it_is_read(local, root):
    """An object of several parts is served where its parts are there, and fails where one is not."""
    upload = await local.begin("k")
    parts = [await local.part(upload, number, b"%d" % number * BIG) for number in (1, 2)]
    await local.complete(upload, [*parts, await local.part(upload, 3, b"3")])
    gone = next(path for path in root.glob("blobs/*/*") if path.read_bytes()[:1] == b"2")
    gone.unlink()
    assert await local.read_range("k", 0, BIG) == b"1" * BIG
    with pytest.raises(ContentLost):
        await local.read_range("k", BIG - 1, BIG + 1)
    change(root, "DELETE FROM inline")
    with pytest.raises(ContentLost):
        await local.read_range("k", 2 * BIG, 2 * BIG + 1)


async def test_changed_small_bytes_are_never_served(local, root):
    """A small payload that fails its checksum is not served, by its key or by its pin."""
    info = await local.put("k", b"right")
    change(root, "UPDATE inline SET data = CAST('wrong' AS BLOB)")
    with pytest.raises(ContentLost, match="checksum"):
        await local.store.open("b", "k")
    await local.delete("k")
    with pytest.raises(ContentLost, match="checksum"):
        await local.store.open("b", "k", VersionRef(pin=info.pin))


async def test_many_parts_are_read_where_they_are_asked_for(local):
    """A range of an object of a thousand parts names the one file that holds it."""
    upload = await local.begin("k")
    first = await local.part(upload, 1, b"x" * 70_000)
    source = await local.store.open("b", (await local.put("source", b"y" * 70_000)).key)
    copied = [await local.store.copy_part(upload, number, source, number, number + 100) for number in range(2, 201)]
    await local.complete(upload, [first, *copied])
    opened = await local.store.open("b", "k")
    assert opened.info.size == 70_000 + 199 * 100
    (span,) = opened.content.spans(70_000 + 50 * 100 + 5, 70_000 + 50 * 100 + 25)
    assert (span.offset, span.length) == (52 + 5, 20)
    assert len(opened.info.parts) == 200
    assert opened.info.parts[-1].number == 200
    assert [part.number for part in opened.info.parts[:3]] == [1, 2, 3]


async def test_a_pin_is_found_whether_it_is_the_latest_or_not(local):
    """A pinned read of the latest version and of a retired one give the facts of each."""
    old = await local.put("k", b"1", facts=Facts("text/a"))
    new = await local.put("k", b"2", facts=Facts("text/b"))
    for info, latest in ((old, False), (new, True)):
        opened = await local.store.open("b", "k", VersionRef(pin=info.pin))
        assert (opened.info.facts, opened.info.latest) == (info.facts, latest)
        assert (await local.store.head("b", "k", VersionRef(pin=info.pin))).latest is latest
