"""A table that lies in a folder of the local file system."""

import os
from collections.abc import Sequence
from pathlib import Path

from lakeshare.columnar.source import Blob, Entry, FileGone


class Folder:
    """The files of the table under `root`. A file's ETag is its inode, size and time of change."""

    def __init__(self, root: str | Path) -> None:
        self._root = Path(root)

    def list(self, folder: str, after: str = "") -> Sequence[Entry]:
        """Return the files directly in a folder, in order of name."""
        try:
            with os.scandir(self._root / folder) as found:
                items = [item for item in found if folder + item.name > after and item.is_file()]
        except FileNotFoundError:
            return ()
        return [self._entry(folder, item) for item in sorted(items, key=lambda item: item.name)]

    def read(self, name: str) -> Blob:
        """Return the path of a file."""
        path = self._root / name
        if not path.is_file():
            raise FileGone(name)
        return Blob(name, path=str(path))

    @staticmethod
    def _entry(folder: str, item: "os.DirEntry[str]") -> Entry:
        facts = item.stat()
        etag = f"{facts.st_ino:x}-{facts.st_size:x}-{facts.st_mtime_ns:x}"
        return Entry(folder + item.name, facts.st_size, etag, facts.st_mtime_ns)
