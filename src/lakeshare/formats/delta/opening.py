"""Opening a Delta table: listing its log, and making a snapshot of it, warm, moved forward or read.

This is the one module here that drives the engine. It says what is to be read and what it means; reading is the
engine's and the port's, handed in. Opening blocks and is heavy: it is called on a thread, never in an event loop.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path

import pyarrow as pa

from lakeshare.columnar.bounds import TableShape
from lakeshare.columnar.cache import Cache
from lakeshare.columnar.checkpoint import SmallActions, json_actions, small_actions
from lakeshare.columnar.fileset import FileSet, Layer
from lakeshare.columnar.part import Part
from lakeshare.columnar.rows import Commit, read_commit, read_lines
from lakeshare.columnar.shelf import DISK_BYTES, Shelf
from lakeshare.columnar.source import Blob, FileGone, TableFiles, Unreadable, open_blob
from lakeshare.formats.delta.actions import Action, CommitInfo, Metadata
from lakeshare.formats.delta.checksum import check_state, check_sums, parse_checksum
from lakeshare.formats.delta.decoding import decode_line
from lakeshare.formats.delta.errors import BrokenLog, MissingCommit, VersionGone
from lakeshare.formats.delta.history import History, file_times, in_commit_times
from lakeshare.formats.delta.paths import (
    LAST_CHECKPOINT,
    LOG_FOLDER,
    SIDECAR_FOLDER,
    checksum_name,
    commit_name,
    just_before,
    sidecar_name,
)
from lakeshare.formats.delta.segment import (
    Checkpoint,
    LogFile,
    LogListing,
    LogSegment,
    digest_of,
    read_last_checkpoint,
    read_listing,
)
from lakeshare.formats.delta.snapshot import Snapshot, TableState, settled
from lakeshare.formats.delta.statistics import table_shape

MAX_STEPS = 1000
"""How many commits a snapshot may be ahead of where its log began; then it is read again from a newer checkpoint."""
MAX_IN_MEMORY = 65_536
"""How many files of commits may lie in memory above a checkpoint before a snapshot is read again."""
MAX_TORN = 3
"""How many unreadable checkpoints are passed over before a table is given up."""
MAX_SIDECARS = 100_000
MAX_CHECKSUM_BYTES = 16 * 1024**2
"""Of a checksum file, which may list the files of a small table; a longer one is cut, and says nothing."""
MAX_HINT_BYTES = 16 * 1024**2
"""`_last_checkpoint` may carry a whole schema; more than this is no hint."""


class Engine:
    """What opening tables needs to keep: parts on disk in a folder, and snapshots that are warm."""

    def __init__(self, folder: Path, disk_bytes: int = DISK_BYTES) -> None:
        self.shelf = Shelf(folder, disk_bytes)
        self.snapshots: Cache[Snapshot] = Cache()


def warm_since(engine: Engine, table: str) -> int | None:
    """Return the version that a listing must begin with to show whether a warm table is still the same. Light."""
    return next((found.since for found in engine.snapshots.of(table)), None)


def is_known(engine: Engine, table: str, log: LogListing) -> bool:
    """Say whether a listing is of the log that something warm was made of; if not, it must be listed whole. Light."""
    return any(_agrees(found, log) for found in engine.snapshots.of(table))


def list_current(engine: Engine, table: str, files: TableFiles) -> LogListing:
    """List a log as far back as what is warm of it, so that it can be moved forward; anew where nothing is."""
    since = warm_since(engine, table)
    if since is not None:
        recent = read_listing(files.list(LOG_FOLDER, just_before(since)), since)
        if is_known(engine, table, recent):
            return recent
    return list_log(files)


def list_log(files: TableFiles) -> LogListing:
    """List a log from its last checkpoint on, or whole where the hint is missing, broken or stale."""
    try:
        with open_blob(files.read(LAST_CHECKPOINT)) as file:
            hint = read_last_checkpoint(file.read(MAX_HINT_BYTES))
    except FileGone:
        hint = None
    if hint is not None:
        recent = read_listing(files.list(LOG_FOLDER, just_before(hint.version)), hint.version)
        if recent.checkpoints:
            return recent
    return list_whole_log(files)


def list_whole_log(files: TableFiles) -> LogListing:
    """List a log from its beginning, as travel to any version or time needs."""
    return read_listing(files.list(LOG_FOLDER))


def warm_snapshot(engine: Engine, table: str, log: LogListing, version: int | None = None) -> Snapshot | None:
    """Return the snapshot of a version if it is warm and the log still is the one it was made of. Light."""
    wanted = log.latest if version is None else version
    for found in engine.snapshots.of(table):
        if found.version == wanted and _agrees(found, log):
            return found
    return None


def open_snapshot(
    engine: Engine, table: str, files: TableFiles, log: LogListing, version: int | None = None
) -> Snapshot:
    """Return a version of a table, the latest by default: warm, moved forward, or read. Heavy.

    `table` names the table in the cache, such as its bucket and path. Where the log was listed from too late a version,
    it is listed whole. Raises what is wrong with the log or the version, UnsupportedTable, Unreadable and FileGone.
    """
    wanted = log.latest if version is None else version
    with engine.snapshots.turn(table):
        found = warm_snapshot(engine, table, log, wanted)
        if found is None:
            found = _moved(engine, table, files, log, wanted) or _read(engine, files, log, wanted)
            _check(files, log, found)
        engine.snapshots.keep(table, found)
    return found


def commit_actions(files: TableFiles, version: int) -> Iterator[Action]:
    """Yield the known actions of one commit, in order. Raises FileGone, Unreadable, BrokenLog."""
    for line in read_lines(files.read(commit_name(version))):
        if (action := decode_line(line)) is not None:
            yield action


def commit_time(files: TableFiles, version: int) -> int:
    """Return the time that a commit carries. Raises BrokenLog when it carries none."""
    for action in commit_actions(files, version):
        if isinstance(action, CommitInfo) and action.in_commit_timestamp is not None:
            return action.in_commit_timestamp
    raise BrokenLog(f"commit {version} has no in-commit timestamp, though the table has them on")


def history_of(files: TableFiles, log: LogListing, metadata: Metadata) -> History:
    """Return the times of a log's commits; the log must be listed whole. Commits that carry theirs are read when asked.

    Asking blocks wherever a commit must be read.
    """
    return History(file_times(log.commits.values()), in_commit_times(metadata), cache(partial(commit_time, files)))


def _check(files: TableFiles, log: LogListing, found: Snapshot) -> None:
    """Hold a snapshot against the checksum of its version, if the listing shows one. Raises BrokenLog."""
    if found.version not in log.checksums:
        return
    try:
        with open_blob(files.read(checksum_name(found.version))) as file:
            said = parse_checksum(file.read(MAX_CHECKSUM_BYTES))
    except FileGone:
        return
    if said is not None:
        check_state(said, found.version, found.state.protocol, found.state.metadata)
        check_sums(said, found.version, found.files.num_files, found.files.size_bytes)


def _agrees(snapshot: Snapshot, log: LogListing) -> bool:
    """Say whether a listing shows the log that a snapshot was made of: no file differs, and its last one is there."""
    lineage = snapshot.lineage
    anchored = False
    for item in _log_files(log):
        etag = lineage.get(item.entry.name)
        if etag is None:
            continue
        if etag != item.entry.etag:
            return False
        anchored = anchored or item.last == snapshot.version
    return anchored


def _log_files(log: LogListing) -> Iterator[LogFile]:
    yield from log.commits.values()
    yield from log.compacted
    for checkpoint in log.checkpoints:
        yield from checkpoint.files


def _moved(engine: Engine, table: str, files: TableFiles, log: LogListing, wanted: int) -> Snapshot | None:
    """Move the newest warm snapshot before a version forward to it, if one is near and of this log."""
    near = [item for item in engine.snapshots.of(table) if item.version < wanted]
    for base in sorted(near, key=lambda item: item.version, reverse=True):
        missing = any(step not in log.commits for step in range(base.version + 1, wanted + 1))
        if missing or not _agrees(base, log):
            continue
        if base.files.files_in_memory > MAX_IN_MEMORY or wanted - base.since > MAX_STEPS:
            return None
        return _forward(engine, base, files, log.between(base.version + 1, wanted), wanted)
    return None


def _forward(engine: Engine, base: Snapshot, files: TableFiles, steps: Sequence[LogFile], version: int) -> Snapshot:
    commits = [read_commit(files.read(item.entry.name)) for item in steps]
    state = settled([line for commit in commits for line in commit.lines], base.state)
    shape = base.shape if state.metadata == base.state.metadata else table_shape(state.protocol, state.metadata)
    live = _applied(engine, base.files, commits, steps, shape)
    return Snapshot(version, state, shape, live, {**base.lineage, **_etags(steps)}, base.since)


def _read(engine: Engine, files: TableFiles, log: LogListing, wanted: int) -> Snapshot:
    """Read a version; where the part of the log that was listed does not lead to it, by the whole log."""
    try:
        return _loaded(engine, files, log, wanted)
    except (Unreadable, FileGone, VersionGone, MissingCommit):
        if not log.since:
            raise
    return _loaded(engine, files, list_whole_log(files), wanted)


def _loaded(engine: Engine, files: TableFiles, log: LogListing, wanted: int) -> Snapshot:
    """Read a version from its log, passing over checkpoints that cannot be read while there is another way."""
    torn: set[str] = set()
    for _ in range(MAX_TORN):
        segment = log.segment(wanted, torn)
        try:
            return _read_segment(engine, files, segment)
        except (Unreadable, FileGone) as reason:
            start = segment.checkpoint
            if start is None or not _fault_of(start, reason):
                raise
            torn |= {item.entry.name for item in start.files}
            if not _another_way(log, wanted, torn):
                raise
    return _read_segment(engine, files, log.segment(wanted, torn))


def _fault_of(checkpoint: Checkpoint, reason: Unreadable | FileGone) -> bool:
    names = {item.entry.name for item in checkpoint.files}
    return reason.name in names or reason.name.startswith(SIDECAR_FOLDER)


def _another_way(log: LogListing, wanted: int, torn: set[str]) -> bool:
    older = any(
        item.version <= wanted and torn.isdisjoint(each.entry.name for each in item.files) for item in log.checkpoints
    )
    return older or all(version in log.commits for version in range(wanted + 1))


def _read_segment(engine: Engine, files: TableFiles, segment: LogSegment) -> Snapshot:
    start = None if segment.checkpoint is None else _ReadCheckpoint(files, segment.checkpoint)
    commits = [read_commit(files.read(item.entry.name)) for item in segment.commits]
    lines = [line for commit in commits for line in commit.lines]
    state = settled([*(() if start is None else start.lines), *lines])
    shape = table_shape(state.protocol, state.metadata)
    live = FileSet() if start is None else FileSet((Layer.of(start.part(engine, state)),))
    live = _applied(engine, live, commits, segment.commits, shape)
    since = 0 if segment.checkpoint is None else segment.checkpoint.version
    return Snapshot(segment.version, state, shape, live, _etags(segment.files), since)


def _applied(
    engine: Engine, live: FileSet, commits: Sequence[Commit], steps: Sequence[LogFile], shape: TableShape
) -> FileSet:
    key = digest_of(item.entry for item in steps)

    def make(rows: Iterator[pa.RecordBatch], count: int) -> Part:
        return engine.shelf.of_rows(f"commits|{key}", shape, rows, count)

    return live.forward(commits, make) if commits else live


class _ReadCheckpoint:
    """A checkpoint: what is small of it is read at once, its files when they are asked for."""

    def __init__(self, files: TableFiles, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        self._blobs = [files.read(item.entry.name) for item in checkpoint.files]
        small = [_small(blob) for blob in self._blobs]
        self.lines = tuple(line for each in small for line in each.lines)
        sidecars = [path for each in small for path in each.sidecars]
        if len(sidecars) > MAX_SIDECARS:
            raise Unreadable(checkpoint.files[0].entry.name, f"it has more than {MAX_SIDECARS} sidecars")
        self._blobs += [files.read(sidecar_name(path)) for path in sidecars]

    def part(self, engine: Engine, newest: TableState) -> Part:
        """Return the checkpoint's files, typed by the schema that it has itself."""
        own = settled(self.lines, newest)
        shape = table_shape(own.protocol, own.metadata)
        key = digest_of(item.entry for item in self._checkpoint.files)
        return engine.shelf.of_checkpoint(f"checkpoint|{key}", shape, self._blobs)


def _small(blob: Blob) -> SmallActions:
    return json_actions(read_commit(blob)) if blob.name.endswith(".json") else small_actions(blob)


def _etags(files: Iterable[LogFile]) -> dict[str, str]:
    return {item.entry.name: item.entry.etag for item in files}
