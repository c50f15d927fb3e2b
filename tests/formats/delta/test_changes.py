"""What a reader of changes must read."""

import pytest

from lakeshare.formats.delta.actions import AddFile, ChangeFile, CommitInfo, Metadata, RemoveFile
from lakeshare.formats.delta.changes import CommitChanges, check_recorded, feed_of, stream_of
from lakeshare.formats.delta.errors import ChangesNotRecorded
from lakeshare.formats.delta.vectors import DeletionVector, Storage

ON = Metadata("i", "", configuration={"delta.enableChangeDataFeed": "true"})
OFF = Metadata("i", "")
NEW = AddFile("new", {}, 1, 1, data_change=True)
MOVED = AddFile("moved", {}, 1, 1, data_change=False)
GONE = RemoveFile("gone", data_change=True)
CHANGED = ChangeFile("_change_data/c", {}, 1)


def test_change_files_say_all():
    """Where a commit has cdc files, only those are read."""
    assert feed_of(3, [NEW, GONE, CHANGED]).files == (CHANGED,)


def test_without_change_files_added_and_removed_files_are_the_changes():
    """Files that only move data about are no changes."""
    assert feed_of(3, [MOVED, NEW, GONE]).files == (NEW, GONE)
    assert stream_of(3, [MOVED, NEW, GONE, CHANGED]).files == (NEW, GONE)


def test_a_path_with_two_vectors_is_kept_on_both_sides():
    """An added and a removed vector of one file are both needed, for the rows in which they differ."""
    vector = DeletionVector(Storage.RELATIVE, "x", 1, 1, 1)
    with_vector = AddFile("p", {}, 1, 1, data_change=True, deletion_vector=vector)
    without = RemoveFile("p", data_change=True)
    assert feed_of(1, [with_vector, without]).files == (with_vector, without)


def test_a_merge_that_changed_nothing_has_no_changes():
    """A MERGE that rewrote files without changing a row is passed over."""
    idle = {f"numTargetRows{what}": "0" for what in ("Inserted", "Updated", "Deleted")}
    busy = idle | {"numTargetRowsUpdated": "1"}
    assert feed_of(1, [CommitInfo(operation="MERGE", operation_metrics=idle), NEW]).files == ()
    assert feed_of(1, [CommitInfo(operation="MERGE", operation_metrics=busy), NEW]).files == (NEW,)
    assert feed_of(1, [CommitInfo(operation="MERGE"), NEW]).files == (NEW,)


def test_a_commit_brings_its_metadata_and_its_own_time():
    """New metadata and the in-commit timestamp come along."""
    found = feed_of(4, [CommitInfo(in_commit_timestamp=9), ON])
    assert found == CommitChanges(4, (), ON, None, 9)


def test_changes_must_be_recorded_throughout():
    """The feed must be on at the start, and stay on."""
    check_recorded(1, 3, ON, [CommitChanges(2, (), ON), CommitChanges(3, ())])
    with pytest.raises(ChangesNotRecorded, match=r"range \[1, 3\].*version \[1\]"):
        check_recorded(1, 3, OFF, [])
    with pytest.raises(ChangesNotRecorded, match=r"version \[2\]"):
        check_recorded(1, 3, ON, [CommitChanges(2, (), OFF)])
