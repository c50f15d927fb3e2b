"""Appending: every byte lands once and in order, past the page cache or through it."""

import errno
import fcntl
import mmap
import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from lakeshare.storage.local import appending
from lakeshare.storage.local.appending import DIRECT_BYTES, PAGE_BYTES, SCRATCH_BYTES, Appender

SOURCE = random.Random(20).randbytes(5 * SCRATCH_BYTES)


@pytest.fixture
def descriptor(tmp_path: Path) -> Iterator[int]:
    """Give a new file to append to."""
    opened = os.open(tmp_path / "file", os.O_WRONLY | os.O_CREAT)
    yield opened
    os.close(opened)


def cut(lengths: Sequence[int]) -> list[bytes]:
    """Cut the source in pieces of these lengths."""
    pieces, at = [], 0
    for length in lengths:
        pieces.append(SOURCE[at : at + length])
        at += length
    return pieces


def is_past_cache(descriptor: int) -> bool:
    """Say whether writes to a file go past the page cache."""
    return bool(fcntl.fcntl(descriptor, fcntl.F_GETFL) & getattr(os, "O_DIRECT", 0))


def aligned(data: bytes) -> memoryview:
    """Lay bytes at the beginning of a page."""
    view = memoryview(mmap.mmap(-1, len(data)))
    view[:] = data
    return view


@pytest.mark.parametrize(
    "writes",
    [
        [[1]],
        [[DIRECT_BYTES - 1], [DIRECT_BYTES], [1]],
        [[DIRECT_BYTES], [1], [PAGE_BYTES - 1], [PAGE_BYTES]],
        [[DIRECT_BYTES + 1], [0], [SCRATCH_BYTES]],
        [[100, SCRATCH_BYTES - 100], [SCRATCH_BYTES], [SCRATCH_BYTES - 77], [5]],
        [[3 * SCRATCH_BYTES + 4097]],
        [[300] * 3000, [17] * 1500],
    ],
)
def test_every_way_of_cutting_leaves_the_same_bytes(descriptor, tmp_path, writes):
    """However bytes are cut into chunks and calls, the file has them all in order."""
    appender = Appender(descriptor)
    pieces = iter(cut([length for write in writes for length in write]))
    for write in writes:
        appender.write([next(pieces) for _ in write])
    appender.finish()
    assert (tmp_path / "file").read_bytes() == SOURCE[: sum(map(sum, writes))]


def test_blocks_at_a_page_are_written_as_they_lie(descriptor, tmp_path, monkeypatch):
    """A block of whole pages that begins at one is not copied first."""
    monkeypatch.setattr(appending, "_scratch", lambda: pytest.fail("a block was copied"))
    appender = Appender(descriptor)
    for at in range(0, 2 * SCRATCH_BYTES, SCRATCH_BYTES):
        appender.write([aligned(SOURCE[at : at + SCRATCH_BYTES])])
    appender.finish()
    assert (tmp_path / "file").read_bytes() == SOURCE[: 2 * SCRATCH_BYTES]


def test_small_first_bytes_keep_a_file_in_the_cache(descriptor):
    """A file that begins with few bytes is written through the cache."""
    appender = Appender(descriptor)
    appender.write([SOURCE[: DIRECT_BYTES - 1]])
    assert not is_past_cache(descriptor)


def test_large_first_bytes_go_past_the_cache(descriptor):
    """A file that begins with many bytes is written past the cache where there is such a way, but for its end."""
    try:
        flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
        fcntl.fcntl(descriptor, fcntl.F_SETFL, flags | os.O_DIRECT)
        fcntl.fcntl(descriptor, fcntl.F_SETFL, flags)
    except (AttributeError, OSError):
        pytest.skip("this file system has no way past its cache")
    appender = Appender(descriptor)
    appender.write([SOURCE[: DIRECT_BYTES + 10]])
    assert is_past_cache(descriptor)
    appender.finish()
    assert not is_past_cache(descriptor)


def test_a_file_system_that_refuses_at_the_first_write_gets_the_bytes_through_the_cache(
    descriptor, tmp_path, monkeypatch
):
    """Where the flag is taken and the write refused, nothing is lost."""
    real = os.writev

    def refuse(fd: int, chunks: Sequence[bytes]) -> int:
        if is_past_cache(fd):
            raise OSError(errno.EINVAL, "Invalid argument")
        return real(fd, chunks)

    monkeypatch.setattr(os, "writev", refuse)
    appender = Appender(descriptor)
    appender.write([SOURCE[: DIRECT_BYTES + 10]])
    appender.write([SOURCE[DIRECT_BYTES + 10 : SCRATCH_BYTES]])
    appender.finish()
    assert (tmp_path / "file").read_bytes() == SOURCE[:SCRATCH_BYTES]


def test_a_write_that_takes_a_part_is_gone_on_with(descriptor, tmp_path, monkeypatch):
    """After a part of a page was taken, the rest follows behind it."""
    real = os.writev
    monkeypatch.setattr(os, "writev", lambda fd, chunks: real(fd, [chunks[0][: 2 * PAGE_BYTES]]))
    appender = Appender(descriptor)
    for at in range(0, 2 * SCRATCH_BYTES, SCRATCH_BYTES):
        appender.write([SOURCE[at : at + SCRATCH_BYTES]])
    appender.finish()
    assert (tmp_path / "file").read_bytes() == SOURCE[: 2 * SCRATCH_BYTES]


def test_a_file_system_without_such_a_way_is_written_through_its_cache(descriptor, tmp_path, monkeypatch):
    """Where the flag is unknown, all bytes go through the cache."""
    monkeypatch.setattr(appending, "_DIRECT", 0)
    appender = Appender(descriptor)
    appender.write([SOURCE[:SCRATCH_BYTES], SOURCE[SCRATCH_BYTES : SCRATCH_BYTES + 5]])
    appender.finish()
    assert (tmp_path / "file").read_bytes() == SOURCE[: SCRATCH_BYTES + 5]
