"""Snapshots, references and logs, each a document that is read through names.

A table may have tens of thousands of them, and each commit reads all: checking one costs about a microsecond.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from lakeshare.formats.iceberg.documents import (
    MAX_INT,
    MAX_LONG,
    Document,
    as_document,
    as_integer,
    as_text,
    integer,
    optional_integer,
    shown,
    text,
)
from lakeshare.formats.iceberg.errors import InvalidMetadata

MAIN = "main"
"""The branch whose head is the table's current snapshot."""

NO_SNAPSHOT = -1
"""What `current-snapshot-id` is in a table without a current snapshot, up to version 2."""

_KINDS = (
    ("snapshot-id", int),
    ("timestamp-ms", int),
    ("parent-snapshot-id", int),
    ("sequence-number", int),
    ("schema-id", int),
    ("first-row-id", int),
    ("added-rows", int),
    ("manifest-list", str),
    ("key-id", str),
    ("summary", dict),
)

OPERATIONS = frozenset({"append", "replace", "overwrite", "delete"})


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of a table at some time."""

    document: Document

    @property
    def id(self) -> int:
        """Return the snapshot's id."""
        return int(self.document["snapshot-id"])

    @property
    def parent_id(self) -> int | None:
        """Return the id of the snapshot that this one was made from."""
        return _number(self.document, "parent-snapshot-id")

    @property
    def sequence_number(self) -> int:
        """Return when the snapshot came among the table's changes; 0 in v1."""
        return _number(self.document, "sequence-number") or 0

    @property
    def timestamp_ms(self) -> int:
        """Return when the snapshot was made."""
        return int(self.document["timestamp-ms"])

    @property
    def manifest_list(self) -> str | None:
        """Return the location of the manifest list; only v1 snapshots may do without."""
        found = self.document.get("manifest-list")
        return found if isinstance(found, str) else None

    @property
    def manifests(self) -> tuple[str, ...]:
        """Return the manifests of a v1 snapshot that has no manifest list."""
        return tuple(self.document.get("manifests") or ())

    @property
    def summary(self) -> Document:
        """Return what the writer says of its change."""
        found: Document = self.document.get("summary") or {}
        return found

    @property
    def operation(self) -> str | None:
        """Return what sort of change it was."""
        found = self.summary.get("operation")
        return found if isinstance(found, str) else None

    @property
    def schema_id(self) -> int | None:
        """Return the schema that was current when the snapshot was made."""
        return _number(self.document, "schema-id")

    @property
    def first_row_id(self) -> int | None:
        """Return the row id of the first row that the snapshot added (v3)."""
        return _number(self.document, "first-row-id")

    @property
    def added_rows(self) -> int | None:
        """Return how many row ids the snapshot used at most (v3)."""
        return _number(self.document, "added-rows")

    @property
    def key_id(self) -> str | None:
        """Return the key that encrypts the manifest list's key metadata (v3)."""
        found = self.document.get("key-id")
        return found if isinstance(found, str) else None


@dataclass(frozen=True, slots=True)
class SnapshotRef:
    """A branch or a tag."""

    document: Document

    @property
    def snapshot_id(self) -> int:
        """Return the snapshot that the reference points to."""
        return int(self.document["snapshot-id"])

    @property
    def type(self) -> str:
        """Return `branch` or `tag`."""
        return str(self.document["type"]).lower()

    @property
    def is_branch(self) -> bool:
        """Say whether commits may move it."""
        return self.type == "branch"

    @property
    def max_ref_age_ms(self) -> int | None:
        """Return how long the reference is kept."""
        return _number(self.document, "max-ref-age-ms")

    @property
    def max_snapshot_age_ms(self) -> int | None:
        """Return how long a branch's snapshots are kept."""
        return _number(self.document, "max-snapshot-age-ms")

    @property
    def min_snapshots_to_keep(self) -> int | None:
        """Return how many of a branch's snapshots are kept, however old."""
        return _number(self.document, "min-snapshots-to-keep")


@dataclass(frozen=True, slots=True)
class SnapshotLogEntry:
    """Which snapshot became current, and when."""

    document: Document

    @property
    def snapshot_id(self) -> int:
        """Return the snapshot."""
        return int(self.document["snapshot-id"])

    @property
    def timestamp_ms(self) -> int:
        """Return when it became current."""
        return int(self.document["timestamp-ms"])


@dataclass(frozen=True, slots=True)
class MetadataLogEntry:
    """Which metadata file was the table's until a commit replaced it."""

    document: Document

    @property
    def metadata_file(self) -> str:
        """Return the file's location."""
        return str(self.document["metadata-file"])

    @property
    def timestamp_ms(self) -> int:
        """Return when the file was written."""
        return int(self.document["timestamp-ms"])


def parse_snapshots(found: Iterable[Document], format_version: int, last_sequence_number: int) -> tuple[Snapshot, ...]:
    """Take a table's snapshots."""
    snapshots = tuple([parse_snapshot(item, format_version) for item in found])
    ids = {item.document["snapshot-id"] for item in snapshots}
    if len(ids) < len(snapshots):
        raise InvalidMetadata("two snapshots have one id")
    for snapshot in snapshots:
        if (snapshot.document.get("sequence-number") or 0) > last_sequence_number:
            raise InvalidMetadata(
                f"Invalid snapshot with sequence number {snapshot.sequence_number} "
                f"greater than last sequence number {last_sequence_number}"
            )
    return snapshots


def parse_snapshot(document: Document, format_version: int) -> Snapshot:
    """Take a snapshot as a table has it."""
    get = document.get
    for key, kind in _KINDS:
        value = get(key)
        if type(value) is not kind and value is not None:
            _refuse(value, key, kind)
    if get("snapshot-id") is None or get("timestamp-ms") is None:
        integer(document, "snapshot-id", "snapshot")
        integer(document, "timestamp-ms", "snapshot")
    if get("manifest-list") is None:
        _check_manifests(document, format_version)
    return Snapshot(document)


def _refuse(value: object, key: str, kind: type) -> None:
    what = f"snapshot: {key}"
    if kind is int:
        as_integer(value, what)
    elif kind is str:
        as_text(value, what)
    else:
        as_document(value, what)


def _check_manifests(document: Document, format_version: int) -> None:
    if format_version > 1 or document.get("manifests") is None:
        text(document, "manifest-list", "snapshot")
    found = document["manifests"]
    if not isinstance(found, list):
        raise InvalidMetadata("snapshot: manifests must be a list")
    for item in found:
        as_text(item, "snapshot: manifests")


def parse_new_snapshot(document: Document, format_version: int) -> Snapshot:
    """Take a snapshot that a commit adds."""
    snapshot = parse_snapshot(document, format_version)
    if as_integer(snapshot.id, "snapshot: snapshot-id") == NO_SNAPSHOT:
        raise InvalidMetadata(f"snapshot: snapshot-id must not be {NO_SNAPSHOT}, which stands for no snapshot")
    optional_integer(document, "parent-snapshot-id", "snapshot")
    optional_integer(document, "schema-id", "snapshot", most=MAX_INT)
    optional_integer(document, "sequence-number", "snapshot", least=0)
    optional_integer(document, "timestamp-ms", "snapshot", least=0)
    optional_integer(document, "first-row-id", "snapshot", least=0)
    optional_integer(document, "added-rows", "snapshot", least=0)
    for key, value in snapshot.summary.items():
        as_text(value, f"snapshot: summary: {key}")
    if format_version > 1 or snapshot.summary:
        operation = text(snapshot.summary, "operation", "snapshot: summary")
        if operation not in OPERATIONS:
            raise InvalidMetadata(f"snapshot: operation must be one of {sorted(OPERATIONS)}, not {shown(operation)}")
    return snapshot


def parse_ref(document: Document, name: str) -> SnapshotRef:
    """Take a branch or a tag."""
    what = f"reference {shown(name)}"
    integer(document, "snapshot-id", what)
    kind = text(document, "type", what).lower()
    if kind not in {"branch", "tag"}:
        raise InvalidMetadata(f"{what}: type must be branch or tag, not {shown(kind)}")
    _positive(document, "max-ref-age-ms", "Max reference age must be greater than 0")
    _positive(document, "max-snapshot-age-ms", "Max snapshot age must be greater than 0 ms")
    _positive(document, "min-snapshots-to-keep", "Min snapshots to keep must be greater than 0")
    if kind == "tag":
        _absent(document, "min-snapshots-to-keep", "Tags do not support setting minSnapshotsToKeep")
        _absent(document, "max-snapshot-age-ms", "Tags do not support setting maxSnapshotAgeMs")
    present: dict[str, Any] = {key: value for key, value in document.items() if value is not None}
    return SnapshotRef({**present, "type": kind})


def _positive(document: Document, key: str, refusal: str) -> None:
    value = optional_integer(document, key, "reference", most=MAX_LONG)
    if value is not None and value <= 0:
        raise InvalidMetadata(refusal)


def _absent(document: Document, key: str, refusal: str) -> None:
    if document.get(key) is not None:
        raise InvalidMetadata(refusal)


def parse_snapshot_log(found: Iterable[Document]) -> tuple[SnapshotLogEntry, ...]:
    """Take the log of what was current when."""
    for item in found:
        if type(item.get("snapshot-id")) is not int or type(item.get("timestamp-ms")) is not int:
            integer(item, "snapshot-id", "snapshot log")
            integer(item, "timestamp-ms", "snapshot log")
    return tuple([SnapshotLogEntry(item) for item in found])


def parse_metadata_log(found: Iterable[Document]) -> tuple[MetadataLogEntry, ...]:
    """Take the log of earlier metadata files."""
    for item in found:
        text(item, "metadata-file", "metadata log")
        integer(item, "timestamp-ms", "metadata log")
    return tuple(MetadataLogEntry(item) for item in found)


def _number(document: Document, key: str) -> int | None:
    found: int | None = document.get(key)
    return found
