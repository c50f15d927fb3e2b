"""What state in SQLite promises beyond the port: workers share it, and the disk may fail."""

import asyncio
import contextlib
import multiprocessing
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import apsw
import pytest

from lakeshare.errors import Kind
from lakeshare.state.errors import StateFull, StateUnavailable, StateUnknown, StateUnusable
from lakeshare.state.limits import MAX_PAGE_ROWS
from lakeshare.state.port import Absent, Applied, At, Conflict, Cursor, News, Put, Transaction
from lakeshare.state.sql import FORGET_EVERY
from lakeshare.state.sqlite import SqliteState, backup
from tests.sqlite.disk import watched_disk


def put(*parts: str, value: bytes = b"v") -> Transaction:
    return Transaction(changes=(Put(parts, value),))


def _other_worker(path: Path, orders: Connection) -> None:
    """Commit what the first worker orders, in a process of its own."""

    async def serve() -> None:
        state = SqliteState(path)
        while (transaction := orders.recv()) is not None:
            orders.send(await state.commit(transaction))
        await state.close()

    asyncio.run(serve())


@pytest.fixture
def other_worker(tmp_path: Path) -> Iterator[Connection]:
    """A second process with the same state open: send it a transaction, receive the outcome."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_other_worker, args=(tmp_path / "state.db", theirs))
    process.start()
    yield ours
    ours.send(None)
    process.join()
    process.close()
    ours.close()
    theirs.close()


async def test_another_workers_commit_is_seen_by_the_next_read(tmp_path: Path, other_worker: Connection) -> None:
    """Every way of reading sees what another process committed a moment ago, and an expectation meets it."""
    state = SqliteState(tmp_path / "state.db")
    begin = await state.newest()
    for number in range(1, 6):
        other_worker.send(put("n", str(number)))
        assert other_worker.recv() == Applied(number)
        assert (await state.get([("n", str(number))]))[("n", str(number))] is not None
        assert len((await state.scan(("n",))).records) == number
        assert len((await state.scan(("n",), None, 10)).records) == number
        assert (await state.newest()).generation == number
        news = await state.changes(begin)
        assert isinstance(news, News)
        assert len(news.commits) == number
    assert isinstance(await state.commit(Transaction((Absent(("n", "5")),))), Conflict)
    assert await state.commit(Transaction((At(("n", "5"), 5),), (Put(("n", "5"), b""),))) == Applied(6)
    await state.close()


async def test_reads_go_on_while_another_worker_is_inside_a_commit(tmp_path: Path) -> None:
    """A writer that holds the database blocks no reader, and readers see what was before it."""
    state = SqliteState(tmp_path / "state.db")
    await state.commit(put("a"))
    writer = apsw.Connection(str(tmp_path / "state.db"))
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("DELETE FROM records")
    assert (await state.get([("a",)]))[("a",)] is not None
    assert len((await state.scan((), None, MAX_PAGE_ROWS)).records) == 1
    assert (await state.newest()).generation == 1
    writer.execute("ROLLBACK")
    writer.close()
    await state.close()


async def test_no_read_leaves_a_snapshot_open(tmp_path: Path) -> None:
    """After each way of reading the log can start over, so that it does not grow behind an idle reader."""
    state = SqliteState(tmp_path / "state.db")
    for number in range(20):
        await state.commit(put("n", str(number)))
    await state.get([("n", "1")])
    await state.get([("n", "1"), ("n", "2"), ("none",)])
    await state.scan(("n",), None, 3)
    await state.scan(("n",), None, 300)
    await state.receipt("o", "k")
    await state.changes(await state.newest(), 3)
    await state.changes(Cursor("other", 1), 300)
    await state.check()
    async with contextlib.aclosing(state.dump()) as dump:
        await anext(dump)
    checker = apsw.Connection(str(tmp_path / "state.db"))
    checker.execute("SELECT count(*) FROM records").fetchall()
    assert checker.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE) == (0, 0)
    checker.close()
    await state.close()


async def test_the_pulse_tells_of_commits_by_others(tmp_path: Path) -> None:
    """A commit through one opening of state changes the pulse of every other before it is answered."""
    mine, other = SqliteState(tmp_path / "state.db"), SqliteState(tmp_path / "state.db")
    before = mine.pulse()
    await other.commit(put("a"))
    assert mine.pulse() == other.pulse() != before
    await mine.close()
    await other.close()


async def test_state_is_there_after_it_was_closed(tmp_path: Path) -> None:
    """A state opened again is what it was, down to its place in history."""
    first = SqliteState(tmp_path / "state.db")
    await first.commit(put("a"))
    place = await first.newest()
    await first.close()
    second = SqliteState(tmp_path / "state.db")
    assert await second.newest() == place
    assert (await second.get([("a",)]))[("a",)] is not None
    await second.close()


async def test_the_feed_takes_no_more_room_than_its_bound(tmp_path: Path) -> None:
    """Rows of forgotten commits are removed as commits go on."""
    state = SqliteState(tmp_path / "state.db", feed_entries=10)
    for _ in range(3 * FORGET_EVERY):
        await state.commit(put("a"))
    await state.close()
    reader = apsw.Connection(str(tmp_path / "state.db"))
    assert reader.execute("SELECT count(*), max(generation) FROM commits").get == (10, 3 * FORGET_EVERY)
    reader.close()


async def test_a_closed_state_is_unavailable(tmp_path: Path) -> None:
    """What comes after closing is refused as unavailable."""
    state = SqliteState(tmp_path / "state.db")
    await state.close()
    for asking in (state.commit(put("a")), state.get([("a",)]), state.scan(())):
        with pytest.raises(StateUnavailable) as caught:
            await asking
        assert caught.value.kind is Kind.UNAVAILABLE


async def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    """A file that is no state is an error of ours, which names it."""
    (tmp_path / "state.db").write_bytes(b"other" * 1000)
    with pytest.raises(StateUnusable, match=r"state\.db"):
        SqliteState(tmp_path / "state.db")


async def test_a_full_disk_is_said(tmp_path: Path) -> None:
    """A commit that finds no space changes nothing, reads go on, and so do commits once there is space."""
    with watched_disk() as disk:
        state = SqliteState(tmp_path / "state.db")
        await state.commit(put("a"))
        disk.failing, disk.failing_on = apsw.FullError, "write"
        with pytest.raises(StateFull) as caught:
            await state.commit(put("b"))
        assert caught.value.kind is Kind.FULL
        assert (await state.get([("a",)]))[("a",)] is not None
        disk.failing = None
        assert await state.commit(put("b")) == Applied(2)
        await state.close()


async def test_a_failed_sync_is_said_to_be_unknown(tmp_path: Path) -> None:
    """A commit whose sync failed may be there later, and the caller is told exactly that."""
    with watched_disk() as disk:
        state = SqliteState(tmp_path / "state.db")
        await state.commit(put("a"))
        disk.failing = apsw.IOError
        with pytest.raises(StateUnknown):
            await state.commit(put("b"))
        disk.failing = None
        assert isinstance(await state.commit(put("c")), Applied)
        assert list(await state.check()) == []
        await state.close()


async def test_a_backup_is_taken_from_a_running_state(tmp_path: Path) -> None:
    """A copy made while commits go on opens as a sound state of one moment, with an epoch of its own."""
    state = SqliteState(tmp_path / "state.db")
    await state.commit(put("n", "0"))

    async def keep_writing() -> None:
        for number in range(1, 300):
            pair = (Put(("n", str(number)), b""), Put(("m", str(number)), b""))
            await state.commit(Transaction(changes=pair))

    writing = asyncio.create_task(keep_writing())
    await asyncio.to_thread(backup, tmp_path / "state.db", tmp_path / "copy.db")
    await writing
    copy = SqliteState(tmp_path / "copy.db")
    place = await copy.newest()
    assert place.epoch != (await state.newest()).epoch
    assert list(await copy.check()) == []
    assert len((await copy.scan(("n",))).records) == place.generation
    assert len((await copy.scan(("m",))).records) == place.generation - 1
    await copy.close()
    await state.close()


async def test_a_backup_overwrites_nothing(tmp_path: Path) -> None:
    """A target that exists is refused."""
    await SqliteState(tmp_path / "state.db").close()
    (tmp_path / "copy.db").write_text("precious")
    with pytest.raises(StateUnusable):
        backup(tmp_path / "state.db", tmp_path / "copy.db")


async def test_faults_in_the_file_are_found(tmp_path: Path) -> None:
    """Rows that no commit can have written are named."""
    state = SqliteState(tmp_path / "state.db")
    for number in range(4):
        await state.commit(put("n", str(number)))
    tamper = apsw.Connection(str(tmp_path / "state.db"))
    tamper.execute("UPDATE records SET generation = 99 WHERE generation = 2")
    tamper.execute("DELETE FROM commits WHERE generation = 3")
    tamper.close()
    found = list(await state.check())
    assert len(found) == 2
    assert "'n', '1'" in found[0]
    await state.close()
