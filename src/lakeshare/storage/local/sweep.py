"""The collector: what nobody can read any more is removed, in bounded steps that may stop anywhere.

Rows go first, in transactions; files after them. Whatever is left by a crash in between is found again: by the
garbage list if it was written, by the search for orphans if not. One collector runs at a time, whoever starts it.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import apsw

from lakeshare.sqlite.committer import GroupCommitter
from lakeshare.storage.local.index import collect
from lakeshare.storage.local.index.schema import INDEX
from lakeshare.storage.local.layout import Layout, existing
from lakeshare.storage.local.pausing import collecting
from lakeshare.storage.local.space import FreeSpace

T = TypeVar("T")
NANOSECONDS = 1_000_000_000

ORPHAN_AGE_SECONDS = 24 * 3600
"""Far longer than a writer needs from naming a blob to its row."""

COMPLETION_MEMORY_SECONDS = 24 * 3600
"""How long a repeated Complete is recognised."""

PRESSED_GRACE_SECONDS = 60
"""What is left of the grace once the disk is under its watermark: readers under way finish, others do not begin."""

FOLDERS_A_SWEEP = 64
"""Folders searched for orphans in one sweep; all of them in 64 sweeps."""

MAX_BATCHES = 200
"""Transactions of one kind in one sweep; the rest waits for the next."""


@dataclass(frozen=True, slots=True)
class SweepPolicy:
    """How long things are kept. Under the watermark the grace is cut short."""

    grace_seconds: int = 7200
    stale_upload_seconds: int = 7 * 86400
    free_space_watermark: int = 0


@dataclass(frozen=True, slots=True)
class SweepReport:
    """What a sweep removed. `paused` when another sweep or a backup had the lock and nothing was done."""

    paused: bool = False
    versions: int = 0
    uploads: int = 0
    completions: int = 0
    blobs: int = 0
    orphans: int = 0
    temporary: int = 0


class Collector:
    """Sweeps one data directory, and remembers where its search for orphans stands. Close it."""

    def __init__(self, root: Path) -> None:
        self._layout = existing(root)
        self._committer = GroupCommitter(self._layout.index, INDEX)
        self._next_folder = 0

    def sweep(self, policy: SweepPolicy, *, all_folders: bool = False) -> SweepReport:
        """Remove what is over, and search some folders for orphans, or all."""
        with collecting(self._layout) as alone:
            if not alone:
                return SweepReport(paused=True)
            report = self._collect(policy, time.time_ns())
            return replace(
                report, orphans=self._reap_orphans(all_folders=all_folders), temporary=self._reap_temporary()
            )

    def close(self) -> None:
        """Let go of the index."""
        self._committer.close()

    def _collect(self, policy: SweepPolicy, now_ns: int) -> SweepReport:
        grace_ns = _grace_seconds(self._layout, policy) * NANOSECONDS
        stale_ns = now_ns - policy.stale_upload_seconds * NANOSECONDS
        forget_ns = now_ns - COMPLETION_MEMORY_SECONDS * NANOSECONDS
        return SweepReport(
            versions=self._repeat(lambda cursor: collect.retire_history(cursor, now_ns - grace_ns, now_ns)),
            uploads=self._repeat(lambda cursor: collect.expire_uploads(cursor, stale_ns, now_ns)),
            completions=self._repeat(lambda cursor: collect.forget_completions(cursor, forget_ns)),
            blobs=self._remove_garbage(),
        )

    def _repeat(self, step: Callable[[apsw.Cursor], int]) -> int:
        """Run one bounded transaction after another until one finds little to do."""
        total = 0
        for _ in range(MAX_BATCHES):
            done = self._run(step)
            total += done
            if done < collect.BATCH:
                break
        return total

    def _remove_garbage(self) -> int:
        total = 0
        for _ in range(MAX_BATCHES):
            blobs = self._run(collect.garbage)
            for blob in blobs:
                with contextlib.suppress(FileNotFoundError):
                    Path(self._layout.path_of(blob)).unlink()
            self._run(lambda cursor, blobs=blobs: collect.forget_garbage(cursor, blobs))  # type: ignore[misc]
            total += len(blobs)
            if len(blobs) < collect.BATCH:
                break
        return total

    def _reap_orphans(self, *, all_folders: bool) -> int:
        folders = 16**self._layout.fanout_digits
        count = folders if all_folders else min(FOLDERS_A_SWEEP, folders)
        removed = 0
        for number in range(self._next_folder, self._next_folder + count):
            name = f"{number % folders:0{self._layout.fanout_digits}x}"
            removed += sum(self._reap(path) for path in _older(self._layout.blobs / name, ORPHAN_AGE_SECONDS))
        self._next_folder = (self._next_folder + count) % folders
        return removed

    def _reap(self, path: Path) -> bool:
        """Remove a file that no row names, if it is one."""
        try:
            blob = bytes.fromhex(path.name)
        except ValueError:
            return False
        if self._run(lambda cursor: collect.is_known(cursor, blob)):
            return False
        path.unlink(missing_ok=True)
        return True

    def _reap_temporary(self) -> int:
        removed = 0
        for path in list(self._layout.temporary.iterdir()):
            if _is_left_over(path):
                path.unlink(missing_ok=True)
                removed += 1
        return removed

    def _run(self, operation: Callable[[apsw.Cursor], T]) -> T:
        return self._committer.submit(operation).result()


def sweep(root: Path, policy: SweepPolicy) -> SweepReport:
    """Sweep once, all folders."""
    collector = Collector(root)
    try:
        return collector.sweep(policy, all_folders=True)
    finally:
        collector.close()


def _grace_seconds(layout: Layout, policy: SweepPolicy) -> int:
    if FreeSpace(layout.root, policy.free_space_watermark).free_bytes() >= policy.free_space_watermark:
        return policy.grace_seconds
    return min(policy.grace_seconds, PRESSED_GRACE_SECONDS)


def _older(folder: Path, age_seconds: int) -> Iterator[Path]:
    """Yield the files of a folder that have had their name and their bytes for so long."""
    before = time.time() - age_seconds
    with os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                found = entry.stat(follow_symlinks=False)
                if max(found.st_mtime, found.st_ctime) < before:
                    yield Path(entry.path)


def _is_left_over(path: Path) -> bool:
    """Say whether a temporary file's writer is gone, or has been idle too long to come back."""
    try:
        if path.stat().st_mtime < time.time() - ORPHAN_AGE_SECONDS:
            return True
        os.kill(int(path.name.split("-")[0]), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError):
        return False
    return False
