"""State in one SQLite file that all workers of a machine share.

Commits go through the process's group committer; point reads run at once on the calling thread, long ones in a pool.
Every read is a statement or a snapshot of its own, so it sees the newest commit of every process.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

import apsw

from lakeshare.sqlite import errors as database
from lakeshare.sqlite.backup import check_database, copy_database
from lakeshare.sqlite.committer import GroupCommitter
from lakeshare.sqlite.connection import open_reader
from lakeshare.sqlite.pulse import Pulse
from lakeshare.sqlite.readers import Readers
from lakeshare.state import limits, sql
from lakeshare.state.errors import StateError, StateFailed, StateFull, StateUnavailable, StateUnknown, StateUnusable
from lakeshare.state.keys import Key
from lakeshare.state.port import Cursor, Fact, FellBehind, KeptReceipt, News, Outcome, Page, Record, Transaction
from lakeshare.state.prepared import check_page, prepare, within

T = TypeVar("T")

INLINE_ROWS = 64
"""Pages up to this size are read on the event loop: handing them to a thread takes longer than reading them."""


class SqliteState:
    """An Archive in a file. Each worker process opens its own, after it was forked."""

    def __init__(
        self, path: Path, *, clock: Callable[[], float] = time.time, feed_entries: int = limits.FEED_ENTRIES
    ) -> None:
        self._path = path
        self._clock = clock
        self._feed_entries = feed_entries
        try:
            self._committer = GroupCommitter(path, sql.SCHEMA, self._beat)
        except database.DatabaseError as error:
            raise _translated(error) from error
        self._pulse = Pulse(path)
        self._readers = Readers(path)

    @property
    def batches(self) -> tuple[int, int]:
        """Return the transactions of this process so far, and the commits that they carried."""
        return self._committer.batches, self._committer.operations

    async def get(self, keys: Sequence[Key]) -> Mapping[Key, Record | None]:
        """Return the records of keys at one moment, read at once."""
        if len(keys) > limits.MAX_GET_KEYS:
            within("keys read at once", len(keys), limits.MAX_GET_KEYS)
        return self._read(lambda cursor: sql.get(cursor, keys))

    async def scan(self, prefix: Key, after: Key | None = None, limit: int = limits.MAX_PAGE_ROWS) -> Page:
        """Return one page of the records under a prefix; a long one is read in the pool."""
        check_page(limit)
        query = partial(sql.scan, prefix=prefix, after=after, limit=limit)
        return self._read(query) if limit <= INLINE_ROWS else await self._read_long(query)

    async def commit(self, transaction: Transaction) -> Outcome:
        """Check and apply a transaction, together with others that wait."""
        prepared = prepare(transaction)
        now_ms, feed_entries = self._now_ms(), self._feed_entries
        return await self._write(lambda cursor: sql.commit(cursor, prepared, now_ms, feed_entries))

    async def receipt(self, owner: str, key: str) -> KeptReceipt | None:
        """Return a receipt that is kept and has not expired."""
        return self._read(lambda cursor: sql.receipt(cursor, owner, key, self._now_ms()))

    async def newest(self) -> Cursor:
        """Return the place of the newest commit, read at once."""
        return self._read(sql.newest)

    def pulse(self) -> int:
        """Return a number that every commit of any process changes before it is answered."""
        return self._pulse.value

    async def changes(self, cursor: Cursor, limit: int = limits.MAX_PAGE_ROWS) -> News | FellBehind:
        """Return the commits after a cursor; a long page is read in the pool."""
        check_page(limit)
        query = partial(sql.changes, place=cursor, limit=limit, feed_entries=self._feed_entries)
        return self._read(query) if limit <= INLINE_ROWS else await self._read_long(query)

    async def close(self) -> None:
        """Finish the commits under way, fold the log into the file and close it."""
        await asyncio.to_thread(self._close)

    async def dump(self) -> AsyncGenerator[Sequence[Fact], None]:
        """Yield all facts in one snapshot, on a connection of its own."""
        with closing(open_reader(self._path)) as connection, closing(sql.dump(connection, self._now_ms())) as facts:
            while run := await self._read_long(lambda _cursor: list(islice(facts, limits.MAX_PAGE_ROWS))):
                yield run

    async def load(self, facts: Iterable[Fact], *, replace: bool = False) -> None:
        """Take all facts in one transaction; commits of others wait meanwhile."""
        await self._write(lambda cursor: sql.load(cursor, facts, replace=replace))

    async def check(self) -> Sequence[str]:
        """Return what SQLite and our own rules find wrong."""

        def search(cursor: apsw.Cursor) -> Sequence[str]:
            return *check_database(self._path), *sql.faults(cursor)

        return await self._read_long(search)

    def _now_ms(self) -> int:
        return int(self._clock() * sql.MILLISECONDS)

    def _read(self, query: Callable[[apsw.Cursor], T]) -> T:
        try:
            return self._readers.read(query)
        except database.DatabaseError as error:
            raise _translated(error) from error

    async def _read_long(self, query: Callable[[apsw.Cursor], T]) -> T:
        try:
            return await self._readers.run(query)
        except database.DatabaseError as error:
            raise _translated(error) from error

    async def _write(self, operation: Callable[[apsw.Cursor], T]) -> T:
        try:
            return await self._committer.run(operation)
        except database.DatabaseError as error:
            raise _translated(error) from error

    def _beat(self) -> None:
        self._pulse.beat()

    def _close(self) -> None:
        self._committer.close()
        self._readers.close()
        self._pulse.close()


def backup(source: Path, target: Path) -> None:
    """Copy the state of a running server to a new file, which begins an epoch of its own.

    Blocks for as long as the copy takes; commits and reads go on meanwhile. Raises StateError.
    """
    try:
        copy_database(source, target)
        with closing(apsw.Connection(str(target))) as connection:
            sql.renew_epoch(connection.cursor())
    except database.DatabaseError as error:
        raise _translated(error) from error


def _translated(error: database.DatabaseError) -> StateError:
    message = f"state: {error}"
    match error:
        case database.DatabaseFull():
            return StateFull(message)
        case database.DatabaseBusy():
            return StateUnavailable(message)
        case database.OutcomeUnknown():
            return StateUnknown(message)
        case database.DatabaseFailed():
            return StateFailed(message)
        case _:
            return StateUnusable(message)
