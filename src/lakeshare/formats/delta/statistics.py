"""Per-file statistics: what they say of one file, and which columns of a table they can bound."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from lakeshare.columnar.bounds import BoundColumn, TableShape
from lakeshare.columnar.predicate import ValueKind
from lakeshare.formats.delta.actions import Metadata, Protocol
from lakeshare.formats.delta.decoding import is_count
from lakeshare.formats.delta.schema import (
    MAX_DEPTH,
    Field,
    Leaf,
    Primitive,
    Struct,
    leaves,
    mapping_mode,
    parse_schema,
)

DEFAULT_INDEXED_COLUMNS = 32
"""`delta.dataSkippingNumIndexedCols` where a table does not set it: how many leading columns writers bound."""
MAX_BOUND_COLUMNS = 64
"""How many columns are bounded at most, whatever a table asks for: each costs memory for every file."""

_KINDS = {
    "boolean": ValueKind.TRUTH,
    "byte": ValueKind.WHOLE,
    "short": ValueKind.WHOLE,
    "integer": ValueKind.WHOLE,
    "long": ValueKind.WHOLE,
    "float": ValueKind.REAL,
    "double": ValueKind.REAL,
    "string": ValueKind.TEXT,
    "date": ValueKind.DAY,
    "timestamp": ValueKind.INSTANT,
    "timestamp_ntz": ValueKind.LOCAL,
}
_COLLATIONS = "__COLLATIONS"


@dataclass(frozen=True, slots=True)
class FileStatistics:
    """The statistics of one file, by physical path. Absent means not known.

    `tight` says that the bounds are values of live rows; otherwise live rows lie within them, no more.
    """

    num_records: int | None = None
    tight: bool = True
    minima: Mapping[tuple[str, ...], Any] = field(default_factory=dict)
    maxima: Mapping[tuple[str, ...], Any] = field(default_factory=dict)
    null_counts: Mapping[tuple[str, ...], int] = field(default_factory=dict)


def parse_statistics(text: str | None) -> FileStatistics:
    """Parse statistics; what cannot be made sense of says nothing, and is never an error."""
    try:
        whole = orjson.loads(text or "{}")
    except orjson.JSONDecodeError:
        return FileStatistics()
    if not isinstance(whole, dict):
        return FileStatistics()
    counts = {path: count for path, count in _flat(whole.get("nullCount")).items() if is_count(count)}
    records = whole.get("numRecords")
    return FileStatistics(
        num_records=records if is_count(records) else None,
        tight=whole.get("tightBounds") is not False,
        minima=_flat(whole.get("minValues")),
        maxima=_flat(whole.get("maxValues")),
        null_counts=counts,
    )


def table_shape(protocol: Protocol, metadata: Metadata) -> TableShape:
    """Say which columns have bounds worth keeping: the partition columns, and those that writers keep statistics of."""
    mode = mapping_mode(protocol, metadata)
    schema = parse_schema(metadata.schema_string)
    partitions = {name.lower() for name in metadata.partition_columns}
    every = [leaf for leaf in leaves(schema, mode) if leaf.name[0].lower() not in partitions]
    keys = [leaf for leaf in leaves(Struct(_top(schema, partitions)), mode) if len(leaf.name) == 1]
    bounded = [_bound(leaf, partition=True) for leaf in keys] + [
        _bound(leaf, partition=False) for leaf in _indexed(every, metadata.configuration)
    ]
    return TableShape(tuple(column for column in bounded if column is not None)[:MAX_BOUND_COLUMNS])


def _top(schema: Struct, names: set[str]) -> tuple[Field, ...]:
    return tuple(item for item in schema.fields if item.name.lower() in names)


def _indexed(every: list[Leaf], configuration: Mapping[str, str]) -> list[Leaf]:
    """Follow the table's own choice of columns: named ones, or so many from the left (-1 is all)."""
    if named := configuration.get("delta.dataSkippingStatsColumns"):
        wanted = [name.strip().strip("`").lower() for name in named.split(",")]
        return [leaf for leaf in every if _named(leaf, wanted)]
    asked = configuration.get("delta.dataSkippingNumIndexedCols", "")
    count = int(asked) if asked.lstrip("-").isdigit() else DEFAULT_INDEXED_COLUMNS
    return every if count < 0 else every[: max(count, DEFAULT_INDEXED_COLUMNS)]


def _named(leaf: Leaf, wanted: list[str]) -> bool:
    dotted = ".".join(leaf.name).lower()
    return any(dotted == name or dotted.startswith(f"{name}.") for name in wanted)


def _bound(leaf: Leaf, *, partition: bool) -> BoundColumn | None:
    kind = leaf.field.type
    if not isinstance(kind, Primitive) or kind.name not in _KINDS or _COLLATIONS in leaf.field.metadata:
        return None
    return BoundColumn(leaf.name, leaf.physical, _KINDS[kind.name], kind.name, partition)


def _flat(values: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    if not isinstance(values, dict) or len(path) > MAX_DEPTH:
        return {}
    flat: dict[tuple[str, ...], Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            flat.update(_flat(value, (*path, name)))
        elif value is not None:
            flat[*path, name] = value
    return flat
