"""Maintenance on the wire, in the shapes of S3 Tables; the Iceberg specification has no such thing."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from lakeshare.http.response import Response
from lakeshare.tables.errors import BadRequest
from lakeshare.tables.maintenance import operations
from lakeshare.tables.maintenance.choices import COMPACTION, SETTINGS, STATUS_FIELD, Activity, Effective
from lakeshare.tables.maintenance.operations import GetChoices, PutChoice, Standing
from lakeshare.tables.maintenance.running import MAX_SHOWN, DryRun
from lakeshare.tables.room import Room
from lakeshare.tables.wire import answers
from lakeshare.tables.wire.asking import by, namespace_of, table_of, warehouse_of
from lakeshare.tables.wire.bodies import flag_in, read_document
from lakeshare.tables.wire.call import Call, Route, flag

BODY_LIMIT_BYTES = 64 * 1024
_NONCURRENT = "nonCurrentDays"
_WAREHOUSE = "/warehouses/{warehouse}"
_NAMESPACE = f"{_WAREHOUSE}/namespaces/{{namespace}}"
_TABLE = f"{_NAMESPACE}/tables/{{table}}"

Where = Callable[[Call], Awaitable[dict[str, Any]]]
"""Reads the place that a request is about: what GetChoices and PutChoice have in common."""


async def _server(_call: Call) -> dict[str, Any]:
    return {"scope": operations.server_scope()}


async def _warehouse(call: Call) -> dict[str, Any]:
    return {"scope": operations.warehouse_scope(await warehouse_of(call))}


async def _namespace(call: Call) -> dict[str, Any]:
    place = await warehouse_of(call), namespace_of(call)
    return {"scope": operations.namespace_scope(*place), "namespace": place}


async def _table(call: Call) -> dict[str, Any]:
    target = await table_of(call)
    return {"scope": operations.table_scope(target), "target": target}


def _activity(call: Call) -> Activity:
    name = call.names["type"]
    if name == COMPACTION:
        raise BadRequest(f"{COMPACTION} is the pipeline's work: the report of a table says what needs it")
    try:
        return Activity(name)
    except ValueError:
        known = ", ".join(each.value for each in Activity)
        raise BadRequest(f"there is no maintenance of type {name[:64]!r}; there are {known}") from None


def _get(where: Where) -> Callable[[Call], Awaitable[GetChoices]]:
    async def decode(call: Call) -> GetChoices:
        return GetChoices(**await where(call), own=flag(call.query, "own"))

    return decode


async def _got(room: Room, _call: Call, asked: GetChoices) -> Response:
    found = await operations.get_choices(room, asked)
    own = {"table-properties": found.properties} if found.properties else {}
    return answers.json_answer({"configuration": {each.value: _written(found, each) for each in Activity}, **own})


def _written(found: Effective, activity: Activity) -> dict[str, Any]:
    """Write what is chosen about one activity, and where each of it comes from."""
    fields = {each.name: each.field for each in SETTINGS[activity]}
    values = {name: getattr(found.choices, field) for name, field in fields.items()}
    status = getattr(found.choices, STATUS_FIELD[activity])
    sources = {name: found.sources[field] for name, field in fields.items() if field in found.sources}
    if STATUS_FIELD[activity] in found.sources:
        sources["status"] = found.sources[STATUS_FIELD[activity]]
    return {
        "status": None if status is None else "enabled" if status else "disabled",
        "settings": {activity.value: {name: value for name, value in values.items() if value is not None}},
        "sources": sources,
    }


def _put(where: Where) -> Callable[[Call], Awaitable[PutChoice]]:
    async def decode(call: Call) -> PutChoice:
        activity = _activity(call)
        value = _object(read_document(call.body), "value")
        settings = dict(_object(_object(value, "settings"), activity.value))
        if _NONCURRENT in settings:
            raise BadRequest(f"{_NONCURRENT} means nothing here: removed files are no longer there, in any version")
        return PutChoice(**await where(call), activity=activity, enabled=_status(value), settings=settings)

    return decode


async def _done(room: Room, _call: Call, asked: PutChoice) -> Response:
    await operations.put_choice(room, asked)
    return answers.nothing()


def _delete(where: Where) -> Callable[[Call], Awaitable[PutChoice]]:
    async def decode(call: Call) -> PutChoice:
        return PutChoice(**await where(call), activity=_activity(call))

    return decode


def _object(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = document.get(name)
    if found is not None and not isinstance(found, dict):
        raise BadRequest(f"Cannot parse the request: {name} must be an object")
    return found or {}


def _status(value: Mapping[str, Any]) -> bool | None:
    status = value.get("status")
    if status not in (None, "enabled", "disabled"):
        raise BadRequest("Cannot parse the request: status must be enabled or disabled")
    return None if status is None else bool(status == "enabled")


async def _ask_status(call: Call) -> operations.GetStatus:
    return operations.GetStatus(await table_of(call))


async def _tell_status(room: Room, _call: Call, asked: operations.GetStatus) -> Response:
    found = await operations.get_status(room, asked)
    return answers.json_answer({"status": {each.activity.value: _stands(each) for each in found}})


def _stands(standing: Standing) -> dict[str, Any]:
    """Write how an activity stands, in S3 Tables' words."""
    ended = standing.ended
    if ended is None:
        word = "Not_Yet_Run" if standing.enabled or standing.due else "Disabled"
    else:
        word = "Failed" if ended.failure else "Successful"
    found: dict[str, Any] = {"status": word, "enabled": standing.enabled, "due": standing.due is not None}
    if standing.due is not None and standing.due.attempts:
        found |= {"attempts": standing.due.attempts, "attemptFailureMessage": standing.due.last_error}
    if ended is not None:
        when = datetime.fromtimestamp(ended.ended_at_ms / 1000, UTC)
        found |= {"lastRunTimestamp": when.isoformat(timespec="seconds"), "removed": asdict(ended.tally)}
        if ended.failure:
            found["failureMessage"] = ended.failure
    return found


async def _ask_run(call: Call) -> operations.Run:
    dry = flag_in(read_document(call.body or b"{}"), "dry-run")
    return operations.Run(await table_of(call), _activity(call), by(call), dry)


async def _ran(room: Room, _call: Call, asked: operations.Run) -> Response:
    found = await operations.run_now(room, asked)
    if found is None:
        return answers.json_answer({"type": asked.activity.value, "dry-run": False, "due": True}, status=202)
    return answers.json_answer({"type": asked.activity.value, "dry-run": True, **_would(found)})


def _would(found: DryRun) -> dict[str, Any]:
    return {
        "snapshot-ids": found.expiry.snapshot_ids,
        "refs": found.expiry.ref_names,
        "removed": asdict(found.tally),
        "files": found.files,
        "files-cut": len(found.files) == MAX_SHOWN,
    }


async def _ask_report(call: Call) -> operations.Report:
    return operations.Report(await table_of(call))


async def _report(room: Room, _call: Call, asked: operations.Report) -> Response:
    found = asdict(await operations.report(room, asked))
    return answers.json_answer({name.replace("_", "-"): value for name, value in found.items()})


async def _ask_work(_call: Call) -> operations.ListWork:
    return operations.ListWork()


async def _tell_work(room: Room, _call: Call, _asked: operations.ListWork) -> Response:
    found = [asdict(each) for each in await operations.list_work(room)]
    jobs = [{name.replace("_", "-"): value for name, value in each.items()} for each in found]
    return answers.json_answer({"jobs": jobs})


def _choices(label: str, path: str, action: str, where: Where) -> tuple[Route, ...]:
    """Make the routes by which choices are read and made at one kind of place."""
    name = f"{label}Maintenance"
    one = f"{path}/maintenance/{{type}}"
    get, put = f"Get{action}MaintenanceConfiguration", f"Put{action}MaintenanceConfiguration"
    limit = BODY_LIMIT_BYTES
    return (
        Route(f"Get{name}", "GET", f"{path}/maintenance", get, _get(where), _got, endpoint=False),
        Route(f"Put{name}", "PUT", one, put, _put(where), _done, endpoint=False, body_limit_bytes=limit),
        Route(f"Delete{name}", "DELETE", one, put, _delete(where), _done, endpoint=False),
    )


_STATUS, _NEEDS, _NOW = (
    f"{_TABLE}/maintenance/status",
    f"{_TABLE}/maintenance/report",
    f"{_TABLE}/maintenance/{{type}}/run",
)

ROUTES = (
    *_choices("Server", "", "Warehouse", _server),
    Route("ListMaintenanceJobs", "GET", "/maintenance/jobs", "ListJobs", _ask_work, _tell_work, endpoint=False),
    *_choices("Warehouse", _WAREHOUSE, "Warehouse", _warehouse),
    *_choices("Namespace", _NAMESPACE, "Warehouse", _namespace),
    *_choices("Table", _TABLE, "Table", _table),
    Route(
        "GetMaintenanceStatus", "GET", _STATUS, "GetTableMaintenanceJobStatus", _ask_status, _tell_status,
        endpoint=False,
    ),
    Route("GetMaintenanceReport", "GET", _NEEDS, "GetTableMaintenanceJobStatus", _ask_report, _report, endpoint=False),
    Route(
        "RunMaintenance", "POST", _NOW, "PutTableMaintenanceConfiguration", _ask_run, _ran,
        endpoint=False, body_limit_bytes=BODY_LIMIT_BYTES,
    ),
)  # fmt: skip
