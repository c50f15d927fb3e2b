"""A table of a hundred thousand files: read cold, moved forward, pruned and streamed; times are recorded only."""

import json
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakeshare.columnar.folder import Folder
from lakeshare.formats.delta.lines import LineShape, delta_lines
from lakeshare.formats.delta.opening import Engine, list_log, open_snapshot
from lakeshare.formats.delta.sql_hints import parse_sql_hints
from tests.formats.delta.logs import SMALL, TEXTS, LogWriter, add, field, metadata, protocol, remove

FILES = 100_000
DAYS = 50


def name(number):
    return f"date=2024-01-{number % DAYS + 1:02d}/part-{number:05d}-c000.snappy.parquet"


def text(number):
    low, high = number * 10, number * 10 + 9
    return f'{{"numRecords":10,"minValues":{{"id":{low}}},"maxValues":{{"id":{high}}},"nullCount":{{"id":0}}}}'


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A checkpoint of many files in several row groups, and commits after it."""
    writer = LogWriter(tmp_path_factory.mktemp("many"))
    head = [protocol(), metadata(field("id", "long"), field("date", "string"), partitions=["date"])]
    writer.parquet(writer.log / f"{0:020d}.checkpoint.parquet", head)
    small = pq.read_table(writer.log / f"{0:020d}.checkpoint.parquet").select(list(SMALL))
    numbers = range(FILES)
    partition = pa.array([[("date", f"2024-01-{number % DAYS + 1:02d}")] for number in numbers], TEXTS)
    columns = [
        pa.array([name(number) for number in numbers]),
        partition,
        pa.array([1000] * FILES),
        pa.array([7] * FILES),
        pa.array([True] * FILES),
        pa.array([text(number) for number in numbers]),
    ]
    fields = ["path", "partitionValues", "size", "modificationTime", "dataChange", "stats"]
    files = pa.table({"add": pa.StructArray.from_arrays(columns, fields)})
    whole = pa.concat_tables([small, files], promote_options="default")
    pq.write_table(whole, writer.log / f"{0:020d}.checkpoint.parquet", row_group_size=20_000)
    writer.hint(0)
    writer.commit(1, *(remove(name(number)) for number in range(100)), add("new", 5, text(FILES), {"date": "x"}))
    writer.commit(2, *(remove(name(number)) for number in range(100, 150)))
    return Folder(writer.root)


class Urls:
    def plain(self, paths):
        return lambda: ("https://share.example/bucket/table/", paths, "?X-Amz-Signature=0")

    def relative(self, keys):
        return [f"https://share.example/bucket/table/{key}?X-Amz-Signature=0" for key in keys]

    def absolute(self, places):
        raise AssertionError(places)


def timed(record, label, work):
    start = time.perf_counter()
    found = work()
    record(f"{label}_ms", round((time.perf_counter() - start) * 1000, 1))
    return found


def test_a_table_of_many_files(table, tmp_path, record_property):
    """Its files, its pruned files and its lines are all there, cold, moved forward and warm."""
    engine = Engine(tmp_path)
    log = list_log(table)
    cold = timed(record_property, "cold", lambda: open_snapshot(engine, "t", table, log, 1))
    assert (cold.files.num_files, cold.files.size_bytes) == (FILES - 99, (FILES - 100) * 1000 + 5)
    latest = timed(record_property, "forward", lambda: open_snapshot(engine, "t", table, log))
    assert latest.files.num_files == FILES - 149
    assert timed(record_property, "warm", lambda: open_snapshot(engine, "t", table, log)) is latest

    day = parse_sql_hints(["date = '2024-01-05'"])
    chosen = timed(record_property, "partition", lambda: latest.files.select(day, latest.shape))
    assert chosen.num_files == FILES // DAYS - 3
    narrow = parse_sql_hints(["id >= 500000 and id < 500100"])
    chosen = timed(record_property, "statistics", lambda: latest.files.select(narrow, latest.shape))
    assert chosen.num_files == 10

    shape = LineShape("sha256", 1)
    everything = latest.files.everything()
    lines = timed(record_property, "lines", lambda: b"".join(delta_lines(everything, Urls(), shape)))
    assert lines.count(b"\n") == FILES - 149
    assert json.loads(lines.rsplit(b"\n", 2)[1])["file"]["deltaSingleAction"]["add"]["size"] == 5
