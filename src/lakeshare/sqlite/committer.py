"""Group commit: operations of many callers share one transaction and one sync.

Laws:

- An operation is a callable on a cursor. It runs in a savepoint of its own: what it raises reaches its caller alone,
  and undoes it alone.
- A caller gets an answer only once its operation is durable and visible to every process, or will never be.
- One thread of one process writes at a time; checkpoints happen in the same turn, so they race with no writer.
- Operations run in the order they were handed in, but never before those of a process that waited longer.
"""

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import apsw

from lakeshare.sqlite.errors import DatabaseBusy, DatabaseError, translated
from lakeshare.sqlite.filesystem import refuse_network
from lakeshare.sqlite.schema import Schema, open_writer
from lakeshare.sqlite.turnstile import Turnstile

MAX_BATCH = 256
"""Operations in one transaction: bounds how long the other processes wait."""

CHECKPOINT_PAGES = 1_000
"""Pages in the log after which they are copied into the database."""

TRUNCATE_PAGES = 16_000
"""Pages in the log after which readers are waited for, briefly, so that it starts over."""

TRUNCATE_WAIT_MS = 50
CLOSE_TIMEOUT_SECONDS = 30.0

T = TypeVar("T")
Operation = Callable[[apsw.Cursor], T]


@dataclass(slots=True)
class _Waiting:
    """One operation, the future that waits for it, and what it came to."""

    operation: Operation[Any]
    future: "Future[Any] | asyncio.Future[Any]"
    result: Any = None
    error: Exception | None = None

    def settle(self) -> None:
        """Answer the caller, if it still waits."""
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


@dataclass(slots=True)
class _Inbox:
    """The operations that one event loop hands in during one turn, so that they share a transaction."""

    loop: asyncio.AbstractEventLoop
    waiting: list[_Waiting] = field(default_factory=list)


class GroupCommitter:
    """The one writer of this process to one database. Make it after a fork, and close it."""

    def __init__(
        self,
        path: Path,
        schema: Schema,
        committed: Callable[[], None] | None = None,
        committing: Callable[[], None] | None = None,
    ) -> None:
        """Open a database; `committed` is called after each commit, before anyone is told of it.

        `committing` is called before anyone can see it.
        """
        refuse_network(path.parent)
        with contextlib.ExitStack() as undo:
            self._turnstile = Turnstile(path)
            undo.callback(self._turnstile.close)
            with self._turnstile:
                self._connection = open_writer(path, schema)
            undo.pop_all()
        self._cursor = self._connection.cursor()
        self._connection.set_wal_hook(self._note_pages)
        self._committed = committed
        self._committing = committing
        self._pages = 0
        self._checkpoint_at = CHECKPOINT_PAGES
        self.batches = 0
        """Transactions so far."""
        self.operations = 0
        """Operations that they carried."""
        self._queue: deque[_Waiting] = deque()
        self._wake = threading.Condition()
        self._closed = False
        self._inboxes = threading.local()
        self._thread = threading.Thread(target=self._serve, name=f"commit {path.name}", daemon=True)
        self._thread.start()

    async def run(self, operation: Operation[T]) -> T:
        """Run an operation and wait until it is durable. A caller that is cancelled may still have its way."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        inbox: _Inbox | None = getattr(self._inboxes, "of_loop", None)
        if inbox is None or inbox.loop is not loop:
            inbox = self._inboxes.of_loop = _Inbox(loop)
        if not inbox.waiting:
            loop.call_soon(self._hand_in, inbox)
        inbox.waiting.append(_Waiting(operation, future))
        return await future

    def submit(self, operation: Operation[T]) -> "Future[T]":
        """Hand in an operation from any thread."""
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()
        self._enqueue((_Waiting(operation, future),))
        return future

    def close(self) -> None:
        """Finish what was handed in, fold the log into the database and let go of the file."""
        with self._wake:
            if self._closed:
                return
            self._closed = True
            self._wake.notify()
        self._thread.join(CLOSE_TIMEOUT_SECONDS)
        _refuse(self._take())

    def _hand_in(self, inbox: _Inbox) -> None:
        waiting, inbox.waiting = inbox.waiting, []
        self._enqueue(waiting)

    def _enqueue(self, waiting: Sequence[_Waiting]) -> None:
        with self._wake:
            if not self._closed:
                self._queue.extend(waiting)
                self._wake.notify()
                return
        _refuse(waiting)

    def _serve(self) -> None:
        """Write until closed and empty: the body of the thread."""
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._queue or self._closed)
                if not self._queue:
                    break
            with self._turnstile:
                batch = self._take()
                self.batches += 1
                self.operations += len(batch)
                self._transact(batch)
                if self._committed is not None:
                    self._committed()
                _settle_all(batch)
                self._checkpoint_if_due()
        self._finish()

    def _take(self) -> list[_Waiting]:
        """Take what has arrived, as late as possible, so that a batch is as large as the wait made it."""
        with self._wake:
            return [self._queue.popleft() for _ in range(min(len(self._queue), MAX_BATCH))]

    def _transact(self, batch: Sequence[_Waiting]) -> None:
        committing = False
        try:
            self._cursor.execute("BEGIN IMMEDIATE")
            for one in batch:
                self._attempt(one)
            committing = True
            if self._committing is not None:
                self._committing()
            self._cursor.execute("COMMIT")
        except apsw.Error as error:
            failure = translated(error, committing=committing)
            failure.__cause__ = error
            self._abandon(batch, failure)

    def _attempt(self, one: _Waiting) -> None:
        """Run one operation in its savepoint. Raises only when SQLite has ended the whole transaction."""
        cursor = self._cursor
        cursor.execute("SAVEPOINT one")
        try:
            one.result = one.operation(cursor)
        except Exception as error:  # what an operation raises belongs to its caller, not to this thread
            if isinstance(error, apsw.Error):
                if not self._connection.in_transaction:
                    raise
                one.error = translated(error)
                one.error.__cause__ = error
            else:
                one.error = error
            cursor.execute("ROLLBACK TO one")
        cursor.execute("RELEASE one")

    def _abandon(self, batch: Sequence[_Waiting], failure: DatabaseError) -> None:
        with contextlib.suppress(apsw.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        for one in batch:
            # What one operation was told may rest on another of the batch, which has not happened.
            one.result, one.error = None, failure

    def _note_pages(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        if pages < self._pages:
            self._checkpoint_at = CHECKPOINT_PAGES
        self._pages = pages
        return apsw.SQLITE_OK

    def _checkpoint_if_due(self) -> None:
        """Copy the log into the database once it has grown enough; a reader in the way only puts it off."""
        if self._pages < self._checkpoint_at:
            return
        self._checkpoint_at = self._pages + CHECKPOINT_PAGES
        self._checkpoint(truncate=self._pages >= TRUNCATE_PAGES)

    def _checkpoint(self, *, truncate: bool) -> None:
        mode = apsw.SQLITE_CHECKPOINT_TRUNCATE if truncate else apsw.SQLITE_CHECKPOINT_PASSIVE
        timeout = self._connection.pragma("busy_timeout")
        self._connection.set_busy_timeout(TRUNCATE_WAIT_MS)
        try:
            self._connection.wal_checkpoint(mode=mode)
        except apsw.Error:
            # Nothing is lost: the log keeps what could not be copied, and the next checkpoint tries again.
            return
        finally:
            self._connection.set_busy_timeout(timeout)

    def _finish(self) -> None:
        with self._turnstile:
            self._checkpoint(truncate=True)
            self._connection.close()
        self._turnstile.close()


def _refuse(waiting: Sequence[_Waiting]) -> None:
    for one in waiting:
        one.error = DatabaseBusy("the database is closing")
    _settle_all(waiting)


def _settle_all(batch: Sequence[_Waiting]) -> None:
    """Answer every caller; those of one event loop in one wake-up."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Waiting]] = {}
    for one in batch:
        if isinstance(one.future, asyncio.Future):
            by_loop.setdefault(one.future.get_loop(), []).append(one)
        else:
            one.settle()
    for loop, waiting in by_loop.items():
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_settle_here, waiting)


def _settle_here(waiting: Sequence[_Waiting]) -> None:
    for one in waiting:
        one.settle()
