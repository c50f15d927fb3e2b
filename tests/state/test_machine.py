"""Whatever is done in whatever order, each implementation is a dictionary with a counter."""

import asyncio
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from lakeshare.state.export import export_state, import_state
from lakeshare.state.keys import Key, encode_key, is_under
from lakeshare.state.memory import MemoryState
from lakeshare.state.port import (
    Absent,
    Applied,
    Archive,
    At,
    Change,
    Conflict,
    Cursor,
    Delete,
    Empty,
    Exists,
    Expectation,
    FellBehind,
    News,
    Outcome,
    Put,
    Receipt,
    Record,
    Repeated,
    Transaction,
)
from lakeshare.state.sqlite import SqliteState
from tests.state.conftest import Clock

T = TypeVar("T")
FEED_ENTRIES = 6
LIFETIME_SECONDS = 30

parts: st.SearchStrategy[str | bytes] = st.sampled_from(["a", "b", "a\x00", b"a", ""])
keys: st.SearchStrategy[Key] = st.lists(parts, min_size=1, max_size=3).map(tuple)
expectations = st.one_of(
    st.builds(At, keys, st.integers(0, 12)),
    st.builds(Absent, keys),
    st.builds(Exists, keys),
    st.builds(Empty, st.lists(parts, max_size=2).map(tuple)),
)
changes = st.lists(
    st.one_of(st.builds(Put, keys, st.binary(max_size=3)), st.builds(Delete, keys)),
    max_size=4,
    unique_by=lambda change: change.key,
).map(tuple)
receipts = st.none() | st.builds(
    Receipt, st.just("o"), st.sampled_from("xy"), st.just(b"d"), st.binary(max_size=2), st.just(LIFETIME_SECONDS)
)


class Machine(RuleBasedStateMachine):
    """Commits, reads, waits and imports against a plain dictionary."""

    kind: ClassVar[str]
    cursors = Bundle[Cursor]("cursors")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = Clock()
        self.runner = asyncio.Runner()
        self.made = 0
        self.state = self.make()
        self.map: dict[Key, Record] = {}
        self.generation = 0
        self.feed: list[tuple[Change, ...]] = []
        self.kept: dict[str, tuple[int, bytes, float]] = {}

    def make(self) -> Archive:
        self.made += 1
        if self.kind == "memory":
            return MemoryState(clock=self.clock, feed_entries=FEED_ENTRIES)
        path = Path(self.folder.name) / f"{self.made}.db"
        return SqliteState(path, clock=self.clock, feed_entries=FEED_ENTRIES)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(coroutine)

    @initialize(target=cursors)
    def begin(self) -> Cursor:
        return self.run(self.state.newest())

    @rule(target=cursors, expect=st.lists(expectations, max_size=3).map(tuple), changes=changes, receipt=receipts)
    def commit(self, expect: tuple[Expectation, ...], changes: tuple[Change, ...], receipt: Receipt | None) -> Cursor:
        predicted = self.predict(expect, receipt)
        assert self.run(self.state.commit(Transaction(expect, changes, receipt))) == predicted
        if isinstance(predicted, Applied):
            self.apply(changes, receipt)
        return self.run(self.state.newest())

    @rule(target=cursors, data=st.data())
    def swap(self, data: st.DataObject) -> Any:
        """Change a key as it was read, which random generations seldom do."""
        if not self.map:
            return multiple()
        record = self.map[data.draw(st.sampled_from(sorted(self.map, key=encode_key)))]
        return self.commit((At(record.key, record.generation),), (Put(record.key, b"swapped"),), None)

    @rule(wanted=st.lists(keys, max_size=5))
    def get(self, wanted: list[Key]) -> None:
        assert self.run(self.state.get(wanted)) == {key: self.map.get(key) for key in wanted}

    @rule(prefix=st.lists(parts, max_size=2).map(tuple), after=st.none() | keys, limit=st.integers(1, 4))
    def scan(self, prefix: Key, after: Key | None, limit: int) -> None:
        expected = [
            self.map[key]
            for key in sorted(self.map, key=encode_key)
            if is_under(key, prefix) and (after is None or encode_key(key) > encode_key(after))
        ]
        page = self.run(self.state.scan(prefix, after, limit))
        assert list(page.records) == expected[:limit]
        assert page.next_after == (expected[limit - 1].key if len(expected) > limit else None)

    @rule(cursor=cursors, limit=st.integers(1, 8))
    def changes(self, cursor: Cursor, limit: int) -> None:
        now = self.run(self.state.newest())
        answer = self.run(self.state.changes(cursor, limit))
        behind = self.generation - cursor.generation
        if cursor.epoch != now.epoch or behind > min(FEED_ENTRIES, len(self.feed)):
            assert answer == FellBehind(now)
            return
        assert isinstance(answer, News)
        told = [tuple((change.key, change.deleted) for change in commit.changes) for commit in answer.commits]
        missed = self.feed[len(self.feed) - behind :][:limit]
        assert told == [tuple((change.key, isinstance(change, Delete)) for change in entry) for entry in missed]
        assert answer.cursor == Cursor(now.epoch, cursor.generation + len(missed))

    @rule(cursor=consumes(cursors))
    def forget(self, cursor: Cursor) -> None:
        """Let the bundle shrink."""

    @rule(seconds=st.sampled_from([1, 10, LIFETIME_SECONDS]))
    def wait(self, seconds: int) -> None:
        self.clock.move(seconds)

    @rule()
    def carry(self) -> None:
        """Move everything to a new state through an export."""
        fresh = self.make()
        with tempfile.TemporaryFile() as file, tempfile.TemporaryFile() as again:
            self.run(export_state(self.state, file))
            file.seek(0)
            self.run(import_state(fresh, file))
            self.run(export_state(fresh, again))
            file.seek(0)
            again.seek(0)
            assert file.read() == again.read()
        self.run(self.state.close())
        self.state, self.feed = fresh, []

    @rule()
    def reopen(self) -> None:
        if self.kind == "sqlite":
            self.run(self.state.close())
            self.made -= 1
            self.state = self.make()

    @invariant()
    def generation_agrees(self) -> None:
        assert self.run(self.state.newest()).generation == self.generation

    def teardown(self) -> None:
        assert list(self.run(self.state.check())) == []
        self.run(self.state.close())
        self.runner.close()
        self.folder.cleanup()

    def predict(self, expect: tuple[Expectation, ...], receipt: Receipt | None) -> Outcome:
        if receipt is not None and receipt.key in self.kept:
            generation, answer, expires = self.kept[receipt.key]
            if expires > self.clock.now:
                return Repeated(generation, answer)
        failed = tuple(one for one in expect if not self.holds(one))
        return Conflict(failed) if failed else Applied(self.generation + 1)

    def holds(self, expectation: Expectation) -> bool:
        match expectation:
            case At(key, generation):
                return key in self.map and self.map[key].generation == generation
            case Absent(key):
                return key not in self.map
            case Exists(key):
                return key in self.map
            case Empty(prefix):
                return not any(is_under(key, prefix) for key in self.map)

    def apply(self, changes: tuple[Change, ...], receipt: Receipt | None) -> None:
        self.generation += 1
        for change in changes:
            self.map.pop(change.key, None)
            if isinstance(change, Put):
                self.map[change.key] = Record(change.key, change.value, self.generation)
        if receipt is not None:
            self.kept[receipt.key] = self.generation, receipt.answer, self.clock.now + LIFETIME_SECONDS
        self.feed.append(changes)


class MemoryMachine(Machine):
    """The machine over memory."""

    kind = "memory"


class SqliteMachine(Machine):
    """The machine over SQLite."""

    kind = "sqlite"


TestMemory = MemoryMachine.TestCase
TestMemory.__doc__ = "State in memory does what a dictionary with a counter does."
TestMemory.settings = settings(max_examples=60, stateful_step_count=40, deadline=None, derandomize=True)

TestSqlite = SqliteMachine.TestCase
TestSqlite.__doc__ = "State in SQLite does what a dictionary with a counter does."
TestSqlite.settings = settings(
    max_examples=25,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
