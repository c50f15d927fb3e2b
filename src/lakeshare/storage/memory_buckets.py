"""What a store in memory holds: buckets, their versions and uploads, and bytes on their way in."""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType

from lakeshare.http.request import Block
from lakeshare.http.response import Spans
from lakeshare.storage.hashing import Digests
from lakeshare.storage.keys import Start
from lakeshare.storage.laws import Content as Written
from lakeshare.storage.port import Bucket, ObjectInfo, Part, Staging, Upload


@dataclass(frozen=True, slots=True)
class MemoryContent:
    """Bytes at hand."""

    data: bytes

    def spans(self, start: int, stop: int) -> Spans:
        """Return the bytes from `start` up to `stop`."""
        return (self.data[start:stop],) if start < stop else ()


class MemoryStaging:
    """Bytes on their way in, kept in a list."""

    def __init__(self, algorithms: frozenset[str]) -> None:
        self.size = 0
        self.chunks: list[bytes] = []
        self.digests = Digests(algorithms)

    async def write(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self.size += len(chunk)
        self.chunks.append(bytes(chunk))
        self.digests.update((chunk,))

    def write_now(self, blocks: Sequence[Block]) -> None:
        """Take the next bytes on the calling thread."""
        for block in blocks:
            self.size += len(block)
            self.chunks.append(bytes(block))
        self.digests.update(blocks)

    async def digest(self, algorithm: str) -> bytes:
        """Return a digest of all bytes written."""
        return self.digests.digest(algorithm)

    async def __aenter__(self) -> Staging:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.chunks.clear()


@dataclass(frozen=True, slots=True)
class HeldVersion:
    """One version and its bytes."""

    info: ObjectInfo
    data: bytes
    crc64: int

    @property
    def written(self) -> Written:
        """What tells its bytes apart."""
        return Written(self.info.size, self.info.etag, self.crc64, self.info.modified_at_ns)


@dataclass(slots=True)
class HeldUpload:
    """One upload, and its parts by number."""

    upload: Upload
    parts: dict[int, tuple[Part, bytes]] = field(default_factory=dict)


@dataclass(slots=True)
class HeldBucket:
    """One bucket: its keys in order, the latest version of each, what was retired, and its uploads."""

    bucket: Bucket
    keys: list[str] = field(default_factory=list)
    latest: dict[str, HeldVersion] = field(default_factory=dict)
    retired: dict[tuple[str, str], HeldVersion] = field(default_factory=dict)
    retired_at: deque[tuple[int, tuple[str, str]]] = field(default_factory=deque)
    uploads: dict[str, HeldUpload] = field(default_factory=dict)
    documents: dict[str, bytes] = field(default_factory=dict)

    def scan(self, prefix: str, start: Start, count: int) -> list[str]:
        """Return up to so many keys under a prefix from a place on."""
        first = bisect_left(self.keys, start.key) if start.inclusive else bisect_right(self.keys, start.key)
        return [key for key in self.keys[first : first + count] if key.startswith(prefix)]

    def retire(self, key: str, now_ns: int) -> None:
        """Take a key's latest version away; its pin stays readable until the grace ends."""
        version = self.latest.pop(key)
        del self.keys[bisect_left(self.keys, key)]
        pinned = (key, version.info.pin)
        self.retired[pinned] = version
        self.retired_at.append((now_ns, pinned))

    def forget(self, before_ns: int) -> None:
        """Drop what was retired before a time."""
        while self.retired_at and self.retired_at[0][0] < before_ns:
            self.retired.pop(self.retired_at.popleft()[1], None)
