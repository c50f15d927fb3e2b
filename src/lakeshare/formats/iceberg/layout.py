"""How a table's rows are laid out: partition specs and sort orders, and whether a schema can bear them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lakeshare.formats.iceberg.documents import (
    MAX_INT,
    Document,
    documents_in,
    integer,
    integers_in,
    optional_integer,
    shown,
    text,
)
from lakeshare.formats.iceberg.errors import InvalidMetadata, Unsupported
from lakeshare.formats.iceberg.schema import Node, SchemaIndex
from lakeshare.formats.iceberg.transforms import Transform, parse_transform
from lakeshare.formats.iceberg.types import Primitive, Struct

MAX_LAYOUT_FIELDS = 500
"""How many fields a partition spec or a sort order may have."""

FIRST_PARTITION_ID = 1000
"""The id of the first partition field; the last assigned id of an unpartitioned table is one less."""

UNKNOWN_TRANSFORMS_SINCE = 3
"""The format version whose readers must read tables with transforms that they do not know."""

UNSORTED: Document = {"order-id": 0, "fields": []}
UNPARTITIONED: Document = {"spec-id": 0, "fields": []}


@dataclass(frozen=True, slots=True)
class PartitionField:
    """One part of a partition; `field_id` is None in a request that leaves numbering to the table."""

    source_ids: tuple[int, ...]
    field_id: int | None
    name: str
    transform: Transform

    @property
    def key(self) -> tuple[tuple[int, ...], Transform]:
        """Return what makes two fields of different specs one."""
        return self.source_ids, self.transform

    def __str__(self) -> str:
        """Write the field as errors name it."""
        return f"{self.field_id}: {self.name}: {self.transform}({_first(self.source_ids)})"


@dataclass(frozen=True, slots=True)
class PartitionSpec:
    """One of a table's partition specs."""

    document: Document

    @property
    def id(self) -> int:
        """Return the spec's id within its table."""
        return int(self.document["spec-id"])

    @property
    def fields(self) -> tuple[PartitionField, ...]:
        """Read the partition fields."""
        found = documents_in(self.document, "fields", "partition spec", MAX_LAYOUT_FIELDS)
        return tuple(_partition_field(item) for item in found)


@dataclass(frozen=True, slots=True)
class SortField:
    """One key that rows are sorted by."""

    source_ids: tuple[int, ...]
    transform: Transform
    direction: str
    null_order: str

    def __str__(self) -> str:
        """Write the field as errors name it."""
        return f"{self.transform}({_first(self.source_ids)}) {self.direction} {self.null_order}"


@dataclass(frozen=True, slots=True)
class SortOrder:
    """One of a table's sort orders; order 0 is unsorted."""

    document: Document

    @property
    def id(self) -> int:
        """Return the order's id within its table."""
        return int(self.document["order-id"])

    @property
    def fields(self) -> tuple[SortField, ...]:
        """Read the sort fields."""
        found = documents_in(self.document, "fields", "sort order", MAX_LAYOUT_FIELDS)
        return tuple(_sort_field(item) for item in found)


def parse_spec(document: Document, *, default_id: int | None = None) -> PartitionSpec:
    """Take a spec as a table has it, and number the fields of one that has no numbers."""
    spec_id = optional_integer(document, "spec-id", "partition spec", least=0, most=MAX_INT)
    if spec_id is None:
        if default_id is None:
            raise InvalidMetadata("partition spec: spec-id must be an integer, not null or absent")
        spec_id = default_id
    if document.get("fields") is None:
        raise InvalidMetadata("partition spec: fields must be a list, not null or absent")
    found = PartitionSpec({**document, "spec-id": spec_id})
    missing = [field.field_id is None for field in found.fields]
    if not any(missing):
        return found
    if not all(missing):
        raise InvalidMetadata(f"partition spec {spec_id}: some fields have a field-id, and some have none")
    fields = [{**item, "field-id": FIRST_PARTITION_ID + place} for place, item in enumerate(document["fields"])]
    return PartitionSpec({**document, "spec-id": spec_id, "fields": fields})


def parse_order(document: Document, *, default_id: int | None = None) -> SortOrder:
    """Take a sort order as a table has it."""
    order_id = optional_integer(document, "order-id", "sort order", least=0, most=MAX_INT)
    if order_id is None:
        if default_id is None:
            raise InvalidMetadata("sort order: order-id must be an integer, not null or absent")
        order_id = default_id
    if document.get("fields") is None:
        raise InvalidMetadata("sort order: fields must be a list, not null or absent")
    found = SortOrder({**document, "order-id": order_id})
    if found.fields and order_id == 0:
        raise InvalidMetadata("Sort order ID 0 is reserved for unsorted order")
    return found


def last_partition_id(specs: Iterable[PartitionSpec]) -> int:
    """Return the highest partition field id of all specs."""
    ids = [field.field_id for spec in specs for field in spec.fields if field.field_id is not None]
    return max(ids, default=FIRST_PARTITION_ID - 1)


def check_spec(spec: PartitionSpec, schema: SchemaIndex) -> None:
    """Refuse a spec that a schema cannot bear; a void field outlives its column."""
    for field in spec.fields:
        if field.transform.name != "void":
            _check_source(field.source_ids, field.transform, schema, f"partition field: {field}", "partition")


def check_order(order: SortOrder, schema: SchemaIndex) -> None:
    """Refuse a sort order that a schema cannot bear."""
    for field in order.fields:
        _check_source(field.source_ids, field.transform, schema, f"sort field: {field}", "sort")


def check_new_spec(spec: PartitionSpec, schema: SchemaIndex, format_version: int) -> None:
    """Refuse a spec that may not be added to a table."""
    check_spec(spec, schema)
    _check_known([field.transform for field in spec.fields], format_version)
    names: set[str] = set()
    for field in spec.fields:
        _check_partition_name(field, schema, names)
        names.add(field.name)
    ids = [field.field_id for field in spec.fields if field.field_id is not None]
    if len(set(ids)) < len(ids):
        raise InvalidMetadata("partition spec: two fields have one field-id")


def check_new_order(order: SortOrder, schema: SchemaIndex, format_version: int) -> None:
    """Refuse a sort order that may not be added to a table."""
    check_order(order, schema)
    _check_known([field.transform for field in order.fields], format_version)


def rebound(fields: Iterable[Document], became: Mapping[int, int], what: str) -> list[dict[str, Any]]:
    """Return spec or order fields whose columns have new ids."""
    moved = []
    for item in fields:
        sources = [became.get(old) for old in _source_ids(item, what)]
        if None in sources:
            raise InvalidMetadata(f"Cannot find source column for {what}: {shown(item.get('name') or item)}")
        document = dict(item)
        if item.get("source-id") is not None:
            document["source-id"] = sources[0]
        if item.get("source-ids") is not None:
            document["source-ids"] = sources
        moved.append(document)
    return moved


def _check_source(source_ids: tuple[int, ...], transform: Transform, schema: SchemaIndex, what: str, verb: str) -> None:
    for source_id in source_ids:
        node = schema.by_id.get(source_id)
        if node is None:
            raise InvalidMetadata(f"Cannot find source column for {what}")
        if not isinstance(node.type, Primitive) or node.type.kind == "variant":
            raise InvalidMetadata(f"Cannot {verb} by non-primitive source field: {shown(node.name)}")
        if not transform.takes(node.type):
            raise InvalidMetadata(f"Invalid source type {node.type} for transform: {transform}")
        _check_parents(node, verb)


def _check_parents(node: Node, verb: str) -> None:
    parent = node.parent
    while parent is not None:
        if verb == "partition" and not isinstance(parent.type, Struct):
            raise InvalidMetadata(f"Invalid partition field parent: {shown(parent.name)} is a list or a map")
        parent = parent.parent


def _check_known(transforms: Iterable[Transform], format_version: int) -> None:
    for transform in transforms:
        if not transform.known and format_version < UNKNOWN_TRANSFORMS_SINCE:
            raise Unsupported(f"the transform {transform} is not known, and v{format_version} tables must not use it")


def _check_partition_name(field: PartitionField, schema: SchemaIndex, taken: set[str]) -> None:
    if not field.name:
        raise InvalidMetadata("Cannot use empty partition name")
    if field.name in taken:
        raise InvalidMetadata(f"Cannot use partition name more than once: {shown(field.name)}")
    column = schema.by_name.get(field.name)
    if column is None or field.source_ids == (column.id,) or not schema.by_id.keys() >= set(field.source_ids):
        return
    if field.transform.name == "identity":
        raise InvalidMetadata(
            f"Cannot create identity partition sourced from different field in schema: {shown(field.name)}"
        )
    raise InvalidMetadata(f"Cannot create partition from name that exists in schema: {shown(field.name)}")


def _partition_field(document: Document) -> PartitionField:
    what = "partition field"
    return PartitionField(
        source_ids=_source_ids(document, what),
        field_id=optional_integer(document, "field-id", what, least=0, most=MAX_INT),
        name=text(document, "name", what),
        transform=parse_transform(text(document, "transform", what)),
    )


def _sort_field(document: Document) -> SortField:
    what = "sort field"
    direction, null_order = text(document, "direction", what), text(document, "null-order", what)
    if direction.lower() not in {"asc", "desc"}:
        raise InvalidMetadata(f"sort field: direction must be asc or desc, not {shown(direction)}")
    if null_order.lower() not in {"nulls-first", "nulls-last"}:
        raise InvalidMetadata(f"sort field: null-order must be nulls-first or nulls-last, not {shown(null_order)}")
    transform = parse_transform(text(document, "transform", what))
    return SortField(_source_ids(document, what), transform, direction.lower(), null_order.lower())


def _source_ids(document: Document, what: str) -> tuple[int, ...]:
    if document.get("source-id") is not None:
        return (integer(document, "source-id", what, most=MAX_INT),)
    found = integers_in(document, "source-ids", what, MAX_LAYOUT_FIELDS)
    if not found:
        raise InvalidMetadata(f"{what}: source-ids must not be empty")
    return found


def _first(source_ids: tuple[int, ...]) -> str:
    return ", ".join(str(source_id) for source_id in source_ids)
