"""Packed segments say the same as the list they were made of."""

from hypothesis import given
from hypothesis import strategies as st

from lakeshare.storage.local.segments import Segment, pack, stretch, unpack

SOURCES = st.one_of(st.integers(1, 2**63 - 1), st.binary(min_size=16, max_size=16))
SEGMENTS = st.lists(st.builds(Segment, SOURCES, st.integers(0, 2**40), st.integers(1, 50)), min_size=1, max_size=12)


def flat(segments) -> list[tuple[int | bytes, int]]:
    return [(source, offset + at) for source, offset, length in segments for at in range(length)]


@given(SEGMENTS)
def test_segments_come_back(segments):
    """What was packed is unpacked."""
    size = sum(one.length for one in segments)
    assert list(unpack(pack(segments), size)) == segments


@given(SEGMENTS, st.data())
def test_a_stretch_is_a_slice(segments, data):
    """A stretch of packed segments names the bytes that a slice of them all would."""
    size = sum(one.length for one in segments)
    start = data.draw(st.integers(0, size))
    stop = data.draw(st.integers(start, size + 5))
    assert flat(stretch(pack(segments), size, start, stop)) == flat(segments)[start:stop]


@given(SOURCES, st.integers(1, 1000), st.data())
def test_one_whole_payload_is_its_name(source, size, data):
    """A single payload is stored as its name alone, and cut like any other."""
    assert list(unpack(source, size)) == [Segment(source, 0, size)]
    start = data.draw(st.integers(0, size - 1))
    stop = data.draw(st.integers(start + 1, size + 5))
    assert flat(stretch(source, size, start, stop)) == [(source, at) for at in range(size)][start:stop]


def test_nothing_is_nothing():
    """An empty object has no segments."""
    assert pack([]) is None
    assert list(unpack(None, 0)) == []
    assert list(stretch(None, 0, 0, 0)) == []
