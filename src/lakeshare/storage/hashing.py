"""Digests over a stream of bytes, and how those of two stretches combine. awscrt and isal are called here alone."""

import base64
import hashlib
from collections.abc import Callable, Iterable
from typing import Protocol

from awscrt import checksums
from isal import isal_zlib

from lakeshare.http.request import Block
from lakeshare.storage.port import Checksum, ChecksumKind

MD5 = "MD5"
CRC64NVME = "CRC64NVME"
SHA = frozenset({"SHA1", "SHA256"})
CRC_BYTES = {"CRC32": 4, "CRC32C": 4, CRC64NVME: 8}
ALGORITHMS = frozenset({MD5, *SHA, *CRC_BYTES})

_CRC: dict[str, Callable[[Block, int], int]] = {
    "CRC32": isal_zlib.crc32,
    "CRC32C": checksums.crc32c,
    CRC64NVME: checksums.crc64nvme,
}


_HASHES = {MD5: hashlib.md5, "SHA1": hashlib.sha1, "SHA256": hashlib.sha256}


class Running(Protocol):
    """A digest that takes bytes as they come."""

    def update(self, data: Block, /) -> None:
        """Take more bytes."""

    def digest(self) -> bytes:
        """Return the digest of what was taken so far."""
        ...


crc64nvme: Callable[..., int] = checksums.crc64nvme
"""Continues a CRC64NVME over more bytes: of the bytes, and the sum before them."""


def combine_crc64nvme(first: int, second: int, second_bytes: int) -> int:
    """Return the CRC64NVME of two stretches put together."""
    return int(checksums.combine_crc64nvme(first, second, second_bytes))


def full_object(algorithm: str, digest: bytes) -> Checksum:
    """Write a digest over a whole object as clients see it."""
    return Checksum(algorithm, base64.b64encode(digest).decode(), ChecksumKind.FULL_OBJECT)


class Crc:
    """A running CRC."""

    def __init__(self, algorithm: str) -> None:
        self._continue = _CRC[algorithm]
        self._length = CRC_BYTES[algorithm]
        self.value = 0

    def update(self, data: Block, /) -> None:
        """Take more bytes."""
        self.value = self._continue(data, self.value)

    def digest(self) -> bytes:
        """Return the sum so far, most significant byte first."""
        return self.value.to_bytes(self._length, "big")


def _begin(name: str) -> Running:
    if name in CRC_BYTES:
        return Crc(name)
    return _HASHES[name](usedforsecurity=False)


class Digests:
    """MD5, CRC64NVME and the algorithms asked for, over one stream. Raises ValueError for one that is not known."""

    def __init__(self, algorithms: Iterable[str] = ()) -> None:
        asked = {MD5, CRC64NVME, *algorithms}
        if unknown := asked - ALGORITHMS:
            raise ValueError(f"no such digest: {', '.join(sorted(unknown))}")
        self._running = {name: _begin(name) for name in asked}

    def update(self, chunks: Iterable[Block]) -> None:
        """Take more bytes."""
        self._take(self._running.values(), chunks)

    def halves(self) -> tuple[Callable[[Iterable[Block]], None], ...]:
        """Return what must see each chunk, as functions that two threads may run at the same time."""
        slow = [one for name, one in self._running.items() if name == MD5]
        rest = [one for name, one in self._running.items() if name != MD5]
        if not SHA & self._running.keys():
            return (self.update,)
        return (lambda chunks: self._take(slow, chunks), lambda chunks: self._take(rest, chunks))

    def digest(self, algorithm: str) -> bytes:
        """Return one digest of what was taken so far."""
        return self._running[algorithm].digest()

    @property
    def crc64(self) -> int:
        """The CRC64NVME so far."""
        return int.from_bytes(self.digest(CRC64NVME), "big")

    @property
    def md5_hex(self) -> str:
        """The MD5 so far, as an ETag has it."""
        return self.digest(MD5).hex()

    @staticmethod
    def _take(running: Iterable[Running], chunks: Iterable[Block]) -> None:
        for chunk in chunks:
            for one in running:
                one.update(chunk)
