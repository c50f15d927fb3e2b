"""Values to rows and back. JSON in columns is ours: compact, and NULL when a writer said nothing."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, overload

import orjson

from lakeshare.storage.port import NULL_VERSION, Checksum, ChecksumKind, Facts, ObjectInfo, Part, Tags, Upload

Row = tuple[Any, ...]

VERSION_COLUMNS = (
    "key, size, etag, mtime_ns, algorithm, checksum, marker, version, pin, crc64, content, facts, tags, parts"
)
"""What `info` reads, in order, and what a write binds after the bucket."""

CRC64, CONTENT = 9, 10
PART_COLUMNS = "number, size, etag, mtime_ns, algorithm, checksum, pin, crc64, content"
PART_CRC64, PART_CONTENT = 7, 8
UPLOAD_COLUMNS = "key, id, created_ns, algorithm, checksum_kind, facts, tags, completed_pin"

_NO_FACTS = Facts()
_CACHED_FACTS = 1024
_HALF, _FULL = 1 << 63, 1 << 64


def signed(crc64: int) -> int:
    """Write a CRC64 as the signed integer that SQLite keeps."""
    return crc64 - _FULL if crc64 >= _HALF else crc64


def unsigned(stored: int) -> int:
    """Read a CRC64 back."""
    return stored + _FULL if stored < 0 else stored


def info(bucket: str, row: Row, *, latest: bool = True) -> ObjectInfo:
    """Read one version."""
    key, size, etag, at_ns, algorithm, checksum, marker, version, pin, _, _, facts, tags, parts, *_ = row
    return ObjectInfo(
        bucket,
        key,
        version or NULL_VERSION,
        pin.hex(),
        size,
        etag,
        at_ns,
        _NO_FACTS if facts is None else facts_of(facts),
        None if algorithm is None else checksum_of(algorithm, checksum),
        () if tags is None else tags_of(tags),
        () if parts is None else StoredParts(parts),
        bool(marker),
        latest,
    )


def facts_text(facts: Facts) -> str | None:
    """Write what a writer said of an object; NULL for the defaults."""
    said: dict[str, str | Mapping[str, str]] = {}
    if facts.content_type != _NO_FACTS.content_type:
        said["t"] = facts.content_type
    if facts.headers:
        said["h"] = dict(facts.headers)
    if facts.metadata:
        said["m"] = dict(facts.metadata)
    return orjson.dumps(said).decode() if said else None


@lru_cache(_CACHED_FACTS)
def facts_of(text: str) -> Facts:
    """Read what a writer said; most objects of a bucket say the same."""
    said = orjson.loads(text)
    return Facts(said.get("t", _NO_FACTS.content_type), said.get("h", {}), said.get("m", {}))


def tags_text(tags: Tags) -> str | None:
    """Write tags; NULL for none."""
    return orjson.dumps(tags).decode() if tags else None


def tags_of(text: str) -> Tags:
    """Read tags."""
    return tuple((name, value) for name, value in orjson.loads(text))


def checksum_of(algorithm: str, value: str) -> Checksum:
    """Read a checksum; base64 has no `-`, so that one tells a composite."""
    return Checksum(algorithm, value, ChecksumKind.COMPOSITE if "-" in value else ChecksumKind.FULL_OBJECT)


def checksum_columns(checksum: Checksum | None) -> tuple[str | None, str | None]:
    """Write a checksum as its two columns."""
    return (None, None) if checksum is None else (checksum.algorithm, checksum.value)


def part(row: Row) -> Part:
    """Read one part of an upload."""
    checksum = None if row[4] is None else checksum_of(row[4], row[5])
    return Part(row[0], row[1], row[2], row[6].hex(), row[3], checksum)


def parts_text(rows: Sequence[Row]) -> str:
    """Write the parts that a completed object had, with the sum of each."""
    kept = [[number, size, etag, mtime_ns, algorithm, checksum, pin.hex(), crc64] for
            number, size, etag, mtime_ns, algorithm, checksum, pin, crc64, _ in rows]  # fmt: skip
    return orjson.dumps(kept).decode()


class StoredParts(Sequence[Part]):
    """The parts of a completed object, read when they are asked for: most readers ask for none of thousands."""

    __slots__ = ("_rows", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._rows: list[Row] | None = None

    @property
    def rows(self) -> list[Row]:
        """The parts as they were written: as PART_COLUMNS, without content and with the pin in hex."""
        if self._rows is None:
            self._rows = orjson.loads(self._text)
        return self._rows

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> Part: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Part]: ...
    def __getitem__(self, index: int | slice) -> Part | Sequence[Part]:
        if isinstance(index, slice):
            return tuple(_kept_part(row) for row in self.rows[index])
        return _kept_part(self.rows[index])

    def __iter__(self) -> Iterator[Part]:
        return map(_kept_part, self.rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(self._text)


def _kept_part(row: Row) -> Part:
    checksum = None if row[4] is None else checksum_of(row[4], row[5])
    return Part(row[0], row[1], row[2], row[6], row[3], checksum)


def upload(bucket: str, row: Row, parts: tuple[Part, ...] = ()) -> Upload:
    """Read one upload."""
    key, upload_id, created_ns, algorithm, kind, facts, tags, completed_pin = row
    return Upload(
        bucket,
        key,
        upload_id,
        _NO_FACTS if facts is None else facts_of(facts),
        created_ns,
        () if tags is None else tags_of(tags),
        algorithm,
        None if kind is None else ChecksumKind(kind),
        parts,
        None if completed_pin is None else completed_pin.hex(),
    )
