"""Statistics and partition values, typed."""

import json

import numpy as np
import pyarrow as pa
import pytest

from lakeshare.columnar.bounds import BoundColumn, TableShape
from lakeshare.columnar.predicate import ValueKind
from lakeshare.columnar.statistics import type_statistics

MAPS = pa.map_(pa.string(), pa.string())


def column(kind, type_name, *path, partition=False):
    path = path or ("c",)
    return BoundColumn(path, path, kind, type_name, partition)


def typed(texts, *columns):
    stats = pa.array(
        [item if item is None or isinstance(item, str) else json.dumps(item) for item in texts], pa.string()
    )
    return type_statistics(stats, pa.nulls(len(texts), MAPS), TableShape(columns))


def triple(found, place=0):
    bounds = found.bounds[place]
    return bounds.low.to_pylist(), bounds.high.to_pylist(), bounds.nulls.to_pylist()


def both(value, records=4, nulls=0):
    return {"numRecords": records, "minValues": {"c": value}, "maxValues": {"c": value}, "nullCount": {"c": nulls}}


def test_bounds_are_typed():
    """Numbers, strings and truth are taken as they stand."""
    assert triple(typed([both(7), None, both(-1)], column(ValueKind.WHOLE, "long"))) == (
        [7, None, -1],
        [7, None, -1],
        [0, None, 0],
    )
    assert triple(typed([both("é")], column(ValueKind.TEXT, "string"))) == (["é"], ["é"], [0])
    assert triple(typed([both(True)], column(ValueKind.TRUTH, "boolean"))) == ([1], [1], [0])


def test_dates_are_days():
    """A date is the days since 1970."""
    assert triple(typed([both("1970-01-02"), both("1969-12-31")], column(ValueKind.DAY, "date")))[0] == [1, -1]


def test_times_reach_past_what_was_cut_off():
    """A greatest time may lie anywhere in its millisecond; zones are reckoned with."""
    kind = column(ValueKind.INSTANT, "timestamp")
    low, high, _ = triple(typed([both("1970-01-01T00:00:00.001Z"), both("1970-01-01T01:00:00.000+01:00")], kind))
    assert (low, high) == ([1000, 0], [1999, 999])
    local = column(ValueKind.LOCAL, "timestamp_ntz")
    assert triple(typed([both("1970-01-01T00:00:00.001")], local))[:2] == ([1000], [1999])


def test_single_floats_reach_to_their_neighbours():
    """The text of a 32-bit float is shorter than its value, which its bounds must still hold."""
    low, high, _ = triple(typed([both(0.1)], column(ValueKind.REAL, "float")))
    assert low[0] < float(np.float32(0.1)) < high[0]
    assert triple(typed([both(0.1)], column(ValueKind.REAL, "double")))[:2] == ([0.1], [0.1])


def test_null_counts_are_none_some_or_all():
    """Only none and all mean something; a count without the number of records is some."""
    texts = [both(1, 4, 0), both(1, 4, 3), both(1, 4, 4), both(1, None, 4), {"numRecords": 4}]
    assert triple(typed(texts, column(ValueKind.WHOLE, "long")))[2] == [0, 1, 2, 1, None]


def test_nested_columns_are_found_by_their_path():
    """Statistics of a nested column lie under each name of its path."""
    nested = column(ValueKind.WHOLE, "long", "o", "q")
    beside = column(ValueKind.WHOLE, "long", "o", "r")
    text = {"minValues": {"o": {"q": 3, "r": 1}}, "maxValues": {"o": {"q": 4}}, "nullCount": {"o": {"q": 0}}}
    found = typed([text, {}], nested, beside)
    assert triple(found, 0) == ([3, None], [4, None], [0, None])
    assert triple(found, 1)[0] == [1, None]


ODD = [
    "",
    "null",
    "[]",
    "{",
    "{}{}",
    ' {"numRecords":1}',
    '{"numRecords":"x"}',
    '{"numRecords":1,"minValues":{"c":"text"}}',
    '{"numRecords":1,"minValues":{"c":1.5}}',
    '{"numRecords":1,"minValues":{"c":99999999999999999999}}',
    '{"numRecords":1,"minValues":3}',
    '{"numRecords":1,"minValues":{"c":1,"c":2}}',
]


@pytest.mark.parametrize("odd", ODD)
def test_odd_statistics_never_move_their_neighbours(odd):
    """Statistics that make no sense are not known, and those of the files beside them are read all the same."""
    found = typed([both(5), odd, both(6)], column(ValueKind.WHOLE, "long"))
    low, _, nulls = triple(found)
    assert (low[0], low[2]) == (5, 6)
    assert (nulls[0], nulls[2]) == (0, 0)
    assert low[1] in {None, 2}


@pytest.mark.parametrize(
    ("kind", "type_name", "value"),
    [
        (ValueKind.REAL, "double", "NaN"),
        (ValueKind.DAY, "date", "2024-13-01"),
        (ValueKind.INSTANT, "timestamp", "2024-01-01T00:00:00"),
        (ValueKind.LOCAL, "timestamp_ntz", "2024-01-01T00:00:00Z"),
        (ValueKind.TEXT, "string", 5),
        (ValueKind.TEXT, "string", "\ud800"),
    ],
)
def test_values_of_another_type_are_not_known(kind, type_name, value):
    """A bound that is not of its column's type bounds nothing."""
    low, high, _ = triple(typed([both(value)], column(kind, type_name)))
    assert (low, high) == ([None], [None])


def partition(kind, type_name, *values, names=("c",)):
    maps = [[(name, value) for name in names] for value in values]
    shape = TableShape((column(kind, type_name, partition=True),))
    found = type_statistics(pa.nulls(len(values), pa.string()), pa.array(maps, MAPS), shape)
    return triple(found)


def test_partition_values_are_exact():
    """A partition value is both bounds; null and the empty string are null; what is no value is not known."""
    assert partition(ValueKind.WHOLE, "integer", "5", None, "") == ([5, None, None], [5, None, None], [0, 2, 2])
    assert partition(ValueKind.WHOLE, "integer", "5", "x") == ([5, None], [5, None], [0, None])
    assert partition(ValueKind.DAY, "date", "1970-01-03")[0] == [2]
    assert partition(ValueKind.DAY, "date", "1970-01-03", "?")[2] == [0, None]
    assert partition(ValueKind.TRUTH, "boolean", "true", "FALSE", "?") == ([1, 0, None], [1, 0, None], [0, 0, None])
    assert partition(ValueKind.TEXT, "string", "x", "", names=("a", "c", "b")) == (["x", None], ["x", None], [0, 2])
    assert partition(ValueKind.REAL, "double", "NaN", "?")[2] == [None, None]
    assert partition(ValueKind.WHOLE, "long", str(2**70))[2] == [None]


def test_a_time_without_a_zone_may_be_anywhere():
    """A partition's time was written in some zone of the earth, unless it says which."""
    low, high, _ = partition(ValueKind.INSTANT, "timestamp", "1970-01-02 00:00:00", "1970-01-02T00:00:00Z", "?")
    day = 86_400_000_000
    assert low[0] <= day - 14 * 3_600_000_000
    assert high[0] >= day + 12 * 3_600_000_000
    assert (low[1], high[1], low[2]) == (day, day, None)
    assert partition(ValueKind.LOCAL, "timestamp_ntz", "1970-01-02 00:00:00")[0] == [day]


def test_a_single_floats_partition_value_is_held():
    """The range of a floating partition value holds the 32-bit value that its text stands for."""
    low, high, _ = partition(ValueKind.REAL, "float", "0.1", "1e300")
    assert low[0] <= float(np.float32(0.1)) <= high[0]
    assert low[1] <= 1e300 <= high[1]


def test_maps_of_many_shapes_are_looked_up():
    """Files need not list their partition columns alike."""
    maps = pa.array([[("c", "1")], [("a", "x"), ("c", "2")], [], None, [("a", "y")]], MAPS)
    shape = TableShape((column(ValueKind.WHOLE, "long", partition=True),))
    assert triple(type_statistics(pa.nulls(5, pa.string()), maps, shape))[0] == [1, 2, None, None, None]
