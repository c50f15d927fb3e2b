"""File actions as rows: one schema for what checkpoints and commits say of a file, and its reading from JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import md5, sha256
from typing import Any

import orjson
import pyarrow as pa

from lakeshare.columnar.source import Blob, Unreadable, open_blob, size_of

ROWS = pa.schema(
    [
        ("path", pa.string()),
        ("partition", pa.map_(pa.string(), pa.string())),
        ("size", pa.int64()),
        ("modification_time", pa.int64()),
        ("data_change", pa.bool_()),
        ("stats", pa.string()),
        ("dv_storage", pa.string()),
        ("dv_text", pa.string()),
        ("dv_offset", pa.int32()),
        ("dv_size", pa.int32()),
        ("dv_cardinality", pa.int64()),
        ("sha256", pa.string()),
        ("md5", pa.string()),
    ]
)
"""A file that is in the table. `sha256` and `md5` are hexadecimal digests of the path as the log has it."""

KEYS = pa.schema(
    [
        ("path", pa.string()),
        ("dv_storage", pa.string()),
        ("dv_text", pa.string()),
        ("dv_offset", pa.int32()),
        ("added", pa.bool_()),
    ]
)
"""What identifies a logical file, its path and its deletion vector, and whether an action adds or removes it."""

MAX_COMMIT_BYTES = 4 * 1024**3
"""The largest commit that is read."""
ROWS_AT_ONCE = 16_384
"""How many files make a batch: about ten megabytes of text."""
RETAINED_BYTES = 32 * 1024**2
"""A commit up to this size is decoded once; a larger one twice, so that its rows need not lie in memory."""

Fields = dict[str, Any]
_IDENTITY = ("storageType", "pathOrInlineDv", "offset")
"""Fields of a deletion vector that tell logical files apart."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit, a range of compacted commits, or a V2 checkpoint in JSON.

    `keys` are those of its file actions, in order; `lines` its other actions as they stand; `retained` its rows, where
    they are few.
    """

    blob: Blob
    keys: pa.Table
    lines: tuple[bytes, ...]
    retained: tuple[pa.RecordBatch, ...] | None

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Yield the files it adds, in order. Raises Unreadable."""
        if self.retained is not None:
            yield from self.retained
            return
        for adds, _, _ in _chunks(self.blob):
            yield rows_of(self.blob.name, adds)


def read_commit(blob: Blob) -> Commit:
    """Read a commit. Raises Unreadable."""
    small = size_of(blob) <= RETAINED_BYTES
    keys: list[pa.RecordBatch] = []
    lines: list[bytes] = []
    rows: list[pa.RecordBatch] = []
    for adds, actions, others in _chunks(blob):
        keys.append(_keys(blob.name, actions))
        lines += others
        if small and adds:
            rows.append(rows_of(blob.name, adds))
    return Commit(blob, pa.Table.from_batches(keys, KEYS), tuple(lines), tuple(rows) if small else None)


def read_lines(blob: Blob) -> Iterator[bytes]:
    """Yield the lines of a file that are not blank. Raises Unreadable when it is too large."""
    if size_of(blob) > MAX_COMMIT_BYTES:
        raise Unreadable(blob.name, f"it has more than {MAX_COMMIT_BYTES} bytes")
    with open_blob(blob) as file:
        for line in file:
            if not line.isspace():
                yield line.rstrip(b"\r\n")


def rows_of(name: str, adds: Sequence[Fields]) -> pa.RecordBatch:
    """Turn decoded add actions into rows. Raises Unreadable."""
    vectors = [item.get("deletionVector") or {} for item in adds]
    try:
        columns = [
            [item["path"] for item in adds],
            [list((item.get("partitionValues") or {}).items()) for item in adds],
            [item["size"] for item in adds],
            [item.get("modificationTime") or 0 for item in adds],
            [item.get("dataChange", True) for item in adds],
            [item.get("stats") for item in adds],
            *_vector_columns(vectors, *_IDENTITY, "sizeInBytes", "cardinality"),
            [sha256(item["path"].encode()).hexdigest() for item in adds],
            [md5(item["path"].encode(), usedforsecurity=False).hexdigest() for item in adds],
        ]
        return _batch(columns, ROWS)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as reason:
        raise Unreadable(name, f"an add action is malformed: {type(reason).__name__} {reason}") from None


_Chunk = tuple[list[Fields], list[tuple[Fields, bool]], list[bytes]]


def _chunks(blob: Blob) -> Iterator[_Chunk]:
    """Yield the actions of a commit, so many at a time: those that add, all file actions, and other lines."""
    adds: list[Fields] = []
    actions: list[tuple[Fields, bool]] = []
    others: list[bytes] = []
    for line in read_lines(blob):
        fields, added = _file_action(blob.name, line)
        if fields is None:
            others.append(line)
            continue
        actions.append((fields, added))
        if added:
            adds.append(fields)
        if len(actions) == ROWS_AT_ONCE:
            yield adds, actions, others
            adds, actions, others = [], [], []
    yield adds, actions, others


def _file_action(name: str, line: bytes) -> tuple[Fields | None, bool]:
    try:
        whole = orjson.loads(line)
    except orjson.JSONDecodeError as reason:
        raise Unreadable(name, f"a line is not JSON: {reason}") from None
    if not isinstance(whole, dict):
        raise Unreadable(name, "a line is not a JSON object")
    for action in ("add", "remove"):
        fields = whole.get(action)
        if isinstance(fields, dict):
            return fields, action == "add"
        if fields is not None:
            raise Unreadable(name, f"its {action} action is not an object")
    return None, False


def _keys(name: str, actions: Sequence[tuple[Fields, bool]]) -> pa.RecordBatch:
    try:
        vectors = [fields.get("deletionVector") or {} for fields, _ in actions]
        paths = [fields["path"] for fields, _ in actions]
        return _batch([paths, *_vector_columns(vectors, *_IDENTITY), [added for _, added in actions]], KEYS)
    except (KeyError, TypeError, AttributeError, ValueError) as reason:
        raise Unreadable(name, f"a file action is malformed: {type(reason).__name__} {reason}") from None


def _vector_columns(vectors: Sequence[Fields], *fields: str) -> list[list[Any]]:
    if not any(vectors):
        return [[None] * len(vectors)] * len(fields)
    return [[vector.get(field) for vector in vectors] for field in fields]


def _batch(columns: Sequence[Sequence[Any]], schema: pa.Schema) -> pa.RecordBatch:
    """Make a batch; pyarrow says that a value is not of its column's type by a ValueError or TypeError."""
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    if arrays[0].null_count:
        raise ValueError("a path is missing")
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
