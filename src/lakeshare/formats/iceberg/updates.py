"""A commit's updates as values, and their fold over a table's metadata.

Updates are read whole before any is applied, so that a request with one that is unknown changes nothing.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from lakeshare.formats.iceberg.documents import Document, as_document, as_list, check_size, shown
from lakeshare.formats.iceberg.draft import Draft, created, finished
from lakeshare.formats.iceberg.errors import InvalidMetadata, Unsupported
from lakeshare.formats.iceberg.metadata import TableMetadata
from lakeshare.formats.iceberg.property_updates import (
    AddEncryptionKey,
    AssignUuid,
    RemoveEncryptionKey,
    RemovePartitionStatistics,
    RemoveProperties,
    RemoveStatistics,
    SetLocation,
    SetPartitionStatistics,
    SetProperties,
    SetStatistics,
    UpgradeFormatVersion,
)
from lakeshare.formats.iceberg.reading import check_uuid, strip_slash
from lakeshare.formats.iceberg.schema_updates import (
    AddSchema,
    AddSortOrder,
    AddSpec,
    RemovePartitionSpecs,
    RemoveSchemas,
    SetCurrentSchema,
    SetDefaultSortOrder,
    SetDefaultSpec,
)
from lakeshare.formats.iceberg.snapshot_updates import AddSnapshot, RemoveSnapshotRef, RemoveSnapshots, SetSnapshotRef

MAX_UPDATES = 100_000
"""How many updates a commit may have; old clients send one for each snapshot that they expire."""

MAX_ADDED = 200
"""How many schemas, specs, sort orders or versions a commit may add: each is compared with all others."""

DEFAULT_FORMAT_VERSION = 2
T = TypeVar("T")


class Update(Protocol):
    """One change of a table, as a value."""

    def apply(self, draft: Draft) -> None:
        """Change the draft."""


_PARSERS: Mapping[str, Callable[[Document], Update]] = {
    "assign-uuid": AssignUuid.parse,
    "upgrade-format-version": UpgradeFormatVersion.parse,
    "add-schema": AddSchema.parse,
    "set-current-schema": SetCurrentSchema.parse,
    "add-spec": AddSpec.parse,
    "set-default-spec": SetDefaultSpec.parse,
    "add-sort-order": AddSortOrder.parse,
    "set-default-sort-order": SetDefaultSortOrder.parse,
    "add-snapshot": AddSnapshot.parse,
    "set-snapshot-ref": SetSnapshotRef.parse,
    "remove-snapshots": RemoveSnapshots.parse,
    "remove-snapshot-ref": RemoveSnapshotRef.parse,
    "set-location": SetLocation.parse,
    "set-properties": SetProperties.parse,
    "remove-properties": RemoveProperties.parse,
    "set-statistics": SetStatistics.parse,
    "remove-statistics": RemoveStatistics.parse,
    "set-partition-statistics": SetPartitionStatistics.parse,
    "remove-partition-statistics": RemovePartitionStatistics.parse,
    "remove-partition-specs": RemovePartitionSpecs.parse,
    "remove-schemas": RemoveSchemas.parse,
    "add-encryption-key": AddEncryptionKey.parse,
    "remove-encryption-key": RemoveEncryptionKey.parse,
}

_COSTLY = ["add-schema", "add-spec", "add-sort-order", "add-view-version"]
ACTIONS = frozenset(_PARSERS)
"""The names of all updates that a table takes."""


def parse_updates(found: object) -> tuple[Update, ...]:
    """Read the `updates` of a commit."""
    return tuple(_parse_update(item) for item in update_documents(found))


def update_documents(found: object) -> list[Document]:
    """Return the objects of an `updates` list of bounded size."""
    documents = [as_document(item, "update") for item in as_list(found, "updates", MAX_UPDATES)]
    check_size(documents, "updates")
    added = Counter(document.get("action") for document in documents if document.get("action") in _COSTLY)
    for action, count in added.items():
        if count > MAX_ADDED:
            raise InvalidMetadata(f"updates: {action} may come {MAX_ADDED} times in one commit, not {count}")
    return documents


def apply_updates(
    base: TableMetadata, updates: Sequence[Update], *, now_ms: int, previous_location: str | None
) -> TableMetadata:
    """Return the table after a commit; `base` itself where nothing changes, and no file need be written."""
    draft = Draft(base, format_version=base.format_version, now_ms=now_ms)
    _fold(updates, draft)
    return finished(draft, base, previous_location)


def create_from_updates(updates: Sequence[Update], *, location: str | None, uuid: str, now_ms: int) -> TableMetadata:
    """Return the table that a commit with assert-create makes; what the updates set goes before the arguments."""
    upgrades = (update.format_version for update in updates if isinstance(update, UpgradeFormatVersion))
    draft = Draft(None, format_version=next(upgrades, DEFAULT_FORMAT_VERSION), now_ms=now_ms)
    draft.uuid = check_uuid(uuid)
    draft.location = None if location is None else strip_slash(location)
    _fold(updates, draft)
    if draft.location is None:
        raise InvalidMetadata("Cannot create a table without a location: add set-location")
    return created(draft)


def dropped_metadata_files(base: TableMetadata, new: TableMetadata) -> tuple[str, ...]:
    """Return the metadata files that a commit let fall off the log, oldest first."""
    kept = {entry.metadata_file for entry in new.metadata_log}
    return tuple(entry.metadata_file for entry in base.metadata_log if entry.metadata_file not in kept)


def _fold(updates: Iterable[Update], draft: Draft) -> None:
    for update in updates:
        update.apply(draft)


def _parse_update(document: Document) -> Update:
    return parser_of(document, _PARSERS, "a table")(document)


def parser_of(document: Document, parsers: Mapping[str, Callable[[Document], T]], of: str) -> Callable[[Document], T]:
    """Return what reads an update, by its action. Raises Unsupported."""
    action = document.get("action")
    parse = parsers.get(action) if isinstance(action, str) else None
    if parse is None:
        raise Unsupported(f"Cannot convert metadata update action: {shown(action)} is no update of {of}")
    return parse
