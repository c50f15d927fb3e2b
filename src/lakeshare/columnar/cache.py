"""Snapshots that are warm: a few of each table, the least recently used out first, bounded in number and in memory."""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Generic, Protocol, TypeVar

MAX_TABLES = 256
VERSIONS_A_TABLE = 4
MEMORY_BYTES = 512 * 1024**2


class Kept(Protocol):
    """What a cache keeps: a version of a table, and the memory it holds."""

    @property
    def version(self) -> int:
        """Return the version."""
        ...

    @property
    def memory_bytes(self) -> int:
        """Return how much memory it holds."""
        ...


Value = TypeVar("Value", bound=Kept)


class Cache(Generic[Value]):
    """Values of tables, newest use last. Safe to use from several threads."""

    def __init__(self, memory_bytes: int = MEMORY_BYTES) -> None:
        self._memory_bytes = memory_bytes
        self._tables: OrderedDict[str, tuple[Value, ...]] = OrderedDict()
        self._turns: dict[str, Lock] = {}
        self._guard = Lock()

    def of(self, table: str) -> tuple[Value, ...]:
        """Return what is kept of a table, the last used first."""
        with self._guard:
            found = self._tables.get(table, ())
            if found:
                self._tables.move_to_end(table)
            return found

    def keep(self, table: str, value: Value) -> None:
        """Keep a value, in place of any other of its version, and let go of what is too much."""
        with self._guard:
            others = [other for other in self._tables.get(table, ()) if other.version != value.version]
            self._tables[table] = (value, *others[: VERSIONS_A_TABLE - 1])
            self._tables.move_to_end(table)
            while len(self._tables) > 1 and self._too_much():
                gone, _ = self._tables.popitem(last=False)
                self._turns.pop(gone, None)

    def forget(self, table: str) -> None:
        """Let go of a table."""
        with self._guard:
            self._tables.pop(table, None)

    @contextmanager
    def turn(self, table: str) -> Iterator[None]:
        """Let one thread at a time open a table; those that wait find it opened."""
        with self._guard:
            lock = self._turns.setdefault(table, Lock())
        with lock:
            yield

    def _too_much(self) -> bool:
        memory = sum(value.memory_bytes for values in self._tables.values() for value in values)
        return len(self._tables) > MAX_TABLES or memory > self._memory_bytes
