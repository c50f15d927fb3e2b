"""Metrics reports: kept for each table, the newest few, and never a reason to fail or to delay a client."""

import time
from collections import OrderedDict
from dataclasses import dataclass

from lakeshare.identity.caller import Need
from lakeshare.state.port import Transaction
from lakeshare.tables.errors import BadRequest
from lakeshare.tables.model.entries import Report, Reports
from lakeshare.tables.model.targets import Target
from lakeshare.tables.records import POINTERS, REPORTS
from lakeshare.tables.room import Room

REPORTS_KEPT = 20
MAX_REPORT_BYTES = 16 * 1024
"""Larger reports are taken and not kept."""
LEAST_SECONDS = 0.2
"""Between two reports of one table that a worker keeps: Spark sends one for each scan."""
TABLES_REMEMBERED = 1_024
REPORT_TYPES = frozenset({"scan-report", "commit-report"})

_last: "OrderedDict[str, float]" = OrderedDict()


@dataclass(frozen=True, slots=True)
class TakeReport:
    """A report that a client sends."""

    target: Target
    kind: str
    text: bytes
    by: str

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (self.target.need("TableMetrics"),)


async def take_report(room: Room, call: TakeReport) -> None:
    """Keep a report, unless there are too many. Raises NoSuchTable, BadRequest."""
    found = call.target.entry()
    if call.kind not in REPORT_TYPES:
        raise BadRequest("report-type must be scan-report or commit-report")
    if len(call.text) > MAX_REPORT_BYTES or _too_soon(found.uuid):
        return
    stored = await REPORTS.get(room.state, found.warehouse.id, found.uuid)
    held = () if stored is None else stored.value.reports
    report = Report(room.now_ms(), call.by, call.text.decode("utf-8", "replace"))
    kept = Reports((report, *held)[:REPORTS_KEPT])
    first = REPORTS.absent(found.warehouse.id, found.uuid) if stored is None else stored.unchanged
    expect = first, POINTERS.exists(found.warehouse.id, found.uuid)
    # A conflict means that another report was kept at the same moment: this one is let go.
    await room.state.commit(Transaction(expect, (REPORTS.put(kept, found.warehouse.id, found.uuid),)))


@dataclass(frozen=True, slots=True)
class ShowReports:
    """The reports of a table that are kept."""

    target: Target

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (self.target.need("GetTable"),)


async def show_reports(room: Room, call: ShowReports) -> tuple[Report, ...]:
    """Return the newest reports, newest first. Raises NoSuchTable."""
    found = call.target.entry()
    stored = await REPORTS.get(room.state, found.warehouse.id, found.uuid)
    return () if stored is None else stored.value.reports


def _too_soon(uuid: str) -> bool:
    now = time.monotonic()
    if now - _last.get(uuid, float("-inf")) < LEAST_SECONDS:
        return True
    _last[uuid] = now
    _last.move_to_end(uuid)
    if len(_last) > TABLES_REMEMBERED:
        _last.popitem(last=False)
    return False
