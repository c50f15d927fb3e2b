"""delta-rs against a live server: tables, merges, and writers that race for the same version."""

import concurrent.futures
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake

from tests.live import LiveServer

WRITERS = 8
APPENDS = 5


@pytest.fixture
def options(any_server: LiveServer) -> dict[str, str]:
    return any_server.delta_options


def ids(table: DeltaTable) -> list[int]:
    return sorted(table.to_pyarrow_table(columns=["id"])["id"].to_pylist())


def test_a_table_may_have_blanks_in_its_path(options: dict[str, str], any_bucket: str):
    """A path with a blank and a plus is listed and read, though the client writes a blank as a plus in queries."""
    where = f"s3://{any_bucket}/my tables/a+b c"
    write_deltalake(where, pa.table({"id": [1]}), storage_options=options)
    write_deltalake(where, pa.table({"id": [2]}), mode="append", storage_options=options)
    assert ids(DeltaTable(where, storage_options=options)) == [1, 2]


def test_a_table_is_written_appended_merged_and_read(options: dict[str, str], any_bucket: str):
    """Create, append, merge, delete, time travel, checkpoint and vacuum leave the rows that they should."""
    where = f"s3://{any_bucket}/tables/people"
    first = pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"]})
    write_deltalake(where, first, storage_options=options)
    write_deltalake(where, pa.table({"id": [4], "name": ["d"]}), mode="append", storage_options=options)
    table = DeltaTable(where, storage_options=options)
    (
        table.merge(
            source=pa.table({"id": [3, 5], "name": ["C", "e"]}),
            predicate="target.id = source.id",
            source_alias="source",
            target_alias="target",
        )
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .execute()
    )
    table.delete("id = 1")
    assert ids(table) == [2, 3, 4, 5]
    assert table.version() == 3
    table.create_checkpoint()
    table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    again = DeltaTable(where, storage_options=options)
    names = again.to_pyarrow_table().sort_by("id")["name"].to_pylist()
    assert names == ["b", "C", "d", "e"]


def test_partitions_with_odd_names_are_kept(options: dict[str, str], any_bucket: str):
    """A partition value with a space, a slash, a percent sign or a letter outside ASCII comes back as it was."""
    where = f"s3://{any_bucket}/tables/odd"
    values = ["a b", "c/d", "100%", "é=ü", "plus+and&"]
    rows = pa.table({"id": range(len(values)), "p": values})
    write_deltalake(where, rows, partition_by=["p"], storage_options=options)
    assert DeltaTable(where, storage_options=options).to_pyarrow_table().sort_by("id")["p"].to_pylist() == values


def test_every_commit_of_racing_writers_is_there_once(
    live_server: LiveServer, bucket: str, connect: Callable[..., Any]
):
    """Eight writers that append to one table over two workers lose nothing and repeat nothing."""
    where, options = f"s3://{bucket}/race", live_server.delta_options
    write_deltalake(where, pa.table({"id": pa.array([-1], pa.int64())}), storage_options=options)

    def append(writer: int) -> None:
        for number in range(APPENDS):
            write_deltalake(
                where,
                pa.table({"id": pa.array([writer * 1000 + number], pa.int64())}),
                mode="append",
                storage_options=options,
                commit_properties=CommitProperties(max_commit_retries=1000),
            )

    with concurrent.futures.ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(append, range(WRITERS)))

    table = DeltaTable(where, storage_options=options)
    assert ids(table) == sorted([-1, *(w * 1000 + n for w in range(WRITERS) for n in range(APPENDS))])
    assert table.version() == WRITERS * APPENDS
    listed = connect(live_server).list_objects_v2(Bucket=bucket, Prefix="race/_delta_log/")["Contents"]
    commits = [item["Key"] for item in listed if item["Key"].endswith(".json")]
    assert commits == [f"race/_delta_log/{version:020}.json" for version in range(WRITERS * APPENDS + 1)]
