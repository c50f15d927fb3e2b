"""Proving that what arrived is what the server keeps, by the checksum or the ETag that it tells."""

import base64
import hashlib
import re
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from lakeshare.cli.errors import Corrupted
from lakeshare.cli.remote.model import ObjectFacts

SMALL_BYTES = 1024**2
"""Up to this size an MD5 is quicker than loading a library for the checksum."""

_MD5 = re.compile(r"[0-9a-f]{32}")
_CRC_BYTES = {"CRC32": 4, "CRC32C": 4, "CRC64NVME": 8}
_HASHES: dict[str, Callable[..., Any]] = {"MD5": hashlib.md5, "SHA1": hashlib.sha1, "SHA256": hashlib.sha256}

Expected = tuple[str, bytes]
"""An algorithm, and the digest that the whole must have."""


def expected(facts: ObjectFacts) -> Expected | None:
    """Return what the server says of the whole object; None where it tells nothing that can be checked."""
    by_etag = ("MD5", bytes.fromhex(facts.etag)) if _MD5.fullmatch(facts.etag) and not facts.is_encrypted else None
    if by_etag and facts.size <= SMALL_BYTES:
        return by_etag
    if facts.checksum and facts.checksum.whole:
        return facts.checksum.algorithm, base64.b64decode(facts.checksum.value)
    return by_etag


def can_combine(algorithm: str) -> bool:
    """Say whether checksums of stretches make that of the whole."""
    return algorithm in _CRC_BYTES


class Running:
    """A digest over bytes as they come."""

    def __init__(self, algorithm: str) -> None:
        self._length = _CRC_BYTES.get(algorithm, 0)
        self._continue = _crc(algorithm) if self._length else None
        self._hash = None if self._length else _HASHES[algorithm](usedforsecurity=False)
        self.value = 0

    def update(self, data: bytes | memoryview) -> None:
        """Take more bytes."""
        if self._continue is not None:
            self.value = self._continue(data, self.value)
        elif self._hash is not None:
            self._hash.update(data)

    def digest(self) -> bytes:
        """Return the digest so far."""
        return self._hash.digest() if self._hash is not None else self.value.to_bytes(self._length, "big")


def combined(algorithm: str, sums: Sequence[tuple[int, int]]) -> bytes:
    """Return the checksum of stretches put together, each given as (checksum, size)."""
    join = _joiner(algorithm)
    whole, _ = sums[0]
    for value, size in sums[1:]:
        whole = join(whole, value, size)
    return whole.to_bytes(_CRC_BYTES[algorithm], "big")


def digest_of(algorithm: str, chunks: Iterable[bytes]) -> bytes:
    """Return a digest over bytes that are read again."""
    running = Running(algorithm)
    for chunk in chunks:
        running.update(chunk)
    return running.digest()


def require(named: str, wanted: Expected | None, found: bytes | None) -> None:
    """Raise Corrupted where the digest of what arrived is not the one that was told."""
    if wanted is not None and found is not None and found != wanted[1]:
        raise Corrupted(
            f"{named} did not arrive whole: its {wanted[0]} is {found.hex()}, not {wanted[1].hex()}",
            "Try again. If it stays so, the network or the disk damages data.",
        )


@cache
def _crc(algorithm: str) -> Callable[[Any, int], int]:
    if algorithm == "CRC32":
        return zlib.crc32
    from awscrt import checksums  # noqa: PLC0415 - loads slowly, and only large downloads need it

    known: dict[str, Callable[[Any, int], int]] = {"CRC32C": checksums.crc32c, "CRC64NVME": checksums.crc64nvme}
    return known[algorithm]


@cache
def _joiner(algorithm: str) -> Callable[[int, int, int], int]:
    from awscrt import checksums  # noqa: PLC0415 - as above

    known: dict[str, Callable[[int, int, int], int]] = {
        "CRC32": checksums.combine_crc32,
        "CRC32C": checksums.combine_crc32c,
        "CRC64NVME": checksums.combine_crc64nvme,
    }
    return known[algorithm]
