"""Listings on the wire: shares, schemas and tables, a page at a time, and one of each by its name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from lakeshare.http.response import Response
from lakeshare.identity.arns import share_arn
from lakeshare.identity.caller import Need
from lakeshare.sharing.errors import BadPage, BadPageSize
from lakeshare.sharing.model.asking import TableName
from lakeshare.sharing.model.places import DeltaPlace
from lakeshare.sharing.model.shares import Schema, Share
from lakeshare.sharing.operations.catalog import (
    MAX_RESULTS,
    START,
    Located,
    Paging,
    Position,
    find_table,
    list_all_tables,
    list_schemas,
    list_shares,
    list_tables,
)
from lakeshare.sharing.room import Room
from lakeshare.sharing.tickets import BadTicket, seal, unseal
from lakeshare.sharing.wire.call import Call, Route
from lakeshare.sharing.wire.parameters import query_of, table_name, whole

_JSON = ("content-type", "application/json; charset=utf-8")


@dataclass(frozen=True, slots=True)
class ListItems:
    """A page of what a share, a schema of it or everything holds; `about` is what the page token belongs to."""

    action: str
    paging: Paging
    about: str
    share: str = ""
    schema: str = ""

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need(self.action, share_arn(self.share, self.schema)),) if self.share else ()


@dataclass(frozen=True, slots=True)
class GetItem:
    """A share, or a table, by its name."""

    action: str
    name: TableName

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return self.name.needs(self.action)


def _decode_list(action: str, call: Call) -> ListItems:
    share, schema = call.names.get("share", ""), call.names.get("schema", "")
    about = f"{action}/{share}/{schema}".casefold()
    asked = query_of(call.request)
    limit = whole("maxResults", asked.get("maxResults"))
    if limit is not None and not 0 <= limit <= MAX_RESULTS:
        raise BadPageSize(MAX_RESULTS)
    after = START
    if token := asked.get("pageToken"):
        try:
            after = unseal(call.view, Position, token, about)
        except BadTicket:
            raise BadPage from None
    return ListItems(action, Paging(MAX_RESULTS if limit is None else limit, after), about, share, schema)


async def _shares(_room: Room, call: Call, asked: ListItems) -> Response:
    page = list_shares(call.access, asked.paging)
    return _page(call, asked, [_share(each) for each in page.items], page.next)


async def _schemas(room: Room, call: Call, asked: ListItems) -> Response:
    page = await list_schemas(room, call.access, asked.share, asked.paging)
    return _page(call, asked, [_schema(page.share, each) for each in page.items], page.next)


async def _tables(room: Room, call: Call, asked: ListItems) -> Response:
    page = await list_tables(room, call.access, asked.share, asked.schema, asked.paging)
    return _page(call, asked, [table_json(each) for each in page.items], page.next)


async def _all_tables(room: Room, call: Call, asked: ListItems) -> Response:
    page = await list_all_tables(room, call.access, asked.share, asked.paging)
    return _page(call, asked, [table_json(each) for each in page.items], page.next)


async def _one_share(_room: Room, call: Call, asked: GetItem) -> Response:
    return _json({"share": _share(call.view.share_for(call.access, asked.name.share))})


async def _one_table(room: Room, call: Call, asked: GetItem) -> Response:
    name = asked.name
    found = await find_table(room, call.access, name.share, name.schema, name.table)
    return _json(table_json(found) | {"format": "delta"})


def table_json(found: Located) -> dict[str, Any]:
    """Write a table. Where it lies is said of one that can be read as a folder: with all of its history."""
    said: dict[str, Any] = {
        "name": found.table.name,
        "schema": found.schema.name,
        "share": found.share.name,
        "shareId": found.share.id,
        "id": found.table.id,
    }
    if (place := as_folder(found)) is not None:
        said |= {"location": f"s3://{place.bucket}/{place.path}", "accessModes": ["url", "dir"]}
    return said


def as_folder(found: Located) -> DeltaPlace | None:
    """Return where a table lies that may be read as a folder; None of one whose history is not shared whole."""
    place = found.table.place
    if not isinstance(place, DeltaPlace) or place.source:
        return None
    return place if found.table.history and not found.table.start_version else None


def _share(share: Share) -> dict[str, Any]:
    said: dict[str, Any] = {"name": share.name, "id": share.id}
    return said | {"comment": share.description} if share.description else said


def _schema(share: Share, schema: Schema) -> dict[str, Any]:
    said: dict[str, Any] = {"name": schema.name, "share": share.name}
    return said | {"id": schema.id} if schema.id else said


def _page(call: Call, asked: ListItems, items: Sequence[Mapping[str, Any]], following: Position | None) -> Response:
    said: dict[str, Any] = {"items": items}
    if following is not None:
        said["nextPageToken"] = seal(call.view, following, asked.about)
    return _json(said)


def _json(said: Mapping[str, Any]) -> Response:
    return Response(200, [_JSON, ("cache-control", "no-store")], orjson.dumps(said))


def _get(action: str, call: Call) -> GetItem:
    names = {"schema": "", "table": "", **call.names}
    return GetItem(action, table_name(names))


ROUTES = (
    Route("ListShares", "GET", "/shares", lambda call: _decode_list("sharing:ListShares", call), _shares),
    Route("GetShare", "GET", "/shares/{share}", lambda call: _get("sharing:GetShare", call), _one_share),
    Route(
        "ListSchemas",
        "GET",
        "/shares/{share}/schemas",
        lambda call: _decode_list("sharing:ListSchemas", call),
        _schemas,
    ),
    Route(
        "ListTables",
        "GET",
        "/shares/{share}/schemas/{schema}/tables",
        lambda call: _decode_list("sharing:ListTables", call),
        _tables,
    ),
    Route(
        "ListAllTables",
        "GET",
        "/shares/{share}/all-tables",
        lambda call: _decode_list("sharing:ListAllTables", call),
        _all_tables,
    ),
    Route(
        "GetTable",
        "GET",
        "/shares/{share}/schemas/{schema}/tables/{table}",
        lambda call: _get("sharing:GetTable", call),
        _one_table,
    ),
)
