"""The queue of the processes that want to write to one database.

SQLite's own wait sleeps and polls, and lets one writer starve for seconds. Here the kernel wakes the next one, and
whoever has just written cannot overtake: it must pass the door, where the next in line already stands. A process
that dies leaves both locks.
"""

import fcntl
import os
from pathlib import Path
from types import TracebackType


class Turnstile:
    """A lock between processes, for one thread at a time; open it after a fork, never before."""

    def __init__(self, path: Path) -> None:
        self._door = _open(path.with_name(path.name + "-door"))
        self._room = _open(path.with_name(path.name + "-room"))

    def __enter__(self) -> None:
        """Wait for the room; only one waits inside the door at a time."""
        fcntl.flock(self._door, fcntl.LOCK_EX)
        try:
            fcntl.flock(self._room, fcntl.LOCK_EX)
        finally:
            fcntl.flock(self._door, fcntl.LOCK_UN)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Leave the room."""
        fcntl.flock(self._room, fcntl.LOCK_UN)

    def close(self) -> None:
        """Let go of the files."""
        os.close(self._door)
        os.close(self._room)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
