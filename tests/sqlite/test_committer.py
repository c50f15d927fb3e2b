"""Operations share transactions, and nothing else."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from lakeshare.errors import Kind
from lakeshare.sqlite import committer as module
from lakeshare.sqlite.backup import check_database
from lakeshare.sqlite.committer import GroupCommitter
from lakeshare.sqlite.connection import open_reader
from lakeshare.sqlite.errors import DatabaseBusy, DatabaseFailed, DatabaseFull, OutcomeUnknown
from tests.sqlite.conftest import SCHEMA
from tests.sqlite.disk import watched_disk


def insert(name: str) -> Callable[[apsw.Cursor], int]:
    def operation(cursor: apsw.Cursor) -> int:
        cursor.execute("INSERT INTO entries(name) VALUES (?)", (name,))
        return cursor.connection.last_insert_rowid()

    return operation


def names(path: Path) -> list[str]:
    reader = open_reader(path)
    try:
        return [str(row[0]) for row in reader.execute("SELECT name FROM entries ORDER BY id")]
    finally:
        reader.close()


async def test_an_answered_operation_is_visible_to_others(committer: GroupCommitter, path: Path) -> None:
    """What an operation returns comes back once another connection can read what it wrote."""
    assert await committer.run(insert("a")) == 1
    assert names(path) == ["a"]
    assert committer.submit(insert("b")).result() == 2
    assert names(path) == ["a", "b"]


async def test_operations_of_one_turn_share_a_transaction(path: Path) -> None:
    """Everything that tasks hand in during one turn of the loop costs one sync."""
    with watched_disk() as disk:
        shared = GroupCommitter(path, SCHEMA)
        await shared.run(insert("begins the log"))
        disk.log.clear()
        await asyncio.gather(*[shared.run(insert(str(number))) for number in range(50)])
        assert disk.log.count("sync test.db-wal") == 1
        shared.close()
    assert len(names(path)) == 51


async def test_an_answer_comes_after_the_sync(path: Path) -> None:
    """The log is synced after its last write and before the caller hears of it."""
    with watched_disk() as disk:
        committer = GroupCommitter(path, SCHEMA)
        for number in range(5):
            disk.log.clear()
            await committer.run(insert(str(number)))
            assert disk.log[0] == "write test.db-wal"
            assert disk.log[-1] == "sync test.db-wal"
        committer.close()


async def test_what_an_operation_raises_undoes_it_alone(committer: GroupCommitter, path: Path) -> None:
    """One operation of a batch fails after it wrote, and its neighbours are there without it."""

    def fail(cursor: apsw.Cursor) -> None:
        insert("half")(cursor)
        raise LookupError("no")

    outcomes = await asyncio.gather(
        committer.run(insert("a")), committer.run(fail), committer.run(insert("b")), return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes] == [int, LookupError, int]
    assert names(path) == ["a", "b"]


async def test_what_sqlite_refuses_undoes_it_alone(committer: GroupCommitter, path: Path) -> None:
    """A broken constraint reaches its caller in our words, and the rest of the batch is stored."""
    outcomes = await asyncio.gather(
        committer.run(insert("a")), committer.run(insert("a")), committer.run(insert("b")), return_exceptions=True
    )
    assert isinstance(outcomes[1], DatabaseFailed)
    assert names(path) == ["a", "b"]


async def test_a_cancelled_caller_disturbs_nobody(committer: GroupCommitter, path: Path) -> None:
    """A caller that leaves takes nothing from the others."""
    leaving = asyncio.create_task(committer.run(insert("left")))
    staying = asyncio.create_task(committer.run(insert("stayed")))
    await asyncio.sleep(0)
    leaving.cancel()
    assert await staying in (1, 2)
    assert "stayed" in names(path)


async def test_two_committers_take_turns(path: Path) -> None:
    """Two writers of one file, as of two processes, lose nothing and wait for each other."""
    first, second = GroupCommitter(path, SCHEMA), GroupCommitter(path, SCHEMA)

    async def fill(committer: GroupCommitter, mark: str) -> None:
        for number in range(100):
            await committer.run(insert(f"{mark}{number}"))

    await asyncio.gather(
        *[fill(one, f"{mark}{task}-") for one, mark in ((first, "a"), (second, "b")) for task in "xyz"]
    )
    assert len(names(path)) == 600
    first.close()
    second.close()


async def test_the_log_is_folded_in_as_it_grows(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints keep the log short while commits go on."""
    monkeypatch.setattr(module, "CHECKPOINT_PAGES", 20)
    committer = GroupCommitter(path, SCHEMA)
    for number in range(200):
        await committer.run(insert(str(number)))
    assert path.with_name("test.db-wal").stat().st_size < 40 * 4096
    assert len(names(path)) == 200
    committer.close()


async def test_a_reader_in_the_way_only_puts_a_checkpoint_off(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits go on past a reader that holds an old snapshot, which still sees it; later the log shrinks again."""
    monkeypatch.setattr(module, "CHECKPOINT_PAGES", 5)
    monkeypatch.setattr(module, "TRUNCATE_PAGES", 40)
    monkeypatch.setattr(module, "TRUNCATE_WAIT_MS", 1)
    committer = GroupCommitter(path, SCHEMA)
    await committer.run(insert("first"))
    reader = open_reader(path)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM entries").get == 1
    for number in range(60):
        await committer.run(insert(str(number)))
    assert reader.execute("SELECT count(*) FROM entries").get == 1
    grown = path.with_name("test.db-wal").stat().st_size
    reader.execute("COMMIT")
    reader.close()
    for number in range(60, 120):
        await committer.run(insert(str(number)))
    assert path.with_name("test.db-wal").stat().st_size < grown
    assert len(names(path)) == 121
    committer.close()


async def test_a_closed_committer_refuses(committer: GroupCommitter, path: Path) -> None:
    """Closing finishes what was handed in, folds the log in, and refuses what comes after; twice is once."""
    waiting = committer.submit(insert("a"))
    committer.close()
    committer.close()
    assert waiting.result() == 1
    assert path.with_name("test.db-wal").stat().st_size == 0
    with pytest.raises(DatabaseBusy) as caught:
        await committer.run(insert("b"))
    assert caught.value.kind is Kind.UNAVAILABLE
    with pytest.raises(DatabaseBusy):
        committer.submit(insert("c")).result()
    assert names(path) == ["a"]


async def test_a_full_disk_stores_nothing_and_heals(path: Path) -> None:
    """When the log cannot be written every caller of the batch is told so, and later operations succeed."""
    with watched_disk() as disk:
        committer = GroupCommitter(path, SCHEMA)
        await committer.run(insert("before"))
        disk.failing, disk.failing_on = apsw.FullError, "write"
        outcomes = await asyncio.gather(committer.run(insert("a")), committer.run(insert("b")), return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [DatabaseFull, DatabaseFull]
        disk.failing = None
        await committer.run(insert("after"))
        assert names(path) == ["before", "after"]
        committer.close()


async def test_a_failed_sync_leaves_the_outcome_unknown(path: Path) -> None:
    """When the log cannot be synced nobody is told that the commit failed, nor that it was made; the file is sound."""
    with watched_disk() as disk:
        committer = GroupCommitter(path, SCHEMA)
        await committer.run(insert("before"))
        disk.failing = apsw.IOError
        with pytest.raises(OutcomeUnknown):
            await committer.run(insert("perhaps"))
        disk.failing = None
        await committer.run(insert("after"))
        assert [name for name in names(path) if name != "perhaps"] == ["before", "after"]
        committer.close()
    assert check_database(path) == ()


def test_threads_and_loops_share_one_committer(committer: GroupCommitter, path: Path) -> None:
    """Loops of several threads, one after another and together, each get their own answers."""

    def work(mark: str) -> None:
        async def fill() -> None:
            await asyncio.gather(*[committer.run(insert(f"{mark}{number}")) for number in range(20)])

        asyncio.run(fill())
        asyncio.run(committer.run(insert(f"{mark} again")))

    threads = [threading.Thread(target=work, args=(mark,)) for mark in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(names(path)) == 63
