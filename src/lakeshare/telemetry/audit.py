"""The audit log: one JSON line a request, in a file of each worker's own, rotated by size.

The hot path only appends to a queue; a thread encodes and writes in batches, a slice at a time. The queue is bounded.
A full one is written by whoever adds to it, so that a slow disk slows requests down instead of losing their events;
only when the disk refuses are events counted as lost, said in the log, and said in the audit log itself once it can
be written.
"""

import contextlib
import logging
import os
import threading
import time
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson

from lakeshare.errors import Kind, LakeshareError

QUEUE_LIMIT = 16_384
"""Most events that wait for the disk."""

FLUSH_SECONDS = 0.1
"""Longest time an event waits for others to be written with."""

SLICE = 64
"""Events encoded and written at a stretch."""

COMPLAINT_SECONDS = 10.0
"""Shortest time between two complaints about the same disk."""

_LINE = orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z
_log = logging.getLogger("lakeshare.telemetry")


@dataclass(slots=True, kw_only=True)
class AuditEvent:
    """Who asked for what, and what came of it. Holds no query string and no header that signs.

    Not frozen, since each request makes one and that would cost three times as much; nobody changes it.
    """

    time: datetime
    request_id: str
    peer: str
    access_key: str
    action: str
    resources: tuple[str, ...]
    decision: str
    status: int
    error: str = ""
    bytes_in: int = 0
    bytes_out: int = 0
    duration_ms: float = 0.0
    user_agent: str = ""


class AuditUnwritable(LakeshareError):
    """The audit folder cannot be written."""

    kind = Kind.UNAVAILABLE

    def __init__(self, folder: str, reason: str) -> None:
        super().__init__(f"cannot write the audit log in {folder}: {reason}; choose another folder with --audit-file")


class AuditLog:
    """Writes the events of one worker."""

    def __init__(self, folder: Path, worker: int, rotate_bytes: int, keep: int) -> None:
        self.folder = folder
        """Where the files of all workers lie."""
        self._file = RotatedFile(folder, f"worker-{worker}", rotate_bytes, keep)
        self._queue: deque[AuditEvent] = deque()
        self._writing = threading.Lock()
        self._closing = threading.Event()
        self._complained_at = -COMPLAINT_SECONDS
        self._untold = 0
        self.closed = False
        self.lost = 0
        """Events that no disk would take, since the start."""
        self._thread = threading.Thread(target=self._run, name="lakeshare-audit", daemon=True)
        self._thread.start()

    def write(self, event: AuditEvent) -> None:
        """Take an event; it is on its way to the file when this returns."""
        self._queue.append(event)
        if len(self._queue) >= QUEUE_LIMIT:
            self._make_room(QUEUE_LIMIT - 1)

    def set_rotation(self, rotate_bytes: int, keep: int) -> None:
        """Rotate at another size and keep another number of files, from the next write on."""
        self._file.set_rotation(rotate_bytes, keep)

    @property
    def waiting(self) -> int:
        """Return how many events are on their way to the file."""
        return len(self._queue)

    def flush(self) -> None:
        """Write everything that waits."""
        with self._writing:
            self._write_batch()

    def close(self) -> None:
        """Write what is left and end the thread."""
        if self.closed:
            return
        self.closed = True
        self._closing.set()
        self._thread.join()
        self._make_room(0)
        with self._writing:
            self._file.close()

    def _run(self) -> None:
        while not self._closing.wait(FLUSH_SECONDS):
            self.flush()

    def _make_room(self, limit: int) -> None:
        """Write what waits; what the disk refuses beyond the limit is lost, and counted."""
        with self._writing:
            self._write_batch()
            while len(self._queue) > limit:
                self._queue.popleft()
                self.lost += 1
                self._untold += 1

    def _write_batch(self) -> None:
        """Write what waits now, a slice at a time: the memory of one serves the next."""
        for _ in range(0, len(self._queue), SLICE):
            events = [self._queue[place] for place in range(min(SLICE, len(self._queue)))]
            try:
                self._file.append(self._encode(events))
            except OSError as reason:
                self._complain(reason)
                return
            for _ in events:
                self._queue.popleft()
            self._untold = 0
            time.sleep(0)  # lets the loop have the interpreter: encoding must not delay requests

    def _encode(self, events: list[AuditEvent]) -> bytes:
        lines = [orjson.dumps(event, option=_LINE) for event in events]
        if self._untold:
            lines.insert(0, orjson.dumps({"time": datetime.now(UTC), "events_lost": self._untold}, option=_LINE))
        return b"".join(lines)

    def _complain(self, reason: OSError) -> None:
        now = time.monotonic()
        if now - self._complained_at >= COMPLAINT_SECONDS:
            self._complained_at = now
            facts = {"reason": str(reason), "waiting": len(self._queue), "lost": self.lost}
            _log.error("audit log cannot be written", extra=facts)


class RotatedFile:
    """A file of lines that is set aside at a size, with the newest of those set aside kept."""

    def __init__(self, folder: Path, stem: str, rotate_bytes: int, keep: int) -> None:
        self._folder = folder
        self._stem = stem
        self._path = folder / f"{stem}.jsonl"
        self._rotate_bytes = rotate_bytes
        self._keep = keep
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._open()
        except OSError as reason:
            raise AuditUnwritable(str(folder), str(reason)) from None

    def append(self, lines: bytes) -> None:
        """Write whole lines, or none of them."""
        if not self._is_current():
            os.close(self._fd)
            self._open()
        try:
            written = os.write(self._fd, lines)
            while written < len(lines):
                written += os.write(self._fd, memoryview(lines)[written:])
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self._size)
            raise
        self._size += len(lines)
        if self._size >= self._rotate_bytes:
            self._rotate()

    def set_rotation(self, rotate_bytes: int, keep: int) -> None:
        """Set aside at another size and keep another number, from the next write on."""
        self._rotate_bytes, self._keep = rotate_bytes, keep

    def close(self) -> None:
        """Close the file; its lines are on the disk."""
        os.fsync(self._fd)
        os.close(self._fd)

    def _open(self) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        self._fd = os.open(self._path, flags, 0o600)
        os.fchmod(self._fd, 0o600)
        self._size = os.fstat(self._fd).st_size
        if self._size and os.pread(self._fd, 1, self._size - 1) != b"\n":
            self._size += os.write(self._fd, b"\n")

    def _is_current(self) -> bool:
        """Say whether the name still leads to our file: someone else may rotate or remove it."""
        try:
            named, ours = self._path.stat(), os.fstat(self._fd)
        except FileNotFoundError:
            return False
        return (named.st_ino, named.st_dev) == (ours.st_ino, ours.st_dev)

    def _rotate(self) -> None:
        os.fsync(self._fd)
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        self._path.rename(self._folder / f"{self._stem}.{stamp}.jsonl")
        os.close(self._fd)
        self._open()
        for old in sorted(self._folder.glob(f"{self._stem}.*.jsonl"))[: -self._keep]:
            old.unlink(missing_ok=True)
