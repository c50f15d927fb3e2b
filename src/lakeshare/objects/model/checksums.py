"""Checksums as S3 names them: their sizes, and how those of parts become one of the whole."""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from awscrt import checksums as crt
from isal import isal_zlib

from lakeshare.objects.errors import InvalidDigest, InvalidRequest
from lakeshare.storage.port import Checksum, ChecksumKind, Part

DIGEST_BYTES = {"CRC32": 4, "CRC32C": 4, "CRC64NVME": 8, "SHA1": 20, "SHA256": 32}
_ALWAYS_WHOLE = frozenset({"CRC64NVME"})
_NEVER_WHOLE = frozenset({"SHA1", "SHA256"})


@dataclass(frozen=True, slots=True)
class Declared:
    """A digest that a client says its body has; `name` is what it called it, `value` the raw digest."""

    name: str
    algorithm: str
    value: bytes


def digest_of(name: str, algorithm: str, text: str) -> bytes:
    """Read a base64 digest of the right length."""
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError:  # binascii's own is one, and text that is not ASCII raises a plain one
        raise InvalidDigest(name) from None
    if len(raw) != (16 if algorithm == "MD5" else DIGEST_BYTES[algorithm]):
        raise InvalidDigest(name)
    return raw


def encoded(raw: bytes) -> str:
    """Write a digest as clients read it."""
    return base64.b64encode(raw).decode()


def kind_for(algorithm: str, asked: str | None) -> ChecksumKind:
    """Say which kind of checksum an upload gets, refusing a pair that S3 has not."""
    if asked is None:
        return ChecksumKind.FULL_OBJECT if algorithm in _ALWAYS_WHOLE else ChecksumKind.COMPOSITE
    if asked not in ("FULL_OBJECT", "COMPOSITE"):
        raise InvalidRequest("x-amz-checksum-type must be FULL_OBJECT or COMPOSITE")
    kind = ChecksumKind(asked)
    if (kind is ChecksumKind.FULL_OBJECT and algorithm in _NEVER_WHOLE) or (
        kind is ChecksumKind.COMPOSITE and algorithm in _ALWAYS_WHOLE
    ):
        raise InvalidRequest(f"the {asked} checksum type cannot be used with the {algorithm} checksum algorithm")
    return kind


def combine(algorithm: str, kind: ChecksumKind, parts: Sequence[Part]) -> Checksum | None:
    """Return the checksum of an object made of parts, or None where a part lacks one."""
    raws = [
        base64.b64decode(part.checksum.value)
        for part in parts
        if part.checksum and part.checksum.algorithm == algorithm
    ]
    if len(raws) != len(parts):
        return None
    if kind is ChecksumKind.FULL_OBJECT:
        return Checksum(algorithm, encoded(_joined(algorithm, raws, parts)), kind)
    return Checksum(algorithm, f"{encoded(digest_whole(algorithm, b''.join(raws)))}-{len(parts)}", kind)


def digest_whole(algorithm: str, data: bytes) -> bytes:
    """Return a digest of bytes at hand."""
    match algorithm:
        case "MD5":
            return hashlib.md5(data, usedforsecurity=False).digest()
        case "CRC64NVME":
            return int(crt.crc64nvme(data)).to_bytes(8, "big")
        case "CRC32":
            return int(isal_zlib.crc32(data)).to_bytes(4, "big")
        case "CRC32C":
            return int(crt.crc32c(data)).to_bytes(4, "big")
        case "SHA1":
            return hashlib.sha1(data, usedforsecurity=False).digest()
        case _:
            return hashlib.sha256(data).digest()


def _joined(algorithm: str, raws: Sequence[bytes], parts: Sequence[Part]) -> bytes:
    join = {
        "CRC32": crt.combine_crc32,
        "CRC32C": crt.combine_crc32c,
        "CRC64NVME": crt.combine_crc64nvme,
    }[algorithm]
    value = int.from_bytes(raws[0], "big")
    for raw, part in zip(raws[1:], parts[1:], strict=True):
        value = join(value, int.from_bytes(raw, "big"), part.size)
    return value.to_bytes(DIGEST_BYTES[algorithm], "big")
