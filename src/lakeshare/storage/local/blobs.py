"""Blob files: written without a name, made durable, and only then named. Called in threads; every call may block.

Order that durability rests on: data (fdatasync), name (link), folder (fsync). The index row comes after all three.
"""

import contextlib
import errno
import fcntl
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from lakeshare.http.request import Block
from lakeshare.storage.ids import new_pin
from lakeshare.storage.local.appending import Appender
from lakeshare.storage.local.layout import Layout, sync_folder

ATTRIBUTE = "user.lakeshare"
_UNNAMED = getattr(os, "O_TMPFILE", 0)
_NO_UNNAMED = {errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT}
_sync_data = getattr(os, "fdatasync", os.fsync)


class PendingBlob:
    """A blob on its way in: bytes with no name in `blobs/` yet."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.id = new_pin(time.time_ns())
        self._name = ""
        self._descriptor = self._open()
        self._appender = Appender(self._descriptor)

    def write(self, chunks: Sequence[Block]) -> None:
        """Append bytes."""
        self._appender.write(chunks)

    def publish(self, description: bytes) -> None:
        """Make the bytes durable, then give them their name, then make that durable."""
        self._appender.finish()
        self._describe(description)
        _full_sync(self._descriptor)
        target = self._layout.path_of(self.id)
        if self._name:
            os.link(self._name, target)
        else:
            _link_unnamed(self._descriptor, target)
        sync_folder(self._layout.folder_of(self.id))

    def unpublish(self) -> None:
        """Take the name away again; for bytes that no row ever named."""
        with contextlib.suppress(FileNotFoundError):
            Path(self._layout.path_of(self.id)).unlink()

    def close(self) -> None:
        """Let go of the file; bytes without a name in `blobs/` are gone with it."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        if self._name:
            with contextlib.suppress(FileNotFoundError):
                Path(self._name).unlink()

    def _open(self) -> int:
        flags = os.O_WRONLY | os.O_CLOEXEC
        if _UNNAMED:
            try:
                return os.open(self._layout.temporary, flags | _UNNAMED, 0o600)
            except OSError as error:
                if error.errno not in _NO_UNNAMED:
                    raise
        self._name = f"{self._layout.temporary}/{os.getpid()}-{self.id.hex()}"
        return os.open(self._name, flags | os.O_CREAT | os.O_EXCL, 0o600)

    def _describe(self, description: bytes) -> None:
        """Leave a note on the file from which an index could be rebuilt, where the file system keeps notes."""
        if hasattr(os, "setxattr"):
            with contextlib.suppress(OSError):
                os.setxattr(self._descriptor, ATTRIBUTE, description)


def _full_sync(descriptor: int) -> None:
    if sys.platform == "darwin":
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        return
    _sync_data(descriptor)


def _link_unnamed(descriptor: int, target: str) -> None:
    """Name a file that has none. A folder's descriptor makes Python call linkat, which follows the link in /proc."""
    anywhere = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.link(f"/proc/self/fd/{descriptor}", target, src_dir_fd=anywhere, follow_symlinks=True)
    finally:
        os.close(anywhere)
