"""From a request to create a view to the first metadata of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from lakeshare.formats.iceberg.documents import (
    as_document,
    check_size,
    document_in,
    optional_text,
    text,
    text_map,
)
from lakeshare.formats.iceberg.errors import InvalidMetadata, Unsupported
from lakeshare.formats.iceberg.reading import SUPPORTED_VERSION, check_uuid, strip_slash
from lakeshare.formats.iceberg.schema import Schema, checked, parse_new_schema
from lakeshare.formats.iceberg.view import (
    VIEW_FORMAT_VERSION,
    VersionLogEntry,
    ViewMetadata,
    ViewVersion,
    parse_version,
)
from lakeshare.formats.iceberg.view_updates import check_dialects_differ


@dataclass(frozen=True, slots=True)
class CreateView:
    """A request for a new view; `location` is where the client wants it, or None."""

    name: str
    schema: Schema
    version: ViewVersion
    location: str | None
    properties: Mapping[str, str]


def parse_create_view(found: object) -> CreateView:
    """Read a CreateViewRequest."""
    what = "create view"
    check_size(found, what)
    document = as_document(found, what)
    location = optional_text(document, "location", what)
    version = parse_version(document_in(document, "view-version", what))
    _check_queries(version)
    schema = parse_new_schema(document_in(document, "schema", what))
    checked(schema, SUPPORTED_VERSION)
    return CreateView(
        name=text(document, "name", what),
        schema=schema,
        version=version,
        location=None if location is None else strip_slash(location),
        properties=text_map(document.get("properties"), f"{what}: properties"),
    )


def new_view(request: CreateView, *, uuid: str, location: str, now_ms: int) -> ViewMetadata:
    """Return the metadata of a new view, with schema 0 and version 1."""
    version = {**request.version.document, "version-id": 1, "schema-id": 0, "timestamp-ms": now_ms}
    return ViewMetadata(
        uuid=check_uuid(uuid),
        format_version=VIEW_FORMAT_VERSION,
        location=strip_slash(location),
        current_version_id=1,
        versions=(ViewVersion(version),),
        version_log=(VersionLogEntry({"timestamp-ms": now_ms, "version-id": 1}),),
        schemas=(request.schema.with_id(0),),
        properties=request.properties,
        extra={},
    )


def _check_queries(version: ViewVersion) -> None:
    found = version.document["representations"]
    if not found:
        raise InvalidMetadata("Cannot create view without specifying a query")
    others = sorted({item["type"] for item in found if item["type"] != "sql"})
    if others:
        raise Unsupported(f"Found unsupported view representations: {others[:5]}")
    check_dialects_differ(version)
