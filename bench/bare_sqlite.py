"""What SQLite does with nothing of ours around it: the measure that state is held against.

The same library and durability (WAL, synchronous=FULL), one table of keys with generations, and the shortest group
commit that can be written: no receipts, no change feed, no other process, no limits.
"""

import asyncio
import queue
import threading
from concurrent.futures import Future
from pathlib import Path

import apsw

SWAP = "UPDATE kv SET gen = gen + 1, v = ? WHERE k = ? AND gen = ?"
READ = "SELECT gen, v FROM kv WHERE k = ?"
MAX_BATCH = 256


class BareSqlite:
    """A table and one writer thread."""

    def __init__(self, path: Path, keys: list[bytes], value: bytes) -> None:
        self.connection = apsw.Connection(str(path))
        self.connection.pragma("journal_mode", "wal")
        self.connection.pragma("synchronous", "full")
        self.connection.execute(
            "CREATE TABLE kv(k BLOB PRIMARY KEY, gen INTEGER NOT NULL, v BLOB NOT NULL) WITHOUT ROWID"
        )
        with self.connection:
            self.connection.executemany("INSERT INTO kv VALUES (?, 1, ?)", [(key, value) for key in keys])
        self.reader = apsw.Connection(str(path)).cursor()
        self._queue: queue.SimpleQueue[tuple[tuple[bytes, bytes, int], Future[bool]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def swap(self, value: bytes, key: bytes, generation: int) -> "Future[bool]":
        """Queue one compare-and-swap."""
        future: Future[bool] = Future()
        self._queue.put(((value, key, generation), future))
        return future

    async def swap_from_loop(self, value: bytes, key: bytes, generation: int) -> bool:
        """Do one compare-and-swap and wait for it on an event loop."""
        return await asyncio.wrap_future(self.swap(value, key, generation))

    def read(self, key: bytes) -> object:
        """Read one key."""
        return self.reader.execute(READ, (key,)).fetchall()

    def close(self) -> None:
        """End the writer."""
        self._queue.put(None)
        self._thread.join()
        self.reader.connection.close()
        self.connection.close()

    def _serve(self) -> None:
        cursor = self.connection.cursor()
        while (first := self._queue.get()) is not None:
            batch = [first]
            while len(batch) < MAX_BATCH and not self._queue.empty():
                if (more := self._queue.get()) is None:
                    self._queue.put(None)
                    break
                batch.append(more)
            cursor.execute("BEGIN IMMEDIATE")
            swapped = []
            for bindings, _ in batch:
                cursor.execute(SWAP, bindings)
                swapped.append(self.connection.changes() == 1)
            cursor.execute("COMMIT")
            for (_, future), done in zip(batch, swapped, strict=True):
                future.set_result(done)
