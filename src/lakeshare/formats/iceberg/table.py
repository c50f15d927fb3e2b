"""Metadata files of tables, in and out."""

from dataclasses import replace

from lakeshare.formats.iceberg.documents import decode, encode
from lakeshare.formats.iceberg.metadata import TableMetadata, table_document
from lakeshare.formats.iceberg.reading import read_table

__all__ = ["TableMetadata", "encode_table", "only_referenced_snapshots", "parse_table", "table_document"]


def parse_table(raw: bytes) -> TableMetadata:
    """Read a metadata file."""
    return read_table(decode(raw, "table metadata"))


def encode_table(metadata: TableMetadata) -> bytes:
    """Write a metadata file."""
    return encode(table_document(metadata), "table metadata")


def only_referenced_snapshots(metadata: TableMetadata) -> TableMetadata:
    """Leave out the snapshots that no branch or tag points to; the logs stay whole."""
    kept = {ref.snapshot_id for ref in metadata.refs.values()}
    return replace(metadata, snapshots=tuple(item for item in metadata.snapshots if item.id in kept))
