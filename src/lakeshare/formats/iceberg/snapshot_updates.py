"""Updates of a table's snapshots, and of the branches and tags that point to them."""

from dataclasses import dataclass

from lakeshare.formats.iceberg.documents import MAX_LONG, Document, document_in, integers_in, text
from lakeshare.formats.iceberg.draft import Draft
from lakeshare.formats.iceberg.errors import InvalidMetadata, Stale
from lakeshare.formats.iceberg.metadata import ROW_LINEAGE_SINCE
from lakeshare.formats.iceberg.snapshots import (
    MAIN,
    Snapshot,
    SnapshotLogEntry,
    SnapshotRef,
    parse_new_snapshot,
    parse_ref,
)

MAX_REMOVED = 2_000_000
"""How many snapshots one update may remove."""

_NOT_OF_THE_REF = frozenset({"action", "ref-name"})


@dataclass(frozen=True, slots=True)
class AddSnapshot:
    """Add a snapshot; it is current only when a reference is set to it."""

    snapshot: Document

    @classmethod
    def parse(cls, document: Document) -> "AddSnapshot":
        """Read the update."""
        found = document_in(document, "snapshot", "add-snapshot")
        parse_new_snapshot(found, 1)
        return cls(found)

    def apply(self, draft: Draft) -> None:
        """Change the draft."""
        _check_ready(draft)
        snapshot = parse_new_snapshot(self.snapshot, draft.format_version)
        if snapshot.id in draft.snapshots:
            raise InvalidMetadata(f"Snapshot already exists for id: {snapshot.id}")
        _check_sequence(snapshot, draft)
        if draft.format_version >= ROW_LINEAGE_SINCE:
            draft.next_row_id = _next_row_id(snapshot, draft)
        draft.last_sequence_number = max(draft.last_sequence_number, snapshot.sequence_number)
        draft.snapshots[snapshot.id] = snapshot
        draft.added_snapshots.add(snapshot.id)


@dataclass(frozen=True, slots=True)
class SetSnapshotRef:
    """Make a branch or a tag, or move it; moving `main` makes a snapshot current."""

    name: str
    ref: SnapshotRef

    @classmethod
    def parse(cls, document: Document) -> "SetSnapshotRef":
        """Read the update."""
        name = text(document, "ref-name", "set-snapshot-ref")
        return cls(name, parse_ref({k: v for k, v in document.items() if k not in _NOT_OF_THE_REF}, name))

    def apply(self, draft: Draft) -> None:
        """Change the draft."""
        if draft.refs.get(self.name) == self.ref:
            return
        snapshot = draft.snapshots.get(self.ref.snapshot_id)
        if snapshot is None:
            raise InvalidMetadata(f"Cannot set {self.name} to unknown snapshot: {self.ref.snapshot_id}")
        if self.name == MAIN:
            if not self.ref.is_branch:
                raise InvalidMetadata(f"Cannot set {MAIN} to a tag, it must be a branch")
            _make_current(snapshot, draft)
        draft.put_ref(self.name, self.ref)


@dataclass(frozen=True, slots=True)
class RemoveSnapshotRef:
    """Remove a branch or a tag; one that is not there is gone already."""

    name: str

    @classmethod
    def parse(cls, document: Document) -> "RemoveSnapshotRef":
        """Read the update."""
        return cls(text(document, "ref-name", "remove-snapshot-ref"))

    def apply(self, draft: Draft) -> None:
        """Change the draft."""
        draft.drop_ref(self.name)
        if self.name == MAIN:
            draft.current_snapshot_id = None


@dataclass(frozen=True, slots=True)
class RemoveSnapshots:
    """Remove snapshots, with their statistics and the references to them."""

    snapshot_ids: tuple[int, ...]

    @classmethod
    def parse(cls, document: Document) -> "RemoveSnapshots":
        """Read the update."""
        return cls(integers_in(document, "snapshot-ids", "remove-snapshots", MAX_REMOVED))

    def apply(self, draft: Draft) -> None:
        """Change the draft."""
        removed = {snapshot_id for snapshot_id in self.snapshot_ids if snapshot_id in draft.snapshots}
        if not removed:
            return
        draft.removed_snapshots = True
        for snapshot_id in removed:
            del draft.snapshots[snapshot_id]
            draft.statistics.pop(snapshot_id, None)
            draft.partition_statistics.pop(snapshot_id, None)
            for name in draft.names_of(snapshot_id):
                RemoveSnapshotRef(name).apply(draft)


def _check_ready(draft: Draft) -> None:
    for what, there in (("schema", draft.schemas), ("partition spec", draft.specs), ("sort order", draft.orders)):
        if not there:
            raise InvalidMetadata(f"Attempting to add a snapshot before a {what} is added")


def _check_sequence(snapshot: Snapshot, draft: Draft) -> None:
    number, last = snapshot.sequence_number, draft.last_sequence_number
    if draft.format_version == 1:
        if number != 0:
            raise InvalidMetadata(f"Sequence number must be 0 in v1: {number}")
    elif number <= last and snapshot.parent_id is not None:
        raise Stale(f"Cannot add snapshot with sequence number {number} older than last sequence number {last}")


def _next_row_id(snapshot: Snapshot, draft: Draft) -> int:
    """Return the first row id after the snapshot's, which are never another snapshot's."""
    first, added = snapshot.first_row_id, snapshot.added_rows
    if first is None:
        raise InvalidMetadata("Cannot add a snapshot: first-row-id is null")
    if added is None:
        raise InvalidMetadata("Cannot add a snapshot: added-rows is null")
    if first < draft.next_row_id:
        raise Stale(f"Cannot add a snapshot, first-row-id is behind table next-row-id: {first} < {draft.next_row_id}")
    if first + added > MAX_LONG:
        raise InvalidMetadata(f"Cannot add a snapshot: row ids end at {MAX_LONG}")
    return first + added


def _make_current(snapshot: Snapshot, draft: Draft) -> None:
    """Log that a snapshot is current from its own time on, or from now on where it is an old one."""
    draft.current_snapshot_id = snapshot.id
    since_ms = snapshot.timestamp_ms if snapshot.id in draft.added_snapshots else draft.now_ms
    if draft.snapshot_log:
        since_ms = max(since_ms, draft.snapshot_log[-1].timestamp_ms)
    draft.snapshot_log.append(SnapshotLogEntry({"timestamp-ms": since_ms, "snapshot-id": snapshot.id}))
