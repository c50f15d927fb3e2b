"""Shares and what is in them, on the wire."""

from typing import Any

from lakeshare.admin.model.paging import Taken
from lakeshare.admin.operations import sharing as admin_sharing
from lakeshare.admin.operations.sharing import CheckSharing, Findings, Paged, ProbeStream, in_pages, on_shares
from lakeshare.admin.wire import names
from lakeshare.admin.wire import sharing_shapes as shapes
from lakeshare.admin.wire.call import Call
from lakeshare.admin.wire.route import Gives, Route, Takes
from lakeshare.admin.wire.shapes import Choice, Field, Flag, Many, Record
from lakeshare.admin.wire.users import page_of
from lakeshare.sharing.errors import BadWindow
from lakeshare.sharing.model.names import folded
from lakeshare.sharing.model.shares import MAX_SCHEMAS, Offer
from lakeshare.sharing.model.spec import read_spec
from lakeshare.sharing.operations import contents, shares, usage
from lakeshare.sharing.operations.contents import ChangeSchema, ChangeTables, SchemaCall
from lakeshare.sharing.operations.offers import MAX_OFFERS
from lakeshare.sharing.operations.shares import CreateShare, ListShares, Removed, ShareCall, UpdateShare
from lakeshare.sharing.operations.shown import CREATE, DELETE, GET, LIST, UPDATE, ShownShare
from lakeshare.sharing.operations.tokens import LIST as LIST_TOKENS
from lakeshare.sharing.operations.usage import GetUsage, UsageRow

OFFER = Record(
    (
        Field("schema", shapes.NAME, required=True),
        Field(
            "spec", shapes.SPEC, "`NAME:delta:BUCKET:PATH`, or with `*` for NAME all tables below PATH.", required=True
        ),
        Field("history", Flag(), "Whether older versions and changes are shared; true if it is not given."),
        Field("start_version", shapes.VERSION, "The oldest version that is shared."),
    )
)
NEW_SCHEMA = Record((Field("name", shapes.NAME, required=True), Field("description", shapes.DESCRIPTION)))
NEW_SHARE = Record(
    (
        Field("name", shapes.NAME, required=True),
        Field("description", shapes.DESCRIPTION),
        Field("oauth_only", Flag(), "Refuse bearer tokens."),
        Field("tables", Many(OFFER, MAX_OFFERS), "What is shared; schemas that they name are made."),
        Field("schemas", Many(NEW_SCHEMA, MAX_SCHEMAS), "Schemas to make besides."),
    )
)
UPDATE_SHARE = Record(
    (Field("name", shapes.NAME), Field("description", shapes.DESCRIPTION), Field("oauth_only", Flag()))
)
OUT = Record(
    (
        Field("schema", shapes.NAME, required=True),
        Field("table", shapes.NAME, "`*`: what is shared whole.", required=True),
    )
)
TABLES = Record(
    (
        Field("add", Many(OFFER, MAX_OFFERS)),
        Field("remove", Many(OUT, MAX_OFFERS)),
        Field("description", shapes.DESCRIPTION, "The share's, changed at the same moment."),
    )
)
UPDATE_SCHEMA = Record((Field("name", shapes.NAME), Field("description", shapes.DESCRIPTION)))
REMOVED = Record(
    (
        Field("name", names.ANY, required=True),
        Field("tokens", names.COUNT, "How many tokens and OAuth clients ended with it.", required=True),
    )
)
USAGE = Record(
    (
        Field(
            "usage",
            Many(
                Record(
                    (
                        Field("recipient", names.ANY, required=True),
                        Field("share", names.ANY, required=True),
                        Field("table", names.ANY, "Schema and table.", required=True),
                        Field("queries", names.COUNT, required=True),
                        Field("files", names.COUNT, required=True),
                        Field("bytes", names.COUNT, required=True),
                        Field("last_at", names.TIME, required=True),
                    )
                ),
                10_000_000,
            ),
            required=True,
        ),
    )
)
CHECKS = Record(
    (
        Field("endpoint", names.ANY, "The URL that recipients are given.", required=True),
        Field(
            "checks",
            Many(
                Record(
                    (
                        Field("check", names.ANY, required=True),
                        Field("level", Choice(("ok", "warning", "error")), required=True),
                        Field("subject", names.ANY, required=True),
                        Field("message", names.ANY, required=True),
                    )
                ),
                100_000,
            ),
            required=True,
        ),
        Field("complete", Flag(), "False where there are more tables than were looked at.", required=True),
    )
)


def offer_of(given: dict[str, Any]) -> Offer:
    """Read a table to be shared. Raises BadSpec, BadName, BadWindow."""
    name, place = read_spec(given["spec"])
    history, start = given.get("history", True), given.get("start_version", 0)
    if start and not history:
        raise BadWindow
    return Offer(given["schema"], name, place, history, start)


def _list(call: Call) -> Paged[ListShares]:
    return Paged(ListShares(), call.page)


def _create(call: Call) -> CreateShare:
    given = call.body
    return CreateShare(
        call.caller.name,
        given.get("name", ""),
        given.get("description", ""),
        tuple(offer_of(each) for each in given.get("tables", ())),
        tuple((each["name"], each.get("description", "")) for each in given.get("schemas", ())),
        given.get("oauth_only", False),
    )


def _update(call: Call) -> UpdateShare:
    given = call.body
    return UpdateShare(call.names["share"], given.get("name"), given.get("description"), given.get("oauth_only"))


def _tables(call: Call) -> ChangeTables:
    out = tuple((each["schema"], each["table"]) for each in call.body.get("remove", ()))
    add = tuple(offer_of(each) for each in call.body.get("add", ()))
    return ChangeTables(call.names["share"], add, out, call.body.get("description"))


def _schema(call: Call) -> ChangeSchema:
    names_ = call.names
    return ChangeSchema(names_["share"], names_["schema"], call.body.get("name"), call.body.get("description"))


def _usage(call: Call) -> GetUsage:
    return GetUsage(call.query.get("recipient", ""), call.query.get("share", ""))


def _shares(found: Taken[ShownShare]) -> dict[str, Any]:
    return page_of("shares", [shapes.share_line(each) for each in found.items], found.next)


def _removed(removed: Removed) -> dict[str, Any]:
    return {"name": removed.share.name, "tokens": removed.tokens}


def _rows(rows: tuple[UsageRow, ...]) -> dict[str, Any]:
    return {
        "usage": [
            {
                "recipient": row.recipient,
                "share": row.share,
                "table": row.counts.table,
                "queries": row.counts.queries,
                "files": row.counts.files,
                "bytes": row.counts.bytes,
                "last_at": row.counts.last_at,
            }
            for row in rows
        ]
    }


def _findings(found: Findings) -> dict[str, Any]:
    checks = [
        {"check": each.check, "level": each.level, "subject": each.subject, "message": each.message}
        for each in found.items
    ]
    return {"endpoint": found.endpoint, "checks": checks, "complete": found.complete}


def _asking(action: str) -> Any:
    return lambda call: ShareCall(call.names["share"], action)


_LISTED = in_pages(shares.list_shares, lambda shown: folded(shown.share.name))
_ABOUT_USAGE = (Field("recipient", shapes.NAME), Field("share", shapes.NAME))

# fmt: off
ROUTES = (
    Route("ListShares", "GET", "/shares", LIST, "List shares.",
          _list, _LISTED, _shares, shapes.SHARES, query=shapes.PAGING),
    Route("CreateShare", "POST", "/shares", CREATE, "Make a share; every table in it is looked at first.",
          _create, on_shares(shares.create_share), shapes.share, shapes.SHARE, 201, body=NEW_SHARE, takes=Takes.JSON),
    Route("GetShare", "GET", "/shares/{share}", GET, "Show a share with its schemas and tables.",
          _asking(GET), on_shares(shares.get_share), shapes.share, shapes.SHARE),
    Route("UpdateShare", "PATCH", "/shares/{share}", UPDATE, "Rename or describe a share, or let it require OAuth.",
          _update, on_shares(shares.update_share), shapes.share, shapes.SHARE, body=UPDATE_SHARE, takes=Takes.JSON),
    Route("DeleteShare", "DELETE", "/shares/{share}", DELETE, "Remove a share; its tokens end at once.",
          _asking(DELETE), on_shares(shares.remove_share), _removed, REMOVED),
    Route("ChangeTables", "POST", "/shares/{share}/tables", UPDATE, "Add tables to a share and take others out.",
          _tables, on_shares(contents.change_tables), shapes.share, shapes.SHARE, body=TABLES, takes=Takes.JSON),
    Route("UpdateSchema", "PATCH", "/shares/{share}/schemas/{schema}", UPDATE, "Rename or describe a schema.",
          _schema, on_shares(contents.change_schema), shapes.share, shapes.SHARE, body=UPDATE_SCHEMA, takes=Takes.JSON),
    Route("DeleteSchema", "DELETE", "/shares/{share}/schemas/{schema}", UPDATE, "Take a schema out of a share.",
          lambda call: SchemaCall(call.names["share"], call.names["schema"]), on_shares(contents.remove_schema),
          shapes.share, shapes.SHARE),
    Route("GetSharingUsage", "GET", "/sharing/usage", LIST_TOKENS, "What each recipient read of each table.",
          _usage, on_shares(usage.get_usage), _rows, USAGE, query=_ABOUT_USAGE),
    Route("CheckSharing", "GET", "/sharing/checks", LIST, "What keeps recipients from reading, if anything.",
          lambda call: CheckSharing(call.origin), admin_sharing.check_sharing, _findings, CHECKS),
    Route("ProbeStream", "GET", "/sharing/probe", LIST, "Two lines a second apart, to find proxies that hold back.",
          lambda _call: ProbeStream(), admin_sharing.probe_stream, gives=Gives.LINES),
)
# fmt: on
