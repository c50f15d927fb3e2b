"""Who may remove blobs, and who needs them to stay: one lock file, let go of by the kernel when its holder dies."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from lakeshare.storage.local.layout import Layout


@contextmanager
def collecting(layout: Layout) -> Iterator[bool]:
    """Be the one that removes; False if another removes, or someone needs blobs to stay."""
    with _locked_file(layout) as descriptor:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


@contextmanager
def collection_paused(layout: Layout) -> Iterator[None]:
    """Keep every blob that any row names from here on; wait for a removal under way."""
    with _locked_file(layout) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield


@contextmanager
def _locked_file(layout: Layout) -> Iterator[int]:
    descriptor = os.open(layout.collector_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
