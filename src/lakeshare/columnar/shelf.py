"""Parts on disk: written once under a key that names their bytes, shared by all workers, least recently used out first.

The folder is a cache: it may be emptied at any time, also while parts of it are in use.
"""

import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from threading import Lock
from weakref import WeakValueDictionary

import pyarrow as pa

from lakeshare.columnar.bounds import TableShape
from lakeshare.columnar.build import build_part
from lakeshare.columnar.checkpoint import rows_of_files
from lakeshare.columnar.part import Part, open_part, part_in_memory, write_part
from lakeshare.columnar.source import Blob, Unreadable, size_of
from lakeshare.errors import Kind, LakeshareError

FORMAT = "1"
"""To be raised whenever the columns of a part change their meaning."""
MEMORY_ROWS = 16_384
"""A part of up to so many files stays in memory, about twenty megabytes; a larger one goes to disk."""
MEMORY_CHECKPOINT_BYTES = 256 * 1024
"""A checkpoint of up to this size holds some hundred files, and is quicker read than kept."""
DISK_BYTES = 16 * 1024**3

Write = Callable[[Path], None]
"""Writes a part to a path, whole or not at all."""


class NoRoomOnShelf(LakeshareError):
    """The cache folder cannot take a part: its disk is full, or it may not be written."""

    kind = Kind.FULL

    def __init__(self, reason: str) -> None:
        super().__init__(f"the cache of table snapshots cannot be written: {reason}")


class Shelf:
    """The parts in one folder. Safe to use from several threads and several processes."""

    def __init__(self, folder: Path, disk_bytes: int = DISK_BYTES) -> None:
        self._folder = folder
        self._disk_bytes = disk_bytes
        self._open: WeakValueDictionary[str, Part] = WeakValueDictionary()
        self._guard = Lock()

    def of_rows(self, key: str, shape: TableShape, rows: Iterator[pa.RecordBatch], count: int) -> Part:
        """Return a part of rows, of which there are `count`: in memory where they are few, else by its key.

        Heavy. Raises whatever the rows raise, and NoRoomOnShelf.
        """
        if count <= MEMORY_ROWS:
            return part_in_memory(rows, shape)
        return self._part(key, shape, lambda path: write_part(path, rows, shape))

    def of_checkpoint(self, key: str, shape: TableShape, blobs: Sequence[Blob]) -> Part:
        """Return the part of a whole checkpoint, by its key. Heavy.

        Raises Unreadable, FileGone, BuildFailed, NoRoomOnShelf.
        """
        if sum(size_of(blob) for blob in blobs) <= MEMORY_CHECKPOINT_BYTES:
            return part_in_memory(rows_of_files(blobs), shape)
        return self._part(key, shape, lambda path: build_part(path, blobs, shape))

    def _part(self, key: str, shape: TableShape, write: Write) -> Part:
        name = sha256(f"{FORMAT}|{key}|{shape!r}".encode()).hexdigest()
        with self._guard:
            found = self._open.get(name)
        if found is not None:
            return found
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with self._turn(name):
                part = self._opened(name, shape) or self._written(name, shape, write)
        except OSError as reason:
            raise NoRoomOnShelf(str(reason)) from None
        with self._guard:
            return self._open.setdefault(name, part)

    def _opened(self, name: str, shape: TableShape) -> Part | None:
        path = self._path(name)
        try:
            part = open_part(path, shape)
        except Unreadable:
            return None
        with suppress(OSError):
            os.utime(path)
        return part

    def _written(self, name: str, shape: TableShape, write: Write) -> Part:
        path = self._path(name)
        write(path)
        pa.default_memory_pool().release_unused()
        self._make_room(path)
        return open_part(path, shape)

    def _make_room(self, newest: Path) -> None:
        """Remove the parts used longest ago until the rest fits; a part in use stays readable until it is let go of."""
        found = [(path.stat(), path) for path in self._folder.glob("*.arrow")]
        total = sum(facts.st_size for facts, _ in found)
        for facts, path in sorted(found, key=lambda item: item[0].st_mtime_ns):
            if total <= self._disk_bytes:
                return
            if path != newest:
                path.unlink(missing_ok=True)
                path.with_suffix(".lock").unlink(missing_ok=True)
                total -= facts.st_size

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.arrow"

    @contextmanager
    def _turn(self, name: str) -> Iterator[None]:
        """Let one thread of one process make a part; the others wait, and find it made."""
        with self._path(name).with_suffix(".lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
