"""What changed between two versions of a table: its change feed, or the files that a stream goes on with."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lakeshare.columnar.rows import read_lines
from lakeshare.columnar.source import TableFiles
from lakeshare.formats.delta.actions import Metadata, Protocol
from lakeshare.formats.delta.changes import CommitChanges, check_recorded, feed_enabled, feed_of, stream_of
from lakeshare.formats.delta.decoding import decode_line
from lakeshare.formats.delta.errors import VersionGone
from lakeshare.formats.delta.history import History
from lakeshare.formats.delta.opening import commit_actions, history_of
from lakeshare.formats.delta.paths import commit_name
from lakeshare.formats.delta.segment import LogListing
from lakeshare.formats.delta.snapshot import Snapshot, TableState
from lakeshare.sharing.errors import ChangesNotRecorded, InvalidParameter
from lakeshare.sharing.model.asking import Moment, ReadChanges, ResponseFormat
from lakeshare.sharing.model.places import DeltaPlace
from lakeshare.sharing.operations.catalog import Located
from lakeshare.sharing.operations.opening import check_history, check_window, choose_format, found_at, tables_of
from lakeshare.sharing.operations.query import read_page
from lakeshare.sharing.room import Room
from lakeshare.sharing.tables import StoreFiles, broken
from lakeshare.sharing.tickets import PAGE_SECONDS, PageTicket, seal
from lakeshare.sharing.view import Access, View

MAX_VERSIONS = 100_000
"""Most commits that one question reads."""


@dataclass(frozen=True, slots=True)
class Span:
    """The versions that are asked for, both included, and how many files of the first were sent already."""

    first: int
    last: int
    skip: int = 0


@dataclass(frozen=True, slots=True)
class Feed:
    """Changes to be read commit by commit, on a thread. `head` is the snapshot that the first lines describe."""

    located: Located
    place: DeltaPlace
    format: ResponseFormat
    head: Snapshot
    span: Span
    start: int
    asked: ReadChanges
    files: StoreFiles
    times: History

    def commits(self) -> Iterator[tuple[CommitChanges, int]]:
        """Yield each commit with its time. Blocks. Raises what is wrong with the log."""
        select = stream_of if self.asked.stream else feed_of
        for version in range(self.span.first, self.span.last + 1):
            changes = select(version, commit_actions(self.files, version))
            yield changes, changes.in_commit_timestamp or self.times.time_of(version)


async def read_changes(room: Room, view: View, access: Access, asked: ReadChanges) -> Feed:
    """Make ready to read changes. Raises as `open_at` does, ChangesNotRecorded, InvalidParameter, UnsupportedTable."""
    located, place = await found_at(room, access, asked.name)
    check_history(located)
    tables = tables_of(room, place)
    page = read_page(view, asked.paged.page_token, asked.paged.digest, room.clock())
    if page is not None and page.table != located.table.id:
        raise InvalidParameter("The table specified in the page token does not match the table being queried.")
    with broken(place):
        newest = await tables.open(place)
        log = await tables.whole_log(place)
        files = tables.files(place)
        times = history_of(files, log, newest.state.metadata)
        start, end = await tables.heavy(lambda: _bounds(asked, times, newest.version))
        end = end if page is None else page.end
        check_window(located, start)
        _check_commits(log, start, end)
        at_start = await tables.open(place, start)
        small = await tables.heavy(lambda: _small(files, range(start, end + 1)))
        if not asked.stream:
            _check_feed(located, start, end, at_start.state, small)
        _check_formats(asked, newest.state, at_start.state)
    historical = asked.stream or asked.historical_metadata
    span = Span(start, end) if page is None else Span(page.version, end, page.after)
    chosen = choose_format(asked.capabilities, newest.state, has_vectors=False)
    return Feed(located, place, chosen, at_start if historical else newest, span, start, asked, files, times)


def next_page(view: View, feed: Feed, version: int, skip: int, now: float) -> str:
    """Write the token of the page that begins after `skip` files of a version."""
    table, log = feed.located.table.id, feed.head.state.metadata.id
    digest = feed.asked.paged.digest
    return seal(view, PageTicket(table, log, version, digest, skip, int(now) + PAGE_SECONDS, end=feed.span.last))


def _bounds(asked: ReadChanges, times: History, latest: int) -> tuple[int, int]:
    start, end = _version(asked.start, times, start=True), _version(asked.end, times, start=False)
    if start is None:
        raise InvalidParameter("No startingVersion or startingTimestamp provided for CDF read.")
    if start > latest:
        raise InvalidParameter(
            f"Provided Start version({start}) for reading change data is invalid. "
            f"Start version cannot be greater than the latest version of the table({latest})."
        )
    last = latest if end is None else min(end, latest)
    if last < start:
        raise InvalidParameter(f"CDF range from start {start} to end {last} was invalid. End cannot be before start.")
    return start, last


def _version(moment: Moment, times: History, *, start: bool) -> int | None:
    if moment.timestamp_ms is None:
        return moment.version
    return times.version_from(moment.timestamp_ms) if start else _until(times, moment.timestamp_ms)


def _until(times: History, at_ms: int) -> int:
    """Return the last version at or before a time; a time after the last commit means that one."""
    newest = max(times.by_file)
    return newest if at_ms >= times.time_of(newest) else times.version_at(at_ms)


def _check_commits(log: LogListing, start: int, end: int) -> None:
    if end - start >= MAX_VERSIONS:
        raise InvalidParameter(f"at most {MAX_VERSIONS} versions can be read at once: give an endingVersion")
    for version in range(start, end + 1):
        if version not in log.commits:
            raise VersionGone(version, min((each for each in log.commits if each > version), default=None))


def _small(files: TableFiles, versions: Sequence[int]) -> list[CommitChanges]:
    """Read what commits say of the table itself, and nothing of its files. Blocks."""
    found: list[CommitChanges] = []
    for version in versions:
        told = [_told(line) for line in read_lines(files.read(commit_name(version)))]
        metadata = next((each for each in told if isinstance(each, Metadata)), None)
        protocol = next((each for each in told if isinstance(each, Protocol)), None)
        found.append(CommitChanges(version, (), metadata, protocol))
    return found


def _told(line: bytes) -> object:
    head = line[:32]
    return decode_line(line) if b'"metaData"' in head or b'"protocol"' in head else None


def _check_feed(located: Located, start: int, end: int, at_start: TableState, small: Sequence[CommitChanges]) -> None:
    """Refuse a range in which changes were not recorded throughout. Raises ChangesNotRecorded."""
    if not feed_enabled(at_start.metadata) and not any(each.metadata and feed_enabled(each.metadata) for each in small):
        raise ChangesNotRecorded(located.full_name)
    check_recorded(start, end, at_start.metadata, small)


def _check_formats(asked: ReadChanges, newest: TableState, at_start: TableState) -> None:
    """Refuse a table that the format cannot say, at the start or by now."""
    for state in (newest, at_start):
        choose_format(asked.capabilities, state, has_vectors=False)
