"""Statistics of files, and the columns they bound."""

import json

from lakeshare.columnar.predicate import ValueKind
from lakeshare.formats.delta.actions import Metadata, Protocol
from lakeshare.formats.delta.statistics import (
    DEFAULT_INDEXED_COLUMNS,
    MAX_BOUND_COLUMNS,
    FileStatistics,
    parse_statistics,
    table_shape,
)
from tests.formats.delta.logs import field


def table(*fields, partitions=(), **configuration):
    schema = json.dumps({"type": "struct", "fields": list(fields)})
    return Metadata("i", schema, tuple(partitions), configuration)


def test_statistics_are_flattened_by_physical_path():
    """Nested statistics are found under the whole path of their column."""
    text = (
        '{"numRecords":3,"tightBounds":false,"minValues":{"a":1,"s":{"b":"x"}},'
        '"maxValues":{"a":9},"nullCount":{"a":0,"s":{"b":2},"v":-1}}'
    )
    assert parse_statistics(text) == FileStatistics(
        3, False, {("a",): 1, ("s", "b"): "x"}, {("a",): 9}, {("a",): 0, ("s", "b"): 2}
    )


def test_broken_statistics_say_nothing():
    """Statistics are best effort: what cannot be read is not known."""
    for text in (None, "", "{", "[]", '{"numRecords":"x","minValues":3}'):
        assert parse_statistics(text) == FileStatistics()


def test_partition_and_leading_columns_are_bounded():
    """Partition columns come first, then data columns that have an order, nested ones by their path."""
    metadata = table(
        field("d", "date"),
        field("a", "long"),
        field("s", {"type": "struct", "fields": [field("b", "string"), field("m", "binary")]}),
        field("x", "decimal(3,1)"),
        field("c", "string", __COLLATIONS={"c": "UTF8_LCASE"}),
        partitions=["D"],
    )
    shape = table_shape(Protocol(1, 2), metadata)
    assert [(column.name, column.kind, column.partition) for column in shape.columns] == [
        (("d",), ValueKind.DAY, True),
        (("a",), ValueKind.WHOLE, False),
        (("s", "b"), ValueKind.TEXT, False),
    ]
    assert shape.find("S.B") is shape.columns[2]
    assert shape.find("nothing") is None


def test_the_tables_own_choice_of_columns_is_followed():
    """A table may name the columns it keeps statistics of, or their number; there is an upper bound all the same."""
    many = [field(f"c{number}", "long") for number in range(100)]
    assert len(table_shape(Protocol(1, 2), table(*many)).columns) == DEFAULT_INDEXED_COLUMNS
    everything = table_shape(Protocol(1, 2), table(*many, **{"delta.dataSkippingNumIndexedCols": "-1"}))
    assert len(everything.columns) == MAX_BOUND_COLUMNS
    named = table_shape(Protocol(1, 2), table(*many, **{"delta.dataSkippingStatsColumns": "c50, `c60`"}))
    assert [column.name for column in named.columns] == [("c50",), ("c60",)]
