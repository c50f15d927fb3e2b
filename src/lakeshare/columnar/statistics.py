"""Statistics and partition values, as text, into typed bounds: the least and greatest value of a column in each file.

Bounds are never narrower than the truth: what cannot be read is not known, and what writers cut is widened again.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from lakeshare.columnar.bounds import BoundColumn, TableShape
from lakeshare.columnar.moments import days, instant_micros, local_micros
from lakeshare.columnar.predicate import ValueKind
from lakeshare.columnar.text import join

NO_NULLS, SOME_NULLS, ALL_NULLS = 0, 1, 2
"""How many of a column's values are null; null itself means that nobody knows."""

STORED = {
    ValueKind.TRUTH: pa.int8(),
    ValueKind.WHOLE: pa.int64(),
    ValueKind.REAL: pa.float64(),
    ValueKind.TEXT: pa.string(),
    ValueKind.DAY: pa.int32(),
    ValueKind.INSTANT: pa.int64(),
    ValueKind.LOCAL: pa.int64(),
}
"""How bounds of each kind are kept: truth, and days and microseconds since 1970, as numbers."""

_WRITTEN = {
    ValueKind.TRUTH: pa.bool_(),
    ValueKind.WHOLE: pa.int64(),
    ValueKind.REAL: pa.float64(),
}
"""How the kinds stand in JSON; the others are strings there."""

_CUT_MICROSECONDS = 999
"""Writers cut timestamps down to milliseconds, so that a greatest value may lie this far above its bound."""
_EASTERNMOST = 14 * 3600 * 1_000_000
_WESTERNMOST = 12 * 3600 * 1_000_000
"""A time without a zone was written somewhere from UTC-12 to UTC+14."""
_INT64 = 2**63
_BLOCK_BYTES = 64 * 1024 * 1024
"""More than any batch of statistics holds, so that a batch is parsed in one piece."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is known of one column in each file of a batch."""

    low: pa.Array
    high: pa.Array
    nulls: pa.Array


@dataclass(frozen=True, slots=True)
class Typed:
    """Typed statistics of a batch of files: rows in each file, and the bounds of each column of the shape."""

    records: pa.Array
    bounds: tuple[Bounds, ...]


def type_statistics(stats: pa.Array, partition: pa.Array, shape: TableShape) -> Typed:
    """Type the statistics (JSON text) and partition values (maps) of a batch of files."""
    kept = [column for column in shape.columns if not column.partition]
    parsed = _parse(stats, kept)
    records = pc.struct_field(parsed, "numRecords")
    bounds = [
        _partition_bounds(partition, column) if column.partition else _bounds(parsed, records, column)
        for column in shape.columns
    ]
    return Typed(records, tuple(bounds))


def _parse(stats: pa.Array, columns: list[BoundColumn]) -> pa.StructArray:
    """Parse JSON text into a struct of `numRecords`, `minValues`, `maxValues` and `nullCount`."""
    schema = _json_schema(columns)
    if stats.null_count == len(stats):
        return pa.nulls(len(stats), pa.struct(schema))
    text = pc.fill_null(stats, "{}")
    if pc.all(pc.starts_with(text, "{")).as_py():
        # Every text gives one row or more, so that as many rows as texts means one row each.
        lines = join(text, "\n")
        try:
            table = pj.read_json(
                pa.BufferReader(lines.buffers()[2]),
                read_options=pj.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES),
                parse_options=pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
            )
        except pa.ArrowInvalid:
            return _parse_singly(text, schema)
        if table.num_rows == len(text):
            return table.select(schema.names).combine_chunks().to_struct_array().combine_chunks()
    return _parse_singly(text, schema)


def _json_schema(columns: list[BoundColumn]) -> pa.Schema:
    values = pa.struct(_nested({column.physical: _WRITTEN.get(column.kind, pa.string()) for column in columns}))
    counts = pa.struct(_nested({column.physical: pa.int64() for column in columns}))
    fields = [("numRecords", pa.int64())]
    if columns:
        fields += [("minValues", values), ("maxValues", values), ("nullCount", counts)]
    return pa.schema(fields)


def _nested(leaves: Mapping[tuple[str, ...], pa.DataType]) -> list[pa.Field]:
    below: dict[str, dict[tuple[str, ...], pa.DataType]] = {}
    fields: list[pa.Field] = []
    for path, kind in leaves.items():
        if len(path) == 1:
            fields.append(pa.field(path[0], kind))
        else:
            below.setdefault(path[0], {})[path[1:]] = kind
    return fields + [pa.field(name, pa.struct(_nested(inner))) for name, inner in below.items()]


def _parse_singly(text: pa.Array, schema: pa.Schema) -> pa.StructArray:
    """Parse statistics one by one, where a batch of them cannot be: what does not fit its type is not known."""
    rows = [_fitting(_loads(item), pa.struct(schema)) for item in text.to_pylist()]
    return pa.array(rows, pa.struct(schema))


def _loads(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {}


def _fitting(value: Any, kind: pa.DataType) -> Any:
    if pa.types.is_struct(kind):
        found = value if isinstance(value, dict) else {}
        return {field.name: _fitting(found.get(field.name), field.type) for field in kind}
    if pa.types.is_boolean(kind):
        return value if isinstance(value, bool) else None
    if pa.types.is_int64(kind):
        whole = isinstance(value, int) and not isinstance(value, bool) and -_INT64 <= value < _INT64
        return value if whole else None
    if pa.types.is_float64(kind):
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    return value if isinstance(value, str) and value.isprintable() else _encodable(value)


def _encodable(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    try:
        value.encode()
    except UnicodeEncodeError:
        return None
    return value


def _bounds(parsed: pa.StructArray, records: pa.Array, column: BoundColumn) -> Bounds:
    low = _read(_at(parsed, "minValues", column.physical), column.kind)
    high = _read(_at(parsed, "maxValues", column.physical), column.kind)
    if column.type_name == "float":
        low, high = _beside(low, -np.inf), _beside(high, np.inf)
    if column.kind in {ValueKind.INSTANT, ValueKind.LOCAL}:
        high = pc.add(high, _CUT_MICROSECONDS)
    return Bounds(low, high, _null_states(_at(parsed, "nullCount", column.physical), records))


def _at(parsed: pa.StructArray, group: str, path: tuple[str, ...]) -> pa.Array:
    """Return a nested field; null wherever a struct on the way to it is."""
    found: pa.Array = pc.struct_field(parsed, group)
    for name in path:
        found = pc.struct_field(found, name)
    return found


def _null_states(counts: pa.Array, records: pa.Array) -> pa.Array:
    some = pc.if_else(pc.fill_null(pc.equal(counts, records), fill_value=False), ALL_NULLS, SOME_NULLS)
    states = pc.if_else(pc.equal(counts, 0), NO_NULLS, some)
    return pc.cast(states, pa.int8())


def _beside(values: pa.Array, toward: float) -> pa.Array:
    """Move bounds of a 32-bit float by one step: their text has fewer digits than the value."""
    known = values.is_valid()
    plain = pc.fill_null(values, 0.0).to_numpy(zero_copy_only=False)
    with np.errstate(over="ignore"):
        moved = np.nextafter(plain.astype(np.float32), np.float32(toward)).astype(np.float64)
    return pc.if_else(known, pa.array(moved), pa.scalar(None, pa.float64()))


def _read(values: pa.Array, kind: ValueKind) -> pa.Array:
    """Turn values as they stand in statistics into values as they are kept."""
    return _cast(values, kind) if kind in _TEXTUAL else pc.cast(values, STORED[kind])


_TEXTUAL = {
    ValueKind.DAY: (pa.date32(), pa.int32()),
    ValueKind.INSTANT: (pa.timestamp("us", "UTC"), pa.int64()),
    ValueKind.LOCAL: (pa.timestamp("us"), pa.int64()),
}


def _cast(values: pa.Array, kind: ValueKind) -> pa.Array:
    parsed_type, stored_type = _TEXTUAL[kind]
    try:
        return pc.cast(pc.cast(values, parsed_type), stored_type)
    except pa.ArrowInvalid:
        read = _SINGLY[kind]
        return pa.array([None if item is None else _or_none(read, item) for item in values.to_pylist()], stored_type)


def _or_none(read: Callable[[str], int], text: str) -> int | None:
    try:
        return read(text)
    except ValueError:
        return None


_SINGLY: Mapping[ValueKind, Callable[[str], int]] = {
    ValueKind.DAY: days,
    ValueKind.INSTANT: instant_micros,
    ValueKind.LOCAL: local_micros,
}


def _partition_bounds(partition: pa.Array, column: BoundColumn) -> Bounds:
    """Bound a partition column by its value, which is exact; null and the empty string are null."""
    text = _values_of(partition, column.physical[0])
    absent = pc.or_(pc.is_null(text), pc.fill_null(pc.equal(text, ""), fill_value=False))
    text = pc.if_else(absent, pa.scalar(None, pa.string()), text)
    low, high = _partition_range(text, column.kind)
    known = pc.if_else(low.is_valid(), NO_NULLS, pa.scalar(None, pa.int64()))
    return Bounds(low, high, pc.cast(pc.if_else(absent, ALL_NULLS, known), pa.int8()))


def _values_of(partition: pa.Array, name: str) -> pa.Array:
    """Return the values that maps have under a key; at once where all maps have the same keys, as they mostly do."""
    keys, count = partition.keys, len(partition)
    width = len(keys) // count if count else 0
    regular = width and np.array_equal(partition.offsets.to_numpy(), np.arange(0, count * width + 1, width))
    if regular and name in (first := keys.slice(0, width).to_pylist()):
        places = np.arange(first.index(name), count * width, width)
        if pc.all(pc.equal(keys.take(places), name)).as_py():
            return partition.items.take(places)
    return pc.map_lookup(partition, pa.scalar(name, pa.string()), "first")


def _partition_range(text: pa.Array, kind: ValueKind) -> tuple[pa.Array, pa.Array]:
    if kind is ValueKind.TEXT:
        return text, text
    if kind in _CAST_AT_ONCE:
        try:
            plain = pc.cast(pc.cast(text, _CAST_AT_ONCE[kind]), STORED[kind])
        except pa.ArrowInvalid:
            pass
        else:
            return plain, plain
    distinct = pc.dictionary_encode(text)
    ranges = [_RANGES[kind](item) for item in distinct.dictionary.to_pylist()]
    lows = pa.array([item and item[0] for item in ranges], STORED[kind])
    highs = pa.array([item and item[1] for item in ranges], STORED[kind])
    return pc.take(lows, distinct.indices), pc.take(highs, distinct.indices)


_CAST_AT_ONCE = {ValueKind.WHOLE: pa.int64(), ValueKind.DAY: pa.date32()}
_Range = tuple[int | float, int | float]


def _truth_range(text: str) -> _Range | None:
    value = {"true": 1, "false": 0}.get(text.lower())
    return None if value is None else (value, value)


def _whole_range(text: str) -> _Range | None:
    try:
        value = int(text)
    except ValueError:
        return None
    return (value, value) if -_INT64 <= value < _INT64 else None


def _real_range(text: str) -> _Range | None:
    try:
        value = float(text)
    except ValueError:
        return None
    if np.isnan(value):
        return None  # NaN has no place in the order.
    # The text of a 32-bit value is short of digits, so anything up to its neighbours may be meant.
    with np.errstate(over="ignore"):
        single = np.float32(value)
    below, above = np.nextafter(single, np.float32(-np.inf)), np.nextafter(single, np.float32(np.inf))
    return min(value, float(below)), max(value, float(above))


def _day_range(text: str) -> _Range | None:
    value = _or_none(days, text[:10])
    return None if value is None else (value, value)


def _instant_range(text: str) -> _Range | None:
    if (value := _or_none(instant_micros, text)) is not None:
        return value, value
    local = _or_none(local_micros, text)
    return None if local is None else (local - _EASTERNMOST, local + _WESTERNMOST)


def _local_range(text: str) -> _Range | None:
    value = _or_none(local_micros, text)
    return None if value is None else (value, value)


_RANGES: Mapping[ValueKind, Callable[[str], _Range | None]] = {
    ValueKind.TRUTH: _truth_range,
    ValueKind.WHOLE: _whole_range,
    ValueKind.REAL: _real_range,
    ValueKind.DAY: _day_range,
    ValueKind.INSTANT: _instant_range,
    ValueKind.LOCAL: _local_range,
}
