"""The times that signatures carry."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeshare.identity.sigv4.timestamps import format_timestamp, parse_timestamp, timestamp_of_date
from tests.identity.sigv4.wire import STEADY


@STEADY
@given(st.integers(min_value=0, max_value=253_402_300_799))
def test_a_timestamp_is_read_as_it_is_written(at: int) -> None:
    """What is written is read back."""
    assert parse_timestamp(format_timestamp(at)) == at


@pytest.mark.parametrize(
    "text",
    [
        "",
        "20260230T000000Z",
        "20261301T000000Z",
        "20260101T240000Z",
        "20260101T006000Z",
        "20260101T000000",
        "2026-01-01",
    ],
)
def test_a_time_that_does_not_exist_is_refused(text: str) -> None:
    """A day, an hour or a form that there is not is refused."""
    with pytest.raises(ValueError, match="date"):
        parse_timestamp(text)


@pytest.mark.parametrize(
    "date",
    [
        "Fri, 24 May 2013 00:00:00 GMT",
        "Fri, 24 May 2013 00:00:00 +0000",
        "Fri, 24 May 2013 02:00:00 +0200",
        "20130524T000000Z",
    ],
)
def test_a_date_header_is_a_time(date: str) -> None:
    """A Date header is read in RFC 1123's form and in the one that some clients put there."""
    assert parse_timestamp(timestamp_of_date(date)) == datetime(2013, 5, 24, tzinfo=UTC).timestamp()
