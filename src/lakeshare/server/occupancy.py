"""Whether a data directory is in use: one lock that the kernel lets go of when its holders die.

A server and a backup share it; what must not happen under them, as the change of the key file, wants it alone. The
lock lies on `format.json`, which is written once.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lakeshare.errors import Kind, LakeshareError
from lakeshare.storage.local.layout import existing


class DirectoryInUse(LakeshareError):
    """Somebody else uses the data directory, and cannot meanwhile."""

    kind = Kind.CONFLICT


@contextmanager
def in_use(root: Path) -> Iterator[None]:
    """Use a data directory beside others that do; processes that are forked meanwhile use it too.

    Raises DirectoryInUse.
    """
    with _held(root, fcntl.LOCK_SH, "its key file is being changed: wait until that has ended"):
        yield


@contextmanager
def alone(root: Path) -> Iterator[None]:
    """Have a data directory for oneself. Raises DirectoryInUse."""
    with _held(root, fcntl.LOCK_EX, "a server or a backup uses it: stop it, and try again"):
        yield


@contextmanager
def _held(root: Path, kind: int, refusal: str) -> Iterator[None]:
    descriptor = os.open(existing(root).format_file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DirectoryInUse(f"{root} cannot be used now: {refusal}") from None
        yield
    finally:
        os.close(descriptor)
