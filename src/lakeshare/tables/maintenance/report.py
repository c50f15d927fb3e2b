"""What of a table needs compaction, which is the pipeline's work: small files, delete files, small manifests.

The thresholds are those of Iceberg's own rewrites: a data file under three quarters of the target is small, a manifest
under half of the target is.
"""

import asyncio
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from lakeshare.columnar.source import Blob
from lakeshare.formats.iceberg.metadata import TableMetadata
from lakeshare.formats.iceberg_files.manifests import (
    CONTENT,
    RECORDS,
    SIZE,
    STATUS,
    FileContent,
    Manifest,
    ManifestContent,
    Status,
    entries,
)
from lakeshare.formats.iceberg_files.retention import Retention
from lakeshare.tables.maintenance.expiry import planned
from lakeshare.tables.maintenance.folder import TableFolder
from lakeshare.tables.maintenance.reach import manifests_of

TARGET_PROPERTY = "write.target-file-size-bytes"
TARGET_BYTES = 512 * 1024**2
MANIFEST_TARGET_PROPERTY = "commit.manifest.target-size-bytes"
MANIFEST_TARGET_BYTES = 8 * 1024**2
SMALL_FILES_WORTH = 5
"""Fewest small files that are worth a rewrite: Iceberg's min-input-files."""
DELETE_SHARE_WORTH = 0.1
"""Share of rows that are deleted from which a rewrite is worth it."""
SMALL_MANIFESTS_WORTH = 10
MANY_SNAPSHOTS = 1_000


@dataclass(frozen=True, slots=True)
class Needs:
    """What the current snapshot of a table has, and what should be done about it."""

    snapshot_id: int | None = None
    snapshots: int = 0
    expirable_snapshots: int = 0
    data_files: int = 0
    data_bytes: int = 0
    records: int = 0
    target_file_bytes: int = TARGET_BYTES
    small_files: int = 0
    small_bytes: int = 0
    position_delete_files: int = 0
    equality_delete_files: int = 0
    deleted_records: int = 0
    manifests: int = 0
    small_manifests: int = 0
    advice: tuple[str, ...] = ()


@dataclass(slots=True)
class _Counts:
    data_files: int = 0
    data_bytes: int = 0
    records: int = 0
    small_files: int = 0
    small_bytes: int = 0
    position_delete_files: int = 0
    equality_delete_files: int = 0
    deleted_records: int = 0


async def needs_of(folder: TableFolder, metadata: TableMetadata, retention: Retention, now_ms: int) -> Needs:
    """Look through the current snapshot. Raises FileGone, Unreadable."""
    target = _bytes(metadata, TARGET_PROPERTY, TARGET_BYTES)
    expirable = len(planned(metadata, retention, now_ms).snapshot_ids)
    snapshot = metadata.current_snapshot
    if snapshot is None:
        return Needs(snapshots=len(metadata.snapshots), expirable_snapshots=expirable, target_file_bytes=target)
    manifests = await manifests_of(folder, snapshot)
    counts = _Counts()
    for manifest in manifests:
        if manifest.live_files != 0:
            blob = await folder.blob(manifest.path)
            await asyncio.to_thread(_count, counts, blob, manifest, target * 3 // 4)
    least = _bytes(metadata, MANIFEST_TARGET_PROPERTY, MANIFEST_TARGET_BYTES) // 2
    small = sum(1 for each in manifests if each.content is ManifestContent.DATA and each.length < least)
    needs = Needs(
        snapshot_id=snapshot.id,
        snapshots=len(metadata.snapshots),
        expirable_snapshots=expirable,
        target_file_bytes=target,
        manifests=len(manifests),
        small_manifests=small,
        **{name: getattr(counts, name) for name in _Counts.__slots__},
    )
    return _advised(needs)


def _count(counts: _Counts, blob: Blob, manifest: Manifest, small_under: int) -> None:
    for batch in entries(blob, (STATUS, CONTENT, SIZE, RECORDS), manifest):
        live = batch.filter(pc.not_equal(batch.column("status"), int(Status.DELETED)))
        content = pc.fill_null(live.column("content"), int(FileContent.DATA))
        data = live.filter(pc.equal(content, int(FileContent.DATA)))
        small = data.filter(pc.less(data.column("size"), small_under))
        counts.data_files += data.num_rows
        counts.data_bytes += _sum(data, "size")
        counts.records += _sum(data, "records")
        counts.small_files += small.num_rows
        counts.small_bytes += _sum(small, "size")
        position = live.filter(pc.equal(content, int(FileContent.POSITION_DELETES)))
        counts.position_delete_files += position.num_rows
        counts.deleted_records += _sum(position, "records")
        counts.equality_delete_files += live.num_rows - data.num_rows - position.num_rows


def _sum(batch: pa.RecordBatch, name: str) -> int:
    return int(pc.sum(batch.column(name)).as_py() or 0)


def _advised(needs: Needs) -> Needs:
    advice: list[str] = []
    if needs.small_files >= SMALL_FILES_WORTH:
        advice.append(f"rewrite data files: {needs.small_files} of {needs.data_files} are small")
    if needs.equality_delete_files:
        advice.append(f"rewrite data files: {needs.equality_delete_files} equality delete files slow every read")
    if needs.records and needs.deleted_records >= needs.records * DELETE_SHARE_WORTH:
        advice.append(f"rewrite data files: {needs.deleted_records} of {needs.records} rows are deleted")
    if needs.small_manifests >= SMALL_MANIFESTS_WORTH:
        advice.append(f"rewrite manifests: {needs.small_manifests} of {needs.manifests} are small")
    if needs.snapshots >= MANY_SNAPSHOTS or needs.expirable_snapshots:
        advice.append(f"expire snapshots: {needs.expirable_snapshots} of {needs.snapshots} have had their time")
    return replace(needs, advice=tuple(advice))


def _bytes(metadata: TableMetadata, name: str, otherwise: int) -> int:
    text = metadata.properties.get(name, "")
    return int(text[:18]) if text.isascii() and text.isdigit() and int(text[:18]) > 0 else otherwise
