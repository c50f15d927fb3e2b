"""What can be wrong with a Delta table, or with what is asked of it."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from lakeshare.errors import Kind, LakeshareError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class DeltaError(LakeshareError):
    """The root of what a Delta table refuses."""


class NoDeltaLog(DeltaError):
    """There is no Delta table here: the log is empty."""

    kind = Kind.MISSING

    def __init__(self) -> None:
        super().__init__("there is no Delta table here: _delta_log holds no commit and no checkpoint")


class BrokenLog(DeltaError):
    """The log contradicts itself or the protocol, so no rows can be trusted."""

    kind = Kind.INTERNAL


class MissingCommit(BrokenLog):
    """A commit between two that are there is not."""

    def __init__(self, version: int) -> None:
        super().__init__(f"the Delta log has a gap: commit {version} is missing")
        self.version = version


class VersionGone(DeltaError):
    """The version was there once, and its log was cleaned away."""

    kind = Kind.INVALID

    def __init__(self, version: int, earliest: int | None) -> None:
        hint = "no version can be read" if earliest is None else f"the earliest available version is {earliest}"
        super().__init__(f"version {version} is no longer available, its log was cleaned away: {hint}")
        self.version = version
        self.earliest = earliest


class VersionAhead(DeltaError):
    """The version is newer than the table."""

    kind = Kind.INVALID

    def __init__(self, version: int, latest: int) -> None:
        super().__init__(f"version {version} does not exist yet: the latest version is {latest}")
        self.version = version
        self.latest = latest


class TimestampTooEarly(DeltaError):
    """The time asked for is before the first commit that is kept."""

    kind = Kind.INVALID

    def __init__(self, asked_ms: int, earliest_ms: int) -> None:
        super().__init__(
            f"The provided timestamp ({instant(asked_ms)}) is before the earliest version available "
            f"({instant(earliest_ms)})"
        )
        self.asked_ms = asked_ms
        self.earliest_ms = earliest_ms


class TimestampTooLate(DeltaError):
    """The time asked for is after the last commit."""

    kind = Kind.INVALID

    def __init__(self, asked_ms: int, latest_ms: int) -> None:
        super().__init__(
            f"The provided timestamp ({instant(asked_ms)}) is after the latest version available ({instant(latest_ms)})"
        )
        self.asked_ms = asked_ms
        self.latest_ms = latest_ms


class UnsupportedTable(DeltaError):
    """Reading the table right needs something that is not known here."""

    kind = Kind.UNSUPPORTED

    def __init__(self, reason: str, features: Sequence[str] = ()) -> None:
        super().__init__(reason)
        self.features = tuple(features)


class ChangesNotRecorded(DeltaError):
    """The change data feed was off at some version of the range."""

    kind = Kind.INVALID

    def __init__(self, start: int, end: int, version: int) -> None:
        super().__init__(
            f"Error getting change data for range [{start}, {end}] as change data was not recorded "
            f"for version [{version}]"
        )
        self.version = version


def instant(at_ms: int) -> str:
    """Write a time in UTC, to the millisecond."""
    try:
        text = (_EPOCH + timedelta(milliseconds=at_ms)).isoformat(timespec="milliseconds")
    except OverflowError:
        return f"{at_ms} ms"
    return text.replace("+00:00", "Z")
