"""Parts in memory, on disk, and made in a process of their own."""

import json
import os
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakeshare.columnar import build, shelf
from lakeshare.columnar.bounds import TableShape
from lakeshare.columnar.build import BuildFailed, build_part
from lakeshare.columnar.checkpoint import large_rows, rows_of_files, small_rows
from lakeshare.columnar.part import MAX_STATS_BYTES, open_part, part_in_memory, write_part
from lakeshare.columnar.rows import read_commit, rows_of
from lakeshare.columnar.selection import Selection
from lakeshare.columnar.shelf import NoRoomOnShelf, Shelf
from lakeshare.columnar.source import Blob, FileGone, Unreadable
from tests.columnar.files import SHAPE, add, stats


def rows(count, start=0):
    adds = [
        add(f"f{number}", stats(5, {"n": number}, {"n": number + 9}, {"n": 0}), {"col-p": "x"}, size=number)
        for number in range(start, start + count)
    ]
    return rows_of("test", adds)


def checkpoint(path, count, group=None):
    """Write a small checkpoint: adds with no more than they must have."""
    files = rows(count).select(["path", "partition", "size", "stats"])
    names = ["path", "partitionValues", "size", "stats"]
    column = pa.StructArray.from_arrays(files.columns, names=names)
    pq.write_table(pa.table({"add": column}), path, row_group_size=group)
    return Blob("_delta_log/c.parquet", path=str(path))


def facts(part):
    columns = ["path", "sha256", "md5", "order", "size", "records", "low2", "high2", "tail"]
    batches = Selection(((part, None),)).batches(columns)
    return sorted((row for batch in batches for row in batch.to_pylist()), key=lambda row: row["path"])


def test_a_written_part_is_the_same_as_one_in_memory(tmp_path):
    """What is mapped from disk is what was made, and can be read again after its pages were let go of."""
    write_part(tmp_path / "p", iter([rows(3000), rows(2000, 3000)]), SHAPE)
    mapped = open_part(tmp_path / "p", SHAPE)
    memory = part_in_memory([rows(5000)], SHAPE)
    assert facts(mapped) == facts(memory)
    assert facts(mapped) == facts(memory)
    assert mapped.memory_bytes == 0 < memory.memory_bytes
    assert not mapped.absolute


def test_statistics_without_end_are_left_out():
    """A file whose statistics are too long is a file without statistics."""
    long = add("a", '{"numRecords":1,"x":"' + "y" * MAX_STATS_BYTES + '"}')
    part = part_in_memory([rows_of("test", [long, add("b", stats(2))])], SHAPE)
    first, second = facts(part)
    assert (first["records"], second["records"]) == (None, 2)
    assert json.loads("{" + first["tail"] + "}") == {"partitionValues": {}, "size": 1}


def test_absolute_paths_are_remembered(tmp_path):
    """A part on disk knows that some of its paths are absolute."""
    batch = rows_of("test", [add("a"), add("s3://b/k")])
    write_part(tmp_path / "p", iter([batch]), SHAPE)
    assert open_part(tmp_path / "p", SHAPE).absolute


def test_an_empty_part_can_be_kept(tmp_path):
    """A checkpoint without files is a part without rows."""
    write_part(tmp_path / "p", iter([]), SHAPE)
    assert open_part(tmp_path / "p", SHAPE).num_files == 0


def test_a_part_appears_whole_or_not_at_all(tmp_path):
    """When the rows fail half way, nothing is left behind."""

    def failing():
        yield rows(10)
        raise Unreadable("x", "torn")

    with pytest.raises(Unreadable):
        write_part(tmp_path / "p", failing(), SHAPE)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", ["empty", "cut", "other"])
def test_a_damaged_part_is_unreadable(tmp_path, damage):
    """A part that is not whole, or of another table, is not read."""
    path = tmp_path / "p"
    write_part(path, iter([rows(10)]), SHAPE)
    if damage != "other":
        os.truncate(path, 0 if damage == "empty" else path.stat().st_size // 2)
    with pytest.raises(Unreadable):
        open_part(path, TableShape() if damage == "other" else SHAPE)


@pytest.mark.parametrize("in_memory", [False, True])
def test_a_part_is_built_apart(tmp_path, monkeypatch, in_memory):
    """A process of its own builds the same part, also of a checkpoint that lies in memory."""
    monkeypatch.setattr(build, "APART_BYTES", 0)
    blob = checkpoint(tmp_path / "c.parquet", 500, group=100)
    if in_memory:
        blob = Blob(blob.name, data=(tmp_path / "c.parquet").read_bytes())
    build_part(tmp_path / "p", [blob], SHAPE)
    assert facts(open_part(tmp_path / "p", SHAPE)) == facts(part_in_memory([rows(500)], SHAPE))


def test_what_is_wrong_with_a_file_is_told_from_apart(tmp_path, monkeypatch):
    """A torn or missing checkpoint is the same error, wherever it is read."""
    monkeypatch.setattr(build, "APART_BYTES", 0)
    blob = checkpoint(tmp_path / "c.parquet", 500)
    os.truncate(blob.path, 1000)
    with pytest.raises(Unreadable, match=r"_delta_log/c\.parquet"):
        build_part(tmp_path / "p", [blob], SHAPE)
    with pytest.raises(FileGone):
        build_part(tmp_path / "p", [Blob("gone", path=str(tmp_path / "gone"))], SHAPE)
    commit = tmp_path / "c.json"
    commit.write_text('{"add":{"path":"a"}}\n')
    with pytest.raises(Unreadable, match="malformed"):
        build_part(tmp_path / "p", [Blob("c.json", path=str(commit))], SHAPE)


def test_a_process_that_dies_is_told(tmp_path, monkeypatch):
    """A build that ends without a word is an error of its own."""
    monkeypatch.setattr(build, "APART_BYTES", 0)
    blob = checkpoint(tmp_path / "c.parquet", 5)
    with pytest.raises(BuildFailed, match="status 1"):
        build_part(tmp_path / "nowhere" / "p", [blob], SHAPE)


def test_a_shelf_builds_a_part_once(tmp_path, monkeypatch):
    """Threads that ask together, and processes that ask later, find the part that was built."""
    monkeypatch.setattr(shelf, "MEMORY_CHECKPOINT_BYTES", 0)
    blob = checkpoint(tmp_path / "c.parquet", 50)
    built = []
    monkeypatch.setattr(shelf, "build_part", lambda *order: built.append(order) or build_part(*order))
    one = Shelf(tmp_path / "cache")
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: one.of_checkpoint("k", SHAPE, [blob]), range(4)))
    assert all(part is found[0] for part in found)
    other = Shelf(tmp_path / "cache").of_checkpoint("k", SHAPE, [blob])
    assert facts(other) == facts(found[0])
    assert len(built) == 1


def test_a_shelf_mends_what_was_damaged(tmp_path, monkeypatch):
    """A part cut short by a crash is built anew."""
    monkeypatch.setattr(shelf, "MEMORY_CHECKPOINT_BYTES", 0)
    blob = checkpoint(tmp_path / "c.parquet", 50)
    Shelf(tmp_path / "cache").of_checkpoint("k", SHAPE, [blob])
    (path,) = (tmp_path / "cache").glob("*.arrow")
    os.truncate(path, 10)
    assert Shelf(tmp_path / "cache").of_checkpoint("k", SHAPE, [blob]).num_files == 50


def test_a_shelf_makes_room(tmp_path, monkeypatch):
    """The part used longest ago goes first, and one that is in use stays readable."""
    monkeypatch.setattr(shelf, "MEMORY_ROWS", 0)
    small = Shelf(tmp_path / "cache", disk_bytes=1)
    first = small.of_rows("a", SHAPE, iter([rows(10)]), 10)
    small.of_rows("b", SHAPE, iter([rows(20)]), 20)
    assert len(list((tmp_path / "cache").glob("*.arrow"))) == 1
    assert len(facts(first)) == 10


def test_a_shelf_that_cannot_be_written_says_so(tmp_path, monkeypatch):
    """Where there is no room there is an error that says where."""
    monkeypatch.setattr(shelf, "MEMORY_ROWS", 0)
    (tmp_path / "cache").write_text("a file, and no folder")
    with pytest.raises(NoRoomOnShelf):
        Shelf(tmp_path / "cache").of_rows("a", SHAPE, iter([rows(10)]), 10)


def test_few_rows_stay_in_memory(tmp_path):
    """Small parts never touch the disk."""
    part = Shelf(tmp_path / "cache").of_rows("a", SHAPE, iter([rows(10)]), 10)
    assert part.memory_bytes > 0
    assert not (tmp_path / "cache").exists()


def test_a_large_commit_is_read_twice_rather_than_held(tmp_path, monkeypatch):
    """The rows of a large commit are decoded again when they are asked for."""
    monkeypatch.setattr("lakeshare.columnar.rows.RETAINED_BYTES", 10)
    monkeypatch.setattr("lakeshare.columnar.rows.ROWS_AT_ONCE", 3)
    path = tmp_path / "c.json"
    lines = [json.dumps({"add": add(f"f{number}")}) for number in range(8)]
    path.write_text("\n".join([*lines, json.dumps({"txn": {}}), ""]))
    commit = read_commit(Blob("c.json", path=str(path)))
    assert commit.retained is None
    assert commit.lines == (b'{"txn": {}}',)
    assert [path for batch in commit.rows() for path in batch["path"].to_pylist()] == [f"f{n}" for n in range(8)]
    assert commit.keys.num_rows == 8


def test_a_commit_too_large_is_refused(tmp_path, monkeypatch):
    """There is a bound to what is read."""
    monkeypatch.setattr("lakeshare.columnar.rows.MAX_COMMIT_BYTES", 3)
    with pytest.raises(Unreadable, match="more than 3 bytes"):
        read_commit(Blob("c", data=b"{}\n{}\n"))


def test_a_checkpoint_without_files_has_no_rows(tmp_path):
    """A checkpoint may hold no add column at all."""
    path = tmp_path / "c.parquet"
    pq.write_table(pa.table({"txn": [1]}), path)
    assert list(rows_of_files([Blob("c.parquet", path=str(path))])) == []


VECTOR = pa.struct(
    [
        pa.field("storageType", pa.string(), nullable=False),
        pa.field("pathOrInlineDv", pa.string(), nullable=False),
        pa.field("offset", pa.int32()),
        pa.field("sizeInBytes", pa.int32(), nullable=False),
        pa.field("cardinality", pa.int64(), nullable=False),
    ]
)
PARSED = pa.struct(
    [
        ("numRecords", pa.int64()),
        ("minValues", pa.struct([("n", pa.int32()), ("at", pa.timestamp("us", "UTC")), ("s", pa.string())])),
    ]
)
WHOLE = pa.struct(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("partitionValues", pa.map_(pa.string(), pa.string()), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("modificationTime", pa.int64(), nullable=False),
        pa.field("dataChange", pa.bool_(), nullable=False),
        ("stats", pa.string()),
        ("stats_parsed", PARSED),
        ("deletionVector", VECTOR),
    ]
)


def test_large_and_small_checkpoints_are_read_alike(tmp_path):
    """Whichever way a checkpoint is read, its rows are the same: nulls, vectors, maps and typed statistics too."""
    vector = {"storageType": "u", "pathOrInlineDv": "ab", "offset": None, "sizeInBytes": 3, "cardinality": 4}
    plain = {"partitionValues": [], "size": 1, "modificationTime": 2, "dataChange": True}
    low = {"n": 7, "at": 1_700_000_000_123_456, "s": 'q"\\'}
    adds = [
        None,
        {"path": "a", **plain, "stats": '{"numRecords":1}'},
        {"path": "ü%20b", **plain, "partitionValues": [("p", None), ("q", "x")], "dataChange": False},
        None,
        {"path": "c", **plain, "deletionVector": vector, "stats_parsed": {"numRecords": 2, "minValues": low}},
        {"path": "d", **plain, "deletionVector": {**vector, "offset": 5}, "stats_parsed": {"numRecords": None}},
        {"path": "e", **plain, "partitionValues": [("p", "y")], "stats": "", "stats_parsed": None},
    ]
    pq.write_table(pa.table({"add": pa.array(adds, WHOLE)}), tmp_path / "c.parquet", row_group_size=2)
    blob = Blob("c.parquet", path=str(tmp_path / "c.parquet"))
    read = [[row for batch in way(blob) for row in batch.to_pylist()] for way in (small_rows, large_rows)]
    assert sorted(read[0], key=lambda row: row["path"]) == sorted(read[1], key=lambda row: row["path"])
    assert {row["path"]: row["dv_offset"] for row in read[0]} == {
        "a": None,
        "ü%20b": None,
        "c": None,
        "d": 5,
        "e": None,
    }
