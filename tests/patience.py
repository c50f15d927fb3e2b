"""Waiting for what another process or thread does."""

import time
from collections.abc import Callable

PATIENCE_SECONDS = 60.0
"""Far longer than anything takes: a busy machine fails no test."""
_LOOK_SECONDS = 0.02


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds, and fail where it never does."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < end, "it did not come to hold in time"
        time.sleep(_LOOK_SECONDS)
