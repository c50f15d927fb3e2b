"""What is done again and again, by one process for all workers."""

from collections.abc import Sequence
from pathlib import Path

from lakeshare.server.workers import Job
from lakeshare.settings import Settings


def jobs_of(root: Path, settings: Settings) -> Sequence[Job]:
    """Return the periodic jobs of a data directory."""
    del root, settings
    return ()
