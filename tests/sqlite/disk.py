"""A disk under SQLite that remembers what is synced, and fails when told to."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw


class Disk(apsw.VFS):
    """The operating system's disk with a log; while `failing` names an error, writes or syncs of the WAL raise it."""

    def __init__(self) -> None:
        super().__init__("watched", "unix", makedefault=True)
        self.log: list[str] = []
        self.failing: type[apsw.Error] | None = None
        self.failing_on = "sync"

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 SQLite's name
        return _File(self, name, flags)

    def note(self, act: str, file: str) -> None:
        self.log.append(f"{act} {file}")
        if self.failing is not None and act == self.failing_on and file.endswith("-wal"):
            raise self.failing(f"{act} of {file}")


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._disk = disk
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._name = Path(path or "temporary").name
        super().__init__("unix", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._disk.note("write", self._name)
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.note("sync", self._name)
        super().xSync(flags)


@contextmanager
def watched_disk() -> Iterator[Disk]:
    """Let databases that are opened within the block lie on a watched disk."""
    disk = Disk()
    try:
        yield disk
    finally:
        disk.unregister()
