"""Manifest lists and manifests: which files a snapshot has, how large they are, and what they hold.

Read through the columnar engine, by the ids of the fields (the table specification, "Manifests" and "Manifest Lists").
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import pyarrow as pa

from lakeshare.columnar.avro import Column, Step, avro_batches
from lakeshare.columnar.source import Blob, Unreadable, size_of

MAX_MANIFESTS = 1_000_000
"""Most manifests of one snapshot."""


class ManifestContent(IntEnum):
    """What a manifest lists: data files, or files that delete rows of them."""

    DATA = 0
    DELETES = 1


class FileContent(IntEnum):
    """What a file holds."""

    DATA = 0
    POSITION_DELETES = 1
    EQUALITY_DELETES = 2


class Status(IntEnum):
    """What a snapshot did with a file; a deleted one is no longer of the table."""

    EXISTING = 0
    ADDED = 1
    DELETED = 2


@dataclass(frozen=True, slots=True)
class Manifest:
    """One manifest as a manifest list names it. Counts are None where an old writer left them out."""

    path: str
    length: int
    spec_id: int
    content: ManifestContent
    sequence_number: int
    added_snapshot_id: int
    added_files: int | None
    existing_files: int | None
    deleted_files: int | None

    @property
    def live_files(self) -> int | None:
        """Return how many files of it are of the table, where that is known."""
        if self.added_files is None or self.existing_files is None:
            return None
        return self.added_files + self.existing_files


_LIST = (
    Column("path", (Step(500, "manifest_path"),), "Utf8"),
    Column("length", (Step(501, "manifest_length"),), "Int64"),
    Column("spec_id", (Step(502, "partition_spec_id"),), "Int32"),
    Column("content", (Step(517, "content"),), "Int32"),
    Column("sequence_number", (Step(515, "sequence_number"),), "Int64"),
    Column("added_snapshot_id", (Step(503, "added_snapshot_id"),), "Int64"),
    Column("added_files", (Step(504, "added_files_count"),), "Int32"),
    Column("existing_files", (Step(505, "existing_files_count"),), "Int32"),
    Column("deleted_files", (Step(506, "deleted_files_count"),), "Int32"),
)

_FILE = Step(2, "data_file")

STATUS = Column("status", (Step(0, "status"),), "Int32")
SNAPSHOT_ID = Column("snapshot_id", (Step(1, "snapshot_id"),), "Int64")
SEQUENCE_NUMBER = Column("sequence_number", (Step(3, "sequence_number"),), "Int64")
CONTENT = Column("content", (_FILE, Step(134, "content")), "Int32")
PATH = Column("path", (_FILE, Step(100, "file_path")), "Utf8")
FORMAT = Column("format", (_FILE, Step(101, "file_format")), "Utf8")
RECORDS = Column("records", (_FILE, Step(103, "record_count")), "Int64")
SIZE = Column("size", (_FILE, Step(104, "file_size_in_bytes")), "Int64")
REFERENCED = Column("referenced", (_FILE, Step(143, "referenced_data_file")), "Utf8")
OFFSET = Column("offset", (_FILE, Step(144, "content_offset")), "Int64")
PARTITION = Column("partition", (_FILE, Step(102, "partition")))


def read_manifest_list(blob: Blob) -> tuple[Manifest, ...]:
    """Return the manifests of a snapshot. Raises FileGone, Unreadable."""
    found: list[Manifest] = []
    for batch in avro_batches(blob, _LIST):
        found += [_manifest(row, blob) for row in batch.to_pylist()]
        if len(found) > MAX_MANIFESTS:
            raise Unreadable(blob.name, f"it lists more than {MAX_MANIFESTS} manifests")
    return tuple(found)


def entries(blob: Blob, columns: tuple[Column, ...], manifest: Manifest | None = None) -> Iterator[pa.RecordBatch]:
    """Yield what a manifest says of its files. Raises FileGone, Unreadable.

    Where the manifest list is at hand, it may have no fewer bytes and entries than that says: a manifest that was cut
    between two blocks reads well, and names too few files.
    """
    if manifest is not None and manifest.length > size_of(blob):
        raise Unreadable(blob.name, f"it has {size_of(blob)} bytes, and its manifest list says {manifest.length}")
    count = 0
    for batch in avro_batches(blob, columns):
        count += batch.num_rows
        yield batch
    expected = None if manifest is None else _expected(manifest)
    if expected is not None and expected > count:
        raise Unreadable(blob.name, f"it has {count} entries, and its manifest list says {expected}")


def _expected(manifest: Manifest) -> int | None:
    if manifest.live_files is None or manifest.deleted_files is None:
        return None
    return manifest.live_files + manifest.deleted_files


def _manifest(row: "dict[str, int | str | None]", blob: Blob) -> Manifest:
    try:
        return Manifest(
            path=str(row["path"]),
            length=int(row["length"] or 0),
            spec_id=int(row["spec_id"] or 0),
            content=ManifestContent(int(row["content"] or 0)),
            sequence_number=int(row["sequence_number"] or 0),
            added_snapshot_id=int(row["added_snapshot_id"] or 0),
            added_files=_count(row["added_files"]),
            existing_files=_count(row["existing_files"]),
            deleted_files=_count(row["deleted_files"]),
        )
    except ValueError as reason:
        raise Unreadable(blob.name, str(reason)) from None


def _count(value: int | str | None) -> int | None:
    return None if value is None else int(value)
