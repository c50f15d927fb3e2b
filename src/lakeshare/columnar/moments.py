"""Dates and times as text, into days and microseconds since 1970."""

from datetime import UTC, date, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LOCAL_EPOCH = _EPOCH.replace(tzinfo=None)
_MICROSECOND = timedelta(microseconds=1)


def days(text: str) -> int:
    """Return the days since 1970 of a date such as `2024-01-02`. Raises ValueError."""
    return date.fromisoformat(text.strip()).toordinal() - _EPOCH.toordinal()


def instant_micros(text: str) -> int:
    """Return the microseconds since 1970 of a time that names its zone. Raises ValueError, also where it names none."""
    parsed = datetime.fromisoformat(text.strip())
    if parsed.tzinfo is None:
        raise ValueError(f"{text!r} names no time zone")
    return (parsed - _EPOCH) // _MICROSECOND


def local_micros(text: str) -> int:
    """Return the microseconds since 1970 of a time without a zone. Raises ValueError, also where it names one."""
    parsed = datetime.fromisoformat(text.strip())
    if parsed.tzinfo is not None:
        raise ValueError(f"{text!r} names a time zone")
    return (parsed - _LOCAL_EPOCH) // _MICROSECOND
