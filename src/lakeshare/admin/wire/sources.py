"""Remote sources, on the wire."""

from typing import Any

from lakeshare.admin.operations.sharing import on_shares
from lakeshare.admin.wire import names
from lakeshare.admin.wire import sharing_shapes as shapes
from lakeshare.admin.wire.call import Call
from lakeshare.admin.wire.route import Gives, Route, Takes
from lakeshare.admin.wire.shapes import Field, Flag, Many, Record, Text
from lakeshare.admin.wire.users import secret_of
from lakeshare.sharing.model.sources import MAX_SOURCES, RemoteSource
from lakeshare.sharing.operations import sources
from lakeshare.sharing.operations.offers import SHARING_ACTION
from lakeshare.sharing.operations.sources import PutSource, SourceCall

SOURCE = Record(
    (
        Field("name", names.ANY, required=True),
        Field("endpoint", names.ANY, required=True),
        Field("public_endpoint", names.ANY, "Where recipients reach it, if elsewhere.", required=True),
        Field("access_key", names.ANY, required=True),
        Field("region", names.ANY, required=True),
        Field("path_style", Flag(), required=True),
        Field("description", names.ANY, required=True),
        Field("created_at", names.TIME, required=True),
        Field("created_by", names.ANY, required=True),
        Field("updated_at", names.TIME, required=True),
    )
)
SOURCES = Record((Field("sources", Many(SOURCE, MAX_SOURCES), required=True),))
_REST = (
    Field("endpoint", shapes.URL, "The URL of the S3 store.", required=True),
    Field("access_key", Text(128, 1), "A key that may read there, and need not write.", required=True),
    Field("region", Text(64, 1)),
    Field("public_endpoint", shapes.URL, "Where recipients reach it, if elsewhere."),
    Field("path_style", Flag(), "Whether the bucket stands in the path; true if it is not given."),
    Field("description", shapes.DESCRIPTION),
)
_SECRET = Text(512, 1, secret=True)
NEW_SOURCE = Record(
    (Field("name", shapes.SOURCE_NAME, required=True), Field("secret_key", _SECRET, required=True), *_REST)
)
CHANGED_SOURCE = Record((Field("secret_key", _SECRET, "Kept if it is not given."), *_REST))


def _source(source: RemoteSource) -> dict[str, Any]:
    return {field.name: getattr(source, field.name) for field in SOURCE.fields}


def _sources(found: tuple[RemoteSource, ...]) -> dict[str, Any]:
    return {"sources": [_source(each) for each in found]}


def _put(call: Call, name: str, *, makes: bool) -> PutSource:
    given = call.body
    return PutSource(
        call.caller.name,
        name,
        given.get("endpoint", ""),
        given.get("access_key", ""),
        secret_of(given.get("secret_key")),
        given.get("region", "us-east-1"),
        given.get("public_endpoint", ""),
        given.get("path_style", True),
        given.get("description", ""),
        makes,
    )


def _about(call: Call) -> SourceCall:
    return SourceCall(call.names["source"])


_ACTION = SHARING_ACTION

# fmt: off
ROUTES = (
    Route("ListSources", "GET", "/sources", _ACTION, "List remote sources.",
          lambda _call: SourceCall(), on_shares(sources.list_sources), _sources, SOURCES),
    Route("CreateSource", "POST", "/sources", _ACTION, "Name another S3 store whose tables can be shared.",
          lambda call: _put(call, call.body.get("name", ""), makes=True), on_shares(sources.put_source),
          _source, SOURCE, 201, body=NEW_SOURCE, takes=Takes.JSON),
    Route("GetSource", "GET", "/sources/{source}", _ACTION, "Show a remote source, never its secret.",
          _about, on_shares(sources.get_source), _source, SOURCE),
    Route("PutSource", "PUT", "/sources/{source}", _ACTION, "Make or change a remote source.",
          lambda call: _put(call, call.names["source"], makes=False), on_shares(sources.put_source),
          _source, SOURCE, body=CHANGED_SOURCE, takes=Takes.JSON),
    Route("DeleteSource", "DELETE", "/sources/{source}", _ACTION, "Remove a remote source that no share uses.",
          _about, on_shares(sources.remove_source), status=204, gives=Gives.NOTHING),
)
# fmt: on
