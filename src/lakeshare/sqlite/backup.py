"""A copy of a database in use, as of one moment."""

import os
from pathlib import Path

import apsw

from lakeshare.sqlite.connection import make_private, open_reader
from lakeshare.sqlite.errors import WrongDatabase, translates

PAGES_A_STEP = 4_096


@translates
def copy_database(source: Path, target: Path) -> None:
    """Copy a database to a new file, durable when this returns; writers and readers go on meanwhile.

    The copy is the newest commit at the start: the source is read in one snapshot, so writers never restart it.
    Raises WrongDatabase when the target exists.
    """
    if target.exists():
        raise WrongDatabase(target, "it exists already, and a backup overwrites nothing")
    make_private(target)
    reader, writer = open_reader(source), apsw.Connection(str(target))
    try:
        writer.pragma("synchronous", "full")
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        with writer.backup("main", reader, "main") as copying:
            while not copying.done:
                copying.step(PAGES_A_STEP)
        reader.execute("COMMIT")
        writer.pragma("journal_mode", "delete")
    finally:
        writer.close()
        reader.close()
    _sync_directory(target.parent)


@translates
def check_database(path: Path) -> tuple[str, ...]:
    """Return what SQLite's own integrity check finds wrong, nothing when all is well."""
    reader = open_reader(path)
    try:
        found = tuple(str(row[0]) for row in reader.execute("PRAGMA integrity_check"))
    finally:
        reader.close()
    return () if found == ("ok",) else found


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
