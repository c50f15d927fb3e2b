"""Partition values: strings in the log, typed by the schema (PROTOCOL, Partition Value Serialization)."""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal as Number
from decimal import InvalidOperation

from lakeshare.formats.delta.errors import BrokenLog
from lakeshare.formats.delta.schema import DataType, Decimal, Primitive

PartitionScalar = bool | int | float | str | bytes | date | datetime | Number


def typed(value: str | None, kind: DataType) -> PartitionScalar | None:
    """Give a partition value its type. Null and the empty string are both null, whatever the type.

    A timestamp that names no zone was written in the zone of a machine that nobody knows any more; it is returned
    without one, and so is every `timestamp_ntz`.
    """
    if value is None or value == "":
        return None
    try:
        return _typed(value, kind)
    except (ValueError, InvalidOperation):
        raise BrokenLog(f"{value!r} is no partition value of type {_name(kind)}") from None


def _typed(value: str, kind: DataType) -> PartitionScalar:
    read = Number if isinstance(kind, Decimal) else _READERS.get(_name(kind), str)
    return read(value)


def _truth(value: str) -> bool:
    if value.lower() not in {"true", "false"}:
        raise ValueError(value)
    return value.lower() == "true"


def _day(value: str) -> date:
    return date.fromisoformat(value[:10])


def _moment(value: str) -> datetime:
    parsed = datetime.fromisoformat(value)
    return parsed if parsed.tzinfo is None else parsed.astimezone(UTC)


def _local(value: str) -> datetime:
    return datetime.fromisoformat(value).replace(tzinfo=None)


_READERS: Mapping[str, Callable[[str], PartitionScalar]] = {
    "byte": int,
    "short": int,
    "integer": int,
    "long": int,
    "float": float,
    "double": float,
    "boolean": _truth,
    "date": _day,
    "timestamp": _moment,
    "timestamp_ntz": _local,
    "binary": str.encode,
}


def _name(kind: DataType) -> str:
    return kind.name if isinstance(kind, Primitive) else type(kind).__name__.lower()
