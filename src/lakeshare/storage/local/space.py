"""How much room the disk has, and what a failed system call means to a writer."""

import errno
import os
import time
from pathlib import Path

from lakeshare.storage.errors import StorageError, StoreFailed, StoreFull

CHECKED_EVERY_SECONDS = 1.0
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


class FreeSpace:
    """The free bytes of one file system, looked up at most once a second."""

    def __init__(self, root: Path, watermark_bytes: int) -> None:
        self._root = root
        self.watermark_bytes = watermark_bytes
        self._free_bytes = 0
        self._checked_at = float("-inf")

    def check(self) -> None:
        """Raise StoreFull when free space is under the watermark."""
        if not self.watermark_bytes:
            return
        now = time.monotonic()
        if now - self._checked_at >= CHECKED_EVERY_SECONDS:
            self._free_bytes, self._checked_at = self.free_bytes(), now
        if self._free_bytes < self.watermark_bytes:
            raise StoreFull(self._free_bytes, self.watermark_bytes)

    def free_bytes(self) -> int:
        """Return what the file system has left for us."""
        found = os.statvfs(self._root)
        return found.f_bavail * found.f_frsize

    def translated(self, error: OSError) -> StorageError:
        """Say what a failed system call means: no room, or a failed disk. Nothing was acknowledged in either case."""
        if error.errno in _FULL:
            self._checked_at = float("-inf")
            return StoreFull(self.free_bytes(), self.watermark_bytes)
        return StoreFailed(f"the disk failed ({error.strerror})")
