"""Connections with the settings that durability and sharing rest on."""

import contextlib
import os
import sys
from pathlib import Path

import apsw

from lakeshare.sqlite.errors import LibraryTooOld, translates

OLDEST_LIBRARY = (3, 51, 3)
"""Before it, a WAL reset beside another process's checkpoint could lose commits."""

BUSY_TIMEOUT_MS = 5_000
"""Waited only while another process recovers the log after a crash: writers queue elsewhere."""

STATEMENT_CACHE = 256
WRITER_CACHE_KIB = 64 * 1024
READER_CACHE_KIB = 8 * 1024


def check_library(found: str | None = None) -> None:
    """Raise LibraryTooOld when the SQLite in use is older than we can trust."""
    version = found or apsw.sqlite_lib_version()
    if tuple(int(part) for part in version.split(".")[:3]) < OLDEST_LIBRARY:
        raise LibraryTooOld(version, ".".join(map(str, OLDEST_LIBRARY)))


@translates
def connect(path: Path) -> apsw.Connection:
    """Open, and make if need be, a database for writing, and change nothing in it yet."""
    check_library()
    make_private(path)
    connection = apsw.Connection(str(path), statementcachesize=STATEMENT_CACHE)
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    _keep_plans(connection)
    return connection


def make_private(path: Path) -> None:
    """Make an empty file that its owner alone may read; SQLite gives the log the same mode.

    One that exists is not opened: closing it would drop the locks that this process holds on it through SQLite.
    """
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


@translates
def make_durable(connection: apsw.Connection) -> None:
    """Give a writer its settings: a log that is synced by each commit, and folded in only when asked for."""
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", "full")
    connection.pragma("foreign_keys", "on")
    connection.pragma("temp_store", "memory")
    connection.pragma("cache_size", -WRITER_CACHE_KIB)
    if sys.platform == "darwin":
        connection.pragma("fullfsync", "on")
    _leave_the_log(connection)


@translates
def open_reader(path: Path) -> apsw.Connection:
    """Open an existing database for reading. Each statement outside a transaction sees the newest commit."""
    check_library()
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE, statementcachesize=STATEMENT_CACHE)
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    connection.pragma("query_only", "on")
    connection.pragma("temp_store", "memory")
    connection.pragma("cache_size", -READER_CACHE_KIB)
    _leave_the_log(connection)
    _keep_plans(connection)
    return connection


def _keep_plans(connection: apsw.Connection) -> None:
    """Plan a statement once.

    By default SQLite looks at what is bound to a join, a range or a LIMIT, and for that compiles the statement anew
    at every call: three times the cost of a short one.
    """
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)


def _leave_the_log(connection: apsw.Connection) -> None:
    """Checkpoint neither after a commit nor at the end: only the holder of the turnstile may, and says when."""
    connection.wal_autocheckpoint(0)
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
