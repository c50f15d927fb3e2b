"""The working copy of one commit: updates change it in turn, and `finished` makes metadata of it.

It lives only while a commit is folded; nothing outside the fold sees it.
"""

from dataclasses import replace
from typing import Any

from lakeshare.formats.iceberg.attachments import EncryptionKey, StatisticsFile, by_snapshot
from lakeshare.formats.iceberg.errors import InvalidMetadata
from lakeshare.formats.iceberg.layout import (
    FIRST_PARTITION_ID,
    UNPARTITIONED,
    UNSORTED,
    PartitionSpec,
    SortOrder,
    check_order,
    check_spec,
)
from lakeshare.formats.iceberg.metadata import MAX_KINDS, TableMetadata
from lakeshare.formats.iceberg.reading import CLOCK_TOLERANCE_MS
from lakeshare.formats.iceberg.schema import Schema, SchemaIndex, read
from lakeshare.formats.iceberg.snapshots import MetadataLogEntry, Snapshot, SnapshotLogEntry, SnapshotRef

PREVIOUS_VERSIONS_MAX = "write.metadata.previous-versions-max"
DEFAULT_PREVIOUS_VERSIONS = 100
MAX_PREVIOUS_VERSIONS = 100_000
"""How many metadata files a log keeps at most, whatever the table's property says."""


class Draft:
    """What a table is becoming."""

    def __init__(self, base: TableMetadata | None, *, format_version: int, now_ms: int) -> None:
        """Start from a table, or from nothing where one is created."""
        self.creating = base is None
        self.now_ms = now_ms
        self.format_version = format_version
        self.uuid: str | None = None
        self.location: str | None = None
        self.last_sequence_number = 0
        self.last_column_id = 0
        self.current_schema_id: int | None = None
        self.schemas: dict[int, Schema] = {}
        self.default_spec_id: int | None = None
        self.specs: dict[int, PartitionSpec] = {}
        self.last_partition_id = FIRST_PARTITION_ID - 1
        self.default_order_id: int | None = None
        self.orders: dict[int, SortOrder] = {}
        self.properties: dict[str, str] = {}
        self.current_snapshot_id: int | None = None
        self.snapshots: dict[int, Snapshot] = {}
        self.refs: dict[str, SnapshotRef] = {}
        self.snapshot_log: list[SnapshotLogEntry] = []
        self.statistics: dict[int, list[StatisticsFile]] = {}
        self.partition_statistics: dict[int, list[StatisticsFile]] = {}
        self.next_row_id = 0
        self.encryption_keys: dict[str, EncryptionKey] = {}
        self.last_added_schema: int | None = None
        self.last_added_spec: int | None = None
        self.last_added_order: int | None = None
        self.added_snapshots: set[int] = set()
        self.removed_snapshots = False
        self.removed_schemas: set[int] = set()
        self.schema_meanings: dict[int, object] = {}
        self._schema_indexes: dict[int, SchemaIndex] = {}
        self._names: dict[int, set[str]] = {}
        if base is not None:
            self._take(base)

    def _take(self, base: TableMetadata) -> None:
        self.uuid = base.uuid
        self.location = base.location
        self.last_sequence_number = base.last_sequence_number
        self.last_column_id = base.last_column_id
        self.current_schema_id = base.current_schema_id
        self.schemas = {item.id: item for item in base.schemas}
        self.default_spec_id = base.default_spec_id
        self.specs = {item.id: item for item in base.partition_specs}
        self.last_partition_id = base.last_partition_id
        self.default_order_id = base.default_sort_order_id
        self.orders = {item.id: item for item in base.sort_orders}
        self.properties = dict(base.properties)
        self.current_snapshot_id = base.current_snapshot_id
        self.snapshots = {item.document["snapshot-id"]: item for item in base.snapshots}
        for name, ref in base.refs.items():
            self.put_ref(name, ref)
        self.snapshot_log = list(base.snapshot_log)
        self.statistics = by_snapshot(base.statistics)
        self.partition_statistics = by_snapshot(base.partition_statistics)
        self.next_row_id = base.next_row_id
        self.encryption_keys = {item.id: item for item in base.encryption_keys}

    def schema_index(self) -> SchemaIndex:
        """Read the current schema; a new table's first schema counts before it is set."""
        schema_id = self.current_schema_id
        if schema_id is None:
            schema_id = next(iter(self.schemas), None)
        if schema_id is None:
            raise InvalidMetadata("there is no schema yet: add a schema before specs, sort orders and snapshots")
        return self.index_of(schema_id)

    def index_of(self, schema_id: int) -> SchemaIndex:
        """Read a schema, once for the whole commit."""
        if schema_id not in self._schema_indexes:
            self._schema_indexes[schema_id] = read(self.schemas[schema_id])
        return self._schema_indexes[schema_id]

    def drop_schema(self, schema_id: int) -> None:
        """Forget a schema; a later one may get its id."""
        for known in (self.schemas, self.schema_meanings, self._schema_indexes):
            known.pop(schema_id, None)

    def put_ref(self, name: str, ref: SnapshotRef) -> None:
        """Point a branch or tag to a snapshot."""
        self.drop_ref(name)
        self.refs[name] = ref
        self._names.setdefault(ref.snapshot_id, set()).add(name)

    def drop_ref(self, name: str) -> None:
        """Forget a branch or tag."""
        ref = self.refs.pop(name, None)
        if ref is not None:
            self._names[ref.snapshot_id].discard(name)

    def names_of(self, snapshot_id: int) -> tuple[str, ...]:
        """Return the branches and tags that point to a snapshot."""
        return tuple(sorted(self._names.get(snapshot_id, ())))


def finished(draft: Draft, base: TableMetadata, previous_location: str | None) -> TableMetadata:
    """Return the table after the updates; the table itself where they change nothing."""
    candidate = _assembled(draft, base.last_updated_ms, base.metadata_log, base.extra)
    if candidate == base:
        return base
    _check_counts(candidate)
    _check_removed_schemas(draft)
    layout = (candidate.current_schema_id, candidate.default_spec_id, candidate.default_sort_order_id)
    if layout != (base.current_schema_id, base.default_spec_id, base.default_sort_order_id):
        _check_layout(draft, candidate)
    return replace(
        candidate,
        last_updated_ms=max(draft.now_ms, base.last_updated_ms),
        metadata_log=_metadata_log(base, candidate, previous_location),
    )


def created(draft: Draft) -> TableMetadata:
    """Return the new table that the updates describe."""
    if not draft.schemas:
        raise InvalidMetadata("Cannot create a table without a schema: add one with add-schema")
    if draft.current_schema_id is None:
        draft.current_schema_id = next(iter(draft.schemas))
    if not draft.specs:
        draft.specs[0] = PartitionSpec(UNPARTITIONED)
    if draft.default_spec_id is None:
        draft.default_spec_id = next(iter(draft.specs))
    if not draft.orders:
        draft.orders[0] = SortOrder(UNSORTED)
    if draft.default_order_id is None:
        draft.default_order_id = next(iter(draft.orders))
    metadata = _assembled(draft, draft.now_ms, (), {})
    _check_counts(metadata)
    _check_layout(draft, metadata)
    return metadata


def _assembled(
    draft: Draft, last_updated_ms: int, metadata_log: tuple[MetadataLogEntry, ...], extra: Any
) -> TableMetadata:
    if draft.uuid is None or draft.location is None:
        raise InvalidMetadata("Cannot create a table without a uuid and a location")
    if draft.current_schema_id is None or draft.default_spec_id is None or draft.default_order_id is None:
        raise InvalidMetadata("a table must have a schema, a partition spec and a sort order")
    return TableMetadata(
        format_version=draft.format_version,
        uuid=draft.uuid,
        location=draft.location,
        last_sequence_number=draft.last_sequence_number,
        last_updated_ms=last_updated_ms,
        last_column_id=draft.last_column_id,
        current_schema_id=draft.current_schema_id,
        schemas=tuple(draft.schemas.values()),
        default_spec_id=draft.default_spec_id,
        partition_specs=tuple(draft.specs.values()),
        last_partition_id=draft.last_partition_id,
        default_sort_order_id=draft.default_order_id,
        sort_orders=tuple(draft.orders.values()),
        properties=draft.properties,
        current_snapshot_id=draft.current_snapshot_id,
        snapshots=tuple(draft.snapshots.values()),
        refs=draft.refs,
        snapshot_log=_snapshot_log(draft),
        metadata_log=metadata_log,
        statistics=tuple(item for files in draft.statistics.values() for item in files),
        partition_statistics=tuple(item for files in draft.partition_statistics.values() for item in files),
        next_row_id=draft.next_row_id,
        encryption_keys=tuple(draft.encryption_keys.values()),
        extra=extra,
    )


def _snapshot_log(draft: Draft) -> tuple[SnapshotLogEntry, ...]:
    """Return the log without what was never current, and without gaps: an entry that goes takes older ones along."""
    skipped = draft.added_snapshots - {draft.current_snapshot_id}
    log = draft.snapshot_log
    if skipped:
        log = [entry for entry in log if entry.snapshot_id not in skipped]
    if draft.removed_snapshots:
        gone = [place for place, entry in enumerate(log) if entry.snapshot_id not in draft.snapshots]
        log = log[gone[-1] + 1 :] if gone else log
    if log and log[-1].snapshot_id in draft.added_snapshots:
        _check_clock(log[-1].timestamp_ms, draft.now_ms)
    return tuple(log)


def _check_clock(snapshot_ms: int, now_ms: int) -> None:
    if snapshot_ms - now_ms > CLOCK_TOLERANCE_MS:
        raise InvalidMetadata(
            f"Invalid update timestamp {now_ms}: before last snapshot log entry at {snapshot_ms}; "
            "the writer's clock is more than a minute ahead of the server's"
        )


def _metadata_log(
    base: TableMetadata, candidate: TableMetadata, previous_location: str | None
) -> tuple[MetadataLogEntry, ...]:
    if previous_location is None:
        return base.metadata_log
    entry = MetadataLogEntry({"metadata-file": previous_location, "timestamp-ms": base.last_updated_ms})
    return (*base.metadata_log, entry)[-_previous_versions(candidate) :]


def _previous_versions(metadata: TableMetadata) -> int:
    found = metadata.properties.get(PREVIOUS_VERSIONS_MAX, "")
    if not (found.isascii() and found.isdecimal()) or len(found) > len(str(MAX_PREVIOUS_VERSIONS)):
        return DEFAULT_PREVIOUS_VERSIONS
    return min(max(1, int(found)), MAX_PREVIOUS_VERSIONS)


def _check_counts(metadata: TableMetadata) -> None:
    """Refuse a table that would be too large to be read again."""
    for what, count in (
        ("schemas", len(metadata.schemas)),
        ("partition specs", len(metadata.partition_specs)),
        ("sort orders", len(metadata.sort_orders)),
        ("references", len(metadata.refs)),
        ("statistics files", len(metadata.statistics)),
        ("partition statistics files", len(metadata.partition_statistics)),
        ("encryption keys", len(metadata.encryption_keys)),
    ):
        if count > MAX_KINDS:
            raise InvalidMetadata(f"a table may have {MAX_KINDS} {what}, not {count}: remove some first")


def _check_removed_schemas(draft: Draft) -> None:
    """Refuse to forget a schema that a snapshot was written with: a later schema may get its id."""
    if not draft.removed_schemas:
        return
    for snapshot in draft.snapshots.values():
        is_newer = snapshot.id in draft.added_snapshots and snapshot.schema_id in draft.schemas
        if snapshot.schema_id in draft.removed_schemas and not is_newer:
            raise InvalidMetadata(f"Cannot remove schema {snapshot.schema_id}: snapshot {snapshot.id} needs it")


def _check_layout(draft: Draft, metadata: TableMetadata) -> None:
    index = draft.schema_index()
    check_spec(metadata.default_spec, index)
    check_order(metadata.default_sort_order, index)
