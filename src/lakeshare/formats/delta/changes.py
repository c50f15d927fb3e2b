"""What changed from version to version: which files of a commit a reader of changes must read."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lakeshare.formats.delta.actions import (
    Action,
    AddFile,
    ChangeFile,
    CommitInfo,
    FileAction,
    Metadata,
    Protocol,
    RemoveFile,
)
from lakeshare.formats.delta.errors import ChangesNotRecorded

_CDF_ENABLED = "delta.enableChangeDataFeed"
_MERGE_EFFECTS = (
    "numTargetRowsInserted",
    "numTargetRowsUpdated",
    "numTargetRowsDeleted",
)


@dataclass(frozen=True, slots=True)
class CommitChanges:
    """One version's part of a change feed or a stream: new metadata or protocol, if any, and the files to read."""

    version: int
    files: tuple[AddFile | RemoveFile | ChangeFile, ...]
    metadata: Metadata | None = None
    protocol: Protocol | None = None
    in_commit_timestamp: int | None = None


def feed_enabled(metadata: Metadata) -> bool:
    """Say whether the table records changes."""
    return metadata.configuration.get(_CDF_ENABLED, "").lower() == "true"


def feed_of(version: int, actions: Iterable[Action]) -> CommitChanges:
    """Select what a reader of the change feed needs of a commit.

    Where there are `cdc` files they say all; otherwise rows of added files are inserts, and of removed ones deletes.
    A path both added and removed with other deletion vectors stands for the rows in which they differ.
    """
    every = tuple(actions)
    changed = tuple(action for action in every if isinstance(action, ChangeFile))
    if changed:
        return _commit(version, every, changed)
    return _commit(version, every, () if _idle_merge(every) else _data_changes(every))


def stream_of(version: int, actions: Iterable[Action]) -> CommitChanges:
    """Select what a stream from a starting version needs of a commit: files whose data are new or gone."""
    every = tuple(actions)
    return _commit(version, every, _data_changes(every))


def check_recorded(start: int, end: int, at_start: Metadata, later: Sequence[CommitChanges]) -> None:
    """Refuse a range in which changes were not recorded throughout. Raises ChangesNotRecorded."""
    if not feed_enabled(at_start):
        raise ChangesNotRecorded(start, end, start)
    for commit in later:
        if commit.metadata is not None and not feed_enabled(commit.metadata):
            raise ChangesNotRecorded(start, end, commit.version)


def _commit(
    version: int, every: Sequence[Action], files: tuple[AddFile | RemoveFile | ChangeFile, ...]
) -> CommitChanges:
    info = next((action for action in every if isinstance(action, CommitInfo)), None)
    return CommitChanges(
        version=version,
        files=files,
        metadata=next((action for action in every if isinstance(action, Metadata)), None),
        protocol=next((action for action in every if isinstance(action, Protocol)), None),
        in_commit_timestamp=None if info is None else info.in_commit_timestamp,
    )


def _data_changes(every: Iterable[Action]) -> tuple[FileAction, ...]:
    return tuple(action for action in every if isinstance(action, AddFile | RemoveFile) and action.data_change)


def _idle_merge(every: Iterable[Action]) -> bool:
    """Recognise a MERGE that rewrote files and changed no row: its files are no changes."""
    info = next((action for action in every if isinstance(action, CommitInfo)), None)
    if info is None or info.operation != "MERGE":
        return False
    effects = [info.operation_metrics.get(name) for name in _MERGE_EFFECTS]
    return None not in effects and all(effect == "0" for effect in effects)
