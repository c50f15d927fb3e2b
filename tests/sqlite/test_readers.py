"""Readers see the newest commit, or one moment for as long as they ask."""

import stat
import threading
from pathlib import Path

import apsw
import pytest

from lakeshare.sqlite.backup import check_database, copy_database
from lakeshare.sqlite.committer import GroupCommitter
from lakeshare.sqlite.errors import DatabaseBusy, DatabaseFailed, WrongDatabase
from lakeshare.sqlite.readers import Readers, snapshot
from tests.sqlite.test_committer import insert, names


def count(cursor: apsw.Cursor) -> object:
    return cursor.execute("SELECT count(*) FROM entries").get


async def test_each_read_sees_the_newest_commit(committer: GroupCommitter, path: Path) -> None:
    """A read on this thread and one in the pool both see what was answered just before."""
    readers = Readers(path)
    for number in range(10):
        await committer.run(insert(str(number)))
        assert readers.read(count) == number + 1
        assert await readers.run(count) == number + 1
    readers.close()


async def test_a_snapshot_stands_still(committer: GroupCommitter, path: Path) -> None:
    """Statements in a snapshot see one moment, and the next read sees the newest again."""
    readers = Readers(path)
    await committer.run(insert("a"))
    with snapshot(readers.cursor()) as cursor:
        assert count(cursor) == 1
        await committer.run(insert("b"))
        assert count(cursor) == 1
    assert readers.read(count) == 2
    readers.close()


async def test_errors_come_in_our_words(committer: GroupCommitter, path: Path) -> None:
    """What SQLite refuses is a DatabaseError on every path."""
    readers = Readers(path)
    with pytest.raises(DatabaseFailed):
        readers.read(lambda cursor: cursor.execute("SELECT * FROM nothing"))
    with pytest.raises(DatabaseFailed):
        await readers.run(lambda cursor: cursor.execute("SELECT * FROM nothing"))
    readers.close()


async def test_closed_readers_refuse(committer: GroupCommitter, path: Path) -> None:
    """After closing, a thread that has not read before is refused, and so is the pool."""
    readers = Readers(path)
    readers.close()
    with pytest.raises(DatabaseBusy):
        readers.read(count)
    with pytest.raises(DatabaseBusy):
        await readers.run(count)


async def test_a_copy_is_one_moment_while_writers_go_on(committer: GroupCommitter, path: Path) -> None:
    """A copy made during commits is sound, holds a first part of them without a gap, and stops nobody."""
    await committer.run(insert("0"))
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            committer.submit(insert(str(number))).result()

    writer = threading.Thread(target=write)
    writer.start()
    copies = [path.with_name(f"copy{number}.db") for number in range(5)]
    for copy in copies:
        copy_database(path, copy)
    stop.set()
    writer.join()
    for copy in copies:
        assert check_database(copy) == ()
        found = names(copy)
        assert found == [str(number) for number in range(len(found))]
    assert len(names(copies[-1])) >= len(names(copies[0])) >= 1


async def test_only_the_owner_may_read_the_files(committer: GroupCommitter, path: Path) -> None:
    """The database, its log and a copy are closed to everybody else."""
    await committer.run(insert("a"))
    copy_database(path, path.with_name("copy.db"))
    for file in path.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0, file.name


def test_a_copy_overwrites_nothing(committer: GroupCommitter, path: Path) -> None:
    """A target that exists is refused and left as it was."""
    target = path.with_name("precious")
    target.write_text("precious")
    with pytest.raises(WrongDatabase):
        copy_database(path, target)
    assert target.read_text() == "precious"


async def test_damage_is_found(committer: GroupCommitter, path: Path) -> None:
    """Bytes changed behind SQLite's back show in the check."""
    for number in range(500):
        committer.submit(insert(f"{number:050}"))
    committer.close()
    damaged = bytearray(path.read_bytes())
    damaged[8192:12288] = bytes(4096)
    path.write_bytes(damaged)
    try:
        found = check_database(path)
    except DatabaseFailed as error:
        found = (str(error),)
    assert found
