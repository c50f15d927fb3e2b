"""Keys keep their order and their parts through their encoding."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeshare.state.errors import BadKey
from lakeshare.state.keys import Key, decode_key, encode_key, is_under, number_of, ordinal, range_under

texts = st.text(st.characters(codec="utf-8"), max_size=6) | st.sampled_from(["", "\x00", "a", "a\x00", "\x00\x00"])
blobs = st.binary(max_size=6) | st.sampled_from([b"", b"\x00", b"\xff", b"\x00\xff", b"\xff\x00"])
keys: st.SearchStrategy[Key] = st.lists(texts | blobs, min_size=1, max_size=4).map(tuple)


def order(key: Key) -> list[tuple[bool, bytes]]:
    """Say what the order of keys means, without the encoding."""
    return [(True, part.encode()) if isinstance(part, str) else (False, part) for part in key]


@given(keys)
def test_a_key_is_read_back(key: Key) -> None:
    """Decoding gives the key that was encoded."""
    assert decode_key(encode_key(key)) == key


@given(keys, keys)
def test_encoded_keys_sort_as_keys_do(one: Key, other: Key) -> None:
    """Comparing encoded keys is comparing their parts."""
    assert (encode_key(one) < encode_key(other)) == (order(one) < order(other))


@given(keys, keys)
def test_a_range_holds_what_lies_under_its_prefix(prefix: Key, key: Key) -> None:
    """A key is in a prefix's range exactly when it has all its parts and at least one more."""
    for candidate in (key, prefix, prefix + key):
        low, high = range_under(prefix)
        assert (low <= encode_key(candidate) < high) == is_under(candidate, prefix)


@given(keys)
def test_everything_is_under_the_empty_prefix(key: Key) -> None:
    """The prefix without parts begins every key."""
    low, high = range_under(())
    assert low <= encode_key(key) < high
    assert is_under(key, ())


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_ordinals_sort_as_numbers(one: int, other: int) -> None:
    """Numbers as parts keep their order, and are read back."""
    assert (ordinal(one) < ordinal(other)) == (one < other)
    assert number_of(ordinal(one)) == one


@pytest.mark.parametrize("encoded", [b"\x07a\x00", b"\x02a", b"\x01\x00\xff", b"\x02\x00\xff\x00\xff"])
def test_what_is_no_encoding_is_refused(encoded: bytes) -> None:
    """Unknown types and parts without an end are errors, never a guess."""
    with pytest.raises(BadKey):
        decode_key(encoded)


def test_a_part_that_is_no_number_is_refused() -> None:
    """Text and bytes of another length are no ordinals."""
    for part in ("12345678", b"1234567"):
        with pytest.raises(BadKey):
            number_of(part)
