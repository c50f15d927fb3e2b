"""Where a table's files come from: the small port that reading a table needs, and the values it speaks.

Names are keys relative to the table's root, decoded, with `/` between folders. The calls may block: they are made
from the engine's threads, never from an event loop.
"""

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lakeshare.errors import Kind, LakeshareError
from lakeshare.http.response import FileSpan, Spans

DESCRIPTORS = "/proc/self/fd/"
"""Where a process finds its open files by number."""


class FileGone(LakeshareError):
    """A file that a table's metadata names is not there."""

    kind = Kind.UNAVAILABLE

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is not there: it was removed while the table was being read, or never written")
        self.name = name


class Unreadable(LakeshareError):
    """A file is there, and is not what its name promises: cut short, or damaged."""

    kind = Kind.INTERNAL

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name} cannot be read: {reason}")
        self.name = name
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Entry:
    """A file as a listing shows it. `etag` changes whenever the bytes do."""

    name: str
    size: int
    etag: str
    modified_at_ns: int


@dataclass(frozen=True, slots=True)
class Blob:
    """The bytes of one file: a local path that holds just them, or the bytes themselves."""

    name: str
    path: str | None = None
    data: bytes | None = None


def blob_of(name: str, spans: Spans) -> Blob:
    """Return the blob of an object's spans: a path where one file holds just them. May block. Raises FileGone."""
    if len(spans) == 1 and isinstance(spans[0], FileSpan) and _is_whole(spans[0]):
        return Blob(name, path=spans[0].path)
    return Blob(name, data=b"".join(part if isinstance(part, bytes) else _bytes(name, part) for part in spans))


def _is_whole(span: FileSpan) -> bool:
    try:
        return span.offset == 0 and Path(span.path).stat().st_size == span.length
    except OSError:
        return False


def _bytes(name: str, span: FileSpan) -> bytes:
    try:
        with Path(span.path).open("rb") as file:
            file.seek(span.offset)
            return file.read(span.length)
    except OSError:
        raise FileGone(name) from None


def open_blob(blob: Blob) -> io.BufferedIOBase:
    """Open a blob for reading. Raises FileGone."""
    if blob.data is not None:
        return io.BytesIO(blob.data)
    try:
        return Path(blob.path or "").open("rb")
    except FileNotFoundError:
        raise FileGone(blob.name) from None


def size_of(blob: Blob) -> int:
    """Return how many bytes a blob has. Raises FileGone."""
    if blob.data is not None:
        return len(blob.data)
    try:
        return Path(blob.path or "").stat().st_size
    except FileNotFoundError:
        raise FileGone(blob.name) from None


@contextmanager
def local_path(blob: Blob) -> Iterator[str]:
    """Give a blob a path: its own, or that of an anonymous file in memory, which a child process may inherit."""
    if blob.path is not None:
        yield blob.path
        return
    descriptor = os.memfd_create("blob")
    try:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(blob.data or b"")
        yield f"{DESCRIPTORS}{descriptor}"
    finally:
        os.close(descriptor)


class TableFiles(Protocol):
    """One table's files, to be read."""

    def list(self, folder: str, after: str = "") -> Sequence[Entry]:
        """Return the files directly in a folder (it ends in `/`) whose names sort after `after`, in order of name."""
        ...

    def read(self, name: str) -> Blob:
        """Return the bytes of a file. Raises FileGone."""
        ...
