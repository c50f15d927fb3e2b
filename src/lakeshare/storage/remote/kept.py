"""Large files of another store, downloaded once for all workers; those that were used least lately go first."""

import os
import time
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

KEEP_BYTES = 4 * 1024**3
SPARED_SECONDS = 900
"""How long a file that was asked for stays, whatever the room: it may be read just now."""


class Kept:
    """A folder of downloaded files, each under the digest of its name."""

    def __init__(self, folder: Path, keep_bytes: int = KEEP_BYTES) -> None:
        self._folder = folder
        self._keep_bytes = keep_bytes

    def find(self, name: str, size: int) -> Path | None:
        """Return the file of a name, if it is there and whole."""
        path = self._path(name)
        try:
            if path.stat().st_size != size:
                return None
            os.utime(path)
        except FileNotFoundError:
            return None
        return path

    def add(self, name: str, chunks: Iterable[bytes], size: int) -> Path | None:
        """Write a file that appears whole or not at all; None where there were fewer or more bytes than it has."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._path(name)
        draft = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
        try:
            with draft.open("wb") as file:
                file.writelines(chunks)
                whole = file.tell() == size
            if not whole:
                return None
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
        self._make_room()
        return path

    def _path(self, name: str) -> Path:
        return self._folder / sha256(name.encode()).hexdigest()

    def _make_room(self) -> None:
        now = time.time()
        with os.scandir(self._folder) as items:
            found = sorted((item.stat().st_mtime, item.stat().st_size, item.path) for item in items)
        excess = sum(size for _, size, _ in found) - self._keep_bytes
        for used_at, size, path in found:
            if excess <= 0 or now - used_at < SPARED_SECONDS:
                return
            Path(path).unlink(missing_ok=True)
            excess -= size
