"""A number beside a database that every commit changes, so that a look at memory tells whether anything is new.

Laws:

- It is changed after a commit and before anyone is told of it: whoever finds it as it was has missed nothing that
  was acknowledged. A process that dies between the two leaves it unchanged: look at the database now and then too.
- Its values are random, so that two processes that change it at once do not make it what it was.
- Who must never be behind another reader, not even of a commit that nobody was told of yet, has it stopped before each
  commit and believes it only while it beats. A process that dies in between leaves it stopped, until the next commit.
"""

import mmap
import os
import secrets
from pathlib import Path

_BYTES = 8
STOPPED = 0
"""The number from just before a commit until it is over."""


class Pulse:
    """The number, in a file that the processes of one machine map."""

    __slots__ = ("_cells", "_memory")

    def __init__(self, path: Path) -> None:
        """Map the file of a database, making it if need be."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(path.with_name(path.name + "-pulse"), flags, 0o600)
        try:
            os.ftruncate(descriptor, _BYTES)
            self._memory = mmap.mmap(descriptor, _BYTES)
        finally:
            os.close(descriptor)
        self._cells = memoryview(self._memory).cast("Q")

    @property
    def value(self) -> int:
        """Return the number as it is."""
        return self._cells[0]

    def stop(self) -> None:
        """Say that a commit is under way."""
        self._cells[0] = STOPPED

    def beat(self) -> None:
        """Change it."""
        self._cells[0] = secrets.randbits(64) or 1

    def close(self) -> None:
        """Let go of the file."""
        self._cells.release()
        self._memory.close()
