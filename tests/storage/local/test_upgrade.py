"""A data directory of an older release is opened by a newer one; one of a newer release is refused."""

from pathlib import Path

import apsw
import pytest

from lakeshare.sqlite.errors import LibraryTooOld, SchemaTooNew
from lakeshare.sqlite.schema import Schema
from lakeshare.storage.local.fsck import check
from lakeshare.storage.local.index.schema import INDEX
from lakeshare.storage.local.layout import prepare
from lakeshare.storage.local.store import LocalStore
from lakeshare.storage.port import Checksum, Facts, UploadListing, VersionRef

FIXTURE = Path(__file__).parent / "fixtures" / "index-1.sql"
OLD_PIN = "18e887783da381b9d18a8b125c602bd1"
UPLOAD = "18e887784038364b06b3017c8b06c6c6"
BLOBS = {"18e887783e52a80efa75b3d35e8573d2": b"x" * 70_000, "18e887783f85d4a2d2c5b95a27712158": b"y" * 70_000}


@pytest.fixture
def root(tmp_path):
    """Give a data directory as the release with index version 1 left it."""
    layout = prepare(tmp_path / "data", fanout_digits=1)
    connection = apsw.Connection(str(layout.index))
    connection.execute(FIXTURE.read_text())
    connection.close()
    for name, data in BLOBS.items():
        Path(layout.path_of(bytes.fromhex(name))).write_bytes(data)
    return layout.root


def version_of(root: Path) -> int:
    connection = apsw.Connection(str(root / "index" / "meta.db"))
    try:
        return connection.pragma("user_version")
    finally:
        connection.close()


async def look(world) -> None:
    """Read everything that the fixture holds."""
    assert (await world.keys())[0] == ["big", "copy", "old", "parts", "small"]
    small = await world.store.head("b", "small")
    assert small.facts == Facts("text/plain", {"cache-control": "no-store"}, {"owner": "someone"})
    assert (small.checksum, small.tags) == (Checksum("CRC32", "AAAAAA=="), (("team", "a"),))
    assert await world.read("small") == b"small bytes"
    assert await world.read("old") == b"2"
    assert await world.read("old", VersionRef(pin=OLD_PIN)) == b"1"
    assert await world.read("copy") == b"x" * 70_000
    assert await world.read("parts") == b"y" * 70_000 + b"z"
    assert await world.store.document("b", "tagging") == b"<Tagging/>"
    (upload,) = (await world.store.list_uploads(UploadListing("b"))).uploads
    assert (upload.id, upload.algorithm) == (UPLOAD, "CRC32")


async def test_version_1_is_read_and_written(root, world_of):
    """A directory of index version 1 is brought to this release's version, with all that it held."""
    world = world_of(LocalStore.open_root(root))
    await look(world)
    await world.put("new", b"n" * 70_000)
    upload = await world.store.upload("b", "under way", UPLOAD)
    await world.complete(upload, list(upload.parts))
    assert await world.read("under way") == b"part"
    await world.store.close()
    assert version_of(root) == INDEX.version
    assert check(root, deep=True).clean


async def test_the_next_version_is_one_more_step(root, world_of, monkeypatch):
    """A step that a later release adds is applied once, and an index that has it is refused by this release."""
    later = Schema(INDEX.application_id, (*INDEX.steps, "CREATE TABLE later (id INTEGER PRIMARY KEY);"))
    monkeypatch.setattr("lakeshare.storage.local.store.INDEX", later)
    for _ in range(2):
        world = world_of(LocalStore.open_root(root))
        await look(world)
        await world.store.close()
        assert version_of(root) == later.version
    monkeypatch.undo()
    with pytest.raises(SchemaTooNew, match="newer release"):
        LocalStore.open_root(root)
    assert version_of(root) == later.version


def test_the_fixture_is_what_version_1_was(root, tmp_path):
    """The first step makes the tables of the fixture: a released step never changes."""
    fresh = apsw.Connection(":memory:")
    fresh.execute(INDEX.steps[0])
    kept = apsw.Connection(str(root / "index" / "meta.db"))
    question = "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name"
    assert fresh.execute(question).fetchall() == kept.execute(question).fetchall()
    kept.close()


def test_an_old_library_is_refused(tmp_path, monkeypatch):
    """A SQLite library that may lose commits is refused before anything is opened."""
    prepare(tmp_path / "data", fanout_digits=1)
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.51.2")
    with pytest.raises(LibraryTooOld):
        LocalStore.open_root(tmp_path / "data")
    assert not (tmp_path / "data" / "index" / "meta.db").exists()
