"""Metrics reports and the version log on the wire; what shows them is ours, the specification has no such thing."""

from typing import Any

import orjson

from lakeshare.http.response import Response
from lakeshare.tables.operations.history import ShowHistory, show_history
from lakeshare.tables.operations.reports import ShowReports, TakeReport, show_reports, take_report
from lakeshare.tables.room import Room
from lakeshare.tables.wire import answers
from lakeshare.tables.wire.asking import by, paging_of, table_of
from lakeshare.tables.wire.bodies import read_document, text_in
from lakeshare.tables.wire.call import Call, Route

_TABLE = "/{warehouse}/namespaces/{namespace}/tables/{table}"
REPORT_LIMIT_BYTES = 1024 * 1024


async def _take(call: Call) -> TakeReport:
    kind = text_in(read_document(call.body), "report-type")
    return TakeReport(await table_of(call), kind, call.body, by(call))


async def _taken(room: Room, _call: Call, asked: TakeReport) -> Response:
    await take_report(room, asked)
    return answers.nothing()


async def _show(call: Call) -> ShowReports:
    return ShowReports(await table_of(call))


async def _shown(room: Room, _call: Call, asked: ShowReports) -> Response:
    found = await show_reports(room, asked)
    reports: list[dict[str, Any]] = [
        {"received-at-ms": each.received_at_ms, "reported-by": each.reported_by, "report": orjson.Fragment(each.text)}
        for each in found
    ]
    return answers.json_answer({"reports": reports})


async def _history(call: Call) -> ShowHistory:
    return ShowHistory(await table_of(call), paging_of(call))


async def _told(room: Room, _call: Call, asked: ShowHistory) -> Response:
    lines, token = await show_history(room, asked)
    versions = [
        {
            "version": number,
            "timestamp-ms": line.timestamp_ms,
            "snapshot-id": line.snapshot_id,
            "schema-id": line.schema_id,
            "spec-id": line.spec_id,
            "metadata-location": line.metadata_location,
            "committed-by": line.committed_by,
        }
        for number, line in lines
    ]
    return answers.json_answer({"versions": versions, "next-page-token": token})


ROUTES = (
    Route(
        "ReportMetrics",
        "POST",
        f"{_TABLE}/metrics",
        "TableMetrics",
        _take,
        _taken,
        body_limit_bytes=REPORT_LIMIT_BYTES,
    ),
    Route("ShowReports", "GET", f"{_TABLE}/metrics", "GetTable", _show, _shown, endpoint=False),
    Route("ShowHistory", "GET", f"{_TABLE}/history", "GetTable", _history, _told, endpoint=False),
)
