"""Where a table's files come from: the small port that reading a table needs, and the values it speaks.

Names are keys relative to the table's root, decoded, with `/` between folders. The calls may block: they are made
from the engine's threads, never from an event loop.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from lakeshare.errors import Kind, LakeshareError


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


class TableFiles(Protocol):
    """One table's files, to be read."""

    def list(self, folder: str, after: str = "") -> Sequence[Entry]:
        """Return the files directly in a folder (it ends in `/`) whose names sort after `after`, in order of name."""
        ...

    def read(self, name: str) -> Blob:
        """Return the bytes of a file. Raises FileGone."""
        ...
