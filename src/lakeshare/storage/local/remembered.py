"""Small objects at hand: what was read since anyone's last commit need not be read again.

Laws: nothing is kept that was read before the newest beat of the index's pulse, which every commit changes before it is
answered; what is absent is never kept; and all is forgotten after a second, since a process may die between a commit
and its beat.
"""

import time

from lakeshare.sqlite.pulse import Pulse
from lakeshare.storage.port import Opened

KEPT_SECONDS = 1.0
"""Longest time for which the pulse is believed when it says that nothing is new."""

KEPT_OBJECTS = 1024
KEPT_BYTES = 8 * 1024 * 1024
"""Most that is kept; then all of it goes, and what is in demand comes back."""


class Remembered:
    """The small objects that one process has read of late."""

    __slots__ = ("_beat", "_bytes", "_held", "_pulse", "_until")

    def __init__(self, pulse: Pulse) -> None:
        self._pulse = pulse
        self._held: dict[tuple[str, str], Opened] = {}
        self._beat = pulse.value
        self._bytes = 0
        self._until = 0.0

    @property
    def beat(self) -> int:
        """Return the beat before a read, with which its result is kept."""
        return self._pulse.value

    def get(self, bucket: str, key: str) -> Opened | None:
        """Return the latest version of a key, if it is known to be that."""
        if self._pulse.value != self._beat or time.monotonic() >= self._until:
            return None
        return self._held.get((bucket, key))

    def keep(self, beat: int, opened: Opened) -> None:
        """Keep the latest version of a key, read after a beat."""
        info, now = opened.info, time.monotonic()
        full = len(self._held) >= KEPT_OBJECTS or self._bytes + info.size > KEPT_BYTES
        if beat != self._beat or now >= self._until or full:
            self._held.clear()
            self._beat, self._bytes, self._until = beat, 0, now + KEPT_SECONDS
        self._held[info.bucket, info.key] = opened
        self._bytes += info.size
