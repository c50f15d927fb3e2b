"""Metadata files in the store: written once, read only as what was committed, and remembered by location and ETag.

A pointer carries the ETag of its file. What is read is compared with it, so that bytes which are not those of the
commit are never served; and what was compared once can be kept for as long as there is room, since it cannot change.
"""

import asyncio
import gzip
import zlib
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from lakeshare.errors import LakeshareError
from lakeshare.formats.iceberg.documents import MAX_JSON_BYTES
from lakeshare.formats.iceberg.table import TableMetadata, encode_table, only_referenced_snapshots, parse_table
from lakeshare.formats.iceberg.view import ViewMetadata, encode_view, parse_view
from lakeshare.http.response import FileSpan, Spans
from lakeshare.http.sendfile import read_block
from lakeshare.storage.errors import ContentLost, NoSuchBucket, NoSuchKey
from lakeshare.storage.port import Condition, Delete, Facts, ObjectStore, Opened, Put
from lakeshare.tables.errors import BadRequest, MetadataFileChanged, MetadataFileMissing
from lakeshare.tables.model.entries import EntryKind, Pointer
from lakeshare.tables.model.places import Place, place_of

T = TypeVar("T")

KEPT_BYTES = 64 * 1024 * 1024
"""Of metadata files that a worker remembers as bytes."""
KEPT_PARSED_BYTES = 32 * 1024 * 1024
"""Of metadata files, as bytes, that a worker remembers as values."""
LARGE_BYTES = 1024 * 1024
"""Files from this size on are sent from the disk, and parsed on a thread."""

_JSON = Facts(content_type="application/json")
_GZIP_MAGIC = b"\x1f\x8b"
Metadata = TableMetadata | ViewMetadata


@dataclass(frozen=True, slots=True)
class Written:
    """A metadata file that is durable."""

    location: str
    etag: str
    size_bytes: int


class Shelf(Generic[T]):
    """Values by location and ETag, least recently used out first, within a number of bytes."""

    def __init__(self, room_bytes: int) -> None:
        self._room = room_bytes
        self._held = 0
        self._items: OrderedDict[tuple[str, str], tuple[T, int]] = OrderedDict()

    def get(self, key: tuple[str, str]) -> T | None:
        """Return a value, if it is still held."""
        found = self._items.get(key)
        if found is None:
            return None
        self._items.move_to_end(key)
        return found[0]

    def put(self, key: tuple[str, str], value: T, size: int) -> None:
        """Hold a value, unless it would take half of the room."""
        if size * 2 > self._room or key in self._items:
            return
        self._items[key] = value, size
        self._held += size
        while self._held > self._room:
            _, (_, gone) = self._items.popitem(last=False)
            self._held -= gone


class MetadataFiles:
    """The metadata files of one worker."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._raw: Shelf[bytes] = Shelf(KEPT_BYTES)
        self._parsed: Shelf[Metadata] = Shelf(KEPT_PARSED_BYTES)

    async def shown(self, pointer: Pointer) -> Spans:
        """Return the file of a pointer as it is sent. Raises MetadataFileMissing, MetadataFileChanged."""
        key = pointer.metadata_location, pointer.metadata_etag
        if (held := self._raw.get(key)) is not None:
            return (held,)
        if pointer.foreign:
            raw = await self._in_our_form(pointer)
            self._raw.put(key, raw, len(raw))
            return (raw,)
        opened = await self._open(pointer)
        if opened.info.size < LARGE_BYTES:
            raw = await _bytes_of(opened)
            self._raw.put(key, raw, len(raw))
            return (raw,)
        return opened.content.spans(0, opened.info.size)

    async def referenced(self, pointer: Pointer) -> bytes:
        """Return a table's metadata with those snapshots alone that a branch or tag refers to."""
        key = pointer.metadata_location, pointer.metadata_etag + " refs"
        if (held := self._raw.get(key)) is not None:
            return held
        found = await self.table(pointer)
        raw = await _worked(_weight(found, pointer), lambda: encode_table(only_referenced_snapshots(found)))
        self._raw.put(key, raw, len(raw))
        return raw

    async def table(self, pointer: Pointer) -> TableMetadata:
        """Return a table's metadata as a value. Raises MetadataFileMissing, MetadataFileChanged."""
        return cast("TableMetadata", await self._value(pointer))

    async def view(self, pointer: Pointer) -> ViewMetadata:
        """Return a view's metadata as a value. Raises MetadataFileMissing, MetadataFileChanged."""
        return cast("ViewMetadata", await self._value(pointer))

    async def read(self, location: str, place: Place, kind: EntryKind) -> tuple[Metadata, Written]:
        """Return what a file says that is to be registered. Raises MetadataFileMissing, BadRequest, InvalidMetadata."""
        opened = await self._opened(location, place)
        raw = await _unpacked(await _bytes_of(opened), location)
        return await _parsed(raw, kind), Written(location, opened.info.etag, opened.info.size)

    async def write(self, location: str, value: Metadata) -> Written:
        """Make a new file durable. Raises what the store raises."""
        place = place_of(location)
        assert place is not None
        encode = encode_table if isinstance(value, TableMetadata) else encode_view
        raw = await _worked(_weight(value), lambda: cast("Callable[[Any], bytes]", encode)(value))
        async with self._store.stage(frozenset(), len(raw)) as staging:
            await staging.write(raw)
            put = Put(place.bucket, place.key, _JSON, condition=Condition(absent=True))
            info = await self._store.put(put, staging)
        key = location, info.etag
        self._parsed.put(key, value, len(raw))
        if len(raw) < LARGE_BYTES:
            self._raw.put(key, raw, len(raw))
        return Written(location, info.etag, info.size)

    async def discard(self, locations: tuple[str, ...], bucket: str) -> None:
        """Delete files of a warehouse's bucket that nothing refers to, as well as that goes."""
        places = [place for location in locations if (place := place_of(location)) is not None]
        deletes = [Delete(place.key) for place in places if place.bucket == bucket]
        if deletes:
            with suppress(LakeshareError):
                await self._store.delete(bucket, deletes)

    async def _value(self, pointer: Pointer) -> Metadata:
        key = pointer.metadata_location, pointer.metadata_etag
        if (held := self._parsed.get(key)) is not None:
            return held
        raw = self._raw.get(key)
        if raw is None:
            raw = await _unpacked(await _bytes_of(await self._open(pointer)), pointer.metadata_location)
        value = await _parsed(raw, pointer.kind)
        self._parsed.put(key, value, len(raw))
        return value

    async def _in_our_form(self, pointer: Pointer) -> bytes:
        value = await self._value(pointer)
        encode = encode_table if isinstance(value, TableMetadata) else encode_view
        return await _worked(_weight(value, pointer), lambda: cast("Callable[[Any], bytes]", encode)(value))

    async def _open(self, pointer: Pointer) -> Opened:
        place = place_of(pointer.metadata_location)
        if place is None:
            raise MetadataFileMissing(pointer.metadata_location)
        opened = await self._opened(pointer.metadata_location, place)
        if opened.info.etag != pointer.metadata_etag:
            raise MetadataFileChanged(pointer.metadata_location)
        return opened

    async def _opened(self, location: str, place: Place) -> Opened:
        try:
            opened = await self._store.open(place.bucket, place.key)
        except (NoSuchKey, NoSuchBucket, ContentLost):
            raise MetadataFileMissing(location) from None
        if opened.info.size > MAX_JSON_BYTES:
            raise BadRequest(f"the metadata file {location} is larger than {MAX_JSON_BYTES} bytes")
        return opened


async def _bytes_of(opened: Opened) -> bytes:
    spans = opened.content.spans(0, opened.info.size) if opened.info.size else ()
    parts = [await _read(span) if isinstance(span, FileSpan) else span for span in spans]
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def _read(span: FileSpan) -> bytes:
    return await read_block(span.path, span.offset, span.length)


async def _parsed(raw: bytes, kind: EntryKind) -> Metadata:
    parse: Callable[[bytes], Metadata] = parse_table if kind is EntryKind.TABLE else parse_view
    return await _worked(len(raw), lambda: parse(raw))


async def _unpacked(raw: bytes, location: str) -> bytes:
    """Unpack a file that is gzip (`*.gz.metadata.json`), on a thread: a small one may be large unpacked."""
    return await asyncio.to_thread(_unpack, raw, location) if raw.startswith(_GZIP_MAGIC) else raw


def _unpack(raw: bytes, location: str) -> bytes:
    """Unpack a file within its bound. Raises BadRequest."""
    try:
        unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        found = unpacker.decompress(raw, MAX_JSON_BYTES)
    except (zlib.error, gzip.BadGzipFile):
        raise BadRequest(f"the metadata file {location} cannot be unpacked") from None
    if unpacker.unconsumed_tail:
        raise BadRequest(f"the metadata file {location} is larger than {MAX_JSON_BYTES} bytes")
    return found


async def _worked(size: int, work: Callable[[], T]) -> T:
    """Do work at once where it is small, on a thread where it is large."""
    return work() if size < LARGE_BYTES else await asyncio.to_thread(work)


def _weight(value: Metadata, pointer: Pointer | None = None) -> int:
    """Guess how large a value is once it is written, from what it has most of, and from its file if there is one."""
    return max(len(getattr(value, "snapshots", ())) * 1_000, 0 if pointer is None else pointer.metadata_bytes)
