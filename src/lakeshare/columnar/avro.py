"""Avro files as columns, by way of datafusion: what Iceberg keeps its manifests in.

The header is read here, since datafusion loses the ids of fields, and a file is known to be whole before its rows are
believed: every block must end where the next begins, and the rows must be as many as the blocks promise. Logical types
are taken off, so that a value arrives as it is stored, and so are records without a field, such as the partition of a
table that has none: they take no byte, and datafusion refuses them.
"""

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson
import pyarrow as pa

from lakeshare.columnar.source import DESCRIPTORS, Blob, Unreadable, open_blob, size_of

MAGIC = b"Obj\x01"
SYNC_BYTES = 16
MAX_FILE_BYTES = 1024**3
"""Largest Avro file that is read; writers end a manifest at 8 MiB."""
MAX_HEADER_PAIRS = 1_000
MAX_HEADER_VALUE_BYTES = 64 * 1024**2
"""Longest value of the header; a manifest's has the schema of its table."""
MAX_LONG_BYTES = 10
"""Bytes of the longest whole number: seven bits each."""
MAX_DEPTH = 64
"""Deepest nesting of a schema."""
ROWS_AT_ONCE = 8_192
READING_THREADS = 1
COPY_BYTES = 1024**2
CODECS = frozenset({"null", "deflate", "zstandard", "snappy"})

Json = Any


class Step(NamedTuple):
    """One field on the way to a column: found by its id, or by its name in a file that has no ids."""

    field_id: int
    name: str


@dataclass(frozen=True, slots=True)
class Column:
    """A column to read: its name in the answer, the way to it, and the Arrow type that it is to have.

    A file without it gives nulls. Without a type the values come as they are stored.
    """

    name: str
    path: tuple[Step, ...]
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Header:
    """What an Avro file says of itself, and where its first block begins."""

    schema: Json
    plain: Json
    metadata: Mapping[str, bytes]
    codec: str
    sync: bytes
    body_at: int


def read_header(blob: Blob) -> Header:
    """Read the header of a file. Raises FileGone, Unreadable."""
    with open_blob(blob) as file:
        return _header(file, blob.name)


def avro_batches(blob: Blob, columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
    """Yield the chosen columns of a file, in its order. Raises FileGone, Unreadable, also after the first batches."""
    if size_of(blob) > MAX_FILE_BYTES:
        raise Unreadable(blob.name, f"it is larger than {MAX_FILE_BYTES} bytes")
    with open_blob(blob) as file:
        header = _header(file, blob.name)
        promised = _count_rows(file, header, blob.name)
        query = f"select {', '.join(_chosen(header.schema, each) for each in columns)} from a"  # noqa: S608 - quoted
        with _plain_copy(file, header) as path:
            found = 0
            for batch in _stream(blob.name, path, query):
                found += batch.num_rows
                yield batch
    if found != promised:
        raise Unreadable(blob.name, f"it promises {promised} rows and has {found}")


def _stream(name: str, path: str, query: str) -> Iterator[pa.RecordBatch]:
    from datafusion import SessionConfig, SessionContext  # noqa: PLC0415 - slow to load, and few need it

    config = SessionConfig().with_target_partitions(READING_THREADS).with_batch_size(ROWS_AT_ONCE)
    context = SessionContext(config)
    try:
        context.register_avro("a", path, file_extension="")
        for batch in context.sql(query).execute_stream():
            yield batch.to_pyarrow()
    except Exception as reason:  # noqa: BLE001 - datafusion raises Exception itself for all that goes wrong.
        raise Unreadable(name, str(reason)) from None


# The header and the blocks.


def _header(file: io.BufferedIOBase, name: str) -> Header:
    if file.read(len(MAGIC)) != MAGIC:
        raise Unreadable(name, "it is no Avro file")
    metadata = _metadata(file, name)
    try:
        schema = orjson.loads(metadata["avro.schema"])
        plain = plain_schema(schema)
    except (KeyError, ValueError, TypeError):
        raise Unreadable(name, "its header has no schema") from None
    codec = metadata.get("avro.codec", b"null").decode(errors="replace")
    if codec not in CODECS:
        raise Unreadable(name, f"its codec {codec[:32]!r} is not one of {', '.join(sorted(CODECS))}")
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise Unreadable(name, "its rows are no records")
    return Header(schema, plain, metadata, codec, _exactly(file, SYNC_BYTES, name), file.tell())


def _metadata(file: io.BufferedIOBase, name: str) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    while count := _long(file, name):
        if count < 0:  # The size of the block stands before it, for those who skip it.
            _long(file, name)
        if len(found) + abs(count) > MAX_HEADER_PAIRS:
            raise Unreadable(name, f"its header has more than {MAX_HEADER_PAIRS} entries")
        for _ in range(abs(count)):
            key = _sized(file, name)
            found[key.decode(errors="replace")] = _sized(file, name)
    return found


def _count_rows(file: io.BufferedIOBase, header: Header, name: str) -> int:
    """Walk the blocks from the first to the end of the file, and return how many rows they promise."""
    end = file.seek(0, io.SEEK_END)
    at = file.seek(header.body_at)
    rows = 0
    while at < end:
        count, size = _long(file, name), _long(file, name)
        if count < 0 or not 0 <= size <= end - file.tell() - SYNC_BYTES:
            raise Unreadable(name, "it is cut short, or damaged")
        file.seek(size, io.SEEK_CUR)
        if file.read(SYNC_BYTES) != header.sync:
            raise Unreadable(name, "a block does not end as it must")
        rows += count
        at = file.tell()
    return rows


def _long(file: io.BufferedIOBase, name: str) -> int:
    value = 0
    for at in range(MAX_LONG_BYTES):
        (byte,) = _exactly(file, 1, name)
        value |= (byte & 0x7F) << (7 * at)
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1)
    raise Unreadable(name, "a number in it has no end")


def _sized(file: io.BufferedIOBase, name: str) -> bytes:
    size = _long(file, name)
    if not 0 <= size <= MAX_HEADER_VALUE_BYTES:
        raise Unreadable(name, f"a value of its header has {size} bytes")
    return _exactly(file, size, name)


def _exactly(file: io.BufferedIOBase, size: int, name: str) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise Unreadable(name, "it ends too early")
    return data


# The copy that datafusion reads: the same blocks under a header with the plain schema.


@contextmanager
def _plain_copy(file: io.BufferedIOBase, header: Header) -> Iterator[str]:
    schema = orjson.dumps(header.plain)
    pairs = {b"avro.schema": schema, b"avro.codec": header.codec.encode()}
    head = MAGIC + _written(len(pairs)) + b"".join(_text(key) + _text(value) for key, value in pairs.items())
    descriptor = os.memfd_create("avro")
    try:
        with os.fdopen(os.dup(descriptor), "wb") as copy:
            copy.write(head + _written(0) + header.sync)
            file.seek(header.body_at)
            while chunk := file.read(COPY_BYTES):
                copy.write(chunk)
        yield f"{DESCRIPTORS}{descriptor}"
    finally:
        os.close(descriptor)


def plain_schema(schema: Json, depth: int = 0) -> Json:
    """Return a schema with the same bytes: names and types alone, and no field that takes none.

    Raises ValueError, KeyError or TypeError for what is no schema.
    """
    if depth > MAX_DEPTH:
        msg = f"it is nested deeper than {MAX_DEPTH}"
        raise ValueError(msg)
    if isinstance(schema, list):
        return [plain_schema(each, depth + 1) for each in schema]
    return _plain_type(schema, depth) if isinstance(schema, dict) else schema


def _plain_type(schema: dict[str, Json], depth: int) -> Json:
    kept = {key: schema[key] for key in ("type", "name", "size", "symbols") if key in schema}
    match schema.get("type"):
        case "record":
            fields = [("" + field["name"], plain_schema(field["type"], depth + 1)) for field in schema["fields"]]
            return kept | {"fields": [{"name": name, "type": kind} for name, kind in fields if not _is_empty(kind)]}
        case "array":
            return kept | {"items": plain_schema(schema["items"], depth + 1)}
        case "map":
            return kept | {"values": plain_schema(schema["values"], depth + 1)}
        case "fixed" | "enum":
            return kept
        case inner:
            return plain_schema(inner, depth + 1)


def _is_empty(schema: Json) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "record" and not schema["fields"]


def _written(number: int) -> bytes:
    value = (number << 1) ^ (number >> 63)
    out = bytearray()
    while value > 0x7F:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    return bytes([*out, value])


def _text(data: bytes) -> bytes:
    return _written(len(data)) + data


# The query.


def _chosen(schema: Json, column: Column) -> str:
    names = _names(schema, column.path)
    source = "null"
    if names:
        source = 'a."' + names[0].replace('"', '""') + '"'
        source += "".join("['" + name.replace("'", "''") + "']" for name in names[1:])
    kept = f"arrow_cast({source}, '{column.kind}')" if column.kind else source
    return f'{kept} as "{column.name}"'


def _names(schema: Json, path: Sequence[Step]) -> list[str]:
    """Return the names along a way through a schema, none where it does not lead to anything."""
    found: list[str] = []
    for step in path:
        fields = schema.get("fields", ()) if isinstance(schema, dict) else ()
        field = next((each for each in fields if each.get("field-id") == step.field_id), None)
        field = field or next((each for each in fields if each["name"] == step.name), None)
        if field is None or _is_empty(_inner(field["type"])):
            return []
        found.append(field["name"])
        schema = _inner(field["type"])
    return found


def _inner(schema: Json) -> Json:
    """Return what a union of null and one other is, besides null."""
    if isinstance(schema, list):
        others = [each for each in schema if each != "null"]
        return others[0] if len(others) == 1 else schema
    return schema
