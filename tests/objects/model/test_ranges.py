"""Byte ranges."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeshare.objects.errors import InvalidArgument, InvalidRange
from lakeshare.objects.model.ranges import Range, copy_range


@pytest.mark.parametrize(
    ("text", "size", "expected"),
    [
        ("bytes=0-0", 10, (0, 1)),
        ("bytes=2-4", 10, (2, 5)),
        ("bytes=2-", 10, (2, 10)),
        ("bytes=-3", 10, (7, 10)),
        ("bytes=-30", 10, (0, 10)),
        ("bytes=5-100", 10, (5, 10)),
    ],
)
def test_a_range_is_cut_to_the_object(text, size, expected):
    """A range that reaches past the end stops there."""
    asked = Range.parse(text)
    assert asked is not None
    assert asked.within(size) == expected


@pytest.mark.parametrize(
    ("text", "size"), [("bytes=10-", 10), ("bytes=10-12", 10), ("bytes=-0", 10), ("bytes=0-0", 0), ("bytes=-5", 0)]
)
def test_a_range_without_a_byte_is_refused(text, size):
    """A range that holds no byte of the object is unsatisfiable."""
    asked = Range.parse(text)
    assert asked is not None
    with pytest.raises(InvalidRange):
        asked.within(size)


@pytest.mark.parametrize(
    "text", ["bytes=", "bytes=-", "bytes=a-b", "bytes=5-2", "bytes=0-1,3-4", "items=0-1", "0-1", ""]
)
def test_what_is_no_single_range_is_ignored(text):
    """A header that asks for several ranges, or for none, gets the whole object."""
    assert Range.parse(text) is None


@given(st.binary(max_size=200), st.integers(0, 250), st.integers(0, 250))
def test_a_range_is_a_slice(data, first, last):
    """The bytes of a range are those of Python's slice."""
    asked = Range.parse(f"bytes={first}-{last}")
    if first > last:
        assert asked is None
        return
    assert asked is not None
    if first >= len(data):
        with pytest.raises(InvalidRange):
            asked.within(len(data))
        return
    start, stop = asked.within(len(data))
    assert data[start:stop] == data[first : last + 1]


@given(st.text(max_size=60))
def test_any_text_is_a_range_or_none(text):
    """No header makes the parser fail."""
    Range.parse(text)


def test_a_copy_range_must_lie_within_the_source():
    """A copy names both ends, and both lie in the source."""
    assert copy_range("bytes=0-9", 10) == (0, 10)
    with pytest.raises(InvalidRange):
        copy_range("bytes=0-10", 10)
    for text in ("bytes=-5", "bytes=5-", "0-5", "bytes=5-2"):
        with pytest.raises(InvalidArgument):
            copy_range(text, 10)
