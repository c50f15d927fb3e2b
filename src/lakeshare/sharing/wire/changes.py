"""What changed in a table on the wire: the change feed, and the files that a stream from a version goes on with."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256

from lakeshare.formats.delta.change_lines import delta_change_lines, parquet_change_lines
from lakeshare.formats.delta.changes import CommitChanges
from lakeshare.formats.delta.lines import LineShape
from lakeshare.http.response import Response
from lakeshare.sharing.errors import InvalidParameter, UnsupportedTable
from lakeshare.sharing.links import Links
from lakeshare.sharing.model.asking import Moment, Paged, ReadChanges, ResponseFormat
from lakeshare.sharing.operations.changes import Feed, next_page, read_changes
from lakeshare.sharing.operations.opening import tables_of
from lakeshare.sharing.room import Room
from lakeshare.sharing.wire.call import Call, Route
from lakeshare.sharing.wire.capabilities import answer_headers, read_capabilities, read_id_hash
from lakeshare.sharing.wire.delivery import count_read, links_for, still_admitted
from lakeshare.sharing.wire.heads import head_lines, metadata_line, protocol_line
from lakeshare.sharing.wire.parameters import instant_ms, max_files, query_of, table_name, truth, version
from lakeshare.sharing.wire.stream import Stream, end_line, translated
from lakeshare.sharing.wire.tables import TABLE

_UNPAGED = ("pageToken", "maxFiles")


@dataclass(slots=True)
class Written:
    """How far an answer has come: its files and their bytes, and where the next page begins, if there is one."""

    files: int = 0
    size_bytes: int = 0
    next_version: int | None = None
    next_skip: int = 0


def _decode(call: Call) -> ReadChanges:
    asked = query_of(call.request)
    start = Moment(
        version("startingVersion", asked.get("startingVersion"), "startingVersion cannot be negative."),
        instant_ms("startingTimestamp", asked.get("startingTimestamp")),
    )
    end = Moment(
        version("endingVersion", asked.get("endingVersion"), "endingVersion cannot be negative."),
        instant_ms("endingTimestamp", asked.get("endingTimestamp")),
    )
    _check(start, end)
    rest = sorted((name, value) for name, value in asked.items() if name not in _UNPAGED)
    digest = sha256(repr(("/".join(call.names.values()).casefold(), rest)).encode()).hexdigest()
    return ReadChanges(
        table_name(call.names),
        read_capabilities(call.request.headers),
        read_id_hash(call.request.headers),
        start,
        end,
        historical_metadata=truth("includeHistoricalMetadata", asked.get("includeHistoricalMetadata")),
        historical_protocol=truth("includeHistoricalProtocol", asked.get("includeHistoricalProtocol")),
        paged=Paged(max_files(asked.get("maxFiles")), asked.get("pageToken", ""), digest),
    )


def _check(start: Moment, end: Moment) -> None:
    if start.is_latest:
        raise InvalidParameter("No startingVersion or startingTimestamp provided for CDF read.")
    if start.version is not None and start.timestamp_ms is not None:
        raise InvalidParameter("Multiple starting arguments provided for CDF read. Please provide one of either "
                               "startingVersion or startingTimestamp.")  # fmt: skip
    if end.version is not None and end.timestamp_ms is not None:
        raise InvalidParameter("Multiple ending arguments provided for CDF read. Please provide one of either "
                               "endingVersion or endingTimestamp.")  # fmt: skip
    if start.version is not None and end.version is not None and end.version < start.version:
        raise InvalidParameter(
            f"CDF range from start {start.version} to end {end.version} was invalid. End cannot be before start."
        )


async def answer(room: Room, call: Call, asked: ReadChanges) -> Response:
    """Answer with the lines of each commit."""
    feed = await read_changes(room, call.view, call.access, asked)
    links = links_for(room, call, feed.located, feed.place)
    shape = LineShape(asked.id_column or feed.format.id_column, links.expiration_ms)
    written = Written()
    stream = Stream(
        tables_of(room, feed.place),
        head_lines(feed.head, feed.format, history=True),
        translated(_counted(room, call, feed, written, _lines(feed, links, shape, written)), feed.place),
        (lambda: _end(room, call, feed, links, written)) if asked.wants_end else None,
        still_admitted(room, call, feed.located.share.name),
    )
    headers = answer_headers(call.request.headers, feed.start, feed.format, end_stream=asked.capabilities.end_stream)
    return await stream.response(call.request, headers)


def _end(room: Room, call: Call, feed: Feed, links: Links, written: Written) -> bytes:
    following = ""
    if written.next_version is not None:
        following = next_page(call.view, feed, written.next_version, written.next_skip, room.clock())
    return end_line(links.expiration_ms, following)


def _counted(room: Room, call: Call, feed: Feed, written: Written, lines: Iterator[bytes]) -> Iterator[bytes]:
    """Count what was read once all of it is written; counts are kept on the loop."""
    loop = feed.files.loop
    yield from lines
    loop.call_soon_threadsafe(count_read, room, call, feed.located, written.files, written.size_bytes)


def _lines(feed: Feed, links: Links, shape: LineShape, written: Written) -> Iterator[bytes]:
    """Yield the lines of commits until a page is full. Blocks."""
    write = delta_change_lines if feed.format is ResponseFormat.DELTA else parquet_change_lines
    limit = feed.asked.paged.max_files
    for commit, timestamp_ms in feed.commits():
        skip = feed.span.skip if commit.version == feed.span.first else 0
        if limit is not None and written.files >= limit and commit.files[skip:]:
            written.next_version, written.next_skip = commit.version, skip
            return
        if not skip:
            yield _told(feed, commit)
        room_left = None if limit is None else limit - written.files
        taken = commit.files[skip:] if room_left is None else commit.files[skip : skip + room_left]
        _check_plain(feed, commit)
        yield from write(replace(commit, files=taken), timestamp_ms, links, shape)
        written.files += len(taken)
        written.size_bytes += sum(file.size or 0 for file in taken)
        if skip + len(taken) < len(commit.files):
            written.next_version, written.next_skip = commit.version, skip + len(taken)
            return


def _told(feed: Feed, commit: CommitChanges) -> bytes:
    """Write what a commit after the first says of the table itself, where the client wants that."""
    if commit.version == feed.start:
        return b""
    said = b""
    if commit.protocol is not None and feed.asked.historical_protocol and feed.format is ResponseFormat.DELTA:
        said += protocol_line(commit.protocol, feed.format, commit.version)
    if commit.metadata is not None and feed.asked.historical_metadata:
        said += metadata_line(commit.metadata, feed.format, commit.version)
    return said


def _check_plain(feed: Feed, commit: CommitChanges) -> None:
    """Refuse to send files with deletion vectors in the format that cannot say them."""
    if feed.format is ResponseFormat.PARQUET and any(getattr(file, "deletion_vector", None) for file in commit.files):
        raise UnsupportedTable(
            f"version {commit.version} has deletion vectors, which responseformat=parquet cannot say: "
            "use a client that reads responseformat=delta"
        )


ROUTES = (Route("ReadTableChanges", "GET", f"{TABLE}/changes", _decode, answer),)
