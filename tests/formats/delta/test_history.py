"""Times of versions, and versions of times."""

import pytest

from lakeshare.columnar.source import Entry
from lakeshare.formats.delta.actions import Metadata
from lakeshare.formats.delta.errors import TimestampTooEarly, TimestampTooLate
from lakeshare.formats.delta.history import History, InCommitTimes, file_times, in_commit_times
from lakeshare.formats.delta.paths import commit_name
from lakeshare.formats.delta.segment import read_listing


def commits(*times_ms):
    entries = [Entry(commit_name(version), 1, "e", at * 1_000_000) for version, at in enumerate(times_ms)]
    return read_listing(entries).commits.values()


def never(version):
    raise AssertionError(version)


def test_file_times_always_grow():
    """A file whose time is not after the one before it is moved a millisecond past it."""
    assert file_times(commits(100, 90, 90, 200)) == {0: 100, 1: 101, 2: 102, 3: 200}


def test_a_time_means_the_newest_version_not_after_it():
    """Time travel finds the version that was current at the time."""
    history = History(file_times(commits(100, 200, 300)), None, never)
    assert [history.version_at(at) for at in (100, 199, 200, 300)] == [0, 0, 1, 2]
    with pytest.raises(TimestampTooEarly, match="before the earliest"):
        history.version_at(99)
    with pytest.raises(TimestampTooLate, match=r"1970-01-01T00:00:00\.301Z.*after the latest"):
        history.version_at(301)


def test_a_stream_begins_at_the_first_version_not_before_a_time():
    """A starting time finds the first version at or after it."""
    history = History(file_times(commits(100, 200, 300)), None, never)
    assert [history.version_from(at) for at in (0, 100, 101, 300)] == [0, 0, 1, 2]
    with pytest.raises(TimestampTooLate):
        history.version_from(301)


def test_in_commit_times_hold_from_the_version_they_were_turned_on():
    """Commits carry their own time from the version on that the configuration names, and files' times are ignored."""
    inside = {2: 1000, 3: 2000}
    history = History(file_times(commits(100, 5000, 5001, 5002)), InCommitTimes(2, 1000), inside.__getitem__)
    assert [history.time_of(version) for version in range(4)] == [100, 5000, 1000, 2000]
    assert [history.version_at(at) for at in (999, 1000, 1999, 2000)] == [0, 2, 2, 3]
    assert history.version_from(999) == 1
    assert history.version_from(1001) == 3
    with pytest.raises(TimestampTooLate):
        history.version_at(2001)


def test_the_configuration_says_where_in_commit_times_begin():
    """A table that has had them from the start names no version."""
    on = {"delta.enableInCommitTimestamps": "true"}
    later = on | {
        "delta.inCommitTimestampEnablementVersion": "7",
        "delta.inCommitTimestampEnablementTimestamp": "99",
    }
    assert in_commit_times(Metadata("i", "", configuration={})) is None
    assert in_commit_times(Metadata("i", "", configuration=on)) == InCommitTimes(0, 0)
    assert in_commit_times(Metadata("i", "", configuration=later)) == InCommitTimes(7, 99)
