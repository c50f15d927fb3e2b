"""A small database of counters, and its writer."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lakeshare.sqlite.committer import GroupCommitter
from lakeshare.sqlite.schema import Schema

SCHEMA = Schema(0x7E57, ("CREATE TABLE entries(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the database lies."""
    return tmp_path / "test.db"


@pytest.fixture
def committer(path: Path) -> Iterator[GroupCommitter]:
    """The writer of a new database."""
    committer = GroupCommitter(path, SCHEMA)
    yield committer
    committer.close()
