"""Which files of a log make a version: read from a listing, with every gap, torn checkpoint and lost version named.

A listing may begin anywhere; it must be whole from there on. Nothing here reads a file.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

import orjson

from lakeshare.columnar.source import Entry
from lakeshare.formats.delta.errors import MissingCommit, NoDeltaLog, VersionAhead, VersionGone
from lakeshare.formats.delta.paths import LogKind, LogName, parse_log_name

MAX_VERSION = 2**63 - 1


@dataclass(frozen=True, slots=True)
class LogFile:
    """A file of the log, by its listing and its understood name."""

    entry: Entry
    name: LogName

    @property
    def version(self) -> int:
        """Return the version the file speaks of; the first, where it speaks of several."""
        return self.name.version

    @property
    def last(self) -> int:
        """Return the last version the file speaks of."""
        return self.name.last or self.name.version

    @property
    def modified_ms(self) -> int:
        """Return when the file was written, in milliseconds."""
        return self.entry.modified_at_ns // 1_000_000


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A whole checkpoint: one file, or all of its parts in order."""

    version: int
    files: tuple[LogFile, ...]


@dataclass(frozen=True, slots=True)
class LogSegment:
    """What must be read for one version: a checkpoint, if any, and then commits (or ranges of them), oldest first."""

    version: int
    checkpoint: Checkpoint | None
    commits: tuple[LogFile, ...]

    @property
    def files(self) -> tuple[LogFile, ...]:
        """Return every file of the segment."""
        return (() if self.checkpoint is None else self.checkpoint.files) + self.commits

    @property
    def digest(self) -> str:
        """Tell this segment from any other by the names and ETags of its files."""
        return digest_of(item.entry for item in self.files)


@dataclass(frozen=True, slots=True)
class LastCheckpoint:
    """What `_last_checkpoint` says. It is a hint where to begin a listing, and nothing more."""

    version: int
    parts: int | None = None


@dataclass(frozen=True, slots=True)
class LogListing:
    """The files of a log, sorted by what they are. Checkpoints are whole ones, oldest first.

    `since` is the version that the listing began with: of what was before it nothing is known.
    """

    commits: Mapping[int, LogFile]
    checkpoints: tuple[Checkpoint, ...]
    compacted: tuple[LogFile, ...] = ()
    checksums: Mapping[int, LogFile] = field(default_factory=dict)
    since: int = 0

    @property
    def latest(self) -> int:
        """Return the newest version. Raises NoDeltaLog."""
        newest = max(self.commits, default=-1)
        if self.checkpoints:
            newest = max(newest, self.checkpoints[-1].version)
        if newest < 0:
            raise NoDeltaLog
        return newest

    @property
    def earliest(self) -> int | None:
        """Return the oldest version that can still be put together, or None."""
        first = 0 if 0 in self.commits else None
        return min((c.version for c in self.checkpoints), default=None) if first is None else first

    def segment(self, version: int | None = None, without: Collection[str] = ()) -> LogSegment:
        """Choose what to read for a version, the latest by default, leaving out checkpoints with files named `without`.

        Raises NoDeltaLog, VersionAhead, VersionGone, MissingCommit.
        """
        latest = self.latest
        wanted = latest if version is None else version
        if wanted > latest:
            raise VersionAhead(wanted, latest)
        start = self._checkpoint(wanted, without)
        if wanted < 0 or (start is None and 0 not in self.commits):
            raise VersionGone(wanted, self.earliest)
        first = 0 if start is None else start.version + 1
        self._check_whole(first, wanted)
        return LogSegment(wanted, start, self.between(first, wanted))

    def between(self, first: int, last: int) -> tuple[LogFile, ...]:
        """Return the files that hold the commits of a range, taking the longest compacted range wherever one fits.

        Raises MissingCommit.
        """
        self._check_whole(first, last)
        chosen: list[LogFile] = []
        version = first
        while version <= last:
            best = self._longest(version, last)
            chosen.append(best)
            version = best.last + 1
        return tuple(chosen)

    def _longest(self, version: int, last: int) -> LogFile:
        fits = [item for item in self.compacted if item.version == version and item.last <= last]
        return max(fits, key=lambda item: item.last, default=self.commits[version])

    def _check_whole(self, first: int, last: int) -> None:
        for version in range(first, last + 1):
            if version not in self.commits:
                raise MissingCommit(version)

    def _checkpoint(self, wanted: int, without: Collection[str]) -> Checkpoint | None:
        for checkpoint in reversed(self.checkpoints):
            names = {item.entry.name for item in checkpoint.files}
            if checkpoint.version <= wanted and names.isdisjoint(without):
                return checkpoint
        return None


def read_listing(entries: Iterable[Entry], since: int = 0) -> LogListing:
    """Sort the files of a listing of `_delta_log/`, which begins with those of version `since`.

    Names that are not the log's are passed over, and so are checkpoints that are empty or have parts missing.
    """
    found = [LogFile(entry, name) for entry in entries if (name := parse_log_name(entry.name))]
    return LogListing(
        commits={item.version: item for item in found if item.name.kind is LogKind.COMMIT},
        checkpoints=tuple(_checkpoints(found)),
        compacted=tuple(item for item in found if item.name.kind is LogKind.COMPACTED),
        checksums={item.version: item for item in found if item.name.kind is LogKind.CHECKSUM},
        since=since,
    )


def read_last_checkpoint(data: bytes) -> LastCheckpoint | None:
    """Read `_last_checkpoint`; a broken one is no hint."""
    try:
        whole = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    version = whole.get("version") if isinstance(whole, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or not 0 <= version <= MAX_VERSION:
        return None
    parts = whole.get("parts")
    return LastCheckpoint(version, parts if isinstance(parts, int) and not isinstance(parts, bool) else None)


def digest_of(entries: Iterable[Entry]) -> str:
    """Digest names and ETags, so that the same names over other bytes are another digest."""
    state = sha256()
    for entry in entries:
        state.update(f"{len(entry.name)}:{entry.name}{len(entry.etag)}:{entry.etag}".encode())
    return state.hexdigest()


def _checkpoints(found: Sequence[LogFile]) -> list[Checkpoint]:
    """Gather whole checkpoints, oldest first; of several at one version the last is the best to read.

    A set of parts comes before a V2 checkpoint, and that before a classic one, which is one file and was written whole.
    """
    whole: list[tuple[int, int, str, tuple[LogFile, ...]]] = []
    parts: dict[tuple[int, int], dict[int, LogFile]] = {}
    for item in found:
        if not item.entry.size:
            continue
        if item.name.kind is LogKind.CHECKPOINT:
            whole.append((item.version, 2, item.entry.name, (item,)))
        elif item.name.kind is LogKind.V2_CHECKPOINT:
            whole.append((item.version, 1, item.entry.name, (item,)))
        elif item.name.kind is LogKind.CHECKPOINT_PART:
            parts.setdefault((item.version, item.name.parts), {})[item.name.part] = item
    for (version, count), have in parts.items():
        if len(have) == count:
            whole.append((version, 0, "", tuple(have[number] for number in sorted(have))))
    whole.sort(key=lambda each: each[:3])
    return [Checkpoint(version, files) for version, _, _, files in whole]
