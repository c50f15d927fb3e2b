"""Deletion vectors are read as the library for Roaring bitmaps writes them."""

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

from lakeshare.cli.errors import Corrupted
from lakeshare.cli.preview.bitmap import deleted_rows, inline_vector, stored_vector

MAGIC = struct.pack("<I", 1_681_511_377)
SPANS = st.lists(st.tuples(st.integers(0, 2**34), st.integers(1, 9_000)), max_size=6)


def vector_of(rows: BitMap64) -> bytes:
    """Write a vector."""
    return MAGIC + rows.serialize()


@given(SPANS, st.lists(st.integers(0, 2**33), max_size=50), st.booleans())
def test_every_kind_of_container_is_read(spans: list[tuple[int, int]], single: list[int], runs: bool):
    """Lists, bit sets and runs, alone and mixed, below and above 32 bits."""
    rows = BitMap64(single)
    for start, length in spans:
        rows |= BitMap64(range(start, start + length, 1 if runs else 2))
    if runs:
        rows.run_optimize()
    assert deleted_rows(vector_of(rows)).tolist() == list(rows)


@given(st.binary(max_size=64))
def test_what_is_no_vector_is_refused(data: bytes):
    """Bytes of any sort, and a vector that was cut, are an error and never fewer rows."""
    with pytest.raises(Corrupted):
        deleted_rows(data)
    whole = vector_of(BitMap64(range(0, 5000, 3)))
    with pytest.raises(Corrupted):
        deleted_rows(whole[: len(whole) - 1 - len(data)])


def test_a_stored_vector_is_held_against_its_checksum():
    """Its length stands before it and its CRC after it, both with the high byte first."""
    vector = vector_of(BitMap64([1, 2, 3]))
    frame = len(vector).to_bytes(4, "big") + vector + zlib.crc32(vector).to_bytes(4, "big")
    assert stored_vector(frame) == vector
    for bad in (frame[:-1], frame[:9] + b"x" + frame[10:], b""):
        with pytest.raises(Corrupted):
            stored_vector(bad)


def test_an_inline_vector_is_text():
    """The example of the protocol."""
    text = "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"
    assert deleted_rows(inline_vector(text, 44)).tolist() == [3, 4, 7, 11, 18, 29]
    with pytest.raises(Corrupted):
        inline_vector("~~~~~", 4)
