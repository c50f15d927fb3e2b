"""When each version was committed, and which version a time means.

A commit's time is the one written inside it, from the version on at which a table turned in-commit timestamps on;
before that it is its file's time of change, moved forward where needed so that times always grow.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from lakeshare.formats.delta.actions import Metadata
from lakeshare.formats.delta.errors import TimestampTooEarly, TimestampTooLate
from lakeshare.formats.delta.segment import LogFile

_ENABLED = "delta.enableInCommitTimestamps"
_FROM_VERSION = "delta.inCommitTimestampEnablementVersion"
_FROM_TIME = "delta.inCommitTimestampEnablementTimestamp"


@dataclass(frozen=True, slots=True)
class InCommitTimes:
    """From where on commits carry their own time."""

    version: int
    since_ms: int


def in_commit_times(metadata: Metadata) -> InCommitTimes | None:
    """Say from where on commits carry their own time; a table that had it from the start names no version."""
    if metadata.configuration.get(_ENABLED, "").lower() != "true":
        return None
    version = metadata.configuration.get(_FROM_VERSION, "")
    since = metadata.configuration.get(_FROM_TIME, "")
    if version.isdigit() and since.isdigit():
        return InCommitTimes(int(version), int(since))
    return InCommitTimes(0, 0)


def file_times(commits: Iterable[LogFile]) -> dict[int, int]:
    """Return each version's time in milliseconds by its file, in order of version, each later than the one before."""
    times: dict[int, int] = {}
    last: int | None = None
    for item in sorted(commits, key=lambda item: item.version):
        moment = item.modified_ms
        last = moment if last is None or moment > last else last + 1
        times[item.version] = last
    return times


@dataclass(frozen=True, slots=True)
class History:
    """The times of the versions that are kept. `inside` reads a commit's own time, asked only where there is one."""

    by_file: Mapping[int, int]
    in_commit: InCommitTimes | None
    inside: Callable[[int], int]

    def time_of(self, version: int) -> int:
        """Return when a version was committed, in milliseconds."""
        if self.in_commit is not None and version >= self.in_commit.version:
            return self.inside(version)
        return self.by_file[version]

    def version_at(self, at_ms: int) -> int:
        """Return the newest version committed at or before a time. Raises TimestampTooEarly, TimestampTooLate."""
        versions = self._versions(at_ms)
        found = bisect_right(versions, at_ms, key=self.time_of)
        if found == 0:
            raise TimestampTooEarly(at_ms, self.time_of(versions[0]))
        last = max(self.by_file)
        if versions[found - 1] == last and at_ms > (latest := self.time_of(last)):
            raise TimestampTooLate(at_ms, latest)
        return versions[found - 1]

    def version_from(self, at_ms: int) -> int:
        """Return the oldest version committed at or after a time. Raises TimestampTooLate."""
        versions = self._versions(at_ms)
        found = bisect_left(versions, at_ms, key=self.time_of)
        if found < len(versions):
            return versions[found]
        last = max(self.by_file)
        if versions[-1] == last:
            raise TimestampTooLate(at_ms, self.time_of(last))
        return versions[-1] + 1

    def _versions(self, at_ms: int) -> list[int]:
        """Return the versions among which to seek a time: those whose times are of one sort, and so in order."""
        every = sorted(self.by_file)
        if self.in_commit is None:
            return every
        split = self.in_commit.version
        later = [version for version in every if version >= split]
        earlier = [version for version in every if version < split]
        return later if later and (at_ms >= self.in_commit.since_ms or not earlier) else earlier
