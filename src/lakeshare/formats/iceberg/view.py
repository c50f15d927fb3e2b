"""A view's metadata as one frozen value: read from a metadata file, written to one (view specification, version 1)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lakeshare.formats.iceberg.documents import (
    MAX_INT,
    Document,
    decode,
    documents_in,
    encode,
    integer,
    optional_text,
    text,
    text_map,
    texts_in,
)
from lakeshare.formats.iceberg.errors import InvalidMetadata, Unsupported
from lakeshare.formats.iceberg.reading import check_uuid, strip_slash
from lakeshare.formats.iceberg.schema import Schema, parse_schema

VIEW_FORMAT_VERSION = 1
MAX_VERSIONS = 100_000
"""How many versions, schemas or log entries a view may have."""

MAX_REPRESENTATIONS = 100
"""How many dialects a view's version may be written in."""

_WHAT = "view metadata"
_KEYS = frozenset(
    {
        "view-uuid", "format-version", "location", "current-version-id", "versions", "version-log", "schemas",
        "properties",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ViewVersion:
    """What a view is at some time, in one or several dialects."""

    document: Document

    @property
    def id(self) -> int:
        """Return the version's id within its view."""
        return int(self.document["version-id"])

    @property
    def timestamp_ms(self) -> int:
        """Return when the version was made."""
        return int(self.document["timestamp-ms"])

    @property
    def schema_id(self) -> int:
        """Return the schema of the view's rows."""
        return int(self.document["schema-id"])

    @property
    def default_namespace(self) -> tuple[str, ...]:
        """Return the namespace of names that say none."""
        return tuple(self.document["default-namespace"])

    @property
    def dialects(self) -> tuple[str, ...]:
        """Return the SQL dialects that the version is written in, in lower case."""
        found = self.document["representations"]
        return tuple(item["dialect"].lower() for item in found if item["type"] == "sql")


@dataclass(frozen=True, slots=True)
class VersionLogEntry:
    """Which version became current, and when."""

    document: Document

    @property
    def version_id(self) -> int:
        """Return the version."""
        return int(self.document["version-id"])

    @property
    def timestamp_ms(self) -> int:
        """Return when it became current."""
        return int(self.document["timestamp-ms"])


@dataclass(frozen=True, slots=True)
class ViewMetadata:
    """All that a metadata file says of a view."""

    uuid: str
    format_version: int
    location: str
    current_version_id: int
    versions: tuple[ViewVersion, ...]
    version_log: tuple[VersionLogEntry, ...]
    schemas: tuple[Schema, ...]
    properties: Mapping[str, str]
    extra: Mapping[str, Any]

    @property
    def current_version(self) -> ViewVersion:
        """Return the version that readers see."""
        return next(version for version in self.versions if version.id == self.current_version_id)

    @property
    def current_schema(self) -> Schema:
        """Return the schema of the current version."""
        return next(schema for schema in self.schemas if schema.id == self.current_version.schema_id)


def parse_view(raw: bytes) -> ViewMetadata:
    """Read a metadata file."""
    return read_view(decode(raw, _WHAT))


def encode_view(metadata: ViewMetadata) -> bytes:
    """Write a metadata file."""
    return encode(view_document(metadata), _WHAT)


def view_document(metadata: ViewMetadata) -> Document:
    """Return the JSON object of a metadata file."""
    return {
        "view-uuid": metadata.uuid,
        "format-version": metadata.format_version,
        "location": metadata.location,
        "schemas": [item.document for item in metadata.schemas],
        "current-version-id": metadata.current_version_id,
        "versions": [item.document for item in metadata.versions],
        "version-log": [item.document for item in metadata.version_log],
        "properties": metadata.properties,
        **metadata.extra,
    }


def read_view(document: Document) -> ViewMetadata:
    """Read a view's metadata, and refuse what contradicts itself."""
    version = check_view_version(integer(document, "format-version", _WHAT))
    metadata = ViewMetadata(
        uuid=check_uuid(text(document, "view-uuid", _WHAT)),
        format_version=version,
        location=strip_slash(text(document, "location", _WHAT)),
        current_version_id=integer(document, "current-version-id", _WHAT, most=MAX_INT),
        versions=tuple(parse_version(item) for item in documents_in(document, "versions", _WHAT, MAX_VERSIONS)),
        version_log=_log(documents_in(document, "version-log", _WHAT, MAX_VERSIONS)),
        schemas=tuple(parse_schema(item) for item in documents_in(document, "schemas", _WHAT, MAX_VERSIONS)),
        properties=text_map(document.get("properties"), f"{_WHAT}: properties"),
        extra={key: value for key, value in document.items() if key not in _KEYS},
    )
    _check(metadata)
    return metadata


def check_view_version(version: int) -> int:
    """Refuse format versions that are not known here."""
    if version > VIEW_FORMAT_VERSION:
        raise Unsupported(f"Unsupported format version: {version} (supported for views: {VIEW_FORMAT_VERSION})")
    if version < 1:
        raise InvalidMetadata(f"Invalid format version: {version}")
    return version


def parse_version(document: Document) -> ViewVersion:
    """Take a version of a view."""
    what = "view version"
    integer(document, "version-id", what, most=MAX_INT)
    integer(document, "timestamp-ms", what)
    integer(document, "schema-id", what, most=MAX_INT)
    text_map(document.get("summary"), f"{what}: summary")
    optional_text(document, "default-catalog", what)
    texts_in(document, "default-namespace", what, MAX_REPRESENTATIONS)
    if document.get("representations") is None:
        raise InvalidMetadata(f"{what}: representations must be a list, not null or absent")
    for item in documents_in(document, "representations", what, MAX_REPRESENTATIONS):
        _check_representation(item)
    return ViewVersion(document)


def _check_representation(document: Document) -> None:
    """Refuse SQL without its dialect; a representation of another type is kept for those who know it."""
    if text(document, "type", "view representation") == "sql":
        text(document, "sql", "view representation")
        text(document, "dialect", "view representation")


def _log(found: Iterable[Document]) -> tuple[VersionLogEntry, ...]:
    for item in found:
        integer(item, "version-id", "version log", most=MAX_INT)
        integer(item, "timestamp-ms", "version log")
    return tuple(VersionLogEntry(item) for item in found)


def _check(metadata: ViewMetadata) -> None:
    versions = {version.id for version in metadata.versions}
    schemas = {schema.id for schema in metadata.schemas}
    if len(versions) < len(metadata.versions) or len(schemas) < len(metadata.schemas):
        raise InvalidMetadata("two versions or two schemas of a view have one id")
    if metadata.current_version_id not in versions:
        raise InvalidMetadata(f"Cannot find current version {metadata.current_version_id} in view versions")
    if metadata.current_version.schema_id not in schemas:
        raise InvalidMetadata(f"Cannot find current schema with id {metadata.current_version.schema_id} in schemas")
