"""A schema: its fields by id and by name, its identifier, what a format version allows, and fresh ids for a new table.

A schema is its document, so that what a newer writer put there stays. It is read whole when it is added or becomes
current; older schemas of a table are kept as they stand.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from lakeshare.formats.iceberg.defaults import FIRST_VERSION as DEFAULTS_SINCE
from lakeshare.formats.iceberg.defaults import check_default
from lakeshare.formats.iceberg.documents import (
    MAX_INT,
    Document,
    as_integer,
    as_list,
    integers_in,
    optional_integer,
    shown,
)
from lakeshare.formats.iceberg.errors import InvalidMetadata
from lakeshare.formats.iceberg.types import (
    MAX_FIELDS,
    Field,
    ListType,
    MapType,
    Primitive,
    Struct,
    Type,
    first_version,
    parse_struct,
)

MAX_FIELD_ID = MAX_INT - 200
"""The ids above belong to metadata columns such as `_row_id` (specification, Reserved Field IDs)."""

MAX_NAMES_CHARACTERS = 32 * 1024 * 1024
"""Of all fields' names, each with those of the fields around it: a long name is repeated for each field within."""

MAX_PROBLEMS = 20
"""How many problems of one schema an error lists."""

_SCHEMA_KEYS = frozenset({"type", "schema-id", "fields", "identifier-field-ids"})


@dataclass(frozen=True, slots=True)
class Schema:
    """One of a table's or view's schemas."""

    document: Document

    @property
    def id(self) -> int:
        """Return the schema's id within its table."""
        return int(self.document["schema-id"])

    @property
    def identifier_field_ids(self) -> tuple[int, ...]:
        """Return the ids of the fields that identify a row."""
        found = self.document.get("identifier-field-ids")
        return () if found is None else integers_in(self.document, "identifier-field-ids", "schema", MAX_FIELDS)

    def struct(self) -> Struct:
        """Read the columns."""
        return parse_struct(self.document, "schema")

    def with_id(self, schema_id: int) -> "Schema":
        """Return the same columns under another id."""
        return Schema({**self.document, "type": "struct", "schema-id": schema_id})


@dataclass(frozen=True, slots=True)
class Node:
    """A field, a list's element, a map's key or value, and where it hangs."""

    id: int
    name: str
    type: Type
    required: bool
    parent: "Node | None"
    field: Field | None = None


@dataclass(frozen=True, slots=True)
class SchemaIndex:
    """All fields of a schema, nested ones too."""

    by_id: Mapping[int, Node]
    by_name: Mapping[str, Node]

    @property
    def highest_id(self) -> int:
        """Return the highest field id; 0 where there are no fields."""
        return max(self.by_id, default=0)


def parse_schema(document: Document, *, default_id: int | None = None) -> Schema:
    """Take a schema as it stands, with its id; its fields are read by whoever needs them."""
    found = optional_integer(document, "schema-id", "schema", least=0, most=MAX_INT)
    if found is None and default_id is None:
        raise InvalidMetadata("schema: schema-id must be an integer, not null or absent")
    as_list(document.get("fields"), "schema: fields", MAX_FIELDS)
    if found is None:
        return Schema({**document, "schema-id": default_id})
    return Schema(document)


def parse_new_schema(document: Document) -> Schema:
    """Take a schema that is to be added; whatever id it comes with, its table gives it another."""
    return parse_schema({**document, "schema-id": 0})


def read(schema: Schema) -> SchemaIndex:
    """Read a schema whole, and refuse one that contradicts itself."""
    by_id: dict[int, Node] = {}
    by_name: dict[str, Node] = {}
    length = 0
    for node in _walk(schema.struct()):
        length += len(node.name)
        if length > MAX_NAMES_CHARACTERS:
            raise InvalidMetadata(
                f"Invalid schema: its names have more than {MAX_NAMES_CHARACTERS} characters together"
            )
        if node.id in by_id:
            raise InvalidMetadata(f"Invalid schema: multiple fields for id {node.id}")
        if node.name in by_name:
            other = by_name[node.name].id
            raise InvalidMetadata(f"Invalid schema: multiple fields for name {shown(node.name)}: {other} and {node.id}")
        by_id[node.id] = by_name[node.name] = node
    index = SchemaIndex(by_id, by_name)
    for field_id in schema.identifier_field_ids:
        _check_identifier(field_id, index)
    return index


def checked(schema: Schema, format_version: int) -> SchemaIndex:
    """Read a schema that is to be added to a table of that format version."""
    index = read(schema)
    problems = [problem for node in index.by_id.values() for problem in _problems(node, format_version)]
    if problems:
        listed = "\n- ".join(problems[:MAX_PROBLEMS])
        raise InvalidMetadata(f"Invalid schema for v{format_version}:\n- {listed}")
    if index.highest_id > MAX_FIELD_ID:
        raise InvalidMetadata(f"Invalid schema: field id {index.highest_id} is reserved for metadata columns")
    for node in index.by_id.values():
        if node.field is not None:
            _check_defaults(node, node.field)
    return index


def find_same(known: Mapping[int, Schema], wanted: Schema, meanings: dict[int, object]) -> int | None:
    """Return the id of a schema that differs in nothing but its id; `meanings` remembers what was read of each."""
    outline, asked = _outline(wanted), _meaning(wanted)
    for schema_id, schema in known.items():
        if _outline(schema) != outline:
            continue
        if schema_id not in meanings:
            meanings[schema_id] = _meaning(schema)
        if meanings[schema_id] == asked:
            return schema_id
    return None


def keep_schema(known: dict[int, Schema], wanted: Schema, meanings: dict[int, object]) -> int:
    """Add a schema under a new id, unless it is there already; return its id."""
    found = find_same(known, wanted, meanings)
    if found is not None:
        return found
    fresh = max(known, default=-1) + 1
    known[fresh] = wanted.with_id(fresh)
    return fresh


def with_fresh_ids(schema: Schema, schema_id: int) -> tuple[Schema, Mapping[int, int]]:
    """Number all fields anew, level by level from 1, and return which id became which."""
    became: dict[int, int] = {}
    fresh = _fresh_struct(schema.document, count(1), became)
    document: dict[str, Any] = {**fresh, "type": "struct", "schema-id": schema_id}
    if schema.identifier_field_ids:
        document["identifier-field-ids"] = [became[old] for old in schema.identifier_field_ids if old in became]
    return Schema(document), became


def _walk(struct: Struct) -> Iterator[Node]:
    """Yield each field before what is nested in it; nesting is bounded by the parser."""
    waiting: list[tuple[Type, str, Node | None]] = [(struct, "", None)]
    while waiting:
        kind, prefix, parent = waiting.pop()
        for node in _children(kind, prefix, parent):
            yield node
            if not isinstance(node.type, Primitive):
                waiting.append((node.type, f"{node.name}.", node))


def _children(kind: Type, prefix: str, parent: Node | None) -> Iterator[Node]:
    match kind:
        case Struct(fields):
            for f in fields:
                yield Node(f.id, prefix + f.name, f.type, f.required, parent, f)
        case ListType():
            yield Node(kind.element_id, prefix + "element", kind.element, kind.element_required, parent)
        case MapType():
            yield Node(kind.key_id, prefix + "key", kind.key, required=True, parent=parent)
            yield Node(kind.value_id, prefix + "value", kind.value, kind.value_required, parent)
        case _:
            return


def _check_identifier(field_id: int, index: SchemaIndex) -> None:
    node = index.by_id.get(field_id)
    if node is None:
        raise InvalidMetadata(f"Cannot add fieldId {field_id} as an identifier field: field does not exist")
    refusal = f"Cannot add field {node.name} as an identifier field"
    if not isinstance(node.type, Primitive) or node.type.kind == "variant":
        raise InvalidMetadata(f"{refusal}: not a primitive type field")
    if not node.required:
        raise InvalidMetadata(f"{refusal}: not a required field")
    if node.type.kind in {"float", "double"}:
        raise InvalidMetadata(f"{refusal}: must not be float or double field")
    parent = node.parent
    while parent is not None:
        if not isinstance(parent.type, Struct):
            raise InvalidMetadata(f"{refusal}: must not be nested in {parent.name}")
        if not parent.required:
            raise InvalidMetadata(f"{refusal}: must not be nested in an optional field {parent.name}")
        parent = parent.parent


def _problems(node: Node, format_version: int) -> Iterator[str]:
    since = first_version(node.type)
    if format_version < since:
        yield f"Invalid type for {node.name}: {node.type} is not supported until v{since}"
    if node.field is None or format_version >= DEFAULTS_SINCE:
        return
    for word, value in (("initial", node.field.initial_default), ("write", node.field.write_default)):
        if value is not None:
            yield (
                f"Invalid {word} default for {node.name}: non-null default ({shown(value)}) "
                f"is not supported until v{DEFAULTS_SINCE}"
            )


def _check_defaults(node: Node, field: Field) -> None:
    for word, value in (("initial", field.initial_default), ("write", field.write_default)):
        if value is not None:
            check_default(value, node.type, f"Invalid {word} default for {node.name}")


def _fresh_struct(document: Document, ids: Iterator[int], became: dict[int, int]) -> Document:
    fields = [{**item, "id": _next(item["id"], ids, became)} for item in document["fields"]]
    return {**document, "fields": [{**item, "type": _fresh_type(item["type"], ids, became)} for item in fields]}


def _fresh_type(value: Any, ids: Iterator[int], became: dict[int, int]) -> Any:
    if isinstance(value, str):
        return value
    match value["type"]:
        case "struct":
            return _fresh_struct(value, ids, became)
        case "list":
            element_id = _next(value["element-id"], ids, became)
            return {**value, "element-id": element_id, "element": _fresh_type(value["element"], ids, became)}
        case _:
            key_id = _next(value["key-id"], ids, became)
            value_id = _next(value["value-id"], ids, became)
            key = _fresh_type(value["key"], ids, became)
            return {
                **value,
                "key-id": key_id,
                "key": key,
                "value-id": value_id,
                "value": _fresh_type(value["value"], ids, became),
            }


def _next(old: object, ids: Iterator[int], became: dict[int, int]) -> int:
    fresh = next(ids)
    became[as_integer(old, "field id")] = fresh
    return fresh


def _outline(schema: Schema) -> tuple[Any, ...]:
    """Return what tells most schemas apart without reading them."""
    fields = schema.document["fields"]
    return len(fields), fields[-1].get("name") if fields and isinstance(fields[-1], dict) else None


def _meaning(schema: Schema) -> tuple[Any, ...] | None:
    """Return what makes two schemas one, or None where a schema cannot be read and is like no other."""
    try:
        identifier = frozenset(schema.identifier_field_ids)
        return schema.struct(), identifier, _unknown_of(schema.document)
    except InvalidMetadata:
        return None


def _unknown_of(document: Document) -> Document:
    return {key: value for key, value in document.items() if key not in _SCHEMA_KEYS}
