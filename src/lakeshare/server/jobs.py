"""What is done again and again, by one process for all workers."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lakeshare.server.workers import Job
from lakeshare.settings import Settings
from lakeshare.storage.local.sweep import Collector, SweepPolicy

_log = logging.getLogger("lakeshare.server")


def jobs_of(root: Path, settings: Settings) -> Sequence[Job]:
    """Return the periodic jobs of a data directory."""
    policy = SweepPolicy(settings.garbage_grace, settings.stale_upload_age, settings.free_space_watermark)
    return (Job("sweep", settings.sweep_interval, _Sweep(root, policy)),)


@dataclass(slots=True)
class _Sweep:
    """Collects garbage. The collector is opened in the process that runs it, and stays open."""

    root: Path
    policy: SweepPolicy
    collector: Collector | None = field(default=None)

    def __call__(self) -> None:
        """Sweep once."""
        if self.collector is None:
            self.collector = Collector(self.root)
        report = self.collector.sweep(self.policy)
        if any((report.versions, report.uploads, report.blobs)):
            facts = {"versions": report.versions, "uploads": report.uploads, "blobs": report.blobs}
            _log.info("swept", extra=facts)
