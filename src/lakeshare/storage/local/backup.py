"""Backup of a data directory in use, and its restore.

A backup is one moment: the index is copied in one snapshot, and every blob that it names is then carried over, which
works because blobs never change and because nothing removes them while the collector waits. A folder may be backed up
to again and again: blobs that are there already stay, and until the new backup is whole the old one counts.

- `backup.json` says which index counts; written last
- `index-<time>.db`: the index, small objects and all
- `blobs/…`: as in the data directory
"""

import contextlib
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from lakeshare.errors import Kind
from lakeshare.sqlite.backup import copy_database
from lakeshare.sqlite.connection import open_reader
from lakeshare.storage.errors import StorageError
from lakeshare.storage.hashing import crc64nvme
from lakeshare.storage.local.check.report import Progress, silent
from lakeshare.storage.local.index.rows import unsigned
from lakeshare.storage.local.layout import PRIVATE, Layout, existing, sync_folder, write_durably
from lakeshare.storage.local.pausing import collection_paused

BACKUP_VERSION = 1
COPY_BYTES = 1024 * 1024
_KNOWN = "SELECT EXISTS (SELECT 1 FROM blob WHERE id = ?)"


class WrongBackup(StorageError):
    """The folder is no whole backup, or one that does not fit."""

    kind = Kind.INVALID

    def __init__(self, folder: Path, reason: str) -> None:
        super().__init__(f"{folder} cannot be used: {reason}")


@dataclass(frozen=True, slots=True)
class BackupReport:
    """What a backup or a restore carried over; `kept` blobs were there already."""

    blobs: int
    kept: int
    bytes_copied: int


@dataclass(frozen=True, slots=True)
class _Manifest:
    """What `backup.json` says."""

    backup: int
    layout: int
    fanout_digits: int
    deployment: str
    index: str
    blobs: int
    bytes: int
    completed_at: str


@dataclass(frozen=True, slots=True)
class _Blob:
    id: bytes
    size: int
    crc64: int


def backup(root: Path, target: Path, *, hard_links: bool = False, progress: Progress = silent) -> BackupReport:
    """Back up a data directory, which may be in use, into a folder that is new or holds an earlier backup of it.

    `hard_links` shares blobs with the data directory when both lie on one file system: quick, and no help against
    the loss of that file system. Raises WrongLayout, WrongBackup.
    """
    layout = existing(root)
    described = orjson.loads(layout.format_file.read_bytes())
    earlier = _manifest(target) if (target / "backup.json").exists() else None
    if earlier is not None and earlier.deployment != described["deployment"]:
        raise WrongBackup(target, "it holds a backup of another deployment")
    target.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    index = target / f"index-{time.time_ns()}-{uuid.uuid4().hex[:8]}.db"
    with collection_paused(layout):
        progress("index", 0, 1)
        copy_database(layout.index, index)
        progress("index", 1, 1)
        report, total_bytes = _carry(
            layout, Layout(target, layout.fanout_digits), index, progress, hard_links=hard_links
        )
    manifest = _Manifest(
        BACKUP_VERSION,
        int(described["layout"]),
        layout.fanout_digits,
        str(described["deployment"]),
        index.name,
        report.blobs,
        total_bytes,
        time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    )
    write_durably(target / "backup.json", orjson.dumps(asdict(manifest), option=orjson.OPT_INDENT_2))
    _remove_older(target, index)
    return report


def restore(
    source: Path, root: Path, *, progress: Progress = silent, before_it_counts: Callable[[], None] | None = None
) -> BackupReport:
    """Make a data directory of a backup; every blob is compared with its checksum on the way. Raises WrongBackup.

    What else belongs into the directory is put there by `before_it_counts`: until that returns, no server opens it.
    """
    manifest = _manifest(source)
    if root.exists() and any(root.iterdir()):
        raise WrongBackup(root, "it is not empty, and a restore overwrites nothing")
    layout = Layout(root.absolute(), manifest.fanout_digits)
    for folder in (layout.root, layout.index.parent, layout.temporary):
        folder.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    copy_database(source / manifest.index, layout.index)
    report, _ = _carry(Layout(source, manifest.fanout_digits), layout, layout.index, progress, hard_links=False)
    described = {
        "layout": manifest.layout,
        "fanout_digits": manifest.fanout_digits,
        "deployment": manifest.deployment,
    }
    if before_it_counts is not None:
        before_it_counts()
    sync_folder(layout.root)
    write_durably(layout.format_file, orjson.dumps(described, option=orjson.OPT_INDENT_2))
    return report


def _manifest(folder: Path) -> _Manifest:
    try:
        found = _Manifest(**orjson.loads((folder / "backup.json").read_bytes()))
    except (OSError, ValueError, TypeError) as error:
        raise WrongBackup(folder, f"it holds no whole backup ({error})") from error
    if found.backup != BACKUP_VERSION:
        raise WrongBackup(folder, f"it is a backup of version {found.backup}, this release knows {BACKUP_VERSION}")
    return found


def _carry(
    source: Layout, target: Layout, index: Path, progress: Progress, *, hard_links: bool
) -> tuple[BackupReport, int]:
    """Carry over every blob that an index names; return what was done, and the bytes of all of them."""
    _make_folders(target)
    total_blobs, total_bytes = _totals(index)
    carried = kept = copied = 0
    for blob in _blobs(index):
        done = _carry_one(source, target, blob, hard_links=hard_links)
        carried, kept = carried + 1, kept + (done is None)
        copied += done or 0
        progress("blobs", carried, total_blobs)
    for folder in target.blobs.iterdir():
        sync_folder(folder)
    return BackupReport(carried, kept, copied), total_bytes


def _make_folders(layout: Layout) -> None:
    layout.blobs.mkdir(mode=PRIVATE, exist_ok=True)
    for number in range(16**layout.fanout_digits):
        (layout.blobs / f"{number:0{layout.fanout_digits}x}").mkdir(mode=PRIVATE, exist_ok=True)
    sync_folder(layout.blobs)


def _totals(index: Path) -> tuple[int, int]:
    with contextlib.closing(open_reader(index)) as reader:
        row = reader.execute("SELECT count(*), coalesce(sum(size), 0) FROM blob").fetchone()
    return (0, 0) if row is None else (int(row[0]), int(row[1]))


def _blobs(index: Path) -> Iterator[_Blob]:
    with contextlib.closing(open_reader(index)) as reader:
        for blob, size, crc64 in reader.execute("SELECT id, size, crc64 FROM blob ORDER BY id"):
            yield _Blob(blob, size, unsigned(crc64))


def _carry_one(source: Layout, target: Layout, blob: _Blob, *, hard_links: bool) -> int | None:
    """Carry one blob over; return the bytes copied, None if it was there."""
    path = Path(target.path_of(blob.id))
    if path.exists() and path.stat().st_size == blob.size:
        return None
    if hard_links:
        with contextlib.suppress(OSError):
            os.link(source.path_of(blob.id), path)
            return 0
    temporary = path.with_name(f".{path.name}.partial")
    try:
        _copy(Path(source.path_of(blob.id)), temporary, blob)
    except OSError as error:
        raise WrongBackup(source.root, f"blob {blob.id.hex()} cannot be copied ({error.strerror})") from error
    temporary.replace(path)
    return blob.size


def _copy(source: Path, target: Path, blob: _Blob) -> None:
    """Copy a file, durable when this returns, and compare it with its checksum on the way."""
    crc64 = size = 0
    with source.open("rb", buffering=0) as reader, target.open("wb") as writer:
        while chunk := reader.read(COPY_BYTES):
            crc64, size = crc64nvme(chunk, crc64), size + len(chunk)
            writer.write(chunk)
        writer.flush()
        os.fsync(writer.fileno())
    if (size, crc64) != (blob.size, blob.crc64):
        target.unlink()
        raise WrongBackup(source.parent, f"blob {blob.id.hex()} fails its checksum: run lakeshare fsck --deep")
    shutil.copystat(source, target)


def _remove_older(target: Path, index: Path) -> None:
    """Remove what only earlier backups named: their indexes, and blobs that the new index does not know."""
    for path in target.glob("index-*.db*"):
        if path.name != index.name:
            path.unlink()
    with contextlib.closing(open_reader(index)) as reader:
        for path in target.glob("blobs/*/*"):
            if not path.name.startswith(".") and reader.execute(_KNOWN, (bytes.fromhex(path.name),)).get:
                continue
            path.unlink()
