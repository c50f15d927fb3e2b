"""Sizes and times as people write and read them."""

import re
from datetime import UTC, datetime

_SPAN = re.compile(r"(\d+)(w|d|h|m|s)")
_SECONDS = {"w": 604800, "d": 86400, "h": 3600, "m": 60, "s": 1}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGTP]?)(i?)B?", re.IGNORECASE)
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_TEN = 10
_STEP = 1024


def size_text(size: float, gap: str = "") -> str:
    """Write a size as `4.0KiB`; `gap` stands between number and unit."""
    power = 0
    while size >= _STEP and power < len(_UNITS) - 1:
        size /= _STEP
        power += 1
    number = f"{size:.1f}" if power and size < _TEN else f"{size:.0f}"
    return f"{number}{gap}{_UNITS[power]}"


def size_bytes(text: str) -> int:
    """Read `10`, `64KB`, `1.5GiB`; KB is 1000 bytes and KiB 1024. Raises ValueError."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is no size: write such as 512, 64KiB or 1.5GB")
    power = " KMGTP".index(found[2].upper() or " ")
    step = 1024 if found[3] else 1000
    return int(float(found[1]) * step**power)


def duration_seconds(text: str) -> int:
    """Read `90s`, `24h`, `7d10h`; a bare number is seconds. Raises ValueError."""
    text = text.strip().lower()
    if text.isdigit():
        return int(text)
    parts = _SPAN.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"{text!r} is no duration: write such as 30m, 24h or 7d10h")
    return sum(int(number) * _SECONDS[unit] for number, unit in parts)


def duration_text(seconds: float) -> str:
    """Write a duration as `7 days 1 hours 0 minutes 0 seconds`, from its first unit that is not zero."""
    parts: list[str] = []
    left = int(seconds)
    for name, unit in (("days", "d"), ("hours", "h"), ("minutes", "m"), ("seconds", "s")):
        count, left = divmod(left, _SECONDS[unit])
        if count or parts or unit == "s":
            parts.append(f"{count} {name}")
    return " ".join(parts)


def moment(text: str) -> datetime:
    """Read a time as servers write it in XML and JSON; what is none is 1970."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return datetime.fromtimestamp(0, UTC)


def moment_text(at: datetime) -> str:
    """Write a time for a person, in the local zone."""
    return f"{at.astimezone():%Y-%m-%d %H:%M:%S %Z}"


def moment_json(at: datetime) -> str:
    """Write a time for a program, in UTC."""
    whole = "milliseconds" if at.microsecond else "seconds"
    return at.astimezone(UTC).isoformat(timespec=whole).replace("+00:00", "Z")


def epoch(seconds: float) -> datetime:
    """Return a time that was counted in seconds since 1970."""
    return datetime.fromtimestamp(seconds, UTC)
