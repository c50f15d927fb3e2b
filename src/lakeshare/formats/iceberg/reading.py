"""From a metadata file to a table's metadata: strict, bounded, and with the older forms of version 1 made one."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Protocol, TypeVar
from uuid import NAMESPACE_URL, uuid5

from lakeshare.formats.iceberg.attachments import (
    StatisticsFile,
    by_snapshot,
    parse_encryption_key,
    parse_partition_statistics,
    parse_statistics,
)
from lakeshare.formats.iceberg.documents import (
    MAX_INT,
    Document,
    as_document,
    documents_in,
    integer,
    optional_integer,
    optional_text,
    shown,
    text,
    text_map,
)
from lakeshare.formats.iceberg.errors import InvalidMetadata, Unsupported
from lakeshare.formats.iceberg.layout import (
    UNSORTED,
    PartitionSpec,
    SortOrder,
    last_partition_id,
    parse_order,
    parse_spec,
)
from lakeshare.formats.iceberg.metadata import MAX_KINDS, ROW_LINEAGE_SINCE, TableMetadata
from lakeshare.formats.iceberg.schema import Schema, parse_schema, read
from lakeshare.formats.iceberg.snapshots import (
    MAIN,
    NO_SNAPSHOT,
    Snapshot,
    SnapshotRef,
    parse_metadata_log,
    parse_ref,
    parse_snapshot_log,
    parse_snapshots,
)

SUPPORTED_VERSION = 3
"""The newest format version; 4 is still being made."""

CLOCK_TOLERANCE_MS = 60_000
"""How far a log may step back: commits come from machines whose clocks differ."""

_WHAT = "table metadata"
_KEYS = frozenset(
    {
        "format-version", "table-uuid", "location", "last-sequence-number", "last-updated-ms", "last-column-id",
        "current-schema-id", "schema", "schemas", "default-spec-id", "partition-spec", "partition-specs",
        "last-partition-id", "default-sort-order-id", "sort-orders", "properties", "current-snapshot-id", "refs",
        "snapshots", "statistics", "partition-statistics", "snapshot-log", "metadata-log", "next-row-id",
        "encryption-keys",
    }
)  # fmt: skip
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class _Numbered(Protocol):
    @property
    def id(self) -> int: ...


class _Named(Protocol):
    @property
    def id(self) -> int | str: ...


N = TypeVar("N", bound=_Named)


def read_table(document: Document) -> TableMetadata:
    """Read a table's metadata, and refuse what contradicts itself."""
    version = parse_version(document)
    location = strip_slash(text(document, "location", _WHAT))
    schemas = _schemas(document, version)
    specs = _specs(document, version)
    orders = _orders(document, version)
    last_sequence_number = 0 if version == 1 else integer(document, "last-sequence-number", _WHAT, least=0)
    snapshots = parse_snapshots(documents_in(document, "snapshots", _WHAT), version, last_sequence_number)
    refs, current = _refs(document, snapshots)
    metadata = TableMetadata(
        format_version=version,
        uuid=_uuid(document, version, location),
        location=location,
        last_sequence_number=last_sequence_number,
        last_updated_ms=integer(document, "last-updated-ms", _WHAT),
        last_column_id=integer(document, "last-column-id", _WHAT, most=MAX_INT),
        current_schema_id=_current(document, "current-schema-id", schemas, version),
        schemas=schemas,
        default_spec_id=_current(document, "default-spec-id", specs, version),
        partition_specs=specs,
        last_partition_id=_last_partition_id(document, specs, version),
        default_sort_order_id=_current(document, "default-sort-order-id", orders, version),
        sort_orders=orders,
        properties=text_map(document.get("properties"), f"{_WHAT}: properties"),
        current_snapshot_id=current,
        snapshots=snapshots,
        refs=refs,
        snapshot_log=parse_snapshot_log(documents_in(document, "snapshot-log", _WHAT)),
        metadata_log=parse_metadata_log(documents_in(document, "metadata-log", _WHAT)),
        statistics=_statistics(document, "statistics", parse_statistics),
        partition_statistics=_statistics(document, "partition-statistics", parse_partition_statistics),
        next_row_id=integer(document, "next-row-id", _WHAT, least=0) if version >= ROW_LINEAGE_SINCE else 0,
        encryption_keys=_unique(_each(document, "encryption-keys", parse_encryption_key)),
        extra={key: value for key, value in document.items() if key not in _KEYS},
    )
    _check_logs(metadata)
    read(metadata.current_schema)
    return metadata


def parse_version(document: Document) -> int:
    """Return the format version, if it is one that is known here."""
    return check_version(integer(document, "format-version", _WHAT))


def check_version(version: int) -> int:
    """Refuse format versions that are not known here."""
    if version > SUPPORTED_VERSION:
        raise Unsupported(
            f"Unsupported format version: v{version} (supported: v{SUPPORTED_VERSION}); "
            f"create the table with format-version {SUPPORTED_VERSION} or lower"
        )
    if version < 1:
        raise InvalidMetadata(f"Invalid format version: {version}")
    return version


def strip_slash(location: str) -> str:
    """Return a location without slashes at its end; a scheme keeps its own."""
    stripped = location.rstrip("/")
    if stripped.endswith(":") and location.startswith("//", len(stripped)):
        stripped += "//"
    if not stripped:
        raise InvalidMetadata("location must not be empty")
    return stripped


def check_uuid(found: str) -> str:
    """Refuse what is not the text of a UUID."""
    if _UUID.fullmatch(found) is None:
        raise InvalidMetadata(f"{shown(found)} is no UUID")
    return found


def _uuid(document: Document, version: int, location: str) -> str:
    """Return the table's UUID; a v1 table without one has the same each time it is read, made of its location."""
    found = optional_text(document, "table-uuid", _WHAT)
    if found is not None:
        return check_uuid(found)
    if version > 1:
        raise InvalidMetadata(f"UUID is required in format v{version}")
    return str(uuid5(NAMESPACE_URL, location))


def _schemas(document: Document, version: int) -> tuple[Schema, ...]:
    found = documents_in(document, "schemas", _WHAT, MAX_KINDS)
    if found:
        return _unique(parse_schema(item, default_id=0 if version == 1 else None) for item in found)
    if version > 1:
        raise InvalidMetadata(f"schemas must exist in format v{version}")
    return (parse_schema(as_document(document.get("schema"), f"{_WHAT}: schema"), default_id=0),)


def _specs(document: Document, version: int) -> tuple[PartitionSpec, ...]:
    found = documents_in(document, "partition-specs", _WHAT, MAX_KINDS)
    if found:
        return _unique(parse_spec(item) for item in found)
    if version > 1:
        raise InvalidMetadata(f"partition-specs must exist in format v{version}")
    spec_id = optional_integer(document, "default-spec-id", _WHAT, most=MAX_INT)
    return (parse_spec({"spec-id": spec_id or 0, "fields": document.get("partition-spec")}),)


def _orders(document: Document, version: int) -> tuple[SortOrder, ...]:
    found = documents_in(document, "sort-orders", _WHAT, MAX_KINDS)
    if found:
        return _unique(parse_order(item) for item in found)
    if version > 1:
        raise InvalidMetadata(f"sort-orders must exist in format v{version}")
    return (SortOrder(UNSORTED),)


def _current(document: Document, key: str, among: Sequence[_Numbered], version: int) -> int:
    """Return the id of the schema, spec or order in use; version 1 may leave it out where there is one."""
    found = optional_integer(document, key, _WHAT, most=MAX_INT)
    if found is None:
        if version > 1:
            raise InvalidMetadata(f"{key} must exist in format v{version}")
        found = among[0].id
    if not any(item.id == found for item in among):
        raise InvalidMetadata(f"Cannot find {key} {found} among {[item.id for item in among[:20]]}")
    return found


def _last_partition_id(document: Document, specs: Iterable[PartitionSpec], version: int) -> int:
    found = optional_integer(document, "last-partition-id", _WHAT, most=MAX_INT)
    if found is not None:
        return found
    if version > 1:
        raise InvalidMetadata(f"last-partition-id must exist in format v{version}")
    return last_partition_id(specs)


def _refs(document: Document, snapshots: Iterable[Snapshot]) -> tuple[Mapping[str, SnapshotRef], int | None]:
    """Return the references and the current snapshot, which is the head of `main`."""
    ids = {snapshot.document["snapshot-id"] for snapshot in snapshots}
    found = document.get("refs")
    named = {} if found is None else as_document(found, f"{_WHAT}: refs")
    refs = {name: parse_ref(as_document(item, f"reference {shown(name)}"), name) for name, item in named.items()}
    for name, ref in refs.items():
        if ref.snapshot_id not in ids:
            raise InvalidMetadata(f"Snapshot for reference {shown(name)} does not exist in the existing snapshots list")
    current = optional_integer(document, "current-snapshot-id", _WHAT)
    if current is None or current == NO_SNAPSHOT:
        if MAIN in refs:
            raise InvalidMetadata("Current snapshot is not set, but main branch exists")
        return refs, None
    if current not in ids:
        raise InvalidMetadata(f"Cannot find the current snapshot {current} in the snapshots list")
    main = refs.get(MAIN)
    if main is None:
        return {**refs, MAIN: SnapshotRef({"snapshot-id": current, "type": "branch"})}, current
    if main.snapshot_id != current:
        raise InvalidMetadata(f"Current snapshot ID does not match main branch ({current} != {main.snapshot_id})")
    return refs, current


T = TypeVar("T")


def _each(document: Document, key: str, parse: Callable[[Document], T]) -> tuple[T, ...]:
    return tuple(parse(item) for item in documents_in(document, key, _WHAT, MAX_KINDS))


def _statistics(
    document: Document, key: str, parse: Callable[[Document], StatisticsFile]
) -> tuple[StatisticsFile, ...]:
    """Return statistics files, those of one snapshot side by side."""
    grouped = by_snapshot(_each(document, key, parse))
    return tuple(item for files in grouped.values() for item in files)


def _unique(items: Iterable[N]) -> tuple[N, ...]:
    found = tuple(items)
    if len({item.id for item in found}) < len(found):
        raise InvalidMetadata(f"two items of one kind have one id: {type(found[0]).__name__}")
    return found


def _check_logs(metadata: TableMetadata) -> None:
    for name, log in (("snapshot", metadata.snapshot_log), ("metadata", metadata.metadata_log)):
        times = [entry.document["timestamp-ms"] for entry in log]
        if any(later - earlier < -CLOCK_TOLERANCE_MS for earlier, later in pairwise(times)):
            raise InvalidMetadata(f"the {name} log is not ordered by time")
        if times and metadata.last_updated_ms - times[-1] < -CLOCK_TOLERANCE_MS:
            raise InvalidMetadata(
                f"Invalid update timestamp {metadata.last_updated_ms}: before last {name} log entry at {times[-1]}"
            )
