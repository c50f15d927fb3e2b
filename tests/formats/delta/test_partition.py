"""Partition values."""

from datetime import UTC, date, datetime
from decimal import Decimal as Number

import pytest

from lakeshare.formats.delta.errors import BrokenLog
from lakeshare.formats.delta.partition import typed
from lakeshare.formats.delta.schema import Decimal, Primitive


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ("7", "integer", 7),
        ("-1.5", "double", -1.5),
        ("True", "boolean", True),
        ("2024-02-29", "date", date(2024, 2, 29)),
        ("2024-01-01 10:00:00.123456", "timestamp", datetime(2024, 1, 1, 10, 0, 0, 123456)),  # noqa: DTZ001
        ("2024-01-01T10:00:00.5Z", "timestamp", datetime(2024, 1, 1, 10, 0, 0, 500000, UTC)),
        ("2024-01-01 10:00:00", "timestamp_ntz", datetime(2024, 1, 1, 10)),  # noqa: DTZ001
        ("\u0001\u0002", "binary", b"\x01\x02"),
        ("x y", "string", "x y"),
        ("", "string", None),
        ("", "date", None),
        (None, "long", None),
    ],
)
def test_values_get_their_types(value, kind, expected):
    """A partition value is read by its column's type; null and the empty string are null."""
    assert typed(value, Primitive(kind)) == expected


def test_decimals_are_exact():
    """A decimal keeps its digits."""
    assert typed("12.30", Decimal(10, 2)) == Number("12.30")


@pytest.mark.parametrize(("value", "kind"), [("x", "integer"), ("2024-13-01", "date"), ("maybe", "boolean")])
def test_values_of_another_type_are_refused(value, kind):
    """A value that its type cannot have is a broken log, not a guess."""
    with pytest.raises(BrokenLog, match="no partition value"):
        typed(value, Primitive(kind))
