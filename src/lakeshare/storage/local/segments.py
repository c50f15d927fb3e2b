"""How a row says which bytes it has: none, one small payload, one blob, or stretches of several. Pure.

Packed segments are of one width, and each says where in the object it ends, so that a range is found by bisection
in an object of ten thousand parts.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeGuard

Stored = int | bytes | None
"""The `content` column: an inline row, a blob's id, packed segments, or nothing."""

BLOB_ID_BYTES = 16
_PACKED = struct.Struct(">QQ?16s")


class Segment(NamedTuple):
    """A stretch of one payload: an inline row by its number, or a blob by its id."""

    source: int | bytes
    offset: int
    length: int


def is_whole(stored: Stored) -> TypeGuard[int | bytes]:
    """Say whether a row names one payload, all of it."""
    return isinstance(stored, int) or (stored is not None and len(stored) == BLOB_ID_BYTES)


def pack(segments: Sequence[Segment]) -> Stored:
    """Write segments as a row has them."""
    if not segments:
        return None
    packed, end = bytearray(), 0
    for source, offset, length in segments:
        end += length
        name = source.to_bytes(BLOB_ID_BYTES, "big") if isinstance(source, int) else source
        packed += _PACKED.pack(end, offset, isinstance(source, int), name)
    return bytes(packed)


def unpack(stored: Stored, size: int) -> Iterator[Segment]:
    """Read the segments of a row."""
    if stored is None:
        return
    if is_whole(stored):
        yield Segment(stored, 0, size)
        return
    assert isinstance(stored, bytes)
    begin = 0
    for end, offset, inline, name in _PACKED.iter_unpack(stored):
        yield Segment(int.from_bytes(name, "big") if inline else name, offset, end - begin)
        begin = end


def stretch(stored: Stored, size: int, start: int, stop: int) -> Iterator[Segment]:
    """Yield the segments of the bytes from `start` up to `stop`, cut to them."""
    if stored is None or start >= stop:
        return
    if is_whole(stored):
        yield Segment(stored, start, min(stop, size) - start)
        return
    assert isinstance(stored, bytes)
    index = _first_ending_after(stored, start)
    begin = _PACKED.unpack_from(stored, (index - 1) * _PACKED.size)[0] if index else 0
    for at in range(index * _PACKED.size, len(stored), _PACKED.size):
        if begin >= stop:
            return
        end, offset, inline, name = _PACKED.unpack_from(stored, at)
        low, high = max(begin, start), min(end, stop)
        if low < high:
            yield Segment(int.from_bytes(name, "big") if inline else name, offset + low - begin, high - low)
        begin = end


def _first_ending_after(stored: bytes, start: int) -> int:
    low, high = 0, len(stored) // _PACKED.size
    while low < high:
        middle = (low + high) // 2
        if _PACKED.unpack_from(stored, middle * _PACKED.size)[0] > start:
            high = middle
        else:
            low = middle + 1
    return low
