"""The tables that are queried: synthetic logs, made once into a cache folder, on disk and in a server's data folder.

No data file of them exists; each has its row in the server's index, which pins it when its URL is signed. A log is one
checkpoint and two commits, with about 570 bytes of statistics a file and a hundred partition values: what
the figures of the reference server were taken with. One table more has commits alone.
"""

import json
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from hashlib import md5, sha256
from pathlib import Path
from uuid import UUID

import apsw
import boto3
import pyarrow as pa
import pyarrow.parquet as pq
from botocore.config import Config
from running import ACCESS_KEY, SECRET, say
from sharing_peers import Lakeshare

from lakeshare.storage.local import layout as layouts

BUCKET, SHARE, SCHEMA = "lake", "bench", "default"
PARTITIONS = 100
ROWS_A_FILE = 1000
FILE_BYTES = 12_345
CHECKPOINT = 10
FILES_A_COMMIT = 1000
_AT_ONCE = 100_000
_READY = "ready.json"
_DAYS = [(date(2024, 1, 1) + timedelta(days=number)).isoformat() for number in range(PARTITIONS)]
_FIELDS = {"id": "long", "customer": "string", "price": "double", "ordered": "timestamp", "note": "string"}
_FORMAT = pa.struct([("provider", pa.string()), ("options", pa.map_(pa.string(), pa.string()))])
_METADATA = pa.struct(
    [
        ("id", pa.string()),
        ("format", _FORMAT),
        ("schemaString", pa.string()),
        ("partitionColumns", pa.list_(pa.string())),
        ("configuration", pa.map_(pa.string(), pa.string())),
        ("createdTime", pa.int64()),
    ]
)
_PROTOCOL = pa.struct([("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32())])
_ADD = pa.struct(
    [
        ("path", pa.string()),
        ("partitionValues", pa.map_(pa.string(), pa.string())),
        ("size", pa.int64()),
        ("modificationTime", pa.int64()),
        ("dataChange", pa.bool_()),
        ("stats", pa.string()),
    ]
)
_CHECKPOINT = pa.schema([("protocol", _PROTOCOL), ("metaData", _METADATA), ("add", _ADD)])


@dataclass(frozen=True, slots=True)
class SyntheticTable:
    """A table by its name and number of files; `commits_only` has no checkpoint."""

    name: str
    files: int
    commits_only: bool = False

    @property
    def in_words(self) -> str:
        """Say how large it is."""
        return f"{self.files:,} files".replace(",", " ") + (" in commits alone" if self.commits_only else "")


@dataclass(frozen=True, slots=True)
class Prepared:
    """What was made: a data folder for the server, a token for its share, and the logs on disk."""

    data: Path
    logs: Path
    token: str


def prepare(cache: Path, tables: Sequence[SyntheticTable]) -> Prepared:
    """Return what is in the cache folder, made first where it is not there or not by this very file."""
    digest = sha256(Path(__file__).read_bytes() + repr(tables).encode()).hexdigest()[:16]
    folder = cache / f"sharing-{digest}"
    made = Prepared(folder / "data", folder / "logs", "")
    if not (folder / _READY).exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        token = _make(made, tables)
        (folder / _READY).write_text(json.dumps({"token": token}))
    return Prepared(made.data, made.logs, json.loads((folder / _READY).read_text())["token"])


def _make(made: Prepared, tables: Sequence[SyntheticTable]) -> str:
    for table in tables:
        started = time.perf_counter()
        _write_log(made.logs / table.name / "_delta_log", table)
        say(f"made the log of {table.in_words} in {time.perf_counter() - started:.0f} s")
    with Lakeshare(made.data, 1) as server:
        store = boto3.client(
            "s3",
            endpoint_url=server.endpoint,
            aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=SECRET,
            region_name="us-east-1",
            config=Config(s3={"addressing_style": "path"}),
        )
        store.create_bucket(Bucket=BUCKET)
        store.put_object(Bucket=BUCKET, Key="seed", Body=b"x")
        for path in sorted(made.logs.glob("*/_delta_log/*")):
            store.upload_file(str(path), BUCKET, path.relative_to(made.logs).as_posix())
        specs = [{"schema": SCHEMA, "spec": f"{each.name}:delta:{BUCKET}:{each.name}"} for each in tables]
        server.admin("POST", "/shares", {"name": SHARE, "tables": specs})
        token: str = server.admin("POST", f"/shares/{SHARE}/tokens", {})["profile"]["bearerToken"]
    for table in tables:
        _index(made.data, table)
    return token


def path_of(table: SyntheticTable, number: int) -> str:
    """Return the path of a file in its table."""
    name = UUID(md5(f"{table.name}{number}".encode()).hexdigest())
    return f"day={day_of(number)}/part-{number % 100000:05d}-{name}.c000.snappy.parquet"


def day_of(number: int) -> str:
    """Return the partition of a file."""
    return _DAYS[number % PARTITIONS]


def schema_string() -> str:
    """Return the schema of all tables."""
    fields = [*_FIELDS.items(), ("day", "date")]
    plain = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in fields]
    return json.dumps({"type": "struct", "fields": plain})


def stats_of(number: int) -> str:
    """Return the statistics of a file: `id` follows the order of the files, `price` does not."""
    price, day = number * 7919 % 100_003 / 100, f"2024-{1 + number % 12:02d}-{1 + number % 28:02d}"
    first = number * ROWS_A_FILE
    low = {
        "id": first,
        "customer": f"customer-{number * 31 % 1_000_003:012d}-aaaaaaaa",
        "price": price,
        "ordered": f"{day}T00:00:00.000Z",
        "note": f"a note of the order {first:012d}",
    }
    high = {
        "id": first + ROWS_A_FILE - 1,
        "customer": f"customer-{number * 31 % 1_000_003 + 999:012d}-zzzzzzzz",
        "price": price + 1,
        "ordered": f"{day}T23:59:59.999Z",
        "note": f"a note of the order {first + ROWS_A_FILE:012d}",
    }
    stats = {"numRecords": ROWS_A_FILE, "minValues": low, "maxValues": high, "nullCount": dict.fromkeys(low, 0)}
    return json.dumps(stats, separators=(",", ":"))


def _add(table: SyntheticTable, number: int) -> dict[str, object]:
    return {
        "path": path_of(table, number),
        "partitionValues": {"day": day_of(number)},
        "size": FILE_BYTES,
        "modificationTime": 1_700_000_000_000,
        "dataChange": True,
        "stats": stats_of(number),
    }


def _metadata(table: SyntheticTable) -> dict[str, object]:
    return {
        "id": str(UUID(md5(table.name.encode()).hexdigest())),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": schema_string(),
        "partitionColumns": ["day"],
        "configuration": {},
        "createdTime": 1_700_000_000_000,
    }


def _write_log(folder: Path, table: SyntheticTable) -> None:
    folder.mkdir(parents=True)
    protocol = {"minReaderVersion": 1, "minWriterVersion": 2}
    if table.commits_only:
        heads: list[dict[str, object]] = [{"protocol": protocol}, {"metaData": _metadata(table)}]
        for version, first in enumerate(range(0, table.files, FILES_A_COMMIT)):
            adds = [{"add": _add(table, number)} for number in range(first, first + FILES_A_COMMIT)]
            _commit(folder, version, [*(heads if not version else ()), *adds])
        return
    late = 2 * min(10, table.files // 100)
    with pq.ParquetWriter(folder / f"{CHECKPOINT:020d}.checkpoint.parquet", _CHECKPOINT) as writer:
        heads = [{"protocol": protocol}, {"metaData": _metadata(table)}]
        writer.write_table(pa.Table.from_pylist(heads, _CHECKPOINT))
        for first in range(0, table.files - late, _AT_ONCE):
            writer.write_batch(_adds(table, range(first, min(first + _AT_ONCE, table.files - late))))
    _commit(folder, CHECKPOINT, [])
    for step, first in ((1, table.files - late), (2, table.files - late // 2)):
        _commit(folder, CHECKPOINT + step, [{"add": _add(table, number)} for number in range(first, first + late // 2)])
    (folder / "_last_checkpoint").write_text(json.dumps({"version": CHECKPOINT, "size": table.files}))


def _adds(table: SyntheticTable, numbers: range) -> pa.RecordBatch:
    count = len(numbers)
    columns = [
        [path_of(table, number) for number in numbers],
        [[("day", day_of(number))] for number in numbers],
        [FILE_BYTES] * count,
        [1_700_000_000_000] * count,
        [True] * count,
        [stats_of(number) for number in numbers],
    ]
    arrays = [pa.array(values, field.type) for values, field in zip(columns, _ADD, strict=True)]
    adds = pa.StructArray.from_arrays(arrays, fields=list(_ADD))
    return pa.RecordBatch.from_arrays(
        [pa.nulls(count, _PROTOCOL), pa.nulls(count, _METADATA), adds], schema=_CHECKPOINT
    )


def _commit(folder: Path, version: int, actions: Sequence[object]) -> None:
    lines: list[object] = [{"commitInfo": {"timestamp": 1_700_000_000_000, "operation": "WRITE"}}, *actions]
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    (folder / f"{version:020d}.json").write_text(text)


def _index(data: Path, table: SyntheticTable) -> None:
    """Give each file of a table a row in the index of a server that does not run, copied from that of a real object."""
    started = time.perf_counter()
    connection = apsw.Connection(str(layouts.prepare(data).index))
    columns = [row[1] for row in connection.execute("PRAGMA table_info(object)")]
    seed = connection.execute(f"SELECT {', '.join(columns)} FROM object WHERE key = 'seed'").fetchall()[0]
    place = columns.index("key")
    marks = ", ".join("?" for _ in columns)

    def rows() -> Iterator[tuple[object, ...]]:
        for path in sorted(path_of(table, number) for number in range(table.files)):
            yield (*seed[:place], f"{table.name}/{path}", *seed[place + 1 :])

    with connection:
        connection.executemany(f"INSERT INTO object ({', '.join(columns)}) VALUES ({marks})", rows())
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    say(f"gave {table.in_words} their rows in {time.perf_counter() - started:.0f} s")
