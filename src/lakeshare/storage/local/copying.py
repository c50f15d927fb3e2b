"""What a part copied from an object holds: its digests, from what is known of the source or by reading it."""

import os
from collections.abc import Iterator
from dataclasses import dataclass

from lakeshare.http.response import FileSpan
from lakeshare.storage.errors import ContentLost
from lakeshare.storage.hashing import CRC64NVME, Digests, full_object
from lakeshare.storage.laws import Content
from lakeshare.storage.local.index.rows import StoredParts, unsigned
from lakeshare.storage.port import Checksum, ChecksumKind, Opened, Part

READ_BYTES = 1024 * 1024
CRC64_BYTES = 8

Known = tuple[Content, Checksum | None]


@dataclass(frozen=True, slots=True)
class PartSource:
    """A stretch of an object that was just opened."""

    source: Opened
    start: int
    stop: int

    def known(self, algorithm: str | None) -> Known | None:
        """Return the stretch's digests if it is one whole part whose digests were kept; else it must be read."""
        parts = self.source.info.parts
        if not isinstance(parts, StoredParts):
            return None
        begin = 0
        for part, row in zip(parts, parts.rows, strict=True):
            if begin == self.start and begin + part.size == self.stop:
                return _of_part(part, unsigned(row[7]), algorithm)
            begin += part.size
            if begin > self.start:
                break
        return None

    def read(self, algorithm: str | None) -> Known:
        """Read the stretch for its digests; blocks. Raises ContentLost."""
        digests = Digests({algorithm} if algorithm else ())
        for span in self.source.content.spans(self.start, self.stop):
            digests.update((span,) if isinstance(span, bytes) else self._chunks(span))
        content = Content(self.stop - self.start, digests.md5_hex, digests.crc64)
        return content, full_object(algorithm, digests.digest(algorithm)) if algorithm else None

    def _chunks(self, span: FileSpan) -> Iterator[bytes]:
        info = self.source.info
        try:
            descriptor = os.open(span.path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise ContentLost(info.bucket, info.key, f"blob {span.path} cannot be read ({error.strerror})") from error
        try:
            for at in range(span.offset, span.offset + span.length, READ_BYTES):
                wanted = min(READ_BYTES, span.offset + span.length - at)
                chunk = os.pread(descriptor, wanted, at)
                if len(chunk) != wanted:
                    raise ContentLost(info.bucket, info.key, f"blob {span.path} is shorter than it was")
                yield chunk
        finally:
            os.close(descriptor)


def _of_part(part: Part, crc64: int, algorithm: str | None) -> Known | None:
    content = Content(part.size, part.etag, crc64)
    if algorithm is None:
        return content, None
    if algorithm == CRC64NVME:
        return content, full_object(CRC64NVME, crc64.to_bytes(CRC64_BYTES, "big"))
    checksum = part.checksum
    if checksum and checksum.algorithm == algorithm and checksum.kind is ChecksumKind.FULL_OBJECT:
        return content, checksum
    return None
