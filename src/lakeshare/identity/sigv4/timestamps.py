"""The times that signatures carry, as seconds since 1970."""

from calendar import timegm
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache

SKEW_LIMIT_SECONDS = 900
"""How far a signature's time may lie from the server's: AWS's fifteen minutes."""

_LENGTH = len("20260101T000000Z")
_DATE_LIMIT = 64


@lru_cache(maxsize=256)
def parse_timestamp(text: str) -> int:
    """Read `20260101T000000Z`; raises ValueError with what is wrong."""
    digits = text[:8] + text[9:15]
    if len(text) != _LENGTH or text[8] != "T" or text[15] != "Z" or not (digits.isascii() and digits.isdigit()):
        raise ValueError("a date must be YYYYMMDDTHHMMSSZ")
    hour, minute, second = int(text[9:11]), int(text[11:13]), int(text[13:15])
    if hour > 23 or minute > 59 or second > 60:
        raise ValueError("a date must be a time that exists")
    return _midnight(text[:8]) + hour * 3600 + minute * 60 + second


def format_timestamp(at: float) -> str:
    """Write a time as `20260101T000000Z`."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y%m%dT%H%M%SZ")


def timestamp_of_date(date: str) -> str:
    """Turn a Date header (RFC 1123, or already in the basic ISO form) into a timestamp; raises ValueError."""
    if len(date) > _DATE_LIMIT:
        raise ValueError("the Date header is too long")
    if len(date) == _LENGTH and date.endswith("Z"):
        parse_timestamp(date)
        return date
    try:
        moment = parsedate_to_datetime(date)
    except (TypeError, ValueError, IndexError, OverflowError):
        raise ValueError("the Date header must be such as Thu, 01 Jan 2026 00:00:00 GMT") from None
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC)
    return moment.strftime("%Y%m%dT%H%M%SZ")


@lru_cache(maxsize=64)
def _midnight(date: str) -> int:
    year, month, day = int(date[:4]), int(date[4:6]), int(date[6:])
    try:
        datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        raise ValueError("a date must be a day that exists") from None
    return timegm((year, month, day, 0, 0, 0))
