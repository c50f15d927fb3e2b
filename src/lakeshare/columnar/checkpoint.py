"""Checkpoints in Parquet: their file actions as rows, their other actions as JSON lines.

Large ones go by way of datafusion, which raises nothing more telling than Exception; that is translated here. Small
ones are read by pyarrow alone: loading datafusion takes longer than that, and holds up everything else meanwhile.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import md5, sha256
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakeshare.columnar.rows import ROWS, ROWS_AT_ONCE, Commit, read_commit
from lakeshare.columnar.source import Blob, Unreadable, local_path, size_of
from lakeshare.columnar.text import json_of

READING_THREADS = 2
"""How many row groups are decoded at once."""
SMALL_BYTES = 8 * 1024**2
"""A checkpoint of up to this size, some ten thousand files, is read by pyarrow alone."""
_SMALL = ("protocol", "metaData", "txn", "domainMetadata")
_VECTOR = {
    "dv_storage": ("storageType", "Utf8"),
    "dv_text": ("pathOrInlineDv", "Utf8"),
    "dv_offset": ("offset", "Int32"),
    "dv_size": ("sizeInBytes", "Int32"),
    "dv_cardinality": ("cardinality", "Int64"),
}
_PLAIN = {
    "size": ("size", "Int64"),
    "modification_time": ("modificationTime", "Int64"),
    "data_change": ("dataChange", "Boolean"),
    "stats": ("stats", "Utf8"),
}


@dataclass(frozen=True, slots=True)
class SmallActions:
    """What a checkpoint says besides its files: actions as JSON lines, and the paths of its sidecars."""

    lines: tuple[bytes, ...]
    sidecars: tuple[str, ...] = ()


def small_actions(blob: Blob) -> SmallActions:
    """Read what is small of a checkpoint in Parquet. Raises Unreadable."""
    with _parquet(blob) as file:
        present = [name for name in (*_SMALL, "sidecar") if name in file.schema_arrow.names]
        lines: list[bytes] = []
        sidecars: list[str] = []
        for batch in file.iter_batches(ROWS_AT_ONCE, columns=present):
            for name in present:
                for value in _present(batch.column(name)):
                    if name == "sidecar":
                        sidecars.append(value["path"])
                    else:
                        lines.append(orjson.dumps({name: value}))
    return SmallActions(tuple(lines), tuple(sidecars))


def json_actions(commit: Commit) -> SmallActions:
    """Tell the sidecars of a V2 checkpoint in JSON from its other actions. Raises Unreadable."""
    lines: list[bytes] = []
    sidecars: list[str] = []
    for line in commit.lines:
        sidecar = orjson.loads(line).get("sidecar")
        if sidecar is None:
            lines.append(line)
        elif isinstance(sidecar, dict) and isinstance(sidecar.get("path"), str):
            sidecars.append(sidecar["path"])
        else:
            raise Unreadable(commit.blob.name, "a sidecar action has no path")
    return SmallActions(tuple(lines), tuple(sidecars))


def rows_of_files(blobs: Sequence[Blob]) -> Iterator[pa.RecordBatch]:
    """Yield the files of a whole checkpoint: its parts and sidecars in Parquet, or what it holds in JSON itself."""
    read = small_rows if sum(size_of(blob) for blob in blobs) <= SMALL_BYTES else large_rows
    for blob in blobs:
        if blob.name.endswith(".json"):
            yield from read_commit(blob).rows()
        else:
            yield from read(blob)


def large_rows(blob: Blob) -> Iterator[pa.RecordBatch]:
    """Yield the files of a checkpoint, or of a sidecar, in no order, by way of datafusion. Raises Unreadable."""
    with _parquet(blob) as file:
        schema = file.schema_arrow
    if "add" not in schema.names:
        return
    fields = {field.name: field.type for field in schema.field("add").type}
    for batch in _stream(blob, _query(fields)):
        yield _as_rows(batch)


def small_rows(blob: Blob) -> Iterator[pa.RecordBatch]:
    """Yield the files of a checkpoint, or of a sidecar, by pyarrow alone. Raises Unreadable."""
    with _parquet(blob) as file:
        if "add" not in file.schema_arrow.names:
            return
        for batch in file.iter_batches(ROWS_AT_ONCE, columns=["add"]):
            adds = batch.column("add")
            adds = adds.filter(pc.is_valid(pc.struct_field(adds, "path")))
            if len(adds):
                yield _as_rows(pa.RecordBatch.from_pydict(_chosen(adds)))


def _chosen(adds: pa.StructArray) -> dict[str, pa.Array]:
    """Choose what a query of datafusion's would."""
    paths = [path.encode() for path in pc.struct_field(adds, "path").to_pylist()]
    vectors = _child(adds, "deletionVector")
    found = {name: _child(adds, source) for name, (source, _) in _PLAIN.items()}
    found |= {name: _child(vectors, source) for name, (source, _) in _VECTOR.items()}
    return found | {
        "path": _child(adds, "path"),
        "partition": _child(adds, "partitionValues"),
        "sha256": pa.array([sha256(path).hexdigest() for path in paths], pa.string()),
        "md5": pa.array([md5(path, usedforsecurity=False).hexdigest() for path in paths], pa.string()),
        "stats_parsed": _child(adds, "stats_parsed"),
    }


def _child(column: pa.Array, name: str) -> pa.Array:
    """Return a field of a struct, null wherever the struct is; null itself where there is none such."""
    there = pa.types.is_struct(column.type) and column.type.get_field_index(name) >= 0
    return pc.struct_field(column, name) if there else pa.nulls(len(column))


def _query(fields: dict[str, pa.DataType]) -> str:
    """Write the query that reads what a checkpoint has; what it lacks is null."""
    vector = {field.name for field in fields["deletionVector"]} if "deletionVector" in fields else set()
    chosen = ["c.add['path'] as path", _field(fields, "partitionValues", "partition")]
    chosen += [_cast(source in fields, f"c.add['{source}']", kind, name) for name, (source, kind) in _PLAIN.items()]
    # A field that must be there is read as empty where its struct is null, so each struct is asked for itself.
    within = "case when c.add['deletionVector'] is not null then c.add['deletionVector']['{}'] end"
    chosen += [_cast(source in vector, within.format(source), kind, name) for name, (source, kind) in _VECTOR.items()]
    chosen += ["encode(sha256(c.add['path']), 'hex') as sha256", "md5(c.add['path']) as md5"]
    chosen.append(_field(fields, "stats_parsed", "stats_parsed"))
    wanted = "c.add is not null and c.add['path'] is not null"
    return f"select {', '.join(chosen)} from c where {wanted}"  # noqa: S608 - of names that stand in this file.


def _field(fields: dict[str, pa.DataType], source: str, name: str) -> str:
    return f"c.add['{source}'] as {name}" if source in fields else f"null as {name}"


def _cast(there: bool, source: str, kind: str, name: str) -> str:  # noqa: FBT001
    return f"arrow_cast({source if there else 'null'}, '{kind}') as {name}"


def _as_rows(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = {name: batch.column(name) for name in batch.schema.names}
    parsed = columns.pop("stats_parsed")
    if pa.types.is_struct(parsed.type):
        columns["stats"] = pc.coalesce(pc.cast(columns["stats"], pa.string()), json_of(parsed))
    arrays = [_cast_to(columns[field.name], field.type) for field in ROWS]
    return pa.RecordBatch.from_arrays(arrays, schema=ROWS)


def _cast_to(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if column.type.equals(kind):
        return column
    if pa.types.is_null(column.type):
        return pa.nulls(len(column), kind)
    if pa.types.is_map(kind):
        # The children's names and nullability are the writer's; the offsets and strings are what counts.
        return pa.MapArray.from_arrays(
            column.offsets, _cast_to(column.keys, pa.string()), _cast_to(column.items, pa.string())
        )
    return pc.cast(column, kind)


def _stream(blob: Blob, query: str) -> Iterator[pa.RecordBatch]:
    from datafusion import SessionConfig, SessionContext  # noqa: PLC0415 - slow to load, and few need it

    config = SessionConfig().with_target_partitions(READING_THREADS).with_batch_size(ROWS_AT_ONCE)
    context = SessionContext(config)
    with local_path(blob) as path:
        try:
            context.register_parquet("c", path, file_extension="")
            for batch in context.sql(query).execute_stream():
                yield batch.to_pyarrow()
        except Exception as reason:  # noqa: BLE001 - datafusion raises Exception itself for all that goes wrong.
            raise Unreadable(blob.name, str(reason)) from None


@contextmanager
def _parquet(blob: Blob) -> Iterator[pq.ParquetFile]:
    source = blob.path if blob.data is None else pa.BufferReader(blob.data)
    try:
        with pq.ParquetFile(source) as file:
            yield file
    except (pa.ArrowException, OSError) as reason:
        raise Unreadable(blob.name, str(reason)) from None


def _present(column: pa.Array) -> Sequence[dict[str, Any]]:
    return [_plain(value, column.type) for value in column.drop_null().to_pylist()]


def _plain(value: Any, kind: pa.DataType) -> Any:
    """Turn a value of Parquet into one of JSON: maps come as lists of pairs."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {field.name: _plain(value[field.name], field.type) for field in kind}
    if pa.types.is_map(kind):
        return dict(value)
    return value
