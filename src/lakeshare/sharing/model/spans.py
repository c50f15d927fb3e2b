"""Lifetimes: `90d`, `24h`, `30m`, or `never`. Pure."""

import re

from lakeshare.sharing.errors import BadSpan

NEVER = "never"
MIN_SECONDS = 60
MAX_SECONDS = 3_650 * 86_400
_SPAN = re.compile(r"([0-9]{1,9})([dhm])\Z")
_UNITS = {"d": 86_400, "h": 3_600, "m": 60}


def read_lifetime(text: str) -> int | None:
    """Return the seconds of a lifetime, None for ever. Raises BadSpan."""
    if text in {"", NEVER}:
        return None
    return check_seconds(text, _seconds(text))


def read_overlap(text: str) -> int:
    """Return the seconds that an old token goes on for; `0` is none at all. Raises BadSpan."""
    return 0 if text in {"0", "0m", "0h", "0d"} else check_seconds(text, _seconds(text))


def check_seconds(text: str, seconds: int) -> int:
    """Return seconds that are within bounds. Raises BadSpan."""
    if not MIN_SECONDS <= seconds <= MAX_SECONDS:
        raise BadSpan(text, "it must be from 1m to 3650d")
    return seconds


def _seconds(text: str) -> int:
    if (match := _SPAN.match(text)) is None:
        raise BadSpan(text, "write a number with d, h or m, such as 90d, 24h or 30m, or never")
    return int(match[1]) * _UNITS[match[2]]
