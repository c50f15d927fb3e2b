"""Deletion vectors: which rows of a file are not in the table (Delta PROTOCOL, Deletion Vector Format). Pure.

A vector is a 64-bit Roaring bitmap in the portable form: for each upper half a 32-bit one, whose containers are lists,
bit sets or runs of 16-bit numbers.
"""

import struct
import zlib

import numpy as np

from lakeshare.cli.errors import Corrupted

Positions = np.ndarray[tuple[int], np.dtype[np.uint64]]

_MAGIC = 1_681_511_377
_NO_RUNS, _RUNS = 12_346, 12_347
_OFFSETS_FROM = 4
"""Containers from which a bitmap with runs has offsets of them, too."""
_LIST_LIMIT = 4_096
_BIT_SET_BYTES = 8_192
_MAX_BITMAPS = 1 << 16
_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def deleted_rows(data: bytes) -> Positions:
    """Return the numbers of the rows that a vector takes away. Raises Corrupted."""
    try:
        return _rows(data)
    except (struct.error, ValueError, IndexError):
        raise Corrupted("a deletion vector cannot be read: it is cut short, or none") from None


def stored_vector(data: bytes) -> bytes:
    """Take a vector out of its frame in a file: its length before it and a checksum after it. Raises Corrupted."""
    size = int.from_bytes(data[:4], "big")
    vector, checksum = data[4 : 4 + size], data[4 + size : 8 + size]
    if len(vector) != size or len(checksum) != 4 or int.from_bytes(checksum, "big") != zlib.crc32(vector):
        raise Corrupted("a deletion vector is not what its checksum says")
    return vector


def inline_vector(text: str, size: int) -> bytes:
    """Decode a vector that stands in the line itself, in Z85. Raises Corrupted."""
    try:
        words = [_word(text[start : start + 5]) for start in range(0, len(text), 5)]
    except (ValueError, OverflowError):
        raise Corrupted("a deletion vector is no Z85 text") from None
    return b"".join(words)[:size]


def _word(letters: str) -> bytes:
    value = 0
    for letter in letters.ljust(5, "\0"):
        value = value * 85 + _Z85.index(letter)
    return value.to_bytes(4, "big")


def _rows(data: bytes) -> Positions:
    magic, count = struct.unpack_from("<IQ", data)
    if magic != _MAGIC or count > _MAX_BITMAPS:
        raise ValueError
    at = 12
    found: list[Positions] = []
    for _ in range(count):
        (upper,) = struct.unpack_from("<I", data, at)
        lower, at = _bitmap(data, at + 4)
        found.append(lower + np.uint64(upper << 32))
    return np.concatenate(found) if found else np.empty(0, dtype=np.uint64)


def _bitmap(data: bytes, at: int) -> tuple[Positions, int]:
    """Read a 32-bit bitmap, and say where it ends."""
    (cookie,) = struct.unpack_from("<I", data, at)
    flags = b""
    if cookie & 0xFFFF == _RUNS:
        count, at = (cookie >> 16) + 1, at + 4
        flags, at = data[at : at + (count + 7) // 8], at + (count + 7) // 8
    elif cookie == _NO_RUNS:
        (count,) = struct.unpack_from("<I", data, at + 4)
        at += 8
    else:
        raise ValueError
    if count > _MAX_BITMAPS:
        raise ValueError
    heads = struct.unpack_from(f"<{2 * count}H", data, at)
    at += 4 * count + (4 * count if not flags or count >= _OFFSETS_FROM else 0)
    found: list[Positions] = []
    for number in range(count):
        runs = bool(flags and flags[number // 8] >> number % 8 & 1)
        values, at = _container(data, at, heads[2 * number + 1] + 1, runs=runs)
        found.append(values.astype(np.uint64) + np.uint64(heads[2 * number] << 16))
    return np.concatenate(found) if found else np.empty(0, dtype=np.uint64), at


def _container(data: bytes, at: int, cardinality: int, *, runs: bool) -> tuple[Positions, int]:
    if runs:
        (count,) = struct.unpack_from("<H", data, at)
        pairs = np.frombuffer(data, "<u2", 2 * count, at + 2).astype(np.uint64).reshape(count, 2)
        spans = [np.arange(start, start + more + 1, dtype=np.uint64) for start, more in pairs.tolist()]
        return np.concatenate(spans) if spans else np.empty(0, dtype=np.uint64), at + 2 + 4 * count
    if cardinality <= _LIST_LIMIT:
        return np.frombuffer(data, "<u2", cardinality, at).astype(np.uint64), at + 2 * cardinality
    bits = np.unpackbits(np.frombuffer(data, np.uint8, _BIT_SET_BYTES, at), bitorder="little")
    return np.flatnonzero(bits).astype(np.uint64), at + _BIT_SET_BYTES
