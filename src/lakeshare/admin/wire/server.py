"""The server, its settings, its audit log and its state on the wire."""

from collections.abc import Sequence
from typing import Any

from lakeshare.admin.book import Entry
from lakeshare.admin.operations import server, state
from lakeshare.admin.operations.server import Info, ReadAudit, ServerCall, SettingCall
from lakeshare.admin.operations.state import ExportState, ImportState, VerifyState
from lakeshare.admin.wire import names
from lakeshare.admin.wire.call import Call
from lakeshare.admin.wire.route import Gives, Route, Takes
from lakeshare.admin.wire.shapes import Choice, Field, Flag, Many, Real, Record, Text, Whole
from lakeshare.settings import default_of, env_names, flag_name, written_value
from lakeshare.state.export import Summary
from lakeshare.storage.port import BucketUsage
from lakeshare.telemetry.audit import AuditEvent
from lakeshare.telemetry.tail import Tail, Wanted

SECOND_NS = 1_000_000_000
EVENT_LIMIT = 1000
EVENTS = 100
"""Audit events of an answer if it is not said how many."""

SETTING_CHARACTERS = 4096
STORAGE = Record(
    (
        Field("total_bytes", names.COUNT, required=True),
        Field("free_bytes", names.COUNT, required=True),
        Field("watermark_bytes", names.COUNT, "Writes are refused under so many free bytes.", required=True),
    )
)
INFO = Record(
    (
        Field("version", names.ANY, required=True),
        Field("deployment_id", names.ANY, required=True),
        Field("started_at", names.TIME, required=True),
        Field("uptime_seconds", names.COUNT, required=True),
        Field("workers", names.COUNT, required=True),
        Field("region", names.ANY, required=True),
        Field("storage", STORAGE, required=True),
    )
)
BUCKET = Record(
    (
        Field("name", names.ANY, required=True),
        Field("created_at", names.TIME, required=True),
        Field("objects", names.COUNT, required=True),
        Field("bytes", names.COUNT, required=True),
    )
)
USAGE = Record(
    (
        Field("buckets", Many(BUCKET, 1_000_000), required=True),
        Field("objects", names.COUNT, required=True),
        Field("bytes", names.COUNT, required=True),
    )
)
SETTING = Record(
    (
        Field("name", names.PLAIN, required=True),
        Field("value", names.ANY, "The text that gives it; a secret is `***`.", required=True),
        Field("default", names.ANY, required=True),
        Field("source", Choice(("flag", "environment", "state", "default")), required=True),
        Field("live", Flag(), "Whether it can change while the server runs.", required=True),
        Field("help", names.ANY, required=True),
        Field("flag", names.ANY, required=True),
        Field("environment", Many(names.ANY, 16), required=True),
    )
)
SETTINGS = Record((Field("settings", Many(SETTING, 1000), required=True),))
NEW_VALUE = Record((Field("value", Text(SETTING_CHARACTERS), "The text of the value.", required=True),))
EVENT = Record(
    (
        Field("time", names.ANY, "When the answer had left, in UTC.", required=True),
        Field("request_id", names.ANY, required=True),
        Field("peer", names.ANY, "The client's address.", required=True),
        Field("access_key", names.ANY, required=True),
        Field("action", names.ANY, "The operation.", required=True),
        Field("resources", Many(names.ANY, 100_000), required=True),
        Field("decision", names.ANY, "`allow`, `deny`, or `none` if it did not come to that.", required=True),
        Field("status", names.COUNT, required=True),
        Field("error", names.ANY, "The error's code.", required=True),
        Field("bytes_in", names.COUNT, required=True),
        Field("bytes_out", names.COUNT, required=True),
        Field("duration_ms", Real(), required=True),
        Field("user_agent", names.ANY, required=True),
    )
)
AUDIT = Record(
    (
        Field("events", Many(EVENT, EVENT_LIMIT), required=True),
        Field("complete", Flag(), "False if there was too much to look through.", required=True),
    )
)
SUMMARY = Record(
    (
        Field("generation", names.COUNT, required=True),
        Field("records", names.COUNT, required=True),
        Field("receipts", names.COUNT, required=True),
    )
)
FAULTS = Record((Field("faults", Many(names.ANY, 100_000), "What is wrong; empty if all is well.", required=True),))
_AUDIT_QUERY = (
    Field("limit", Whole(1, EVENT_LIMIT), f"Most events; {EVENTS} if it is not given."),
    Field("access_key", Text(128)),
    Field("action", Text(128)),
    Field("error", Text(128)),
    Field("request_id", Text(64)),
    Field("peer", Text(64)),
    Field("status", Whole(100, 599)),
    Field("since", names.TIME),
    Field("until", names.TIME),
)


def _info(info: Info) -> dict[str, Any]:
    return {
        "version": info.server.version,
        "deployment_id": info.server.deployment_id,
        "started_at": int(info.server.started_at),
        "uptime_seconds": max(0, int(info.at - info.server.started_at)),
        "workers": info.server.workers,
        "region": info.region,
        "storage": {
            "total_bytes": info.disk.total_bytes,
            "free_bytes": info.disk.free_bytes,
            "watermark_bytes": info.watermark_bytes,
        },
    }


def _bucket(usage: BucketUsage) -> dict[str, Any]:
    at = usage.bucket.created_at_ns // SECOND_NS
    return {"name": usage.bucket.name, "created_at": at, "objects": usage.objects, "bytes": usage.size_bytes}


def _usage(found: Sequence[BucketUsage]) -> dict[str, Any]:
    objects, size = sum(each.objects for each in found), sum(each.size_bytes for each in found)
    return {"buckets": [_bucket(each) for each in found], "objects": objects, "bytes": size}


def _setting(entry: Entry) -> dict[str, Any]:
    item, source = entry.field, entry.source
    words = source if source in {"state", "default"} else "flag" if source.startswith("--") else "environment"
    return {
        "name": item.name,
        "value": written_value(entry.value),
        "default": written_value(default_of(item)),
        "source": words,
        "live": item.metadata["live"],
        "help": item.metadata["help"],
        "flag": flag_name(item),
        "environment": env_names(item),
    }


def _settings(entries: tuple[Entry, ...]) -> dict[str, Any]:
    return {"settings": [_setting(entry) for entry in entries]}


def _event(event: AuditEvent) -> dict[str, Any]:
    return {field.name: getattr(event, field.name) for field in EVENT.fields}


def _audit(found: Tail) -> dict[str, Any]:
    return {"events": [_event(event) for event in found.events], "complete": found.complete}


def _summary(summary: Summary) -> dict[str, Any]:
    return {"generation": summary.generation, "records": summary.records, "receipts": summary.receipts}


def _faults(faults: Sequence[str]) -> dict[str, Any]:
    return {"faults": list(faults)}


def _read_audit(call: Call) -> ReadAudit:
    return ReadAudit(Wanted(**{"limit": EVENTS, **call.query}))


def _asking(action: str) -> Any:
    return lambda _call: ServerCall(action)


def _about(action: str) -> Any:
    return lambda call: SettingCall(call.caller, call.names["setting"], action, call.body.get("value", ""))


_READ, _WRITE = "admin:ConfigRead", "admin:ConfigUpdate"

# fmt: off
ROUTES = (
    Route("GetInfo", "GET", "/info", "admin:ServerInfo", "Version, uptime, workers, deployment, disk.",
          _asking("admin:ServerInfo"), server.get_info, _info, INFO),
    Route("GetUsage", "GET", "/usage", "admin:DataUsageInfo", "Objects and bytes of each bucket.",
          _asking("admin:DataUsageInfo"), server.get_usage, _usage, USAGE),
    Route("ListSettings", "GET", "/settings", _READ, "List settings: value, where it comes from, help.",
          _asking(_READ), server.list_settings, _settings, SETTINGS),
    Route("GetSetting", "GET", "/settings/{setting}", _READ, "Show one setting.",
          _about(_READ), server.get_setting, _setting, SETTING),
    Route("PutSetting", "PUT", "/settings/{setting}", _WRITE, "Change a live setting, for all workers at once.",
          _about(_WRITE), server.put_setting, _setting, SETTING, body=NEW_VALUE, takes=Takes.JSON),
    Route("DeleteSetting", "DELETE", "/settings/{setting}", _WRITE, "Take a change of a setting back.",
          _about(_WRITE), server.delete_setting, _setting, SETTING),
    Route("ReadAudit", "GET", "/audit", "admin:AuditRead", "The newest audit events over all workers.",
          _read_audit, server.read_audit, _audit, AUDIT, query=_AUDIT_QUERY),
    Route("ExportState", "GET", "/state/export", "admin:ExportState",
          "All of state as lines of JSON, at one moment.",
          lambda _call: ExportState(), state.export_state, gives=Gives.LINES),
    Route("ImportState", "POST", "/state/import", "admin:ImportState", "Put an export in place of what is there.",
          lambda call: ImportState(call.query.get("replace", False)), state.import_export, _summary, SUMMARY,
          query=(Field("replace", Flag(), "There may be something already."),), takes=Takes.STREAM),
    Route("VerifyState", "GET", "/state/verify", "admin:VerifyState", "Check state as it is kept.",
          lambda _call: VerifyState(), state.verify_state, _faults, FAULTS),
)
# fmt: on
