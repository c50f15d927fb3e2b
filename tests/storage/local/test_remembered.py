"""Small objects that are kept at hand are never older than anything that was answered."""

import pytest

from lakeshare.sqlite.pulse import Pulse
from lakeshare.storage.errors import NoSuchBucket, NoSuchKey
from lakeshare.storage.local import remembered
from lakeshare.storage.local.content import InlineContent
from lakeshare.storage.local.remembered import KEPT_BYTES, KEPT_OBJECTS, Remembered
from lakeshare.storage.local.store import LocalStore
from lakeshare.storage.port import LATEST, Facts, ObjectInfo, Opened
from tests.storage.conftest import World


@pytest.fixture
def root(tmp_path):
    return tmp_path / "data"


@pytest.fixture
async def other(local, root):
    """The same folder, opened once more as another process would."""
    store = LocalStore.open_root(root)
    yield World(store)
    await store.close()


def opened(key, size=1):
    info = ObjectInfo("b", key, "null", "00", size, "etag", 0, Facts(), None, (), (), False, True)
    return Opened(info, InlineContent(b"x" * min(size, 10)))


async def test_a_reader_at_once_sees_what_another_process_wrote(local, other):
    """Overwritten, tagged, copied over or deleted by one process, an object is so for another that had read it."""
    for data in (b"one", b"two"):
        await local.put("k", data)
        assert [await other.read("k") for _ in range(3)] == [data] * 3
    await local.store.set_tags("b", "k", LATEST, (("a", "b"),))
    assert (await other.store.open("b", "k")).info.tags == (("a", "b"),)
    await local.put("source", b"three")
    await local.copy("source", "k")
    assert await other.read("k") == b"three"
    await local.delete("k")
    with pytest.raises(NoSuchKey):
        await other.read("k")


async def test_a_bucket_that_was_made_again_holds_nothing(local, other):
    """What a removed bucket held is not read from a new one of its name."""
    await local.put("k", b"x")
    await other.read("k")
    await local.delete("k")
    await local.store.delete_bucket("b")
    with pytest.raises(NoSuchBucket):
        await other.read("k")
    await local.store.create_bucket("b")
    with pytest.raises(NoSuchKey):
        await other.read("k")


async def test_a_second_read_asks_the_index_no_more(local, monkeypatch):
    """While nobody commits, a small object is read once; a large one, and one that is not there, each time."""
    await local.put("small", b"x")
    await local.put("large", b"x" * 100_000)
    asked = []
    reads = local.store._reads
    latest = reads._latest
    monkeypatch.setattr(reads, "_latest", lambda *given: asked.append(given[-1]) or latest(*given))
    for _ in range(3):
        await local.read("small")
        await local.read("large")
        with pytest.raises(NoSuchKey):
            await local.read("none")
    assert sorted(asked) == ["large"] * 3 + ["none"] * 3 + ["small"]


def test_what_was_read_before_a_beat_is_not_kept_behind_it(tmp_path):
    """A read that began before a commit counts as old, however late it is kept."""
    pulse = Pulse(tmp_path / "index")
    memory = Remembered(pulse)
    before = memory.beat
    pulse.beat()
    memory.keep(before, opened("k"))
    assert memory.get("b", "k") is None
    memory.keep(memory.beat, opened("k"))
    assert memory.get("b", "k") is not None


def test_all_is_forgotten_in_time(tmp_path, monkeypatch):
    """A commit whose process died before its beat is seen after a second."""
    now = [100.0]
    monkeypatch.setattr(remembered.time, "monotonic", lambda: now[0])
    memory = Remembered(Pulse(tmp_path / "index"))
    memory.keep(memory.beat, opened("k"))
    now[0] += 0.9
    memory.keep(memory.beat, opened("later"))
    assert memory.get("b", "k") is not None
    now[0] += 0.2
    assert memory.get("b", "k") is memory.get("b", "later") is None


def test_what_is_kept_has_bounds(tmp_path):
    """Neither many objects nor large ones add up to more than their bounds."""
    memory = Remembered(Pulse(tmp_path / "index"))
    for number in range(KEPT_OBJECTS * 2 + 1):
        memory.keep(memory.beat, opened(str(number)))
    assert sum(memory.get("b", str(number)) is not None for number in range(KEPT_OBJECTS * 2 + 1)) == 1
    for number in range(3):
        memory.keep(memory.beat, opened(f"large-{number}", KEPT_BYTES // 2))
    assert memory.get("b", "large-0") is None
    assert memory.get("b", "large-2") is not None
