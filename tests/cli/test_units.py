"""Sizes and durations are read and written as people do."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeshare.cli.units import duration_seconds, duration_text, moment, moment_json, size_bytes, size_text


@pytest.mark.parametrize(
    ("text", "size"),
    [("0", 0), ("512", 512), ("1KiB", 1024), ("1K", 1000), ("64KB", 64000), ("1.5GiB", 1610612736), ("2 MiB", 2097152)],
)
def test_sizes_are_read(text: str, size: int):
    """KiB is 1024 bytes, KB is 1000."""
    assert size_bytes(text) == size


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0B"), (1023, "1023B"), (1024, "1.0KiB"), (10240, "10KiB"), (1024**3, "1.0GiB")]
)
def test_sizes_are_written(size: int, text: str):
    """A small number of a unit has one digit after the point."""
    assert size_text(size) == text


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("30m", 1800), ("24h", 86400), ("7d10h31s", 640831), ("2w", 1209600)]
)
def test_durations_are_read(text: str, seconds: int):
    """Units may follow each other."""
    assert duration_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "d", "1y", "-1d", "1d x", "1.5h"])
def test_what_is_no_duration_is_refused(text: str):
    """Whatever is not numbers with units is told."""
    with pytest.raises(ValueError, match="no duration"):
        duration_seconds(text)


@pytest.mark.parametrize("text", ["", "x", "-1", "1XB", "1 2"])
def test_what_is_no_size_is_refused(text: str):
    """Whatever is not a number with a unit is told."""
    with pytest.raises(ValueError, match="no size"):
        size_bytes(text)


def test_durations_are_written():
    """Days, hours, minutes and seconds, from the first that is not zero."""
    assert duration_text(604800) == "7 days 0 hours 0 minutes 0 seconds"
    assert duration_text(59) == "59 seconds"


@given(st.datetimes(timezones=st.just(UTC)))
def test_times_keep_their_milliseconds(at: datetime):
    """A time that is written is read as itself, to the millisecond."""
    whole = at.replace(microsecond=at.microsecond // 1000 * 1000)
    assert moment(moment_json(whole)) == whole
