"""Deletion vector descriptors."""

import pytest

from lakeshare.formats.delta.errors import BrokenLog
from lakeshare.formats.delta.vectors import DeletionVector, Storage, relative_path, z85_decode


def test_the_protocols_relative_example():
    """The key of a vector's file follows from its prefix and its Z85 UUID, as in the protocol's example."""
    assert relative_path("ab^-aqEH.-t@S}K{vb[*k^") == "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
    assert relative_path("^-aqEH.-t@S}K{vb[*k^") == "deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"


def test_the_protocols_inline_example():
    """An inline vector decodes to the bytes it promises, beginning with its magic number."""
    text = "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"
    data = DeletionVector(Storage.INLINE, text, None, 40, 6).inline_bytes()
    assert len(data) == 40
    assert data[:4].hex() == "6439d3d0"


def test_the_unique_id_has_the_offset_only_where_there_is_one():
    """Two vectors in one file differ by their offsets."""
    assert DeletionVector(Storage.RELATIVE, "x", 4, 1, 1).unique_id == "ux@4"
    assert DeletionVector(Storage.ABSOLUTE, "s3://b/k", None, 1, 1).unique_id == "ps3://b/k"


def test_the_path_of_each_storage():
    """A relative vector has a key, an absolute one its URI, an inline one none."""
    assert DeletionVector(Storage.ABSOLUTE, "s3://b/k", 1, 1, 1).path == "s3://b/k"
    assert DeletionVector(Storage.INLINE, "00000", None, 4, 1).path is None


def test_z85_knows_its_published_example():
    """The test vector of ZeroMQ's RFC 32 decodes."""
    assert z85_decode("HelloWorld") == bytes.fromhex("864FD26FB559F75B")


@pytest.mark.parametrize("text", ["abc", '"0000', "#####"])
def test_broken_z85_is_refused(text):
    """Text of a wrong length, with a foreign letter or out of range is no Z85."""
    with pytest.raises(BrokenLog):
        z85_decode(text)


def test_a_short_inline_vector_is_refused():
    """A vector that holds less than it promises is broken."""
    with pytest.raises(BrokenLog, match="promised"):
        DeletionVector(Storage.INLINE, "00000", None, 5, 1).inline_bytes()
