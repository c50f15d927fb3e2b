"""A database is brought to the newest version, once, and one that is not ours is left alone."""

from pathlib import Path

import apsw
import pytest

from lakeshare.sqlite.committer import GroupCommitter
from lakeshare.sqlite.errors import DatabaseFailed, SchemaTooNew, WrongDatabase
from lakeshare.sqlite.schema import Schema, open_writer
from tests.sqlite.conftest import SCHEMA

SECOND = Schema(
    SCHEMA.application_id, (*SCHEMA.steps, "ALTER TABLE entries ADD COLUMN size INTEGER NOT NULL DEFAULT 0")
)


def test_an_old_database_is_upgraded_with_its_rows(path: Path) -> None:
    """Steps that are missing are applied, and what was stored stays."""
    first = GroupCommitter(path, SCHEMA)
    first.submit(lambda cursor: cursor.execute("INSERT INTO entries(name) VALUES ('kept')")).result()
    first.close()
    second = GroupCommitter(path, SECOND)
    rows = second.submit(lambda cursor: cursor.execute("SELECT name, size FROM entries").fetchall()).result()
    assert rows == [("kept", 0)]
    second.close()


def test_a_newer_database_is_refused(path: Path) -> None:
    """A release that does not know the schema does not touch the file."""
    GroupCommitter(path, SECOND).close()
    with pytest.raises(SchemaTooNew):
        GroupCommitter(path, SCHEMA)


def test_a_failing_step_leaves_the_old_version(path: Path) -> None:
    """An upgrade is all or nothing."""
    GroupCommitter(path, SCHEMA).close()
    broken = Schema(SCHEMA.application_id, (*SCHEMA.steps, "CREATE TABLE more(id)", "no SQL at all"))
    with pytest.raises(DatabaseFailed):
        GroupCommitter(path, broken)
    connection = open_writer(path, SCHEMA)
    assert not connection.table_exists(None, "more")
    connection.close()


def test_a_database_of_another_kind_is_refused(path: Path) -> None:
    """Another application's database is not taken over, nor is one without a mark that holds something."""
    GroupCommitter(path, Schema(0x07E4, SCHEMA.steps)).close()
    with pytest.raises(WrongDatabase):
        GroupCommitter(path, SCHEMA)
    plain = path.with_name("plain.db")
    connection = apsw.Connection(str(plain))
    connection.execute("CREATE TABLE theirs(id)")
    connection.close()
    before = plain.read_bytes()
    with pytest.raises(WrongDatabase):
        GroupCommitter(plain, SCHEMA)
    assert plain.read_bytes() == before


def test_a_file_that_is_no_database_is_refused(path: Path) -> None:
    """Other bytes are an error that names the file."""
    path.write_bytes(b"these are other bytes, and many of them" * 100)
    with pytest.raises(WrongDatabase, match=r"test\.db"):
        GroupCommitter(path, SCHEMA)
