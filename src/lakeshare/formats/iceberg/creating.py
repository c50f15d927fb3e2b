"""From a request to create a table to the first metadata of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lakeshare.formats.iceberg.documents import (
    Document,
    as_document,
    check_size,
    document_in,
    flag,
    optional_text,
    shown,
    text,
    text_map,
)
from lakeshare.formats.iceberg.draft import Draft, created
from lakeshare.formats.iceberg.errors import InvalidMetadata
from lakeshare.formats.iceberg.layout import (
    FIRST_PARTITION_ID,
    UNPARTITIONED,
    UNSORTED,
    PartitionSpec,
    SortOrder,
    check_new_order,
    check_new_spec,
    parse_order,
    parse_spec,
    rebound,
)
from lakeshare.formats.iceberg.metadata import TableMetadata
from lakeshare.formats.iceberg.property_updates import unreserved
from lakeshare.formats.iceberg.reading import check_uuid, check_version, strip_slash
from lakeshare.formats.iceberg.schema import Schema, SchemaIndex, checked, parse_new_schema, read, with_fresh_ids
from lakeshare.formats.iceberg.updates import DEFAULT_FORMAT_VERSION

_NEW_TABLE_DEFAULTS = {"write.parquet.compression-codec": "zstd"}


@dataclass(frozen=True, slots=True)
class CreateTable:
    """A request for a new table; `location` is where the client wants it, or None."""

    name: str
    schema: Schema
    partition_spec: PartitionSpec
    write_order: SortOrder
    location: str | None
    stage_create: bool
    properties: Mapping[str, str]
    format_version: int


def parse_create_table(found: object) -> CreateTable:
    """Read a CreateTableRequest."""
    what = "create table"
    check_size(found, what)
    document = as_document(found, what)
    properties = text_map(document.get("properties"), f"{what}: properties")
    spec, order = document.get("partition-spec"), document.get("write-order")
    location = optional_text(document, "location", what)
    schema = parse_new_schema(document_in(document, "schema", what))
    read(schema)
    return CreateTable(
        name=text(document, "name", what),
        schema=schema,
        partition_spec=_spec(spec),
        write_order=_order(order),
        location=None if location is None else strip_slash(location),
        stage_create=document.get("stage-create") is not None and flag(document, "stage-create", what),
        properties=properties,
        format_version=_format_version(properties),
    )


def new_table(request: CreateTable, *, uuid: str, location: str, now_ms: int) -> TableMetadata:
    """Return the metadata of a new table: columns numbered from 1, partition fields from 1000."""
    schema, became = with_fresh_ids(request.schema, 0)
    index = checked(schema, request.format_version)
    draft = Draft(None, format_version=request.format_version, now_ms=now_ms)
    draft.uuid = check_uuid(uuid)
    draft.location = strip_slash(location)
    draft.schemas, draft.current_schema_id = {0: schema}, 0
    draft.last_column_id = index.highest_id
    _add_spec(request, draft, became, index)
    _add_order(request, draft, became, index)
    draft.properties = {**_NEW_TABLE_DEFAULTS, **unreserved(request.properties)}
    return created(draft)


def _spec(found: Any) -> PartitionSpec:
    return PartitionSpec(UNPARTITIONED) if found is None else parse_spec(_unnumbered(found))


def _unnumbered(found: Any) -> Document:
    """Return a spec without field ids: a new table numbers its own."""
    document = as_document(found, "partition-spec")
    fields = document.get("fields")
    if not isinstance(fields, list):
        return {**document, "spec-id": 0}
    return {
        **document,
        "spec-id": 0,
        "fields": [_without(item, "field-id") if isinstance(item, dict) else item for item in fields],
    }


def _order(found: Any) -> SortOrder:
    if found is None:
        return SortOrder(UNSORTED)
    document = as_document(found, "write-order")
    return parse_order({**document, "order-id": 1 if document.get("fields") else 0})


def _format_version(properties: Mapping[str, str]) -> int:
    found = properties.get("format-version")
    if found is None:
        return DEFAULT_FORMAT_VERSION
    if not (found.isascii() and found.isdecimal()) or len(found) > len("2147483647"):
        raise InvalidMetadata(f"properties: format-version must be a number, not {shown(found)}")
    return check_version(int(found))


def _add_spec(request: CreateTable, draft: Draft, became: Mapping[int, int], index: SchemaIndex) -> None:
    fields = rebound(request.partition_spec.document["fields"], became, "partition field")
    spec = PartitionSpec({**request.partition_spec.document, "spec-id": 0, "fields": fields})
    check_new_spec(spec, index, request.format_version)
    draft.specs, draft.default_spec_id = {0: spec}, 0
    draft.last_partition_id = FIRST_PARTITION_ID - 1 + len(fields)


def _add_order(request: CreateTable, draft: Draft, became: Mapping[int, int], index: SchemaIndex) -> None:
    fields = rebound(request.write_order.document["fields"], became, "sort field")
    order = SortOrder({**request.write_order.document, "order-id": 1 if fields else 0, "fields": fields})
    check_new_order(order, index, request.format_version)
    draft.orders, draft.default_order_id = {order.id: order}, order.id


def _without(document: Document, key: str) -> Document:
    return {name: value for name, value in document.items() if name != key}
