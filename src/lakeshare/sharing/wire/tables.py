"""The version and the metadata of a table on the wire."""

from lakeshare.http.response import Response
from lakeshare.sharing.errors import InvalidParameter
from lakeshare.sharing.model.asking import GetMetadata, GetVersion, Moment
from lakeshare.sharing.operations.opening import choose_format, has_vectors, open_at
from lakeshare.sharing.operations.versions import get_version
from lakeshare.sharing.room import Room
from lakeshare.sharing.wire.call import Call, Route
from lakeshare.sharing.wire.capabilities import VERSION_HEADER, answer_headers, read_capabilities
from lakeshare.sharing.wire.heads import head_lines
from lakeshare.sharing.wire.parameters import instant_ms, query_of, table_name, version
from lakeshare.sharing.wire.stream import CONTENT_TYPE

TABLE = "/shares/{share}/schemas/{schema}/tables/{table}"
_NO_STORE = ("cache-control", "no-store")


def _decode_version(call: Call) -> GetVersion:
    asked = query_of(call.request).get("startingTimestamp")
    return GetVersion(table_name(call.names), instant_ms("startingTimestamp", asked))


async def _version(room: Room, call: Call, asked: GetVersion) -> Response:
    found = await get_version(room, call.access, asked)
    return Response(200, [(VERSION_HEADER, str(found)), _NO_STORE])


def _decode_metadata(call: Call) -> GetMetadata:
    asked = query_of(call.request)
    moment = Moment(
        version("version", asked.get("version"), "table version cannot be negative."),
        instant_ms("timestamp", asked.get("timestamp")),
    )
    if moment.version is not None and moment.timestamp_ms is not None:
        raise InvalidParameter("Please only provide one of: version,timestamp")
    return GetMetadata(table_name(call.names), read_capabilities(call.request.headers), moment)


async def _metadata(room: Room, call: Call, asked: GetMetadata) -> Response:
    opened = await open_at(room, call.access, asked.name, asked.moment)
    snapshot = opened.snapshot
    chosen = choose_format(asked.capabilities, snapshot.state, has_vectors=has_vectors(snapshot))
    headers = answer_headers(call.request.headers, snapshot.version, chosen)
    body = head_lines(snapshot, chosen, history=opened.located.table.history)
    return Response(200, [CONTENT_TYPE, _NO_STORE, *headers], body)


ROUTES = (
    Route("GetTableVersion", "GET", f"{TABLE}/version", _decode_version, _version),
    Route("GetTableVersion", "HEAD", TABLE, _decode_version, _version),
    Route("GetTableMetadata", "GET", f"{TABLE}/metadata", _decode_metadata, _metadata),
)
