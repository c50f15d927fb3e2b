"""What identifies a logical file, whole columns at a time, and which action of each is the newest."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakeshare.columnar.canonical import canonical
from lakeshare.columnar.text import join

Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]

_SEPARATOR = "\x00"
_ABSOLUTE = r"^(?:/|[A-Za-z][A-Za-z0-9+.\-]*:)"


@dataclass(frozen=True, slots=True)
class KeySet:
    """The logical files that some commits speak of: their paths, canonical, and their whole keys."""

    paths: pa.Array
    keys: pa.Array
    absolute: bool

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, slots=True)
class Newest:
    """Which adds of each of some commits stand, and every key that the commits speak of."""

    standing: tuple[Mask, ...]
    spoken: KeySet


def has_absolute(paths: "pa.Array | pa.ChunkedArray") -> bool:
    """Say whether any path is an absolute one."""
    return bool(pc.any(pc.match_substring_regex(paths, _ABSOLUTE)).as_py())


def canonical_paths(paths: pa.Array) -> pa.Array:
    """Write absolute paths one way; relative ones, which nearly all are, stay as they are."""
    if not has_absolute(paths):
        return paths
    return pa.array([canonical(path) for path in paths.to_pylist()], paths.type)


def file_keys(paths: pa.Array, storage: pa.Array, text: pa.Array, offset: pa.Array) -> pa.Array:
    """Make the keys of files of canonical paths and the descriptors of their deletion vectors."""
    if storage.null_count == len(storage):
        return paths
    at = pc.fill_null(join("@", pc.cast(offset, pa.string())), "")
    vector = pc.fill_null(join(_SEPARATOR, storage, text, at), "")
    return join(paths, vector)


def newest(commits: Sequence[pa.Table]) -> Newest:
    """Let the newest action of each key win over commits given oldest first; in one commit the later action does."""
    lengths = [table.num_rows for table in commits]
    whole = pa.concat_tables(commits).combine_chunks() if commits else None
    if whole is None or whole.num_rows == 0:
        none = pa.array([], pa.string())
        return Newest(tuple(np.zeros(0, dtype=np.bool_) for _ in lengths), KeySet(none, none, absolute=False))
    batch = whole.to_batches()[0]
    paths = canonical_paths(batch.column("path"))
    keys = file_keys(paths, batch.column("dv_storage"), batch.column("dv_text"), batch.column("dv_offset"))
    encoded = pc.dictionary_encode(keys)
    last = np.zeros(len(encoded.dictionary), dtype=np.int64)
    # Of an index that is repeated the last value stays: that is numpy's rule, and here the newest action.
    last[encoded.indices.to_numpy()] = np.arange(len(keys))
    wins = np.zeros(len(keys), dtype=np.bool_)
    wins[last] = True
    added = batch.column("added").to_numpy(zero_copy_only=False)
    spoken = KeySet(pc.unique(paths), encoded.dictionary, has_absolute(batch.column("path")))
    return Newest(tuple(_per_commit(wins, added, lengths)), spoken)


def _per_commit(wins: Mask, added: Mask, lengths: Sequence[int]) -> list[Mask]:
    ends = np.cumsum(lengths)
    standing: list[Mask] = []
    for end, length in zip(ends, lengths, strict=True):
        within = slice(end - length, end)
        standing.append(wins[within][added[within]])
    return standing
