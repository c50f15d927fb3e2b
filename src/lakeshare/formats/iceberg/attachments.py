"""What hangs on a table beside its snapshots: statistics files and encryption keys."""

import binascii
from base64 import b64decode
from collections.abc import Iterable
from dataclasses import dataclass

from lakeshare.formats.iceberg.documents import (
    Document,
    documents_in,
    integer,
    integers_in,
    optional_text,
    shown,
    text,
    text_map,
)
from lakeshare.formats.iceberg.errors import InvalidMetadata

MAX_BLOBS = 100_000
"""How many blobs a statistics file may say it has; a blob or two for each column."""


@dataclass(frozen=True, slots=True)
class StatisticsFile:
    """A Puffin file with statistics of a snapshot, or a file with those of its partitions."""

    document: Document

    @property
    def snapshot_id(self) -> int:
        """Return the snapshot that the statistics are of."""
        return int(self.document["snapshot-id"])

    @property
    def path(self) -> str:
        """Return the file's location."""
        return str(self.document["statistics-path"])


@dataclass(frozen=True, slots=True)
class EncryptionKey:
    """A key that is itself encrypted; a catalog keeps and hands it on (v3)."""

    document: Document

    @property
    def id(self) -> str:
        """Return the key's id."""
        return str(self.document["key-id"])


def by_snapshot(files: Iterable[StatisticsFile]) -> dict[int, list[StatisticsFile]]:
    """Group statistics files by the snapshot that they are of."""
    found: dict[int, list[StatisticsFile]] = {}
    for item in files:
        found.setdefault(item.snapshot_id, []).append(item)
    return found


def parse_statistics(document: Document) -> StatisticsFile:
    """Take a table statistics file."""
    found = parse_partition_statistics(document)
    integer(document, "file-footer-size-in-bytes", "statistics", least=0)
    if document.get("blob-metadata") is None:
        raise InvalidMetadata("statistics: blob-metadata must be a list, not null or absent")
    for blob in documents_in(document, "blob-metadata", "statistics", MAX_BLOBS):
        text(blob, "type", "statistics: blob")
        integer(blob, "snapshot-id", "statistics: blob")
        integer(blob, "sequence-number", "statistics: blob")
        integers_in(blob, "fields", "statistics: blob", MAX_BLOBS)
        text_map(blob.get("properties"), "statistics: blob: properties")
    return found


def parse_partition_statistics(document: Document) -> StatisticsFile:
    """Take a partition statistics file."""
    integer(document, "snapshot-id", "statistics")
    text(document, "statistics-path", "statistics")
    integer(document, "file-size-in-bytes", "statistics", least=0)
    return StatisticsFile(document)


def parse_encryption_key(document: Document) -> EncryptionKey:
    """Take an encrypted key."""
    key_id = text(document, "key-id", "encryption key")
    encrypted = text(document, "encrypted-key-metadata", "encryption key")
    try:
        b64decode(encrypted, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidMetadata(
            f"encryption key {shown(key_id)}: encrypted-key-metadata must be base64: {error}"
        ) from error
    optional_text(document, "encrypted-by-id", "encryption key")
    text_map(document.get("properties"), "encryption key: properties")
    return EncryptionKey(document)
