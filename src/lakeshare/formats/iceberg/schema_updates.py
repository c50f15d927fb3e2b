"""Updates of a table's schemas, partition specs and sort orders.

`-1` names what the same request added last, also where an equal one was there already and was taken instead.
"""

from dataclasses import dataclass
from itertools import count
from typing import Any

from lakeshare.formats.iceberg.documents import MAX_INT, Document, document_in, integer, integers_in
from lakeshare.formats.iceberg.draft import Draft
from lakeshare.formats.iceberg.errors import InvalidMetadata
from lakeshare.formats.iceberg.layout import (
    FIRST_PARTITION_ID,
    UNSORTED,
    PartitionField,
    PartitionSpec,
    SortOrder,
    check_new_order,
    check_new_spec,
    parse_order,
)
from lakeshare.formats.iceberg.schema import Schema, checked, keep_schema, parse_new_schema

LAST_ADDED = -1
MAX_IDS = 100_000
"""How many schemas or specs one update may remove."""


@dataclass(frozen=True, slots=True)
class AddSchema:
    """Add a schema; one that is there already is not added twice."""

    schema: Schema

    @classmethod
    def parse(cls, document: Document) -> "AddSchema":
        """Read the update."""
        return cls(parse_new_schema(document_in(document, "schema", "add-schema")))

    def apply(self, draft: Draft) -> None:
        """Change the draft."""
        index = checked(self.schema, draft.format_version)
        draft.last_column_id = max(draft.last_column_id, index.highest_id)
        draft.last_added_schema = keep_schema(draft.schemas, self.schema, draft.schema_meanings)


@dataclass(frozen=True, slots=True)
class SetCurrentSchema:
    """Make a schema the one that new rows have."""

    schema_id: int

    @classmethod
    def parse(cls, document: Document) -> "SetCurrentSchema":
        """Read the update."""
        return cls(integer(document, "schema-id", "set-current-schema", most=MAX_INT))

    def apply(self, draft: Draft) -> None:
        """Change the draft."""
        schema_id = _resolved(self.schema_id, draft.last_added_schema, "schema")
        if schema_id not in draft.schemas:
            raise InvalidMetadata(f"Cannot set current schema to unknown schema: {schema_id}")
        draft.index_of(schema_id)
        draft.current_schema_id = schema_id


@dataclass(frozen=True, slots=True)
class RemoveSchemas:
    """Forget schemas that no snapshot needs."""

    schema_ids: tuple[int, ...]

    @classmethod
    def parse(cls, document: Document) -> "RemoveSchemas":
        """Read the update."""
        return cls(integers_in(document, "schema-ids", "remove-schemas", MAX_IDS))

    def apply(self, draft: Draft) -> None:
        """Change the draft."""
        if draft.current_schema_id in self.schema_ids:
            raise InvalidMetadata("Cannot remove the current schema")
        draft.removed_schemas.update(draft.schemas.keys() & set(self.schema_ids))
        for schema_id in self.schema_ids:
            draft.drop_schema(schema_id)
        if draft.last_added_schema not in draft.schemas:
            draft.last_added_schema = None


@dataclass(frozen=True, slots=True)
class AddSpec:
    """Add a partition spec, bound to the current schema; one that is there already is not added twice."""

    spec: Document

    @classmethod
    def parse(cls, document: Document) -> "AddSpec":
        """Read the update."""
        spec = document_in(document, "spec", "add-spec")
        if spec.get("fields") is None:
            raise InvalidMetadata("partition spec: fields must be a list, not null or absent")
        _ = PartitionSpec(spec).fields
        return cls(spec)

    def apply(self, draft: Draft) -> None:
        """Change the draft."""
        index = draft.schema_index()
        spec = _numbered(self.spec, draft)
        check_new_spec(spec, index, draft.format_version)
        asked = _meaning(spec)
        for spec_id, known in draft.specs.items():
            if _meaning(known) == asked:
                draft.last_added_spec = spec_id
                return
        ids = [field.field_id for field in spec.fields if field.field_id is not None]
        if draft.format_version == 1 and ids != list(range(FIRST_PARTITION_ID, FIRST_PARTITION_ID + len(ids))):
            raise InvalidMetadata(f"Spec does not use sequential IDs that are required in v1: {ids}")
        draft.last_partition_id = max(draft.last_partition_id, *ids, 0)
        draft.specs[spec.id] = spec
        draft.last_added_spec = spec.id


@dataclass(frozen=True, slots=True)
class SetDefaultSpec:
    """Make a spec the one that new rows are partitioned by."""

    spec_id: int

    @classmethod
    def parse(cls, document: Document) -> "SetDefaultSpec":
        """Read the update."""
        return cls(integer(document, "spec-id", "set-default-spec", most=MAX_INT))

    def apply(self, draft: Draft) -> None:
        """Change the draft."""
        spec_id = _resolved(self.spec_id, draft.last_added_spec, "spec")
        if spec_id not in draft.specs:
            raise InvalidMetadata(f"Cannot set default partition spec to unknown spec: {spec_id}")
        draft.default_spec_id = spec_id


@dataclass(frozen=True, slots=True)
class RemovePartitionSpecs:
    """Forget partition specs that no file needs."""

    spec_ids: tuple[int, ...]

    @classmethod
    def parse(cls, document: Document) -> "RemovePartitionSpecs":
        """Read the update."""
        return cls(integers_in(document, "spec-ids", "remove-partition-specs", MAX_IDS))

    def apply(self, draft: Draft) -> None:
        """Change the draft."""
        if draft.default_spec_id in self.spec_ids:
            raise InvalidMetadata("Cannot remove the default partition spec")
        for spec_id in self.spec_ids:
            draft.specs.pop(spec_id, None)
        if draft.last_added_spec not in draft.specs:
            draft.last_added_spec = None


@dataclass(frozen=True, slots=True)
class AddSortOrder:
    """Add a sort order, bound to the current schema; one that is there already is not added twice."""

    order: SortOrder

    @classmethod
    def parse(cls, document: Document) -> "AddSortOrder":
        """Read the update."""
        found = document_in(document, "sort-order", "add-sort-order")
        return cls(parse_order({**found, "order-id": 1 if found.get("fields") else 0}))

    def apply(self, draft: Draft) -> None:
        """Change the draft."""
        index = draft.schema_index()
        check_new_order(self.order, index, draft.format_version)
        if not self.order.fields:
            draft.orders.setdefault(0, SortOrder(UNSORTED))
            draft.last_added_order = 0
            return
        for order_id, known in draft.orders.items():
            if known.fields == self.order.fields:
                draft.last_added_order = order_id
                return
        fresh = max(1, max(draft.orders, default=0) + 1)
        draft.orders[fresh] = SortOrder({**self.order.document, "order-id": fresh})
        draft.last_added_order = fresh


@dataclass(frozen=True, slots=True)
class SetDefaultSortOrder:
    """Make a sort order the one that new files are sorted by."""

    order_id: int

    @classmethod
    def parse(cls, document: Document) -> "SetDefaultSortOrder":
        """Read the update."""
        return cls(integer(document, "sort-order-id", "set-default-sort-order", most=MAX_INT))

    def apply(self, draft: Draft) -> None:
        """Change the draft."""
        order_id = _resolved(self.order_id, draft.last_added_order, "sort order")
        if order_id not in draft.orders:
            raise InvalidMetadata(f"Cannot set default sort order to unknown sort order: {order_id}")
        draft.default_order_id = order_id


def _resolved(asked: int, last_added: int | None, what: str) -> int:
    if asked != LAST_ADDED:
        return asked
    if last_added is None:
        raise InvalidMetadata(f"Cannot set last added {what}: no {what} has been added")
    return last_added


def _meaning(spec: PartitionSpec) -> list[tuple[Any, ...]]:
    return [(*field.key, field.name) for field in spec.fields]


def _numbered(document: Document, draft: Draft) -> PartitionSpec:
    """Give a spec the next id, and its fields the ids that the same fields have in other specs, or new ones."""
    known: dict[object, int] = {}
    for spec in draft.specs.values():
        known.update((field.key, field.field_id) for field in spec.fields if field.field_id is not None)
    wanted = PartitionSpec(document).fields
    taken = {field.field_id for field in wanted}
    start = FIRST_PARTITION_ID if draft.format_version == 1 else max(draft.last_partition_id, *known.values(), 0) + 1
    fresh = (number for number in count(start) if number not in taken)
    fields = []
    for item, field in zip(document["fields"], wanted, strict=True):
        number = field.field_id
        if number is None:
            number = _reused(field, known, taken, draft) or next(fresh)
            taken.add(number)
        fields.append({**item, "field-id": number})
    return PartitionSpec({**document, "spec-id": max(draft.specs, default=-1) + 1, "fields": fields})


def _reused(field: PartitionField, known: dict[object, int], taken: set[int | None], draft: Draft) -> int | None:
    """Return the id of an equal field of another spec (v2 and later; v1 numbers by place)."""
    number = known.get(field.key)
    return None if draft.format_version == 1 or number in taken else number
