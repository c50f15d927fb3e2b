"""What is done again and again, by one process for all workers."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lakeshare.server.live import LiveSettings
from lakeshare.server.workers import Job
from lakeshare.settings import Settings
from lakeshare.storage.local.sweep import Collector, SweepPolicy

_log = logging.getLogger("lakeshare.server")


def jobs_of(root: Path, live: LiveSettings) -> Sequence[Job]:
    """Return the periodic jobs of a data directory, each by the settings as they are when it runs."""
    return (Job("sweep", lambda: live.heard().sweep_interval, _Sweep(root, live.current)),)


def sweep_policy(settings: Settings) -> SweepPolicy:
    """Return how long the settings have things kept."""
    return SweepPolicy(settings.garbage_grace, settings.stale_upload_age, settings.free_space_watermark)


@dataclass(slots=True)
class _Sweep:
    """Collects garbage. The collector is opened in the process that runs it, and stays open."""

    root: Path
    settings: Callable[[], Settings]
    collector: Collector | None = field(default=None)

    def __call__(self) -> None:
        """Sweep once."""
        if self.collector is None:
            self.collector = Collector(self.root)
        report = self.collector.sweep(sweep_policy(self.settings()))
        if any((report.versions, report.uploads, report.blobs)):
            facts = {"versions": report.versions, "uploads": report.uploads, "blobs": report.blobs}
            _log.info("swept", extra=facts)
