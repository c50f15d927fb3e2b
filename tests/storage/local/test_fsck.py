"""A check finds what is wrong, and nothing that is not."""

from pathlib import Path

import apsw
import pytest

from lakeshare.storage.local.check.report import ProblemKind
from lakeshare.storage.local.fsck import check
from lakeshare.storage.local.layout import WrongLayout

BIG = 200_000


@pytest.fixture
def root(tmp_path):
    return tmp_path / "data"


def only_blob(root: Path) -> Path:
    (path,) = root.glob("blobs/*/*")
    return path


def kinds(report) -> list[ProblemKind]:
    return [problem.kind for problem in report.problems]


def change(root: Path, statement: str) -> None:
    connection = apsw.Connection(str(root / "index" / "meta.db"))
    connection.execute(statement)
    connection.close()


async def test_a_sound_store_is_clean(local, root):
    """Objects small and big, copies, parts and what is retired are all found sound, and counted."""
    await local.put("small", b"x")
    await local.put("empty", b"")
    await local.put("big", b"x" * BIG)
    await local.copy("big", "copy")
    await local.put("big", b"y" * BIG)
    upload = await local.begin("parts")
    parts = [await local.part(upload, 1, b"1" * BIG), await local.part(upload, 2, b"2")]
    await local.complete(upload, parts)
    pending = await local.begin("pending")
    await local.part(pending, 1, b"p" * BIG)
    calls = []
    report = check(root, deep=True, progress=lambda *call: calls.append(call))
    assert report.clean
    assert (report.versions, report.blobs, report.inline, report.in_flight) == (7, 4, 2, 0)
    assert report.bytes_read > 4 * BIG
    assert {phase for phase, _, _ in calls} == {"index", "rows", "blobs"}


async def test_a_missing_blob_is_found_with_its_keys(local, root):
    """A blob that is gone is reported, and the keys that need it are named."""
    await local.put("k", b"x" * BIG)
    await local.copy("k", "copy")
    only_blob(root).unlink()
    report = check(root)
    assert kinds(report) == [ProblemKind.MISSING]
    assert report.affected == ["b/copy", "b/k"]


async def test_a_cut_blob_is_found(local, root):
    """A blob of the wrong length is reported."""
    await local.put("k", b"x" * BIG)
    with only_blob(root).open("r+b") as file:
        file.truncate(BIG - 1)
    report = check(root)
    assert kinds(report) == [ProblemKind.SIZE]
    assert report.affected == ["b/k"]


async def test_a_flipped_bit_is_found_by_a_deep_check(local, root):
    """Changed bytes of a blob are found when they are read, and only then."""
    await local.put("k", b"x" * BIG)
    with only_blob(root).open("r+b") as file:
        file.seek(BIG // 2)
        file.write(b"y")
    assert check(root).clean
    assert kinds(check(root, deep=True)) == [ProblemKind.CHECKSUM]


async def test_changed_inline_bytes_are_found_by_a_deep_check(local, root):
    """Changed bytes of a small payload are found, in an object of its own and in one of several parts."""
    await local.put("k", b"x")
    change(root, "UPDATE inline SET data = x'00'")
    assert kinds(check(root, deep=True)) == [ProblemKind.CHECKSUM]
    await local.delete("k")
    upload = await local.begin("parts")
    await local.complete(upload, [await local.part(upload, 1, b"1" * BIG), await local.part(upload, 2, b"2")])
    change(root, "UPDATE inline SET data = x'00'")
    report = check(root, deep=True)
    assert kinds(report) == [ProblemKind.CHECKSUM, ProblemKind.CHECKSUM]


async def test_a_young_stray_is_in_flight_and_an_old_one_an_orphan(local, root, monkeypatch):
    """A blob without a row is no problem while its writer may be at work."""
    (root / "blobs" / "0" / ("ab" * 15 + "c0")).write_bytes(b"lost")
    report = check(root)
    assert (report.clean, report.in_flight) == (True, 1)
    monkeypatch.setattr("lakeshare.storage.local.check.files.ORPHAN_AGE_SECONDS", -5)
    assert kinds(check(root)) == [ProblemKind.ORPHAN]


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("UPDATE blob SET refs = refs + 1", ProblemKind.REFERENCES),
        ("DELETE FROM blob", ProblemKind.REFERENCES),
        ("DELETE FROM object WHERE key = 'big'", ProblemKind.REFERENCES),
        ("UPDATE blob SET size = size - 1", ProblemKind.SIZE),
        ("DELETE FROM inline", ProblemKind.MISSING),
        ("INSERT INTO inline (data) VALUES (x'01')", ProblemKind.REFERENCES),
    ],
)
async def test_rows_that_disagree_are_found(local, root, statement, kind):
    """Counts, sizes and small payloads that do not fit together are reported."""
    await local.put("big", b"x" * BIG)
    await local.put("small", b"x")
    assert check(root).clean
    change(root, statement)
    assert kind in kinds(check(root))


async def test_a_broken_index_is_found(local, root):
    """What SQLite's own check finds is reported."""
    for number in range(300):
        await local.put(f"key {number}", b"x")
    await local.store.close()
    with (root / "index" / "meta.db").open("r+b") as file:
        file.seek(4096 * 3 + 8)
        file.write(b"\xff" * 64)
    report = check(root)
    assert report.counts[ProblemKind.INDEX] > 0


def test_a_folder_that_is_no_store_is_refused(tmp_path):
    """A check of a folder without format.json says that it is no data directory."""
    with pytest.raises(WrongLayout):
        check(tmp_path)
