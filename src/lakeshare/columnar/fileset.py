"""The live files of one version of a table: parts in layers, each with the rows of it that still stand.

A file set never changes. Moving it forward by commits makes another one that shares the parts: what the commits speak
of is struck from the layers below, and what they add is a layer on top. Nothing that was read is read again.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakeshare.columnar.bounds import TableShape
from lakeshare.columnar.keys import KeySet, Mask, canonical_paths, file_keys, newest
from lakeshare.columnar.part import Part
from lakeshare.columnar.predicate import Predicate
from lakeshare.columnar.prune import judge
from lakeshare.columnar.rows import ROWS_AT_ONCE, Commit
from lakeshare.columnar.selection import Selection, masked

MAX_LAYERS = 16
"""How many layers there may be before those of small commits are made one."""

Rows = np.ndarray[tuple[int], np.dtype[np.intp]]
MakePart = Callable[[Iterator[pa.RecordBatch], int], Part]
"""Makes a part of rows, of which there are so many."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A part, and which of its files stand; None means all."""

    part: Part
    standing: Mask | None
    num_files: int
    size_bytes: int

    @classmethod
    def of(cls, part: Part, standing: Mask | None = None) -> "Layer":
        """Make a layer, with its sums."""
        sizes = part.column("size").to_numpy()
        if standing is None:
            return cls(part, None, len(sizes), int(sizes.sum()))
        return cls(part, standing, int(standing.sum()), int(sizes[standing].sum()))

    def without(self, keys: KeySet) -> "Layer":
        """Strike the files that some commits speak of."""
        struck = _rows_with(self.part, keys)
        if not len(struck):
            return self
        standing = self.mask().copy()
        standing[struck] = False
        return Layer.of(self.part, standing)

    def mask(self) -> Mask:
        """Return which files stand, as a mask."""
        return np.ones(self.part.num_files, dtype=np.bool_) if self.standing is None else self.standing


@dataclass(frozen=True, slots=True)
class FileSet:
    """All live files of one version."""

    layers: tuple[Layer, ...] = ()

    @property
    def num_files(self) -> int:
        """Return how many files the table has."""
        return sum(layer.num_files for layer in self.layers)

    @property
    def size_bytes(self) -> int:
        """Return how many bytes the table's files have."""
        return sum(layer.size_bytes for layer in self.layers)

    @property
    def memory_bytes(self) -> int:
        """Return how much memory the set holds for good."""
        return sum(layer.part.memory_bytes + _mask_bytes(layer.standing) for layer in self.layers)

    @property
    def num_records(self) -> int | None:
        """Return how many rows the table has by the statistics of its files; None where one of them says nothing."""
        total = 0
        for part, mask in ((layer.part, layer.standing) for layer in self.layers):
            records, taken = part.column("records"), part.column("dv_cardinality")
            if mask is not None:
                records, taken = records.filter(pa.array(mask)), taken.filter(pa.array(mask))
            if records.null_count:
                return None
            total += (pc.sum(records).as_py() or 0) - (pc.sum(taken).as_py() or 0)
        return total

    def forward(self, commits: Sequence[Commit], make: MakePart) -> "FileSet":
        """Apply commits, oldest first: the newest action of each file wins."""
        won = newest([commit.keys for commit in commits])
        below = tuple(layer.without(won.spoken) for layer in self.layers)
        kept = tuple(layer for layer in below if layer.num_files)
        count = sum(int(mask.sum()) for mask in won.standing)
        if not count:
            return FileSet(kept)
        grown = FileSet((*kept, Layer.of(make(_standing_rows(commits, won.standing), count))))
        return grown if len(grown.layers) <= MAX_LAYERS else grown._gathered()

    @property
    def files_in_memory(self) -> int:
        """Return how many files lie in memory rather than on disk."""
        return sum(layer.num_files for layer in self.layers if layer.part.mapping is None)

    def _gathered(self) -> "FileSet":
        """Make one layer of neighbours that lie in memory and bound the same columns."""
        layers: list[Layer] = []
        for _, group in groupby(self.layers, key=lambda layer: (layer.part.mapping is None, layer.part.shape)):
            alike = tuple(group)
            layers += [_merged(alike)] if len(alike) > 1 and alike[0].part.mapping is None else alike
        return FileSet(tuple(layers))

    def everything(self) -> Selection:
        """Choose all files."""
        return Selection(tuple((layer.part, layer.standing) for layer in self.layers))

    def select(self, predicate: Predicate | None, shape: TableShape, limit: int | None = None) -> Selection:
        """Choose the files that may hold rows a predicate wants, and no more of them than a limit needs.

        `shape` is that of the table's schema at this version, by which the predicate names columns.
        """
        if predicate is None:
            every = self.everything()
            return every if limit is None else every.limited(limit, None)
        may: list[tuple[Part, Mask | None]] = []
        must: list[tuple[Part, Mask | None]] = []
        for layer in self.layers:
            judged = judge(layer.part, predicate, shape)
            may.append((layer.part, judged.may & layer.mask()))
            must.append((layer.part, judged.must))
        found = Selection(tuple(may))
        return found if limit is None else found.limited(limit, Selection(tuple(must)))


def _merged(layers: Sequence[Layer]) -> Layer:
    pieces = [
        found for part, mask in ((layer.part, layer.standing) for layer in layers) for found in _standing(part, mask)
    ]
    first = layers[0].part
    batches = pa.Table.from_batches(pieces).combine_chunks().to_batches(ROWS_AT_ONCE)
    return Layer.of(Part(first.shape, tuple(batches), any(layer.part.absolute for layer in layers)))


def _standing(part: Part, mask: Mask | None) -> Iterator[pa.RecordBatch]:
    start = 0
    for batch in part.batches:
        within = None if mask is None else mask[start : start + batch.num_rows]
        start += batch.num_rows
        if (found := masked(batch, within)) is not None:
            yield found


def _rows_with(part: Part, keys: KeySet) -> Rows:
    """Find the rows of a part whose keys are among some: by path first, which few have, then by the whole key."""
    none: Rows = np.empty(0, dtype=np.intp)
    if not len(keys) or not part.num_files:
        return none
    paths = part.column("path")
    if part.absolute or keys.absolute:
        paths = pa.chunked_array([canonical_paths(chunk) for chunk in paths.chunks], paths.type)
    rows = np.flatnonzero(pc.is_in(paths, value_set=keys.paths).to_numpy())
    if not len(rows):
        return none
    vectors = [_taken(part.column(name), rows) for name in ("dv_storage", "dv_text", "dv_offset")]
    whole = file_keys(_taken(paths, rows), *vectors)
    found: Rows = rows[pc.is_in(whole, value_set=keys.keys).to_numpy(zero_copy_only=False)]
    return found


def _taken(column: pa.ChunkedArray, rows: Rows) -> pa.Array:
    """Take rows chunk by chunk, which is much faster than from a chunked column of strings."""
    pieces: list[pa.Array] = []
    start = 0
    for chunk in column.chunks:
        first, last = np.searchsorted(rows, (start, start + len(chunk)))
        if last > first:
            pieces.append(chunk.take(pa.array(rows[first:last] - start)))
        start += len(chunk)
    return pa.concat_arrays(pieces) if pieces else pa.array([], column.type)


def _standing_rows(commits: Sequence[Commit], standing: Sequence[Mask]) -> Iterator[pa.RecordBatch]:
    for commit, mask in zip(commits, standing, strict=True):
        start = 0
        for batch in commit.rows():
            if (found := masked(batch, mask[start : start + batch.num_rows])) is not None:
                yield found
            start += batch.num_rows


def _mask_bytes(mask: Mask | None) -> int:
    return 0 if mask is None else mask.nbytes
