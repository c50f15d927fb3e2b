"""Small objects at hand: what was read since anyone's last commit need not be read again.

Laws: nothing is kept or given while a commit of any process is under way, or that was read before one: the pulse of the
index tells. So nobody is given an older version than any reader has seen. What is absent is never kept.
"""

from lakeshare.sqlite.pulse import STOPPED, Pulse
from lakeshare.storage.port import Opened

KEPT_OBJECTS = 1024
KEPT_BYTES = 8 * 1024 * 1024
"""Most that is kept; then all of it goes, and what is in demand comes back."""


class Remembered:
    """The small objects that one process has read of late."""

    __slots__ = ("_beat", "_bytes", "_held", "_pulse")

    def __init__(self, pulse: Pulse) -> None:
        self._pulse = pulse
        self._held: dict[tuple[str, str], Opened] = {}
        self._beat = STOPPED
        self._bytes = 0

    @property
    def beat(self) -> int:
        """Return the beat before a read, with which its result is kept."""
        return self._pulse.value

    def get(self, bucket: str, key: str) -> Opened | None:
        """Return the latest version of a key, if it is known to be that."""
        return self._held.get((bucket, key)) if self._pulse.value == self._beat else None

    def keep(self, beat: int, opened: Opened) -> None:
        """Keep the latest version of a key, read after a beat."""
        if beat == STOPPED:
            return
        info = opened.info
        if beat != self._beat or len(self._held) >= KEPT_OBJECTS or self._bytes + info.size > KEPT_BYTES:
            self._held.clear()
            self._beat, self._bytes = beat, 0
        self._held[info.bucket, info.key] = opened
        self._bytes += info.size
