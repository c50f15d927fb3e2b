"""A part of a table's files, ready to be pruned and sent: typed bounds, and the JSON tail of each file's line.

A small part lies in memory. A large one lies in an uncompressed Arrow file that is mapped into memory, so that
workers share its pages, only columns that are touched cost memory, and what was streamed can be let go of.
"""

import mmap
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakeshare.columnar.bounds import BoundColumn, TableShape
from lakeshare.columnar.keys import has_absolute
from lakeshare.columnar.source import Unreadable
from lakeshare.columnar.statistics import STORED, Bounds, type_statistics
from lakeshare.columnar.text import escaped, join_present, json_of_maps, letters

BUILDING_THREADS = 2
"""How many batches are typed at once; nearly all of that runs outside Python's lock."""
_AHEAD = 2 * BUILDING_THREADS
"""How many batches may wait to be written: what a build holds in memory."""
MAX_STATS_BYTES = 60 * 1024
"""Longer statistics of a file are left out. Escaped, those of a whole batch are still shorter than 2 GiB."""
_HEX_DIGITS = 64
_ORDER_DIGITS = 16
_ABSOLUTE_KEY = b"absolute"
_STREAMED = ("path", "sha256", "md5", "tail")
"""Columns that only streaming touches, to be let go of after it."""

_FIXED = [
    ("path", pa.string()),
    ("sha256", pa.string()),
    ("md5", pa.string()),
    ("order", pa.uint64()),
    ("size", pa.int64()),
    ("records", pa.int64()),
    ("modification_time", pa.int64()),
    ("data_change", pa.bool_()),
    ("dv_storage", pa.string()),
    ("dv_text", pa.string()),
    ("dv_offset", pa.int32()),
    ("dv_size", pa.int32()),
    ("dv_cardinality", pa.int64()),
    ("tail", pa.string()),
]


def part_schema(shape: TableShape) -> pa.Schema:
    """Return the columns of a part.

    `order` is the start of `sha256` as a number, by which pages are cut. `tail` is the end of a file's line:
    `"partitionValues":{…},"size":…` and, where there are any, `,"stats":"…"`.
    """
    fields = list(_FIXED)
    for place, column in enumerate(shape.columns):
        kind = STORED[column.kind]
        fields += [(f"low{place}", kind), (f"high{place}", kind), (f"nulls{place}", pa.int8())]
    return pa.schema(fields)


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Part:
    """Files of a table, in batches that never change. `absolute` says that some of their paths are."""

    shape: TableShape
    batches: tuple[pa.RecordBatch, ...]
    absolute: bool
    mapping: mmap.mmap | None = None
    address: int = 0

    @property
    def num_files(self) -> int:
        """Return how many files the part holds."""
        return sum(batch.num_rows for batch in self.batches)

    @property
    def memory_bytes(self) -> int:
        """Return how much memory the part holds for good; mapped pages are the kernel's."""
        return 0 if self.mapping is not None else sum(batch.nbytes for batch in self.batches)

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a column of all files."""
        kind = part_schema(self.shape).field(name).type
        return pa.chunked_array([batch.column(name) for batch in self.batches], kind)

    def bounds(self, wanted: BoundColumn) -> Bounds | None:
        """Return the bounds of a column, found by its physical path, where this part has them in the same order."""
        for place, column in enumerate(self.shape.columns):
            if column.physical == wanted.physical and column.partition is wanted.partition:
                if column.kind is not wanted.kind:
                    return None
                return Bounds(*(self.column(f"{name}{place}") for name in ("low", "high", "nulls")))
        return None

    def let_go(self, place: int) -> None:
        """Give back the pages of a batch that only streaming touches; the kernel still has them."""
        if self.mapping is None:
            return
        for name in _STREAMED:
            for buffer in self.batches[place].column(name).buffers():
                if buffer is not None:
                    _advise(self.mapping, buffer.address - self.address, buffer.size)


def part_in_memory(rows: Iterable[pa.RecordBatch], shape: TableShape) -> Part:
    """Make a part of rows that are few."""
    batches = tuple(stored(batch, shape) for batch in rows if batch.num_rows)
    return Part(shape, batches, any(has_absolute(batch.column("path")) for batch in batches))


def write_part(path: Path, rows: Iterable[pa.RecordBatch], shape: TableShape) -> None:
    """Write a part to a file that appears whole, or not at all."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    absolute = False
    try:
        with pa.OSFile(str(draft), "wb") as sink, pa.ipc.new_file(sink, part_schema(shape)) as writer:
            for batch in _in_threads(rows, shape):
                absolute = absolute or has_absolute(batch.column("path"))
                writer.write_batch(batch, custom_metadata={_ABSOLUTE_KEY: b"1" if absolute else b"0"})
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def open_part(path: Path, shape: TableShape) -> Part:
    """Map a part that was written. Raises Unreadable when it is not there or not whole."""
    try:
        with path.open("rb") as file:
            mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        whole = pa.py_buffer(mapping)
        reader = pa.ipc.open_file(whole)
        if not reader.schema.equals(part_schema(shape)):
            raise Unreadable(path.name, "it has other columns than the table")
        pairs = [reader.get_batch_with_custom_metadata(place) for place in range(reader.num_record_batches)]
    except (OSError, ValueError, pa.ArrowException) as reason:
        raise Unreadable(path.name, str(reason)) from None
    absolute = bool(pairs) and pairs[-1].custom_metadata.get(_ABSOLUTE_KEY) == b"1"
    return Part(shape, tuple(pair.batch for pair in pairs), absolute, mapping, whole.address)


def stored(rows: pa.RecordBatch, shape: TableShape) -> pa.RecordBatch:
    """Turn rows as the log has them into rows as they are kept."""
    stats = _bounded(rows.column("stats"))
    typed = type_statistics(stats, rows.column("partition"), shape)
    columns = {name: rows.column(name) for name, _ in _FIXED if name in rows.schema.names}
    columns["order"] = _order(rows.column("sha256"))
    columns["records"] = typed.records
    columns["tail"] = _tails(rows, stats)
    for place, bounds in enumerate(typed.bounds):
        columns[f"low{place}"], columns[f"high{place}"] = bounds.low, bounds.high
        columns[f"nulls{place}"] = bounds.nulls
    schema = part_schema(shape)
    return pa.RecordBatch.from_arrays([columns[field.name] for field in schema], schema=schema)


def _bounded(stats: pa.Array) -> pa.Array:
    """Leave out statistics that are too long: they are never needed, and a batch of them must stay within bounds."""
    if not pc.any(pc.greater(pc.binary_length(stats), MAX_STATS_BYTES)).as_py():
        return stats
    return pc.if_else(pc.less_equal(pc.binary_length(stats), MAX_STATS_BYTES), stats, pa.scalar(None, pa.string()))


def _tails(rows: pa.RecordBatch, stats: pa.Array) -> pa.Array:
    there = stats.is_valid()
    opening, closing = (pc.if_else(there, piece, pa.scalar(None, pa.string())) for piece in (',"stats":"', '"'))
    head = (
        '"partitionValues":',
        json_of_maps(rows.column("partition")),
        ',"size":',
        pc.cast(rows.column("size"), pa.string()),
    )
    return join_present(*head, opening, escaped(stats), closing)


def _order(digests: pa.Array) -> pa.Array:
    """Read the first eight bytes of each hexadecimal digest as a number."""
    digits = letters(digests).reshape(len(digests), _HEX_DIGITS)[:, :_ORDER_DIGITS]
    return pa.array(np.frombuffer(bytes.fromhex(digits.tobytes().decode("ascii")), dtype=">u8").astype(np.uint64))


def _in_threads(rows: Iterable[pa.RecordBatch], shape: TableShape) -> Iterator[pa.RecordBatch]:
    """Type batches on a few threads, a bounded number ahead of the writer, in order."""
    with ThreadPoolExecutor(BUILDING_THREADS, thread_name_prefix="columnar-build") as pool:
        waiting: list[Future[pa.RecordBatch]] = []
        try:
            for batch in rows:
                if batch.num_rows:
                    waiting.append(pool.submit(stored, batch, shape))
                if len(waiting) > _AHEAD:
                    yield waiting.pop(0).result()
            while waiting:
                yield waiting.pop(0).result()
        finally:
            for future in waiting:
                future.cancel()


def _advise(mapping: mmap.mmap, start: int, length: int) -> None:
    """Let go of the whole pages within a stretch."""
    first = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE
    whole = (start + length) // mmap.PAGESIZE * mmap.PAGESIZE - first
    if whole > 0:
        mapping.madvise(mmap.MADV_DONTNEED, first, whole)
