"""Lifetimes."""

import pytest

from lakeshare.sharing.errors import BadSpan
from lakeshare.sharing.model.spans import read_lifetime, read_overlap


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90d", 90 * 86_400), ("24h", 86_400), ("30m", 1_800), ("365d", 365 * 86_400), ("never", None), ("", None)],
)
def test_lifetimes_are_read(text: str, seconds: int | None):
    """Days, hours and minutes are read; never, and nothing, is for ever."""
    assert read_lifetime(text) == seconds


@pytest.mark.parametrize("text", ["90", "90s", "d", "-1d", "1.5h", "0m", "4000d", "90 d", "9999999999d", "forever"])
def test_other_lifetimes_are_refused(text: str):
    """What is no lifetime, or out of bounds, is refused."""
    with pytest.raises(BadSpan):
        read_lifetime(text)


def test_an_overlap_may_be_nothing():
    """An overlap is a lifetime, or nothing at all."""
    assert read_overlap("0m") == 0
    assert read_overlap("24h") == 86_400
    with pytest.raises(BadSpan):
        read_overlap("never")
