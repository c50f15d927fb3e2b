"""A snapshot's files as lines of NDJSON, thousands at a time, in either format of Delta Sharing.

Each line is its cached tail and a few constants around a signed URL; nothing here makes an object for a file, except
where a path is encoded or absolute, or a file has a deletion vector.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import md5, sha256
from typing import Any, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from lakeshare.columnar.keys import has_absolute
from lakeshare.columnar.selection import ROWS_A_CHUNK, Selection
from lakeshare.columnar.text import join, letters
from lakeshare.formats.delta.paths import Absolute, locate
from lakeshare.formats.delta.vectors import DeletionVector, Storage

_COMMON = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._~=-"
"""Letters of paths that mean themselves in URIs, and of which URLs encode the sign of equality alone."""
_VECTOR = ("dv_storage", "dv_text", "dv_offset", "dv_size", "dv_cardinality")


Pieces: TypeAlias = "tuple[pa.Array | str, ...]"
"""Columns and constants that make a text when they are joined row by row."""


class UrlMaker(Protocol):
    """Makes URLs for many files at once. They must need no escaping in JSON, as URLs that are well formed do not."""

    def plain(self, paths: pa.Array) -> Callable[[], Pieces]:
        """Begin to make URLs for a column of paths of the commonest letters, which are keys under the table's root.

        What is returned makes them; what can go on meanwhile does so from now on.
        """
        ...

    def relative(self, keys: Sequence[str]) -> Sequence[str]:
        """Return a URL for each key under the table's root."""
        ...

    def absolute(self, places: Sequence[Absolute]) -> Sequence[str]:
        """Return a URL for each file that lies elsewhere, or raise where it may not be handed out."""
        ...


@dataclass(frozen=True, slots=True)
class LineShape:
    """How lines are to be written: the digest that makes ids (`md5` or `sha256`), and what all of them say."""

    id_column: str
    expiration_ms: int
    version: int | None = None
    timestamp_ms: int | None = None

    def constants(self) -> str:
        """Return what every line says alike, as JSON fields, each with a comma after it."""
        stamps = "" if self.version is None else f'"version":{self.version},'
        stamps += "" if self.timestamp_ms is None else f'"timestamp":{self.timestamp_ms},'
        return f'{stamps}"expirationTimestamp":{self.expiration_ms},'


def parquet_lines(selection: Selection, urls: UrlMaker, shape: LineShape, rows: int = ROWS_A_CHUNK) -> Iterator[bytes]:
    """Yield `file` lines of the parquet format. Heavy: each step makes some thousand lines."""
    head, middle = f'{{"file":{{{shape.constants()}"url":"', '","id":"'
    for batch, links in _begun(selection.batches(("path", shape.id_column, "tail"), rows), urls):
        yield _joined(head, *links(), middle, batch.column(shape.id_column), '",', batch.column("tail"), "}}\n")


def delta_lines(selection: Selection, urls: UrlMaker, shape: LineShape, rows: int = ROWS_A_CHUNK) -> Iterator[bytes]:
    """Yield `file` lines of the delta format, each with its add action. Heavy: each step makes some thousand lines."""
    columns = ("path", shape.id_column, "tail", "modification_time", "data_change", *_VECTOR)
    middle = f'{shape.constants()}"deltaSingleAction":{{"add":{{"path":"'
    for batch, links in _begun(selection.batches(columns, rows), urls):
        ids, vectors = _vectors(batch, urls, shape.id_column)
        changes = pc.if_else(batch.column("data_change"), ',"dataChange":true', ',"dataChange":false')
        yield _joined(
            '{"file":{"id":"',
            batch.column(shape.id_column),
            ids,
            middle,
            *links(),
            '",',
            batch.column("tail"),
            ',"modificationTime":',
            pc.cast(batch.column("modification_time"), pa.string()),
            changes,
            vectors,
            "}}}}\n",
        )


def _begun(batches: Iterator[pa.RecordBatch], urls: UrlMaker) -> Iterator[tuple[pa.RecordBatch, Callable[[], Pieces]]]:
    """Yield batches with what makes their URLs; those of the next batch are begun before."""
    ahead: tuple[pa.RecordBatch, Callable[[], Pieces]] | None = None
    for batch in batches:
        begun = batch, _urls(batch.column("path"), urls)
        if ahead is not None:
            yield ahead
        ahead = begun
    if ahead is not None:
        yield ahead


def _joined(*pieces: "pa.Array | str") -> bytes:
    """Join pieces row by row, and all rows to one run of bytes: the data of the joined column is just that."""
    lines = join(*pieces)
    return bytes(memoryview(lines.buffers()[2])) if len(lines) else b""


def _urls(paths: pa.Array, urls: UrlMaker) -> Callable[[], Pieces]:
    """Begin to make a URL for each path; whole batches at once where none is encoded or absolute."""
    return urls.plain(paths) if is_plain(paths) else partial(_singly, paths, urls)


def _singly(paths: pa.Array, urls: UrlMaker) -> Pieces:
    keys = paths.to_pylist()
    if not has_absolute(paths) and not pc.any(pc.match_substring(paths, "%")).as_py():
        return (pa.array(urls.relative(_within(keys)), pa.string()),)
    return (pa.array(located_urls(keys, urls), pa.string()),)


def is_plain(paths: pa.Array) -> bool:
    """Say whether paths are of the commonest letters alone, are not absolute and do not climb: they are keys as is."""
    text = letters(paths).tobytes()
    if text.translate(None, _COMMON) or b".." in text or paths.null_count or not len(paths):
        return False
    return not pc.any(pc.starts_with(paths, "/")).as_py()


def _within(keys: list[str]) -> list[str]:
    """Pass keys on; the few that have a dotted part are looked at, so that none climbs out of the table."""
    for key in keys:
        if ".." in key:
            locate(key)
    return keys


def located_urls(paths: Sequence[str], urls: UrlMaker) -> list[str]:
    """Make a URL for each path of an action, wherever its file lies. Raises BrokenLog for one that climbs out."""
    places = [locate(path) for path in paths]
    near = [place.key for place in places if not isinstance(place, Absolute)]
    far = [place for place in places if isinstance(place, Absolute)]
    near_urls, far_urls = iter(urls.relative(near)), iter(urls.absolute(far))
    return [next(far_urls if isinstance(place, Absolute) else near_urls) for place in places]


def _vectors(batch: pa.RecordBatch, urls: UrlMaker, id_column: str) -> "tuple[pa.Array | str, pa.Array | str]":
    """Write the deletion vectors of a batch, and the ids of their files; nothing where it has none."""
    if batch.column("dv_storage").null_count == batch.num_rows:
        return '",', ""
    described = batch.select(_VECTOR).to_pylist()
    vectors = [None if item["dv_storage"] is None else _described(item) for item in described]
    paths = [vector.path for vector in vectors if vector is not None and vector.path is not None]
    links = iter(located_urls(paths, urls))
    ids = [_vector_id(vector, id_column) for vector in vectors]
    written = ["" if vector is None else _vector_json(vector, links) for vector in vectors]
    return pa.array(ids, pa.string()), pa.array(written, pa.string())


def _described(item: dict[str, Any]) -> DeletionVector:
    return DeletionVector(
        Storage(item["dv_storage"]), item["dv_text"], item["dv_offset"], item["dv_size"], item["dv_cardinality"]
    )


def _vector_id(vector: DeletionVector | None, id_column: str) -> str:
    if vector is None or vector.path is None:
        return '",'
    path = vector.path.encode()
    digest = sha256(path) if id_column == "sha256" else md5(path, usedforsecurity=False)
    return f'","deletionVectorFileId":"{digest.hexdigest()}",'


def _vector_json(vector: DeletionVector, links: Iterator[str]) -> str:
    """Write a vector's descriptor: inline as it is, any other by a URL, as an absolute one."""
    sizes = f'"sizeInBytes":{vector.size_bytes},"cardinality":{vector.cardinality}'
    if vector.path is None:
        return f',"deletionVector":{{"storageType":"i","pathOrInlineDv":"{vector.text}",{sizes}}}'
    offset = "" if vector.offset is None else f'"offset":{vector.offset},'
    return f',"deletionVector":{{"storageType":"p","pathOrInlineDv":"{next(links)}",{offset}{sizes}}}'
