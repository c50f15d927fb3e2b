"""The query of a table on the wire: a body of hints in, a line for each file out."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import orjson

from lakeshare.columnar.predicate import And, Predicate, Unknown
from lakeshare.columnar.selection import Selection
from lakeshare.formats.delta.json_hints import parse_json_hints
from lakeshare.formats.delta.lines import LineShape, delta_lines, parquet_lines
from lakeshare.formats.delta.sql_hints import parse_sql_hints
from lakeshare.http.json import read_json
from lakeshare.http.response import Response
from lakeshare.sharing.errors import InvalidParameter, MalformedRequest
from lakeshare.sharing.model.asking import Moment, Paged, QueryTable, ReadChanges, ResponseFormat
from lakeshare.sharing.operations.opening import tables_of
from lakeshare.sharing.operations.query import Answer, query_table
from lakeshare.sharing.room import Room
from lakeshare.sharing.wire import changes
from lakeshare.sharing.wire.call import Call, Route
from lakeshare.sharing.wire.capabilities import answer_headers, read_capabilities, read_id_hash
from lakeshare.sharing.wire.delivery import count_read, links_for, still_admitted
from lakeshare.sharing.wire.heads import head_lines
from lakeshare.sharing.wire.parameters import instant_ms, max_files, table_name, text, truth, version, whole
from lakeshare.sharing.wire.stream import Stream, end_line, translated
from lakeshare.sharing.wire.tables import TABLE

BODY_LIMIT_BYTES = 4 * 1024 * 1024
"""A tree of predicates may have a million letters, and each may be escaped in JSON."""

_UNPAGED = frozenset({"pageToken", "maxFiles", "includeRefreshToken", "refreshToken"})


def _decode(call: Call) -> QueryTable | ReadChanges:
    body = read_json(call.body) if call.body.strip() else {}
    if not isinstance(body, dict):
        raise MalformedRequest("the body must be a JSON object")
    moment = Moment(
        version("version", body.get("version"), "table version cannot be negative."),
        instant_ms("timestamp", body.get("timestamp")),
    )
    start = version("startingVersion", body.get("startingVersion"), "startingVersion cannot be negative.")
    if sum(each is not None for each in (moment.version, moment.timestamp_ms, start)) > 1:
        raise InvalidParameter("Please only provide one of: version,timestamp,startingVersion")
    if start is not None:
        return _stream(call, body, start)
    if body.get("endingVersion") not in {None, ""}:
        raise InvalidParameter("endingVersion can be given with startingVersion only.")
    asked = QueryTable(
        table_name(call.names),
        read_capabilities(call.request.headers),
        read_id_hash(call.request.headers),
        moment,
        _predicate(body),
        whole("limitHint", body.get("limitHint")),
        _paged(call, body),
        truth("includeRefreshToken", body.get("includeRefreshToken")),
        text("refreshToken", body.get("refreshToken")),
    )
    return _checked(asked)


def _stream(call: Call, body: Mapping[str, Any], start: int) -> ReadChanges:
    end = version("endingVersion", body.get("endingVersion"), "endingVersion cannot be negative.")
    if end is not None and end < start:
        raise InvalidParameter(f"startingVersion({start}) must be smaller than or equal to endingVersion({end}).")
    if truth("includeRefreshToken", body.get("includeRefreshToken")) or body.get("refreshToken"):
        raise InvalidParameter("includeRefreshToken cannot be used when querying a specific version.")
    return ReadChanges(
        table_name(call.names),
        read_capabilities(call.request.headers),
        read_id_hash(call.request.headers),
        Moment(start),
        Moment(end),
        stream=True,
        historical_metadata=True,
        historical_protocol=truth("includeHistoricalProtocol", body.get("includeHistoricalProtocol")),
        paged=_paged(call, body),
    )


def _checked(asked: QueryTable) -> QueryTable:
    """Refuse what does not go together."""
    refreshes = {"includeRefreshToken": asked.include_refresh, "refreshToken": bool(asked.refresh_token)}
    for name in (name for name, given in refreshes.items() if given):
        if not asked.moment.is_latest:
            raise InvalidParameter(f"{name} cannot be used when querying a specific version.")
        if asked.paged.page_token:
            raise InvalidParameter(f"{name} must be used in the first page request.")
    if asked.limit is not None and asked.limit < 0:
        raise InvalidParameter("limitHint cannot be negative.")
    return asked


def _paged(call: Call, body: Mapping[str, Any]) -> Paged:
    rest = {name: value for name, value in body.items() if name not in _UNPAGED}
    names = "/".join(call.names.values()).casefold()
    digest = sha256(names.encode() + orjson.dumps(rest, option=orjson.OPT_SORT_KEYS)).hexdigest()
    return Paged(max_files(body.get("maxFiles")), text("pageToken", body.get("pageToken")), digest)


def _predicate(body: Mapping[str, Any]) -> Predicate | None:
    """Read the hints of both kinds; one that cannot be read may hold for any row, and is never an error."""
    found: list[Predicate] = []
    hints = body.get("predicateHints")
    if isinstance(hints, Sequence) and not isinstance(hints, str):
        words = [hint for hint in hints if isinstance(hint, str) and hint.strip()]
        found += [each for each in (parse_sql_hints(words),) if each is not None]
    tree = body.get("jsonPredicateHints")
    if isinstance(tree, str) and tree.strip():
        found.append(parse_json_hints(tree) or Unknown())
    return And(tuple(found)) if found else None


async def _answer(room: Room, call: Call, asked: QueryTable | ReadChanges) -> Response:
    if isinstance(asked, ReadChanges):
        return await changes.answer(room, call, asked)
    found = await query_table(room, call.view, call.access, asked)
    opened, snapshot = found.opened, found.opened.snapshot
    links = links_for(room, call, opened.located, opened.place)
    shape = LineShape(
        asked.id_column or found.format.id_column,
        links.expiration_ms,
        None if opened.timestamp_ms is None else snapshot.version,
        opened.timestamp_ms,
    )
    write = delta_lines if found.format is ResponseFormat.DELTA else parquet_lines
    stream = Stream(
        tables_of(room, opened.place),
        head_lines(snapshot, found.format, history=opened.located.table.history),
        translated(write(found.selection, links, shape), opened.place),
        (lambda: end_line(links.expiration_ms, found.next_page, found.refresh)) if asked.wants_end else None,
        still_admitted(room, call, opened.located.share.name),
    )
    headers = answer_headers(
        call.request.headers, snapshot.version, found.format, end_stream=asked.capabilities.end_stream
    )
    response = await stream.response(call.request, headers)
    count_read(room, call, opened.located, found.selection.num_files, _size(found))
    return response


def _size(found: Answer) -> int:
    whole_table = found.opened.snapshot.files
    if found.selection.num_files == whole_table.num_files:
        return whole_table.size_bytes
    return _sum(found.selection)


def _sum(selection: Selection) -> int:
    total = 0
    for part, mask in selection.chosen:
        sizes = part.column("size").to_numpy()
        total += int(sizes.sum() if mask is None else sizes[mask].sum())
    return total


ROUTES = (Route("QueryTable", "POST", f"{TABLE}/query", _decode, _answer, body_limit_bytes=BODY_LIMIT_BYTES),)
