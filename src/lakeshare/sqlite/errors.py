"""What can go wrong with a database file, whichever room keeps it."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import apsw

from lakeshare.errors import Kind, LakeshareError

P = ParamSpec("P")
T = TypeVar("T")


class DatabaseError(LakeshareError):
    """The root of what a database refuses."""


class LibraryTooOld(DatabaseError):
    """The SQLite library has a fault that loses commits."""

    def __init__(self, found: str, needed: str) -> None:
        super().__init__(f"SQLite {found} may lose commits of several processes; install apsw {needed} or newer")


class NetworkFileSystem(DatabaseError):
    """The file lies where processes cannot share memory, so that locks would not hold."""

    kind = Kind.UNSUPPORTED

    def __init__(self, path: Path, file_system: str) -> None:
        super().__init__(f"{path} lies on {file_system}, which cannot hold a database: use a local disk")


class WrongDatabase(DatabaseError):
    """The file is not a database, or one of another kind."""

    kind = Kind.INVALID

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} cannot be used: {reason}")


class SchemaTooNew(DatabaseError):
    """A newer release wrote the file."""

    kind = Kind.UNSUPPORTED

    def __init__(self, path: Path, found: int, known: int) -> None:
        super().__init__(f"{path} has schema {found}, this release knows up to {known}: use the newer release")


class DatabaseFull(DatabaseError):
    """No space is left; nothing of the operation was stored."""

    kind = Kind.FULL


class DatabaseBusy(DatabaseError):
    """Another program holds the database, or this one is closing; nothing of the operation was stored."""

    kind = Kind.UNAVAILABLE


class DatabaseFailed(DatabaseError):
    """The disk or the file failed; nothing of the operation was stored."""


class OutcomeUnknown(DatabaseError):
    """The disk failed while a commit was made durable: it may be there after a restart, or not."""


def translated(error: apsw.Error, *, committing: bool = False) -> DatabaseError:
    """Say in our words what SQLite reports; `committing` when the commit itself was under way."""
    reason = f"{type(error).__name__}: {error}"
    match error:
        case apsw.FullError():
            return DatabaseFull(f"the database cannot grow ({reason}): free some space")
        case apsw.BusyError() | apsw.LockedError():
            return DatabaseBusy(f"the database is held by another program ({reason})")
        case apsw.IOError() if committing:
            return OutcomeUnknown(f"the disk failed during a commit ({reason})")
        case _:
            return DatabaseFailed(f"the database failed ({reason})")


def translates(function: Callable[P, T]) -> Callable[P, T]:
    """Let SQLite's errors leave a function in our words."""

    @functools.wraps(function)
    def inner(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except apsw.Error as error:
            raise translated(error) from error

    return inner
