"""Opening tables: every kind of log, warm and moved forward, and what is done when something is broken."""

import json
import os
import shutil

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakeshare.columnar.fileset import MAX_LAYERS
from lakeshare.columnar.folder import Folder
from lakeshare.columnar.source import Blob, FileGone, Unreadable
from lakeshare.formats.delta.decoding import decode_action
from lakeshare.formats.delta.errors import BrokenLog, MissingCommit, UnsupportedTable, VersionGone
from lakeshare.formats.delta.opening import (
    Engine,
    commit_actions,
    commit_time,
    history_of,
    is_known,
    list_current,
    list_log,
    list_whole_log,
    open_snapshot,
    warm_snapshot,
)
from lakeshare.formats.delta.replay import fold, live_files
from lakeshare.formats.delta.segment import read_listing
from tests.formats.delta.logs import ADD, SMALL, VECTOR, LogWriter, add, field, metadata, protocol, remove, vector

HEAD = (protocol(), metadata(field("id", "long"), field("p", "string"), partitions=["p"]))


@pytest.fixture
def writer(tmp_path):
    return LogWriter(tmp_path / "table")


@pytest.fixture
def engine(tmp_path):
    return Engine(tmp_path / "cache")


def opened(engine, writer, version=None):
    files = Folder(writer.root)
    return open_snapshot(engine, "t", files, list_log(files), version)


def paths(snapshot):
    return sorted(path for batch in snapshot.files.everything().batches(["path"]) for path in batch[0].to_pylist())


def test_commits_alone_make_a_table(engine, writer):
    """A young table is what its commits leave."""
    writer.commit(0, *HEAD, add("a", 10), add("b", 20))
    writer.commit(1, remove("a"), add("c", 5))
    snapshot = opened(engine, writer)
    assert (snapshot.version, paths(snapshot)) == (1, ["b", "c"])
    assert (snapshot.files.num_files, snapshot.files.size_bytes) == (2, 25)
    assert paths(opened(engine, writer, 0)) == ["a", "b"]


@pytest.mark.parametrize("kind", ["classic", "parts", "v2 parquet", "v2 json", "v2 inline"])
def test_every_kind_of_checkpoint_is_read(engine, writer, kind):
    """A checkpoint stands for all before it, in whatever form it is written, and commits go on from there."""
    adds = [add(f"f{number}", number, dv=vector() if number == 2 else None) for number in range(5)]
    small = [*HEAD, {"txn": {"appId": "app", "version": 9}}]
    if kind == "classic":
        writer.classic(3, *small, *adds, remove("old"))
    elif kind == "parts":
        writer.parts(3, [*small, *adds[:2]], adds[2:])
    elif kind == "v2 inline":
        writer.v2(3, [*small, *adds], kind="json")
    else:
        writer.v2(3, small, adds[:1], adds[1:], kind=kind.split()[1])
    writer.commit(4, remove("f1"), add("new"), {"txn": {"appId": "app", "version": 10}})
    snapshot = opened(engine, writer)
    assert paths(snapshot) == ["f0", "f2", "f3", "f4", "new"]
    assert snapshot.state.transactions["app"].version == 10
    with pytest.raises(VersionGone, match="earliest available version is 3"):
        opened(engine, writer, 2)


def test_statistics_in_columns_alone_are_read(engine, writer):
    """A checkpoint may hold statistics as columns instead of text; they come out as text, and bound the file."""
    values = pa.struct([("id", pa.int64())])
    parsed = pa.struct([("numRecords", pa.int64()), ("minValues", values), ("maxValues", values)])
    kinds = {"add": pa.struct([*ADD[:-1], ("stats_parsed", parsed)]), **SMALL}
    file = add("a")
    file["add"]["stats_parsed"] = {"numRecords": 3, "minValues": {"id": 1}, "maxValues": {"id": 9}}
    writer.classic(0, *HEAD, file, schema=kinds)
    (batch,) = opened(engine, writer).files.everything().batches(["tail", "records"])
    assert json.loads(json.loads("{" + batch["tail"][0].as_py() + "}")["stats"]) == {
        "numRecords": 3,
        "minValues": {"id": 1},
        "maxValues": {"id": 9},
    }
    assert batch["records"].to_pylist() == [3]


def test_fields_that_must_be_there_are_null_where_their_struct_is(engine, writer):
    """Writers may mark fields as required inside an action that is not there, or a vector that a file has not."""
    required = pa.struct([pa.field(item.name, item.type, nullable=False) for item in pa.struct(VECTOR)])
    kept = [pa.field(name, required if name == "deletionVector" else kind) for name, kind in ADD]
    strict = pa.struct([item.with_nullable(item.name in {"deletionVector", "stats"}) for item in kept])
    writer.classic(0, *HEAD, add("a"), remove("b"), add("c", dv=vector()), schema={"add": strict, **SMALL})
    snapshot = opened(engine, writer)
    (batch,) = snapshot.files.everything().batches(["path", "dv_storage", "dv_offset", "dv_cardinality"])
    assert sorted(batch.to_pylist(), key=lambda row: row["path"]) == [
        {"path": "a", "dv_storage": None, "dv_offset": None, "dv_cardinality": None},
        {"path": "c", "dv_storage": "u", "dv_offset": 1, "dv_cardinality": 1},
    ]
    writer.commit(1, remove("a"), remove("c", dv=vector()))
    assert paths(opened(engine, writer)) == []


def test_deletion_vectors_tell_files_apart(engine, writer):
    """A path with another deletion vector is another file, and an offset makes another vector."""
    writer.commit(0, *HEAD, add("a"))
    writer.commit(1, add("a", dv=vector(offset=1)), remove("a"))
    writer.commit(2, add("a", 99, dv=vector(offset=40)), remove("a", dv=vector(offset=1)))
    snapshot = opened(engine, writer)
    assert (paths(snapshot), snapshot.files.size_bytes) == (["a"], 99)


def test_a_file_added_again_has_its_new_facts(engine, writer):
    """An add of a file that is there already replaces what was known of it."""
    writer.classic(0, *HEAD, add("a", 1), add("b", 1))
    writer.commit(1, add("a", 100))
    assert opened(engine, writer).files.size_bytes == 101


def test_absolute_paths_meet_however_they_are_written(engine, writer):
    """A file added by one spelling of its absolute path is removed by another, also across a checkpoint."""
    writer.classic(0, *HEAD, add("/x/a"), add("file:/x/b"), add("c"))
    writer.commit(1, remove("file:///x/a"))
    writer.commit(2, remove("/x/b"))
    assert paths(opened(engine, writer)) == ["c"]


def test_a_warm_snapshot_is_moved_forward(engine, writer):
    """A commit is in the next snapshot without reading anything but that commit again."""
    writer.commit(0, *HEAD, add("a"))
    first = opened(engine, writer)
    writer.commit(1, add("b"), remove("a"))
    second = opened(engine, writer)
    assert paths(second) == ["b"]
    assert paths(first) == ["a"]
    assert opened(engine, writer) is second


def test_moving_forward_reads_new_commits_only(engine, writer):
    """What was read before need not be there any more, as long as the log still lists it."""
    writer.commit(0, *HEAD, add("a"))
    opened(engine, writer)
    writer.commit(1, add("b"))
    files = Folder(writer.root)

    class OnlyNew:
        def list(self, folder, after=""):
            return files.list(folder, after)

        def read(self, name):
            if name.endswith("0.json"):
                raise FileGone(name)
            return files.read(name)

    assert paths(open_snapshot(engine, "t", OnlyNew(), list_log(files))) == ["a", "b"]


def test_layers_are_gathered_in_time(engine, writer):
    """However often a snapshot is moved forward, its layers stay few."""
    writer.commit(0, *HEAD, add("f0"))
    for version in range(1, MAX_LAYERS + 5):
        gone = [remove(f"f{version - 1}")] if version % 3 == 0 else []
        writer.commit(version, add(f"f{version}"), *gone)
        snapshot = opened(engine, writer)
        assert paths(snapshot) == sorted(f"f{n}" for n in range(version + 1) if n % 3 != 2 or n == version)
        assert len(snapshot.files.layers) <= MAX_LAYERS


def test_layers_of_other_schemas_are_gathered_apart(engine, writer):
    """Commits before and after a change of the schema bound other columns, and stay in layers of their own."""
    writer.commit(0, *HEAD, add("f0"))
    opened(engine, writer)
    for version in range(1, MAX_LAYERS + 2):
        changed = [metadata(field("id", "long"), field("new", "string"))] if version == 3 else []
        writer.commit(version, add(f"f{version}"), *changed)
        snapshot = opened(engine, writer)
    assert snapshot.files.num_files == MAX_LAYERS + 2
    assert 2 <= len(snapshot.files.layers) <= 3


def test_a_newer_checkpoint_does_not_stop_a_snapshot_from_moving(engine, writer):
    """A warm table is listed as far back as it must be to move forward past a checkpoint that was written since."""
    writer.classic(3, *HEAD, add("a"))
    writer.commit(3, add("a"))
    files = Folder(writer.root)
    open_snapshot(engine, "t", files, list_current(engine, "t", files))
    writer.commit(4, add("b"))
    torn = writer.classic(4, *HEAD, add("a"), add("b"))
    torn.write_bytes(b"never to be read")
    writer.commit(5, add("c"))
    log = list_current(engine, "t", files)
    assert is_known(engine, "t", log)
    moved = open_snapshot(engine, "t", files, log)
    assert (paths(moved), moved.since) == (["a", "b", "c"], 3)


def test_a_listing_that_is_not_known_is_made_anew(engine, writer):
    """When a table was made again with fewer versions, its log is listed whole."""
    writer.classic(3, *HEAD, add("a"))
    files = Folder(writer.root)
    open_snapshot(engine, "t", files, list_current(engine, "t", files))
    shutil.rmtree(writer.log)
    LogWriter(writer.root).commit(0, *HEAD, add("new"))
    assert paths(open_snapshot(engine, "t", files, list_current(engine, "t", files))) == ["new"]


def test_a_snapshot_far_ahead_is_read_again(engine, writer, monkeypatch):
    """After many commits, or with many of their files in memory, a snapshot begins anew at a newer checkpoint."""
    monkeypatch.setattr("lakeshare.formats.delta.opening.MAX_STEPS", 3)
    writer.commit(0, *HEAD, add("f0"))
    opened(engine, writer)
    for version in range(1, 6):
        writer.commit(version, add(f"f{version}"))
    writer.classic(4, *HEAD, *(add(f"f{version}") for version in range(5)))
    snapshot = open_snapshot(engine, "t", Folder(writer.root), list_whole_log(Folder(writer.root)))
    assert (snapshot.since, snapshot.files.num_files) == (4, 6)


def test_the_times_of_a_log(engine, writer):
    """Commits are timed by their files, or by what they carry where the table has that on."""
    on = {"delta.enableInCommitTimestamps": "true"}
    stamped = metadata(field("id", "long"), **on)
    writer.commit(0, {"commitInfo": {"inCommitTimestamp": 100}}, protocol(), stamped)
    writer.commit(1, {"commitInfo": {"inCommitTimestamp": 200}}, add("a"))
    os.utime(writer.log / f"{0:020d}.json", ns=(5_000_000, 5_000_000))
    files = Folder(writer.root)
    snapshot = opened(engine, writer)
    history = history_of(files, list_whole_log(files), snapshot.state.metadata)
    assert [history.version_at(at) for at in (100, 199, 200)] == [0, 0, 1]
    plain = history_of(files, list_whole_log(files), decode_action(HEAD[1]))
    assert plain.time_of(0) == 5


def test_a_table_made_again_at_its_path_is_another(engine, writer):
    """Version numbers repeat when a table is deleted and made again; what was warm is not served for it."""
    writer.commit(0, *HEAD, add("old"))
    writer.commit(1, add("older"))
    before = opened(engine, writer)
    shutil.rmtree(writer.log)
    again = LogWriter(writer.root)
    again.commit(0, protocol(), metadata(field("id", "long"), table="other"), add("new"))
    again.commit(1, add("newer"))
    after = opened(engine, writer)
    assert paths(after) == ["new", "newer"]
    assert before.key != after.key


def test_the_same_last_commit_over_another_history_is_another_table(engine, writer):
    """A snapshot is warm only when every file of its log is the one it was made of."""
    writer.commit(0, *HEAD, add("old"))
    last = writer.commit(1, add("same"))
    facts = last.stat()
    opened(engine, writer)
    writer.commit(0, *HEAD, add("new"))
    os.utime(last, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    log = list_log(Folder(writer.root))
    assert warm_snapshot(engine, "t", log) is None
    assert paths(opened(engine, writer)) == ["new", "same"]


@pytest.mark.parametrize("hint", ["{", '{"version":99}', '{"version":2}', ""])
def test_a_broken_or_stale_hint_does_not_matter(engine, writer, hint):
    """_last_checkpoint may be broken, or point to a checkpoint that is not there."""
    writer.classic(1, *HEAD, add("a"))
    writer.commit(2, add("b"))
    (writer.log / "_last_checkpoint").write_text(hint)
    assert paths(opened(engine, writer)) == ["a", "b"]


def test_a_torn_checkpoint_is_passed_over(engine, writer):
    """When a checkpoint cannot be read, the one before it and its commits give the same table."""
    writer.classic(0, *HEAD, add("a"))
    writer.commit(0, *HEAD, add("a"))
    writer.commit(1, add("b"))
    torn = writer.classic(1, *HEAD, add("a"), add("b"))
    torn.write_bytes(torn.read_bytes()[: torn.stat().st_size // 2])
    files = Folder(writer.root)
    log = read_listing(files.list("_delta_log/"))
    assert paths(open_snapshot(engine, "t", files, log)) == ["a", "b"]


def test_what_lies_before_a_listing_is_found(engine, writer):
    """A log listed from its last checkpoint is listed whole for an older version, or when that checkpoint is torn."""
    writer.commit(0, *HEAD, add("a"))
    writer.commit(1, add("b"))
    torn = writer.classic(1, *HEAD, add("a"), add("b"))
    log = list_log(Folder(writer.root))
    assert log.since == 1
    assert paths(open_snapshot(engine, "t", Folder(writer.root), log, 0)) == ["a"]
    torn.write_bytes(torn.read_bytes()[: torn.stat().st_size // 2])
    other = Folder(writer.root)
    assert paths(open_snapshot(engine, "other", other, list_log(other))) == ["a", "b"]


def test_a_torn_checkpoint_without_another_way_is_an_error(engine, writer):
    """Without commits to go back to, a torn checkpoint is told, and nothing is served."""
    torn = writer.classic(1, *HEAD, add("a"))
    torn.write_bytes(torn.read_bytes()[:-100])
    with pytest.raises(Unreadable, match=r"checkpoint\.parquet"):
        opened(engine, writer)


def test_a_missing_sidecar_is_an_error_or_passed_over(engine, writer):
    """A V2 checkpoint without one of its sidecars is no checkpoint."""
    writer.v2(1, HEAD, [add("a")], [add("b")])
    next((writer.log / "_sidecars").iterdir()).unlink()
    with pytest.raises(FileGone, match="_sidecars"):
        opened(engine, writer)
    writer.commit(0, *HEAD, add("a"))
    writer.commit(1, add("b"))
    assert paths(opened(engine, writer)) == ["a", "b"]


def test_a_gap_in_the_log_is_an_error(engine, writer):
    """A missing commit is never skipped over."""
    writer.commit(0, *HEAD)
    writer.commit(2, add("a"))
    with pytest.raises(MissingCommit):
        opened(engine, writer)


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"add":{"size":1}}', '{"add":7}', '{"remove":{}}', '{"add":{"path":"x"}}']
)
def test_a_broken_commit_is_an_error(engine, writer, line):
    """A commit that cannot be understood is told by its name."""
    writer.commit(0, *HEAD)
    (writer.log / f"{1:020d}.json").write_text(line + "\n")
    with pytest.raises(Unreadable, match=r"00000000000000000001\.json"):
        opened(engine, writer)


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([protocol()], "no metaData"),
        ([HEAD[1]], "no protocol"),
        ([protocol(2, 5, ["columnMapping"]), HEAD[1]], "lists"),
    ],
)
def test_a_log_without_protocol_or_metadata_is_broken(engine, writer, actions, message):
    """Both are needed before any file means anything."""
    writer.commit(0, *actions, add("a"))
    with pytest.raises(BrokenLog, match=message):
        opened(engine, writer)


def test_unknown_features_and_formats_are_refused(engine, writer):
    """A reader feature that is not known is refused by name, and so is a format that is not Parquet."""
    writer.commit(0, protocol(3, 7, ["wonder"]), HEAD[1])
    with pytest.raises(UnsupportedTable, match="wonder"):
        opened(engine, writer)
    orc = json.loads(json.dumps(HEAD[1]))
    orc["metaData"]["format"]["provider"] = "orc"
    writer.commit(0, protocol(), orc)
    with pytest.raises(UnsupportedTable, match="orc"):
        opened(engine, writer)


def test_metadata_that_was_replaced_need_not_make_sense(engine, writer):
    """Only the newest metadata counts."""
    broken = json.loads(json.dumps(HEAD[1]))
    del broken["metaData"]["schemaString"]
    writer.commit(0, protocol(), broken)
    writer.commit(1, HEAD[1])
    assert opened(engine, writer).state.metadata.id == "table-id"


def test_compacted_commits_are_read_in_place_of_commits(engine, writer):
    """A range of compacted commits gives what its commits give."""
    writer.commit(0, *HEAD, add("a"))
    writer.commit(1, add("b"), remove("a"))
    writer.commit(2, remove("b"), add("c"))
    plain = opened(engine, writer)
    (writer.log / f"{1:020d}.json").write_text("not read\n")
    writer.compacted(1, 2, remove("a"), remove("b"), add("c"))
    engine.snapshots.forget("t")
    assert paths(opened(engine, writer)) == paths(plain) == ["c"]


def test_a_table_may_lie_in_memory(engine, writer, tmp_path):
    """Commits and checkpoints may be bytes instead of files."""
    writer.classic(1, *HEAD, add("a"))
    writer.commit(2, add("b"))
    folder = Folder(writer.root)

    class InMemory:
        def list(self, name, after=""):
            return folder.list(name, after)

        def read(self, name):
            return Blob(name, data=(writer.root / name).read_bytes())

    assert paths(open_snapshot(engine, "m", InMemory(), list_log(InMemory()))) == ["a", "b"]


def test_a_commit_can_be_read_alone(writer):
    """The actions and the time of one commit are there for streams and change feeds."""
    writer.commit(0, {"commitInfo": {"inCommitTimestamp": 12}}, *HEAD, add("a"))
    writer.commit(1, add("b"))
    files = Folder(writer.root)
    assert [type(action).__name__ for action in commit_actions(files, 0)] == [
        "CommitInfo",
        "Protocol",
        "Metadata",
        "AddFile",
    ]
    assert commit_time(files, 0) == 12
    with pytest.raises(BrokenLog, match="in-commit timestamp"):
        commit_time(files, 1)
    with pytest.raises(FileGone):
        list(commit_actions(files, 2))


_PATHS = st.sampled_from([*"abcdef", "/x", "file:/x", "file:///x", "s3://b/k"])
_VECTORS = st.sampled_from([None, vector("h{&8fAg]=QYJvl-}c!yH", offset=1), vector("h{&8fAg]=QYJvl-}c!yH", offset=40)])
_ADDS = st.builds(lambda path, size, dv: add(path, size, dv=dv), _PATHS, st.integers(1, 1000), _VECTORS)
_REMOVES = st.builds(remove, _PATHS, _VECTORS)
_COMMITS = st.lists(st.lists(st.one_of(_ADDS, _REMOVES), max_size=6), min_size=1, max_size=8)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(commits=_COMMITS, checkpoint=st.none() | st.integers(0, 7), warm=st.none() | st.integers(0, 7))
def test_columns_replay_as_the_fold_does(tmp_path_factory, commits, checkpoint, warm):
    """Replay over columns, over values and over a dictionary agree, from any checkpoint and any warm version."""
    root = tmp_path_factory.mktemp("random")
    writer, engine = LogWriter(root / "table"), Engine(root / "cache")
    actions = [[*HEAD, *commits[0]], *commits[1:]]
    for version, lines in enumerate(actions):
        writer.commit(version, *lines)
    decoded = [decode_action(line) for lines in actions for line in lines]
    if checkpoint is not None and checkpoint < len(commits):
        before = fold(decode_action(line) for lines in actions[: checkpoint + 1] for line in lines)
        state = [_as_json(file) for file in before.files.values()]
        writer.classic(checkpoint, *HEAD, *state)
    if warm is not None and warm < len(commits):
        opened(engine, writer, max(warm, checkpoint or 0) if (checkpoint or 0) < len(commits) else warm)
    snapshot = opened(engine, writer)
    columns = ["path", "size", "dv_text", "dv_offset"]
    batches = snapshot.files.everything().batches(columns)
    found = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
    files = [action for action in decoded if type(action).__name__ in {"AddFile", "RemoveFile"}]
    expected = {file.key: _facts(file) for file in live_files(reversed(files))}
    assert sorted(found, key=str) == sorted(expected.values(), key=str)
    assert expected == {file.key: _facts(file) for file in fold(decoded).files.values()}


def _facts(file):
    dv = file.deletion_vector
    return file.path, file.size, dv and dv.text, dv and dv.offset


def _as_json(file):
    dv = file.deletion_vector
    return add(file.path, file.size, dv=dv and vector(dv.text, offset=dv.offset))
