"""Small objects that are kept at hand are never older than anything that was answered."""

import pytest

from lakeshare.sqlite.pulse import STOPPED, Pulse
from lakeshare.storage.errors import NoSuchBucket, NoSuchKey
from lakeshare.storage.local.content import InlineContent
from lakeshare.storage.local.reads import _HEAD
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


@pytest.fixture
def pulse(tmp_path):
    """The pulse of an index that was committed to."""
    made = Pulse(tmp_path / "index")
    made.beat()
    yield made
    made.close()


def test_what_was_read_before_a_beat_is_not_kept_behind_it(pulse):
    """A read that began before a commit counts as old, however late it is kept."""
    memory = Remembered(pulse)
    before = memory.beat
    pulse.beat()
    memory.keep(before, opened("k"))
    assert memory.get("b", "k") is None
    memory.keep(memory.beat, opened("k"))
    assert memory.get("b", "k") is not None


def test_nothing_is_believed_while_a_commit_is_under_way(pulse):
    """From just before a commit on nothing is given or kept, and so it stays if its process dies."""
    memory = Remembered(pulse)
    memory.keep(memory.beat, opened("k"))
    assert memory.get("b", "k") is not None
    pulse.stop()
    assert memory.get("b", "k") is None
    memory.keep(memory.beat, opened("k"))
    assert memory.get("b", "k") is None
    pulse.beat()
    assert memory.get("b", "k") is None


async def test_the_pulse_stands_still_before_a_commit_can_be_seen(local, other, monkeypatch):
    """When a reader of another process first sees a write, no process believes its memory any more."""
    await local.put("k", b"old")
    await other.read("k")
    seen = []
    beat = local.store._pulse.beat
    committer = local.store._committer

    def committed():
        seen.append((other.store._reads._latest(_HEAD, "b", "k")[1], other.store._pulse.value))
        beat()

    monkeypatch.setattr(committer, "_committed", committed)
    await local.put("k", b"newer")
    assert seen == [(len(b"newer"), STOPPED)]
    assert await other.read("k") == b"newer"


def test_what_is_kept_has_bounds(pulse):
    """Neither many objects nor large ones add up to more than their bounds."""
    memory = Remembered(pulse)
    for number in range(KEPT_OBJECTS * 2 + 1):
        memory.keep(memory.beat, opened(str(number)))
    assert sum(memory.get("b", str(number)) is not None for number in range(KEPT_OBJECTS * 2 + 1)) == 1
    for number in range(3):
        memory.keep(memory.beat, opened(f"large-{number}", KEPT_BYTES // 2))
    assert memory.get("b", "large-0") is None
    assert memory.get("b", "large-2") is not None
