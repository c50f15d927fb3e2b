"""JSON text made of columns."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from lakeshare.columnar.text import escaped, join, join_present, json_of, json_of_maps, letters, quoted

TEXTS = st.lists(st.none() | st.text(), max_size=8)


@given(TEXTS)
def test_quoted_text_is_read_back(texts):
    """Whatever a string holds, its JSON is that string, and null stays null."""
    found = quoted(pa.array(texts, pa.string())).to_pylist()
    assert [item if item is None else json.loads(item) for item in found] == texts


@given(TEXTS, st.integers(0, 3))
def test_a_sliced_column_is_escaped_alike(texts, start):
    """A column that begins inside a larger one gives its own rows."""
    column = pa.array(texts, pa.string())
    assert escaped(column.slice(start)).to_pylist() == escaped(column).to_pylist()[start:]
    assert bytes(letters(column.slice(start))) == b"".join((item or "").encode() for item in texts[start:])


@given(st.lists(st.none() | st.dictionaries(st.text(), st.none() | st.text(), max_size=3), max_size=6))
def test_maps_are_objects(maps):
    """A map of strings becomes an object; a null map is an empty one."""
    column = pa.array([item and list(item.items()) for item in maps], pa.map_(pa.string(), pa.string()))
    assert [json.loads(item) for item in json_of_maps(column).to_pylist()] == [item or {} for item in maps]


def test_structs_leave_out_what_is_null():
    """Columns of every type that statistics have become JSON, and what is not there is left out."""
    rows = [
        {
            "n": 1,
            "x": 0.5,
            "s": 'a"b',
            "b": True,
            "d": date(2024, 1, 2),
            "t": datetime(2024, 1, 2, 3, 4, 5, 678999, UTC),
            "l": datetime(1969, 12, 31, 23, 59, 59, 999999),  # noqa: DTZ001
            "m": Decimal("1.50"),
            "o": {"q": None},
        },
        {"x": float("nan")},
        None,
    ]
    kind = pa.struct(
        [
            ("n", pa.int64()),
            ("x", pa.float64()),
            ("s", pa.string()),
            ("b", pa.bool_()),
            ("d", pa.date32()),
            ("t", pa.timestamp("us", "UTC")),
            ("l", pa.timestamp("us")),
            ("m", pa.decimal128(5, 2)),
            ("o", pa.struct([("q", pa.int64())])),
            ("v", pa.list_(pa.int64())),
        ]
    )
    first, second, third = json_of(pa.array(rows, kind)).to_pylist()
    assert json.loads(first) == {
        "n": 1,
        "x": 0.5,
        "s": 'a"b',
        "b": True,
        "d": "2024-01-02",
        "t": "2024-01-02T03:04:05.678Z",
        "l": "1969-12-31T23:59:59.999",
        "m": 1.5,
        "o": {},
    }
    assert (second, third) == ("{}", None)


def test_joining_keeps_or_leaves_out_nulls():
    """A join is null where a piece is, or goes on without it."""
    column = pa.array(["x", None])
    assert join("<", column, ">").to_pylist() == ["<x>", None]
    assert join_present("<", column, ">").to_pylist() == ["<x>", "<>"]
