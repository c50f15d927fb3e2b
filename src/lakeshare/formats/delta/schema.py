"""A table's schema: types, names and their mapping to the names in data files, statistics and partition values.

Field metadata (comments, defaults, generation expressions, identity columns) is kept as it stands.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import orjson

from lakeshare.formats.delta.actions import Metadata, Protocol
from lakeshare.formats.delta.errors import BrokenLog, UnsupportedTable
from lakeshare.formats.delta.protocol import has_reader_feature

MAX_DEPTH = 100
"""How deep types may nest; Spark's own parsers give up far earlier."""

_PHYSICAL_NAME = "delta.columnMapping.physicalName"
_COLUMN_ID = "delta.columnMapping.id"
_DECIMAL = re.compile(r"decimal\(\s*(\d{1,2})\s*,\s*(-?\d{1,2})\s*\)\Z")


class MappingMode(Enum):
    """How columns are found in data files (PROTOCOL, Column Mapping)."""

    NONE = "none"
    NAME = "name"
    ID = "id"


@dataclass(frozen=True, slots=True)
class Primitive:
    """A type with a name of its own, such as `long`, `timestamp_ntz` or `variant`."""

    name: str


@dataclass(frozen=True, slots=True)
class Decimal:
    """A number of fixed precision and scale."""

    precision: int
    scale: int


@dataclass(frozen=True, slots=True)
class Array:
    """A list of elements."""

    element: "DataType"
    contains_null: bool


@dataclass(frozen=True, slots=True)
class MapType:
    """Values under keys."""

    key: "DataType"
    value: "DataType"
    value_contains_null: bool


@dataclass(frozen=True, slots=True)
class Field:
    """A column, or a field of a struct."""

    name: str
    type: "DataType"
    nullable: bool
    metadata: Mapping[str, Any]

    @property
    def column_id(self) -> int | None:
        """Return the column's id under column mapping."""
        found = self.metadata.get(_COLUMN_ID)
        return found if isinstance(found, int) else None

    def physical_name(self, mode: MappingMode) -> str:
        """Return the name that data files, statistics and partition values use."""
        if mode is MappingMode.NONE:
            return self.name
        found = self.metadata.get(_PHYSICAL_NAME)
        if not isinstance(found, str):
            raise BrokenLog(f"column {self.name!r} has no physical name, though column mapping is on")
        return found


@dataclass(frozen=True, slots=True)
class Struct:
    """Fields in order. A table's schema is one."""

    fields: tuple[Field, ...]


DataType = Primitive | Decimal | Array | MapType | Struct


@dataclass(frozen=True, slots=True)
class Leaf:
    """A column without fields, reached through structs alone: what statistics can speak of."""

    name: tuple[str, ...]
    physical: tuple[str, ...]
    field: Field


def parse_schema(text: str) -> Struct:
    """Parse a schema string."""
    try:
        whole = orjson.loads(text)
    except orjson.JSONDecodeError as reason:
        raise BrokenLog(f"the table's schema is not JSON: {reason}") from None
    try:
        parsed = _type(whole, 0)
    except (KeyError, TypeError, AttributeError) as reason:
        raise BrokenLog(f"the table's schema is malformed: {type(reason).__name__} {reason}") from None
    if not isinstance(parsed, Struct):
        raise BrokenLog("the table's schema is not a struct")
    return parsed


def mapping_mode(protocol: Protocol, metadata: Metadata) -> MappingMode:
    """Return the column mapping that readers must follow: the property counts only where the protocol has it."""
    if not has_reader_feature(protocol, "columnMapping"):
        return MappingMode.NONE
    asked = metadata.configuration.get("delta.columnMapping.mode", "none").lower()
    try:
        return MappingMode(asked)
    except ValueError:
        raise UnsupportedTable(f"column mapping mode {asked!r} is not known") from None


def leaves(schema: Struct, mode: MappingMode) -> Iterator[Leaf]:
    """Yield the columns that statistics can speak of, in the schema's order."""
    yield from _leaves(schema, mode, (), ())


def _leaves(struct: Struct, mode: MappingMode, name: tuple[str, ...], physical: tuple[str, ...]) -> Iterator[Leaf]:
    for field in struct.fields:
        logical, inside = (*name, field.name), (*physical, field.physical_name(mode))
        if isinstance(field.type, Struct):
            yield from _leaves(field.type, mode, logical, inside)
        else:
            yield Leaf(logical, inside, field)


def _type(whole: Any, depth: int) -> DataType:
    if depth > MAX_DEPTH:
        raise BrokenLog(f"the table's schema nests deeper than {MAX_DEPTH} types")
    if isinstance(whole, str):
        return _primitive(whole)
    match whole["type"]:
        case "struct":
            return Struct(tuple(_field(item, depth + 1) for item in whole["fields"]))
        case "array":
            return Array(_type(whole["elementType"], depth + 1), bool(whole.get("containsNull", True)))
        case "map":
            key, value = _type(whole["keyType"], depth + 1), _type(whole["valueType"], depth + 1)
            return MapType(key, value, bool(whole.get("valueContainsNull", True)))
        case other:
            raise UnsupportedTable(f"the schema has a type that is not known: {other!r}")


def _field(whole: Any, depth: int) -> Field:
    name = whole["name"]
    if not isinstance(name, str):
        raise TypeError(f"{name!r} is no name of a column")
    metadata = whole.get("metadata") or {}
    return Field(name, _type(whole["type"], depth), bool(whole.get("nullable", True)), dict(metadata))


def _primitive(name: str) -> Primitive | Decimal:
    if match := _DECIMAL.match(name):
        return Decimal(int(match[1]), int(match[2]))
    return Decimal(10, 0) if name == "decimal" else Primitive(name)
