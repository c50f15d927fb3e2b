"""Bytes appended to a file that nobody reads yet: large ones past the page cache, where the file system can.

The bytes of a large upload are synced before its answer in any case, so a copy of them in the cache only costs: time
to fill its pages, and the room of pages that are read often. Whole pages go to the disk from an aligned buffer; what is
left over waits in memory and goes through the cache at the end.
"""

import ctypes
import errno
import fcntl
import mmap
import os
import threading
from collections.abc import Sequence

from lakeshare.http.request import Block

DIRECT_BYTES = 512 * 1024
"""A file whose first bytes come in at least this many at a time is written past the page cache."""

PAGE_BYTES = 4096
"""What places, lengths and addresses are multiples of, past the page cache: no disk of today asks for more."""

SCRATCH_BYTES = 1024 * 1024
"""The buffer in which bytes of other alignments are gathered; one a thread."""

MAX_IOV = 1024
"""IOV_MAX on Linux and macOS."""

_DIRECT: int = getattr(os, "O_DIRECT", 0)
_scratches = threading.local()


class Appender:
    """Appends to a file by its descriptor, which stays its owner's. Every call may block."""

    __slots__ = ("_begun", "_descriptor", "_direct", "_rest")

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._begun = False
        self._direct = False
        self._rest = b""

    def write(self, chunks: Sequence[Block]) -> None:
        """Append bytes, all of them; less than a page may wait for `finish`."""
        if not self._begun:
            self._begun = True
            self._direct = sum(map(len, chunks)) >= DIRECT_BYTES and self._leave_cache()
        if not self._direct:
            self.finish()
            self._write_through(chunks)
        elif len(chunks) == 1 and not self._rest and _is_aligned(chunks[0]):
            self._write_past(chunks[0])
        else:
            self._gather([self._rest, *chunks])

    def finish(self) -> None:
        """Append what waits."""
        if self._rest:
            self._return_to_cache()
            self._write_through([self._rest])
            self._rest = b""

    def _gather(self, chunks: Sequence[Block]) -> None:
        scratch, filled = _scratch(), 0
        for chunk in chunks:
            view = memoryview(chunk)
            while view:
                part = view[: SCRATCH_BYTES - filled]
                scratch[filled : filled + len(part)] = part
                filled, view = filled + len(part), view[len(part) :]
                if filled == SCRATCH_BYTES:
                    self._write_past(scratch)
                    filled = 0
        whole = filled - filled % PAGE_BYTES
        if whole:
            self._write_past(scratch[:whole])
        self._rest = bytes(scratch[whole:filled])

    def _write_past(self, block: Block) -> None:
        """Write whole pages; what the file system does not take so, a part or all of it, goes through the cache."""
        written = 0
        if self._direct:
            try:
                written = os.writev(self._descriptor, [block])
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
        if written < len(block):
            self._return_to_cache()
            self._write_through([memoryview(block)[written:]])

    def _write_through(self, chunks: Sequence[Block]) -> None:
        for first in range(0, len(chunks), MAX_IOV):
            some = chunks[first : first + MAX_IOV]
            written = os.writev(self._descriptor, some)
            if written < sum(map(len, some)):
                rest = memoryview(b"".join(some))[written:]
                while rest:
                    rest = rest[os.write(self._descriptor, rest) :]

    def _leave_cache(self) -> bool:
        if not _DIRECT:
            return False
        try:
            self._set_flag(_DIRECT)
        except OSError:
            return False  # A file system that knows no other way than its cache.
        return True

    def _return_to_cache(self) -> None:
        if self._direct:
            self._direct = False
            self._set_flag(0)

    def _set_flag(self, direct: int) -> None:
        flags = fcntl.fcntl(self._descriptor, fcntl.F_GETFL) & ~_DIRECT
        fcntl.fcntl(self._descriptor, fcntl.F_SETFL, flags | direct)


def _is_aligned(block: Block) -> bool:
    """Say whether a block can be written as it lies; only of writable memory can an address be had."""
    if not isinstance(block, memoryview) or block.readonly or len(block) % PAGE_BYTES or not len(block):
        return False
    return ctypes.addressof(ctypes.c_char.from_buffer(block)) % PAGE_BYTES == 0


def _scratch() -> memoryview:
    try:
        scratch: memoryview = _scratches.view
    except AttributeError:
        scratch = _scratches.view = memoryview(mmap.mmap(-1, SCRATCH_BYTES))
    return scratch
