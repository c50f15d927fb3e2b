"""Reading a database: at once on the calling thread, or in a small pool when it may take long.

A statement on its own sees the newest commit of every process; `snapshot` makes several see the same one.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import apsw

from lakeshare.sqlite.connection import open_reader
from lakeshare.sqlite.errors import DatabaseBusy, translated

T = TypeVar("T")
POOL_THREADS = 2


class Readers:
    """A connection for each thread that reads. Make it after a fork, and close it."""

    def __init__(self, path: Path, threads: int = POOL_THREADS) -> None:
        self._path = path
        self._local = threading.local()
        self._opened: list[apsw.Connection] = []
        self._lock = threading.Lock()
        self._closed = False
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=f"read {path.name}")

    def cursor(self) -> apsw.Cursor:
        """Return the calling thread's cursor: for one statement that is read to its end at once."""
        try:
            return self._local.cursor  # type: ignore[no-any-return]
        except AttributeError:
            return self._open()

    def read(self, query: Callable[[apsw.Cursor], T]) -> T:
        """Run a short query on this thread. Raises DatabaseError."""
        try:
            return query(self.cursor())
        except apsw.Error as error:
            raise translated(error) from error

    def first(self, statement: str, bindings: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Return the first row of a short statement, run on this thread; see the function. Raises DatabaseError."""
        try:
            try:
                cursor = self._local.cursor
            except AttributeError:
                cursor = self._open()
            rows = cursor.execute(statement, bindings).fetchall()
        except apsw.Error as error:
            raise translated(error) from error
        return rows[0] if rows else None

    async def run(self, query: Callable[[apsw.Cursor], T]) -> T:
        """Run a long query in the pool. Raises DatabaseError."""
        if self._closed:
            raise DatabaseBusy("the database is closing")
        return await asyncio.get_running_loop().run_in_executor(self._pool, self.read, query)

    def close(self) -> None:
        """Wait for the queries under way and close every connection."""
        self._closed = True
        self._pool.shutdown()
        with self._lock:
            for connection in self._opened:
                connection.close()
            self._opened.clear()

    def _open(self) -> apsw.Cursor:
        with self._lock:
            if self._closed:
                raise DatabaseBusy("the database is closing")
            connection = open_reader(self._path)
            self._opened.append(connection)
        self._local.cursor = connection.cursor()
        return self._local.cursor  # type: ignore[no-any-return]


def first(cursor: apsw.Cursor, statement: str, bindings: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return the first row of a statement that has few, once it has ended.

    One that is left in its middle keeps its snapshot, and with that the whole log, until the thread reads again.
    """
    rows = cursor.execute(statement, bindings).fetchall()
    return rows[0] if rows else None


@contextmanager
def snapshot(cursor: apsw.Cursor) -> Iterator[apsw.Cursor]:
    """Let every statement in the block see the same commit."""
    cursor.execute("BEGIN")
    try:
        yield cursor
    finally:
        cursor.execute("COMMIT")
