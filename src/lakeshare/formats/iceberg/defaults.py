"""Default values of columns (specification, Default values, and JSON single-value serialization)."""

import re
from datetime import date, time
from decimal import Decimal
from typing import Any

from lakeshare.formats.iceberg.documents import MAX_INT, MAX_LONG, MAX_SHOWN, shown
from lakeshare.formats.iceberg.errors import InvalidMetadata
from lakeshare.formats.iceberg.types import Primitive, Struct, Type

FIRST_VERSION = 3
"""The format version from which a column may have a default other than null."""

MAX_DIGITS = 60
"""How long the text of a decimal may be; 38 digits, a sign, a point and leading zeros fit."""

_DATE = re.compile(r"[+-]?[0-9]{4,6}-[0-9]{2}-[0-9]{2}")
_TIME = r"([0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(?:(?<=:[0-9]{2}:[0-9]{2})\.([0-9]{1,9}))?"
_TIME_OF_DAY = re.compile(_TIME)
_TIMESTAMP = re.compile(r"([+-]?[0-9]{4,6}-[0-9]{2}-[0-9]{2})T" + _TIME + r"(Z|[+-][0-9]{2}:[0-9]{2})?")
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})*")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")
_UTC = ("Z", "+00:00")


def check_default(value: Any, kind: Type, what: str) -> None:
    """Refuse a default that is no value of its column's type."""
    if not _fits(value, kind):
        raise InvalidMetadata(f"{what}: {shown(value)} is no default value of type {str(kind)[:MAX_SHOWN]}")


def _fits(value: Any, kind: Type) -> bool:
    if not isinstance(kind, Primitive):
        return isinstance(kind, Struct) and bool(value == {})
    match kind.kind:
        case "boolean":
            return isinstance(value, bool)
        case "int":
            return _whole(value, MAX_INT)
        case "long":
            return _whole(value, MAX_LONG)
        case "float" | "double":
            return type(value) in {int, float}
        case _:
            return isinstance(value, str) and _text_fits(value, kind)


def _whole(value: Any, most: int) -> bool:
    return type(value) is int and -most - 1 <= value <= most


def _text_fits(value: str, kind: Primitive) -> bool:
    match kind.kind:
        case "string":
            return True
        case "decimal":
            return _is_decimal(value, kind)
        case "uuid":
            return _UUID.fullmatch(value) is not None
        case "fixed":
            return len(value) == 2 * int(kind.arguments[0]) and _HEX.fullmatch(value) is not None
        case "binary":
            return len(value) % 2 == 0 and _HEX.fullmatch(value) is not None
        case _:
            return _is_time(value, kind.kind)


def _is_decimal(value: str, kind: Primitive) -> bool:
    if len(value) > MAX_DIGITS or _NUMBER.fullmatch(value) is None:
        return False
    precision, scale = kind.arguments
    _, digits, exponent = Decimal(value).as_tuple()
    return exponent == -int(scale) and len(digits) <= int(precision)


def _is_time(value: str, kind: str) -> bool:
    match kind:
        case "date":
            return _is_date(value)
        case "time":
            found = _TIME_OF_DAY.fullmatch(value)
            return found is not None and _is_time_of_day(found[1]) and len(found[2] or "") <= 6
        case "timestamp" | "timestamptz" | "timestamp_ns" | "timestamptz_ns":
            return _is_timestamp(value, zoned="tz" in kind, digits=9 if kind.endswith("_ns") else 6)
        case _:
            return False


def _is_timestamp(value: str, *, zoned: bool, digits: int) -> bool:
    found = _TIMESTAMP.fullmatch(value)
    if found is None or not _is_date(found[1]) or not _is_time_of_day(found[2]):
        return False
    zone_fits = found[4] in _UTC if zoned else found[4] is None
    return zone_fits and len(found[3] or "") <= digits


def _is_date(value: str) -> bool:
    if _DATE.fullmatch(value) is None:
        return False
    year, month, day = value.rsplit("-", 2)
    try:
        date(int(year) % 400 + 2000, int(month), int(day))
    except ValueError:
        return False
    return True


def _is_time_of_day(value: str) -> bool:
    try:
        time.fromisoformat(value)
    except ValueError:
        return False
    return True
