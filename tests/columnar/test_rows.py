"""Lines of a commit's file."""

import pytest

from lakeshare.columnar import rows
from lakeshare.columnar.rows import read_lines
from lakeshare.columnar.source import Blob, Unreadable


def test_blank_lines_do_not_matter():
    """A commit may end in a newline, hold empty lines, and have been written on Windows."""
    assert list(read_lines(Blob("f", data=b'\n{"a":1}\r\n \n{"b":2}'))) == [b'{"a":1}', b'{"b":2}']


def test_a_commit_has_a_bound(monkeypatch: pytest.MonkeyPatch):
    """A file that is too large to be a commit is refused before it is read."""
    monkeypatch.setattr(rows, "MAX_COMMIT_BYTES", 4)
    with pytest.raises(Unreadable):
        next(read_lines(Blob("f", data=b"12345")))
