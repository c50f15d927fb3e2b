"""The types of columns: their text, their nesting, and the format version that brought each.

A type that exists is legal in its newest version; whether a table may use it is asked with `first_version`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lakeshare.formats.iceberg.documents import (
    MAX_INT,
    Document,
    as_document,
    documents_in,
    flag,
    integer,
    optional_text,
    shown,
    text,
)
from lakeshare.formats.iceberg.errors import InvalidMetadata

MAX_TYPE_DEPTH = 60
"""How deep types may nest: a struct takes three levels of JSON, and encoders give up at 254."""

MAX_FIELDS = 100_000
"""How many fields a schema may have, nested ones and list elements counted."""

MAX_PRECISION = 38
MAX_TEXT = 1_000

_PLAIN = frozenset(
    {
        "boolean", "int", "long", "float", "double", "date", "time", "timestamp", "timestamptz", "string", "uuid",
        "binary", "timestamp_ns", "timestamptz_ns", "variant", "unknown",
    }
)  # fmt: skip
_SINCE_3 = frozenset({"timestamp_ns", "timestamptz_ns", "variant", "unknown", "geometry", "geography"})
_ALGORITHMS = frozenset({"spherical", "vincenty", "thomas", "andoyer", "karney"})
_DEFAULT_CRS = "OGC:CRS84"
_DECIMAL = re.compile(r"decimal\(\s*([0-9]{1,9})\s*,\s*([0-9]{1,9})\s*\)")
_FIXED = re.compile(r"fixed\[\s*([0-9]{1,10})\s*\]")
_GEOMETRY = re.compile(r"geometry(?:\(([^(),]+)\))?")
_GEOGRAPHY = re.compile(r"geography(?:\(([^(),]+)(?:,([^(),]+))?\))?")
_FIELD_KEYS = frozenset({"id", "name", "type", "required", "doc", "initial-default", "write-default"})
_NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Primitive:
    """A type without parts: its kind, such as `decimal`, and what its text has in brackets."""

    kind: str
    arguments: tuple[int | str, ...] = ()

    def __str__(self) -> str:
        """Write the type as metadata has it."""
        if not self.arguments:
            return self.kind
        inside = ", ".join(str(argument) for argument in self.arguments)
        return f"{self.kind}[{inside}]" if self.kind == "fixed" else f"{self.kind}({inside})"


@dataclass(frozen=True, slots=True)
class Field:
    """A column, or a field of a struct; `extra` holds what this version of the specification does not know."""

    id: int
    name: str
    type: "Type"
    required: bool
    doc: str | None = None
    initial_default: Any = None
    write_default: Any = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Struct:
    """Fields under names."""

    fields: tuple[Field, ...]

    def __str__(self) -> str:
        """Write the type as errors name it."""
        inside = ", ".join(f"{f.id}: {f.name}: {f.type}" for f in self.fields)
        return f"struct<{inside}>"


@dataclass(frozen=True, slots=True)
class ListType:
    """Elements of one type."""

    element_id: int
    element: "Type"
    element_required: bool

    def __str__(self) -> str:
        """Write the type as errors name it."""
        return f"list<{self.element}>"


@dataclass(frozen=True, slots=True)
class MapType:
    """Values under keys, which are always required."""

    key_id: int
    key: "Type"
    value_id: int
    value: "Type"
    value_required: bool

    def __str__(self) -> str:
        """Write the type as errors name it."""
        return f"map<{self.key}, {self.value}>"


Type = Primitive | Struct | ListType | MapType


def first_version(kind: Type) -> int:
    """Return the format version from which a table may have a column of this type."""
    return 3 if isinstance(kind, Primitive) and kind.kind in _SINCE_3 else 1


def parse_struct(document: Document, what: str) -> Struct:
    """Read a struct with all that is nested in it."""
    budget = iter(range(MAX_FIELDS))
    return _struct(document, what, 0, budget)


def parse_primitive(found: str) -> Primitive:
    """Read the text of a type that has no parts."""
    if found in _PLAIN:
        return Primitive(found)
    if len(found) <= MAX_TEXT:
        if match := _DECIMAL.fullmatch(found):
            return _decimal(int(match[1]), int(match[2]))
        if match := _FIXED.fullmatch(found):
            return _fixed(int(match[1]))
        if match := _GEOMETRY.fullmatch(found):
            return _geometry(match[1])
        if match := _GEOGRAPHY.fullmatch(found):
            return _geography(match[1], match[2])
    raise InvalidMetadata(f"Cannot parse type: {shown(found)} is no type of Iceberg")


def _decimal(precision: int, scale: int) -> Primitive:
    if not 1 <= precision <= MAX_PRECISION:
        raise InvalidMetadata(f"decimal({precision}, {scale}): precision must be from 1 to {MAX_PRECISION}")
    if scale > precision:
        raise InvalidMetadata(f"decimal({precision}, {scale}): scale must not be larger than precision")
    return Primitive("decimal", (precision, scale))


def _fixed(length: int) -> Primitive:
    if length > MAX_INT:
        raise InvalidMetadata(f"fixed[{length}]: the length must be at most {MAX_INT}")
    return Primitive("fixed", (length,))


def _geometry(crs: str | None) -> Primitive:
    crs = _crs(crs)
    return Primitive("geometry") if crs == _DEFAULT_CRS else Primitive("geometry", (crs,))


def _geography(crs: str | None, algorithm: str | None) -> Primitive:
    crs = _crs(crs)
    algorithm = (algorithm or "spherical").strip().lower()
    if algorithm not in _ALGORITHMS:
        raise InvalidMetadata(f"geography: {algorithm!r} is no edge algorithm; use one of {sorted(_ALGORITHMS)}")
    if algorithm != "spherical":
        return Primitive("geography", (crs, algorithm))
    return Primitive("geography") if crs == _DEFAULT_CRS else Primitive("geography", (crs,))


def _crs(found: str | None) -> str:
    """Return a coordinate reference system; the default is one of them."""
    crs = _DEFAULT_CRS if found is None else found.strip()
    if not crs:
        raise InvalidMetadata("a coordinate reference system must not be empty")
    return crs


def _type(value: object, what: str, depth: int, budget: Iterator[int]) -> Type:
    if isinstance(value, str):
        return parse_primitive(value)
    if depth > MAX_TYPE_DEPTH:
        raise InvalidMetadata(f"{what}: types nest deeper than {MAX_TYPE_DEPTH} levels")
    document = as_document(value, f"{what}: type")
    match document.get("type"):
        case "struct":
            return _struct(document, what, depth, budget)
        case "list":
            return _list(document, what, depth, budget)
        case "map":
            return _map(document, what, depth, budget)
        case other:
            raise InvalidMetadata(f"{what}: Cannot parse type: {shown(other)} is no type of Iceberg")


def _struct(document: Document, what: str, depth: int, budget: Iterator[int]) -> Struct:
    if document.get("type") != "struct":
        raise InvalidMetadata(f"{what}: type must be struct, not {shown(document.get('type'))}")
    if document.get("fields") is None:
        raise InvalidMetadata(f"{what}: fields must be a list, not null or absent")
    found = documents_in(document, "fields", what, MAX_FIELDS)
    return Struct(tuple(_field(item, what, depth, budget) for item in found))


def _field(document: Document, what: str, depth: int, budget: Iterator[int]) -> Field:
    _count(what, budget)
    name = text(document, "name", f"{what}: field")
    where = f"{what}: field {shown(name)}"
    required = flag(document, "required", where)
    kind = _type(document.get("type"), where if depth == 0 else what, depth + 1, budget)
    _check_unknown(kind, name, required=required)
    return Field(
        id=integer(document, "id", where, least=0, most=MAX_INT),
        name=name,
        type=kind,
        required=required,
        doc=optional_text(document, "doc", where),
        initial_default=document.get("initial-default"),
        write_default=document.get("write-default"),
        extra=_NOTHING if document.keys() <= _FIELD_KEYS else _unknown_of(document),
    )


def _unknown_of(document: Document) -> Mapping[str, Any]:
    return {key: value for key, value in document.items() if key not in _FIELD_KEYS}


def _list(document: Document, what: str, depth: int, budget: Iterator[int]) -> ListType:
    _count(what, budget)
    required = flag(document, "element-required", what)
    element = _type(document.get("element"), what, depth + 1, budget)
    _check_unknown(element, "element", required=required)
    return ListType(integer(document, "element-id", what, least=0, most=MAX_INT), element, required)


def _map(document: Document, what: str, depth: int, budget: Iterator[int]) -> MapType:
    _count(what, budget)
    required = flag(document, "value-required", what)
    key = _type(document.get("key"), what, depth + 1, budget)
    value = _type(document.get("value"), what, depth + 1, budget)
    _check_unknown(key, "key", required=True)
    _check_unknown(value, "value", required=required)
    key_id = integer(document, "key-id", what, least=0, most=MAX_INT)
    return MapType(key_id, key, integer(document, "value-id", what, least=0, most=MAX_INT), value, required)


def _check_unknown(kind: Type, name: str, *, required: bool) -> None:
    if required and isinstance(kind, Primitive) and kind.kind == "unknown":
        raise InvalidMetadata(f"Cannot create required field with unknown type: {shown(name)}")


def _count(what: str, budget: Iterator[int]) -> None:
    if next(budget, None) is None:
        raise InvalidMetadata(f"{what} has more than {MAX_FIELDS} fields")
