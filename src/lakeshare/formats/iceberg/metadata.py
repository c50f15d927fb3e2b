"""A table's metadata as one frozen value, and the document that it is on disk.

Every part keeps its own document, and `extra` what a newer writer put beside them: reading and writing lose nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lakeshare.formats.iceberg.attachments import EncryptionKey, StatisticsFile
from lakeshare.formats.iceberg.documents import Document
from lakeshare.formats.iceberg.layout import PartitionSpec, SortOrder
from lakeshare.formats.iceberg.schema import Schema
from lakeshare.formats.iceberg.snapshots import (
    NO_SNAPSHOT,
    MetadataLogEntry,
    Snapshot,
    SnapshotLogEntry,
    SnapshotRef,
)

ROW_LINEAGE_SINCE = 3
"""The format version from which rows have ids, and tables `next-row-id`."""

MAX_KINDS = 100_000
"""How many schemas, specs, sort orders, references, statistics files or keys a table may have."""

_DELETE_AFTER_COMMIT = "write.metadata.delete-after-commit.enabled"


@dataclass(frozen=True, slots=True)
class TableMetadata:
    """All that a metadata file says of a table."""

    format_version: int
    uuid: str
    location: str
    last_sequence_number: int
    last_updated_ms: int
    last_column_id: int
    current_schema_id: int
    schemas: tuple[Schema, ...]
    default_spec_id: int
    partition_specs: tuple[PartitionSpec, ...]
    last_partition_id: int
    default_sort_order_id: int
    sort_orders: tuple[SortOrder, ...]
    properties: Mapping[str, str]
    current_snapshot_id: int | None
    snapshots: tuple[Snapshot, ...]
    refs: Mapping[str, SnapshotRef]
    snapshot_log: tuple[SnapshotLogEntry, ...]
    metadata_log: tuple[MetadataLogEntry, ...]
    statistics: tuple[StatisticsFile, ...]
    partition_statistics: tuple[StatisticsFile, ...]
    next_row_id: int
    encryption_keys: tuple[EncryptionKey, ...]
    extra: Mapping[str, Any]

    @property
    def current_schema(self) -> Schema:
        """Return the schema that new rows have."""
        return next(schema for schema in self.schemas if schema.id == self.current_schema_id)

    @property
    def default_spec(self) -> PartitionSpec:
        """Return the spec that new rows are partitioned by."""
        return next(spec for spec in self.partition_specs if spec.id == self.default_spec_id)

    @property
    def default_sort_order(self) -> SortOrder:
        """Return the order that new files are sorted by."""
        return next(order for order in self.sort_orders if order.id == self.default_sort_order_id)

    @property
    def current_snapshot(self) -> Snapshot | None:
        """Return the head of `main`, or None where there are no rows yet."""
        return None if self.current_snapshot_id is None else self.snapshot(self.current_snapshot_id)

    @property
    def deletes_dropped_metadata_files(self) -> bool:
        """Say whether metadata files that fall off the log are to be deleted after a commit."""
        return self.properties.get(_DELETE_AFTER_COMMIT, "").lower() == "true"

    def snapshot(self, snapshot_id: int) -> Snapshot | None:
        """Return a snapshot by its id; recent ones are found first."""
        for snapshot in reversed(self.snapshots):
            if snapshot.document["snapshot-id"] == snapshot_id:
                return snapshot
        return None


def table_document(metadata: TableMetadata) -> Document:
    """Return the JSON object of a metadata file; empty lists are there too, for the readers that insist on them."""
    document: dict[str, Any] = {
        "format-version": metadata.format_version,
        "table-uuid": metadata.uuid,
        "location": metadata.location,
        "last-sequence-number": metadata.last_sequence_number,
        "last-updated-ms": metadata.last_updated_ms,
        "last-column-id": metadata.last_column_id,
        "current-schema-id": metadata.current_schema_id,
        "schemas": [item.document for item in metadata.schemas],
        "default-spec-id": metadata.default_spec_id,
        "partition-specs": [item.document for item in metadata.partition_specs],
        "last-partition-id": metadata.last_partition_id,
        "default-sort-order-id": metadata.default_sort_order_id,
        "sort-orders": [item.document for item in metadata.sort_orders],
        "properties": metadata.properties,
        "current-snapshot-id": metadata.current_snapshot_id,
        "refs": {name: ref.document for name, ref in metadata.refs.items()},
        "snapshots": [item.document for item in metadata.snapshots],
        "statistics": [item.document for item in metadata.statistics],
        "partition-statistics": [item.document for item in metadata.partition_statistics],
        "snapshot-log": [item.document for item in metadata.snapshot_log],
        "metadata-log": [item.document for item in metadata.metadata_log],
    }
    _add_what_versions_differ_in(document, metadata)
    document.update(metadata.extra)
    return document


def _add_what_versions_differ_in(document: dict[str, Any], metadata: TableMetadata) -> None:
    if metadata.format_version == 1:
        del document["last-sequence-number"]
        document["schema"] = metadata.current_schema.document
        document["partition-spec"] = metadata.default_spec.document["fields"]
    if metadata.format_version < ROW_LINEAGE_SINCE and metadata.current_snapshot_id is None:
        document["current-snapshot-id"] = NO_SNAPSHOT
    if metadata.format_version >= ROW_LINEAGE_SINCE:
        document["next-row-id"] = metadata.next_row_id
    if metadata.encryption_keys:
        document["encryption-keys"] = [item.document for item in metadata.encryption_keys]
