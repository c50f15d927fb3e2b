"""Temporary credentials for a table's folder on the wire."""

import orjson

from lakeshare.http.json import JSON_LIMIT_BYTES, read_json
from lakeshare.http.response import Response
from lakeshare.sharing.errors import MalformedRequest
from lakeshare.sharing.operations.folders import GetFolderKey, get_folder_key
from lakeshare.sharing.room import Room
from lakeshare.sharing.wire.call import Call, Route
from lakeshare.sharing.wire.parameters import table_name, text
from lakeshare.sharing.wire.tables import TABLE


def _decode(call: Call) -> GetFolderKey:
    body = read_json(call.body) if call.body.strip() else {}
    if not isinstance(body, dict):
        raise MalformedRequest("the body must be a JSON object")
    return GetFolderKey(table_name(call.names), text("location", body.get("location")))


async def _answer(room: Room, call: Call, asked: GetFolderKey) -> Response:
    place, key = await get_folder_key(room, call.view, call.access, asked)
    said = {
        "location": asked.location or f"s3://{place.bucket}/{place.path}",
        "awsTempCredentials": {
            "accessKeyId": key.access_key,
            "secretAccessKey": key.secret.reveal(),
            "sessionToken": key.session_token.reveal(),
        },
        "expirationTime": key.expires_at * 1000,
    }
    headers = [("content-type", "application/json; charset=utf-8"), ("cache-control", "no-store")]
    return Response(200, headers, orjson.dumps({"credentials": said}))


ROUTES = (
    Route(
        "GetTableCredentials",
        "POST",
        f"{TABLE}/temporary-table-credentials",
        _decode,
        _answer,
        body_limit_bytes=JSON_LIMIT_BYTES,
    ),
)
