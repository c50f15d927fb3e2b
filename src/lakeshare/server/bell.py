"""A bell that every worker hears: one number in memory that they share through the fork."""

import mmap

_CELL_BYTES = 8


class Bell:
    """Counts how often it was rung. Two workers that ring at the same moment may count as one, which is enough."""

    __slots__ = ("_cells", "_memory")

    def __init__(self) -> None:
        """Make a bell before the workers are forked."""
        self._memory = mmap.mmap(-1, _CELL_BYTES)
        self._cells = memoryview(self._memory).cast("Q")

    @property
    def count(self) -> int:
        """Return the number of rings so far."""
        return self._cells[0]

    def ring(self) -> None:
        """Let every worker know, from its next request on."""
        self._cells[0] += 1
