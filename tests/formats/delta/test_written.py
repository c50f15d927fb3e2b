"""Tables that delta-rs writes, through appends, deletes, updates, merges, optimisation, checkpoints and clean-up."""

from collections import Counter
from datetime import UTC, date, datetime, timedelta

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from lakeshare.columnar.folder import Folder
from lakeshare.formats.delta.actions import AddFile, ChangeFile, RemoveFile
from lakeshare.formats.delta.changes import check_recorded, feed_enabled, feed_of
from lakeshare.formats.delta.errors import VersionGone
from lakeshare.formats.delta.opening import (
    Engine,
    commit_actions,
    history_of,
    list_current,
    list_whole_log,
    open_snapshot,
)
from lakeshare.formats.delta.partition import typed
from lakeshare.formats.delta.paths import locate
from lakeshare.formats.delta.schema import Primitive
from lakeshare.formats.delta.sql_hints import parse_sql_hints

START = datetime(2024, 1, 1, tzinfo=UTC)


def rows(first, count=10):
    numbers = range(first, first + count)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "day": pa.array([date(2024, 1, number % 5 + 1) for number in numbers]),
            "name": [f"name {number}" for number in numbers],
            "moment": pa.array([START + timedelta(hours=number, microseconds=7) for number in numbers]),
            "weight": pa.array([number / 7 for number in numbers], pa.float32()),
        }
    )


@pytest.fixture
def table(tmp_path):
    root = tmp_path / "table"
    root.mkdir()
    cdf = {"delta.enableChangeDataFeed": "true"}
    write_deltalake(root, rows(0), partition_by=["day"], configuration=cdf)
    for first in range(10, 60, 10):
        write_deltalake(root, rows(first), mode="append")
    DeltaTable(root).delete("id = 3 or id >= 55")
    DeltaTable(root).update(predicate="id = 20", updates={"name": "'changed'"})
    return root


def same(engine, root):
    files, theirs = Folder(root), DeltaTable(root)
    ours = open_snapshot(engine, str(root), files, list_current(engine, str(root), files))
    batches = ours.files.everything().batches(["path", "size"])
    found = sorted(tuple(row.values()) for batch in batches for row in batch.to_pylist())
    actions = pa.table(theirs.get_add_actions()).select(["path", "size_bytes"]).to_pylist()
    assert ours.version == theirs.version()
    assert found == sorted(tuple(row.values()) for row in actions)
    return ours


def test_every_operation_of_a_writer_is_followed(table, tmp_path):
    """After each operation the warm snapshot has just the files that delta-rs has."""
    engine = Engine(tmp_path / "cache")
    same(engine, table)
    write_deltalake(table, rows(100), mode="append")
    same(engine, table)
    DeltaTable(table).create_checkpoint()
    same(engine, table)
    DeltaTable(table).optimize.compact()
    same(engine, table)
    source = rows(5, 10)
    merge = DeltaTable(table).merge(source, "t.id = s.id", source_alias="s", target_alias="t")
    merge.when_matched_update_all().when_not_matched_insert_all().execute()
    same(engine, table)
    write_deltalake(table, rows(200), mode="overwrite")
    last = same(engine, table)
    assert same(Engine(tmp_path / "other"), table).key[:2] == last.key[:2]


def test_cleaned_versions_are_told(table, tmp_path):
    """Once a writer cleaned its log, older versions name the earliest one that is left."""
    DeltaTable(table).create_checkpoint()
    checkpoint = DeltaTable(table).version()
    for version in range(checkpoint):
        (table / f"_delta_log/{version:020d}.json").unlink()
    engine, files = Engine(tmp_path / "cache"), Folder(table)
    with pytest.raises(VersionGone, match=f"earliest available version is {checkpoint}"):
        open_snapshot(engine, "t", files, list_whole_log(files), 1)
    same(engine, table)


@pytest.mark.parametrize(
    "hint",
    [
        "id = 20",
        "id > 40 and id <= 50",
        "day = '2024-01-03'",
        "day = '2024-01-03' and id < 10",
        "name = 'changed'",
        "name >= 'name 5'",
        "moment >= TIMESTAMP '2024-01-02T10:00:00.000007Z'",
        "moment = TIMESTAMP '2024-01-02T10:00:00.000007Z'",
        "weight > 5",
        "weight = 1",
        "id is null",
        "not (id = 20)",
    ],
)
def test_pruning_loses_no_row(table, tmp_path, hint):
    """The files that a predicate leaves hold every row that it matches."""
    files, engine = Folder(table), Engine(tmp_path / "cache")
    DeltaTable(table).create_checkpoint()
    write_deltalake(table, rows(300), mode="append")
    snapshot = open_snapshot(engine, "t", files, list_current(engine, "t", files))
    chosen = snapshot.files.select(parse_sql_hints([hint]), snapshot.shape)
    kept = {path for batch in chosen.batches(["path"]) for path in batch["path"].to_pylist()}
    everything = snapshot.files.everything().batches(["path"])
    dropped = {path for batch in everything for path in batch["path"].to_pylist()} - kept
    assert matching(table, dropped, hint) == 0


def matching(root, paths, hint):
    """Count the rows of some files that a predicate matches, by DuckDB."""
    total = 0
    text = hint.replace("TIMESTAMP '", "TIMESTAMPTZ '")
    for path in paths:
        key = locate(path).key
        day = key.split("/")[0].removeprefix("day=")
        file = f"read_parquet('{root / key}', hive_partitioning = false)"
        sql = f"select count(*) from (select *, '{day}' as day from {file}) where {text}"
        total += duckdb.sql(sql).fetchone()[0]
    return total


def test_the_change_feed_is_that_of_delta_rs(table):
    """The files that a change feed names hold just the changes that delta-rs reads."""
    files, theirs = Folder(table), DeltaTable(table)
    commits = [feed_of(version, commit_actions(files, version)) for version in range(theirs.version() + 1)]
    check_recorded(0, theirs.version(), commits[0].metadata, commits[1:])
    assert feed_enabled(commits[0].metadata)
    ours = Counter(change for commit in commits for file in commit.files for change in changes(table, file, commit))
    found = pa.table(theirs.load_cdf(starting_version=0, ending_version=theirs.version()).read_all())
    reported = Counter(
        (row["_commit_version"], row["_change_type"], row["id"], row["name"], row["day"]) for row in found.to_pylist()
    )
    assert ours == reported


def changes(root, file, commit):
    table = pq.read_table(root / locate(file.path).key, partitioning=None)
    day = typed(file.partition_values["day"], Primitive("date"))
    for row in table.to_pylist():
        match file:
            case ChangeFile():
                change = row["_change_type"]
            case AddFile():
                change = "insert"
            case RemoveFile():
                change = "delete"
        yield commit.version, change, row["id"], row["name"], day


def test_times_are_those_of_the_commits_files(table):
    """A version's time is its file's, and a time between two commits means the first of them."""
    files = Folder(table)
    log = list_whole_log(files)
    metadata = next(action for action in commit_actions(files, 0) if type(action).__name__ == "Metadata")
    history = history_of(files, log, metadata)
    times = [history.time_of(version) for version in sorted(log.commits)]
    assert times == sorted(set(times))
    assert [history.version_at(at) for at in times] == sorted(log.commits)
