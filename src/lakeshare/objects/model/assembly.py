"""How the parts of a multipart upload become one object."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from lakeshare.objects.errors import (
    BadDigest,
    EntityTooSmall,
    InvalidPart,
    InvalidPartOrder,
    InvalidRequest,
    MalformedXml,
)
from lakeshare.objects.model.checksums import combine
from lakeshare.storage.port import Assembly, Checksum, ChecksumKind, Part, Upload

PART_LIMIT = 10_000
PART_LEAST_BYTES = 5 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class NamedPart:
    """A part as a Complete names it: its number, its ETag and perhaps checksums by algorithm."""

    number: int
    etag: str
    checksums: tuple[tuple[str, str], ...] = ()


def assemble(upload: Upload, named: Sequence[NamedPart], expected: Checksum | None = None) -> Assembly:
    """Return what the upload becomes, or say which named part is wrong."""
    if not named:
        raise MalformedXml("it lists no part")
    numbers = [part.number for part in named]
    if any(later <= earlier for earlier, later in pairwise(numbers)):
        raise InvalidPartOrder
    have = {part.number: part for part in upload.parts}
    parts = tuple(_matching(have.get(part.number), part) for part in named)
    for part in parts[:-1]:
        if part.size < PART_LEAST_BYTES:
            raise EntityTooSmall(part.number, part.size, PART_LEAST_BYTES)
    return Assembly(parts, composite_etag(parts), _whole(upload, parts, expected))


def composite_etag(parts: Sequence[Part]) -> str:
    """Return the ETag of an object made of parts."""
    digests = b"".join(bytes.fromhex(part.etag) for part in parts)
    return f"{hashlib.md5(digests, usedforsecurity=False).hexdigest()}-{len(parts)}"


def _matching(part: Part | None, named: NamedPart) -> Part:
    if part is None or part.etag != named.etag:
        raise InvalidPart(named.number)
    kept = part.checksum and (part.checksum.algorithm, part.checksum.value)
    if any(claimed != kept for claimed in named.checksums):  # one that the part has not cannot be held either
        raise InvalidPart(named.number)
    return part


def _whole(upload: Upload, parts: Sequence[Part], expected: Checksum | None) -> Checksum | None:
    if upload.algorithm is None or upload.checksum_kind is None:
        found = _common(parts)
    else:
        found = combine(upload.algorithm, upload.checksum_kind, parts)
        if found is None:
            raise InvalidRequest(f"the upload was created with {upload.algorithm} checksums, and a part has none")
    if expected is not None and (found is None or _plain(found.value) != _plain(expected.value)):
        raise BadDigest(f"x-amz-checksum-{expected.algorithm.lower()}")
    return found


def _common(parts: Sequence[Part]) -> Checksum | None:
    """Return a checksum of the whole where the upload declared none: full-object if all parts have one CRC."""
    algorithms = {part.checksum.algorithm for part in parts if part.checksum}
    if len(algorithms) != 1 or any(part.checksum is None for part in parts):
        return None
    algorithm = algorithms.pop()
    whole = algorithm.startswith("CRC")
    return combine(algorithm, ChecksumKind.FULL_OBJECT if whole else ChecksumKind.COMPOSITE, parts)


def _plain(value: str) -> str:
    return value.partition("-")[0]
