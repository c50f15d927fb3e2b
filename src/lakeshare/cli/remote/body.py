"""Bodies of requests: bytes at hand, or a stretch of a file. Both can be hashed, and sent again after a failure."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from lakeshare.cli.errors import ClientError

CHUNK_BYTES = 1024**2
"""How much of a body is read, hashed and sent at a time."""


class Body(Protocol):
    """What a request carries."""

    @property
    def size(self) -> int:
        """Its length in bytes."""
        ...

    def chunks(self) -> Iterator[bytes]:
        """Yield its bytes, from the start each time."""
        ...


@dataclass(frozen=True, slots=True)
class Bytes:
    """A body in memory."""

    data: bytes = b""

    @property
    def size(self) -> int:
        """Its length in bytes."""
        return len(self.data)

    def chunks(self) -> Iterator[bytes]:
        """Yield its bytes."""
        for start in range(0, len(self.data), CHUNK_BYTES):
            yield self.data[start : start + CHUNK_BYTES]


@dataclass(frozen=True, slots=True)
class Slice:
    """A stretch of a file."""

    path: str
    offset: int
    size: int

    def chunks(self) -> Iterator[bytes]:
        """Yield its bytes; a file that has become shorter is told."""
        left = self.size
        with open(self.path, "rb", buffering=0) as file:  # noqa: PTH123 - a path as the system gave it
            file.seek(self.offset)
            while left > 0 and (chunk := file.read(min(CHUNK_BYTES, left))):
                left -= len(chunk)
                yield chunk
        if left:
            raise ClientError(f"{self.path} became shorter while it was read", "Try again when nobody writes to it.")


EMPTY = Bytes()


def sha256_hex(body: Body) -> str:
    """Return a body's SHA-256, which its request is signed with."""
    if isinstance(body, Bytes):
        return hashlib.sha256(body.data).hexdigest()
    digest = hashlib.sha256()
    for chunk in body.chunks():
        digest.update(chunk)
    return digest.hexdigest()
