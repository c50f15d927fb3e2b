"""Backup and restore of a whole data directory: state, then the index, then the blobs, then the keys.

State is copied first: what it names may lack a newer object, never point to one that the copied index lacks.
"""

import os
import shutil
from pathlib import Path

from lakeshare.identity import root as root_credentials
from lakeshare.identity import vault
from lakeshare.state import sqlite as state
from lakeshare.storage.local import backup as storage
from lakeshare.storage.local.backup import BackupReport
from lakeshare.storage.local.check.report import Progress

STATE = Path("state") / "state.db"
KEYS = (vault.FILE_NAME, root_credentials.FILE_NAME)
PRIVATE = 0o600


def backup(root: Path, target: Path, progress: Progress, *, hard_links: bool, keys: bool) -> BackupReport:
    """Copy a data directory that may be in use; without the keys, the secrets in it open for nobody."""
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    if (root / STATE).exists():
        (target / STATE).parent.mkdir(mode=0o700, exist_ok=True)
        progress("state", 0, 1)
        draft = (target / STATE).with_suffix(".draft")
        draft.unlink(missing_ok=True)
        state.backup(root / STATE, draft)
        draft.replace(target / STATE)
        progress("state", 1, 1)
    report = storage.backup(root, target, hard_links=hard_links, progress=progress)
    if keys:
        _carry_keys(root, target)
    return report


def restore(source: Path, root: Path, progress: Progress) -> BackupReport:
    """Make a data directory from a backup, comparing every blob with its checksum."""

    def bring_the_rest() -> None:
        if (source / STATE).exists():
            (root / STATE).parent.mkdir(mode=0o700, exist_ok=True)
            state.backup(source / STATE, root / STATE)
        _carry_keys(source, root)

    return storage.restore(source, root, progress=progress, before_it_counts=bring_the_rest)


def _carry_keys(source: Path, target: Path) -> None:
    for name in KEYS:
        if (source / name).exists():
            descriptor = os.open(target / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE)
            with (source / name).open("rb") as reader, os.fdopen(descriptor, "wb") as writer:
                shutil.copyfileobj(reader, writer)
                writer.flush()
                os.fsync(writer.fileno())
