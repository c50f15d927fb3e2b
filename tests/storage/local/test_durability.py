"""Nothing is acknowledged before it is durable: the order of system calls, which a killed process cannot show."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lakeshare.storage.local.layout import prepare
from lakeshare.storage.local.store import LocalStore

RACER = Path(__file__).with_name("racer.py")
STRACE = ["strace", "-f", "-y", "-s", "64", "-e"]
CALLS = "write,writev,pwrite64,pwritev,pwritev2,fsync,fdatasync,linkat,openat,fsetxattr"


@pytest.fixture
async def trace(tmp_path):
    """Give a function that puts one object in a process of its own and returns the calls up to its answer."""
    if shutil.which("strace") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("strace is needed to see the order of system calls")
        pytest.skip("needs strace: the order of system calls was not checked")
    root = tmp_path / "data"
    prepare(root, fanout_digits=1)
    store = LocalStore.open_root(root)
    await store.create_bucket("b")
    await store.close()

    def run(size: int) -> list[str]:
        log = tmp_path / "calls"
        subprocess.run(
            [*STRACE, f"trace={CALLS}", "-o", log, sys.executable, RACER, "single", root, "key", str(size)],
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=120,
        )
        lines = _joined(log.read_text().splitlines())
        begin = next(index for index, line in enumerate(lines) if '"BEGIN\\n"' in line)
        end = next(index for index, line in enumerate(lines) if '"DONE\\n"' in line)
        return lines[begin:end]

    return run


def _joined(lines: list[str]) -> list[str]:
    """Put a call that another thread interrupted at the place where it ended."""
    begun, result = {}, []
    for line in lines:
        thread, _, call = line.partition(" ")
        call = call.strip()
        if call.endswith("<unfinished ...>"):
            begun[thread] = call.removesuffix("<unfinished ...>")
        elif match := re.match(r"<\.\.\. \w+ resumed>(.*)", call):
            result.append(begun.pop(thread) + match[1])
        else:
            result.append(call)
    return result


def _last(calls: list[str], pattern: str) -> int:
    found = [index for index, call in enumerate(calls) if re.search(pattern, call)]
    assert found, (pattern, calls)
    return found[-1]


def test_a_big_put_syncs_data_then_name_then_index(trace):
    """A blob's data is synced before it has a name, its name before its row is written, its row before the answer."""
    calls = trace(1_500_000)
    data_written = _last(calls, r"^writev\(\d+<[^>]*/data/tmp")
    data_synced = _last(calls, r"^fdatasync\(\d+<[^>]*/data/tmp.*= 0")
    named = _last(calls, r"^linkat\(.*/data/blobs/.*= 0")
    folder_synced = _last(calls, r"^fsync\(\d+<[^>]*/data/blobs/.>.*= 0")
    row_written = _last(calls, r"^pwrite64\(\d+<[^>]*meta\.db-wal>")
    row_synced = _last(calls, r"^fdatasync\(\d+<[^>]*meta\.db-wal>.*= 0")
    order = [data_written, data_synced, named, folder_synced, row_written, row_synced]
    assert order == sorted(order)


def test_a_small_put_is_one_sync(trace):
    """A small object is written and synced with its row, once, before the answer, and makes no file."""
    calls = trace(4096)
    row_written = _last(calls, r"^pwrite64\(\d+<[^>]*meta\.db-wal>")
    row_synced = _last(calls, r"^fdatasync\(\d+<[^>]*meta\.db-wal>.*= 0")
    assert row_written < row_synced
    assert not [call for call in calls if "/data/blobs/" in call or "/data/tmp" in call]
    assert sum(call.startswith(("fdatasync", "fsync")) for call in calls) == 1
