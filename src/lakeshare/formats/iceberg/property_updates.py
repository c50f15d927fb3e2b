"""Updates of what a table is called, where it lies, its properties, its statistics and its keys."""

from collections.abc import Mapping
from dataclasses import dataclass

from lakeshare.formats.iceberg.attachments import (
    EncryptionKey,
    StatisticsFile,
    parse_encryption_key,
    parse_partition_statistics,
    parse_statistics,
)
from lakeshare.formats.iceberg.documents import (
    MAX_INT,
    Document,
    as_document,
    document_in,
    integer,
    text,
    text_map,
    texts_in,
)
from lakeshare.formats.iceberg.draft import Draft
from lakeshare.formats.iceberg.errors import InvalidMetadata, Unsupported
from lakeshare.formats.iceberg.reading import SUPPORTED_VERSION, check_uuid, strip_slash

KEYS_SINCE = 3
"""The format version from which a table may have encryption keys."""

MAX_REMOVALS = 100_000
"""How many properties one update may remove."""

RESERVED = frozenset(
    {
        "format-version", "uuid", "snapshot-count", "current-snapshot-id", "current-snapshot-summary",
        "current-snapshot-timestamp-ms", "current-schema", "default-partition-spec", "default-sort-order",
    }
)  # fmt: skip
"""Names that clients show a table's own fields under; never stored as properties."""


@dataclass(frozen=True, slots=True)
class AssignUuid:
    """Give a new table its UUID; a table never changes its own."""

    uuid: str

    @classmethod
    def parse(cls, document: Document) -> "AssignUuid":
        """Read the update."""
        return cls(check_uuid(text(document, "uuid", "assign-uuid")))

    def apply(self, draft: Draft) -> None:
        """Change the draft."""
        if draft.creating:
            draft.uuid = self.uuid
        elif draft.uuid is None or draft.uuid.lower() != self.uuid.lower():
            raise InvalidMetadata(f"Cannot reassign uuid: the table is {draft.uuid}, not {self.uuid}")


@dataclass(frozen=True, slots=True)
class UpgradeFormatVersion:
    """Move a table to a newer format version."""

    format_version: int

    @classmethod
    def parse(cls, document: Document) -> "UpgradeFormatVersion":
        """Read the update."""
        version = integer(document, "format-version", "upgrade-format-version", least=1, most=MAX_INT)
        if version > SUPPORTED_VERSION:
            raise Unsupported(
                f"Cannot upgrade table to unsupported format version: v{version} (supported: v{SUPPORTED_VERSION})"
            )
        return cls(version)

    def apply(self, draft: Draft) -> None:
        """Change the draft; row ids begin at 0 where a table comes to version 3."""
        if self.format_version < draft.format_version:
            raise InvalidMetadata(f"Cannot downgrade v{draft.format_version} table to v{self.format_version}")
        draft.format_version = self.format_version


@dataclass(frozen=True, slots=True)
class SetLocation:
    """Say where a table's new files go."""

    location: str

    @classmethod
    def parse(cls, document: Document) -> "SetLocation":
        """Read the update."""
        return cls(strip_slash(text(document, "location", "set-location")))

    def apply(self, draft: Draft) -> None:
        """Change the draft."""
        draft.location = self.location


@dataclass(frozen=True, slots=True)
class SetProperties:
    """Set properties; reserved names are passed over."""

    updates: Mapping[str, str]

    @classmethod
    def parse(cls, document: Document) -> "SetProperties":
        """Read the update, also under the key that old clients send."""
        key = "updates" if document.get("updates") is not None else "updated"
        return cls(text_map(as_document(document.get(key), "set-properties: updates"), "set-properties"))

    def apply(self, draft: Draft) -> None:
        """Change the draft."""
        draft.properties.update(unreserved(self.updates))


@dataclass(frozen=True, slots=True)
class RemoveProperties:
    """Remove properties; those that are not there are gone already."""

    removals: tuple[str, ...]

    @classmethod
    def parse(cls, document: Document) -> "RemoveProperties":
        """Read the update, also under the key that old clients send."""
        key = "removed" if document.get("removals") is None and "removed" in document else "removals"
        return cls(texts_in(document, key, "remove-properties", MAX_REMOVALS))

    def apply(self, draft: Draft) -> None:
        """Change the draft."""
        for name in self.removals:
            draft.properties.pop(name, None)


@dataclass(frozen=True, slots=True)
class SetStatistics:
    """Set the statistics file of a snapshot."""

    file: StatisticsFile

    @classmethod
    def parse(cls, document: Document) -> "SetStatistics":
        """Read the update; the snapshot's id beside the file is deprecated, and must not contradict it."""
        found = parse_statistics(document_in(document, "statistics", "set-statistics"))
        beside = document.get("snapshot-id")
        if beside is not None and beside != found.snapshot_id:
            raise InvalidMetadata(f"set-statistics: snapshot-id {beside} is not that of the file, {found.snapshot_id}")
        return cls(found)

    def apply(self, draft: Draft) -> None:
        """Change the draft."""
        draft.statistics[self.file.snapshot_id] = [self.file]


@dataclass(frozen=True, slots=True)
class RemoveStatistics:
    """Remove the statistics file of a snapshot."""

    snapshot_id: int

    @classmethod
    def parse(cls, document: Document) -> "RemoveStatistics":
        """Read the update."""
        return cls(integer(document, "snapshot-id", "remove-statistics"))

    def apply(self, draft: Draft) -> None:
        """Change the draft."""
        draft.statistics.pop(self.snapshot_id, None)


@dataclass(frozen=True, slots=True)
class SetPartitionStatistics:
    """Set the partition statistics file of a snapshot."""

    file: StatisticsFile

    @classmethod
    def parse(cls, document: Document) -> "SetPartitionStatistics":
        """Read the update."""
        found = document_in(document, "partition-statistics", "set-partition-statistics")
        return cls(parse_partition_statistics(found))

    def apply(self, draft: Draft) -> None:
        """Change the draft."""
        draft.partition_statistics[self.file.snapshot_id] = [self.file]


@dataclass(frozen=True, slots=True)
class RemovePartitionStatistics:
    """Remove the partition statistics file of a snapshot."""

    snapshot_id: int

    @classmethod
    def parse(cls, document: Document) -> "RemovePartitionStatistics":
        """Read the update."""
        return cls(integer(document, "snapshot-id", "remove-partition-statistics"))

    def apply(self, draft: Draft) -> None:
        """Change the draft."""
        draft.partition_statistics.pop(self.snapshot_id, None)


@dataclass(frozen=True, slots=True)
class AddEncryptionKey:
    """Keep an encrypted key; one that is there already stays as it is."""

    key: EncryptionKey

    @classmethod
    def parse(cls, document: Document) -> "AddEncryptionKey":
        """Read the update."""
        return cls(parse_encryption_key(document_in(document, "encryption-key", "add-encryption-key")))

    def apply(self, draft: Draft) -> None:
        """Change the draft."""
        if draft.format_version < KEYS_SINCE:
            raise InvalidMetadata(
                f"Cannot add an encryption key to a v{draft.format_version} table: "
                f"encryption keys are not supported until v{KEYS_SINCE}"
            )
        draft.encryption_keys.setdefault(self.key.id, self.key)


@dataclass(frozen=True, slots=True)
class RemoveEncryptionKey:
    """Forget an encrypted key."""

    key_id: str

    @classmethod
    def parse(cls, document: Document) -> "RemoveEncryptionKey":
        """Read the update."""
        return cls(text(document, "key-id", "remove-encryption-key"))

    def apply(self, draft: Draft) -> None:
        """Change the draft."""
        draft.encryption_keys.pop(self.key_id, None)


def unreserved(properties: Mapping[str, str]) -> dict[str, str]:
    """Leave out the names that are never stored."""
    return {name: value for name, value in properties.items() if name not in RESERVED}
