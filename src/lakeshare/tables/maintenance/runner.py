"""What one process does for all tables, again and again: the jobs that changes left, and the activities that are due.

A job that fails is tried again later, each time later than before. Whatever stops the process, its record stays.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from lakeshare.errors import LakeshareError
from lakeshare.state.keys import Key
from lakeshare.state.keyspace import Stored
from lakeshare.state.port import Applied, Delete, Transaction
from lakeshare.tables.errors import NoSuchTable
from lakeshare.tables.maintenance.choices import STATUS_FIELD, Activity, Choices
from lakeshare.tables.maintenance.inheritance import effective, effective_among, every_choice, places
from lakeshare.tables.maintenance.purge import LocationInUse, forget_table, purge_table, purge_warehouse
from lakeshare.tables.maintenance.records import CHOICES, DUE, ENDED, Due, Ended, Tally
from lakeshare.tables.maintenance.running import run
from lakeshare.tables.model.entries import EntryKind, Pointer, Warehouse
from lakeshare.tables.model.jobs import JOBS, Job, JobKind
from lakeshare.tables.model.names import SEPARATOR, Identifier, joined
from lakeshare.tables.model.targets import Found
from lakeshare.tables.records import NAMESPACES, POINTERS
from lakeshare.tables.room import Room

FIRST_PAUSE_MS = 10_000
LONGEST_PAUSE_MS = 3_600_000
MAX_ATTEMPTS = 5
"""After as many failures an activity has failed, until it is due again. Jobs of drops are never given up."""
MAX_AT_ONCE = 1_000
"""Jobs that are looked at in one round."""
BY_SCHEDULE = "schedule"
MAX_TOLD = 1_000
"""Longest failure that is written down."""

_log = logging.getLogger("lakeshare.tables")


async def run_round(room: Room) -> int:
    """Do all that is to be done now, and return how much that was."""
    return await run_jobs(room) + await run_due(room)


async def run_jobs(room: Room) -> int:
    """Do the jobs that drops and removals left."""
    page = await JOBS.page(room.state, limit=MAX_AT_ONCE)
    ready = [each for each in page.items if each.value.not_before_ms <= room.now_ms()]
    for each in ready:
        await _run_job(room, each)
    return len(ready)


async def _forget(room: Room, job: Job) -> int:
    await forget_table(room, job)
    return 0


_WORK: Mapping[JobKind, Callable[[Room, Job], Awaitable[int]]] = {
    JobKind.FORGET_TABLE: _forget,
    JobKind.PURGE_TABLE: purge_table,
    JobKind.PURGE_WAREHOUSE: purge_warehouse,
}


async def _run_job(room: Room, stored: Stored[Job]) -> None:
    leased = await _leased_job(room, stored)
    if leased is None:
        return
    job = leased.value
    facts = {"job": job.kind.value, "warehouse": job.warehouse, "table": job.name}
    try:
        removed = await _WORK[job.kind](room, job)
    except LocationInUse as reason:
        _log.warning("files stay", extra={**facts, "reason": reason.message})
        await forget_table(room, job)
        removed = 0
    except LakeshareError as reason:
        _log.warning("job failed", extra={**facts, "reason": reason.message, "attempts": job.attempts})
        told = replace(job, last_error=reason.message[:MAX_TOLD])
        await room.state.commit(Transaction((leased.unchanged,), (JOBS.put(told, job.id),)))
        return
    await room.state.commit(Transaction((leased.unchanged,), (JOBS.delete(job.id),)))
    _log.info("job done", extra={**facts, "removed": removed})


async def _leased_job(room: Room, stored: Stored[Job]) -> Stored[Job] | None:
    """Put a job off before it is begun: one that ends this process does not do so again at once."""
    job = stored.value
    later = replace(job, attempts=job.attempts + 1, not_before_ms=room.now_ms() + _pause_ms(job.attempts))
    outcome = await room.state.commit(Transaction((stored.unchanged,), (JOBS.put(later, job.id),)))
    return Stored(stored.key, later, outcome.generation) if isinstance(outcome, Applied) else None


async def run_due(room: Room) -> int:
    """Do the activities that are due."""
    page = await DUE.page(room.state, limit=MAX_AT_ONCE)
    ready = [each for each in page.items if each.value.not_before_ms <= room.now_ms()]
    for each in ready:
        await _run_due(room, each)
    return len(ready)


async def _run_due(room: Room, stored: Stored[Due]) -> None:
    warehouse_name, uuid, activity = (str(part) for part in stored.key[len(DUE.prefix) :])
    found = await _find(room, warehouse_name, uuid)
    if found is None:
        await room.state.commit(Transaction(changes=(DUE.delete(warehouse_name, uuid, activity),)))
        return
    leased, started_ms = await _leased_due(room, stored), room.now_ms()
    if leased is None:
        return
    tally, failure = await _attempted(room, found, leased)
    facts = {"activity": activity, "warehouse": warehouse_name, "table": str(found.identifier)}
    if failure and leased.value.attempts < MAX_ATTEMPTS:
        _log.warning("maintenance failed", extra={**facts, "reason": failure})
        await _note_failure(room, (warehouse_name, uuid, activity), failure)
        return
    ended = Ended(stored.value.activity, started_ms, room.now_ms(), tally, failure)
    changes = DUE.delete(warehouse_name, uuid, activity), ENDED.put(ended, found.warehouse.id, uuid, activity)
    await room.state.commit(Transaction(changes=changes))
    _log.info("maintained", extra={**facts, "removed_bytes": tally.bytes, "failure": failure})


async def _attempted(room: Room, found: Found, leased: Stored[Due]) -> tuple[Tally, str]:
    """Do what is due, and return what was removed, or why it failed."""
    if leased.value.attempts > MAX_ATTEMPTS:
        return Tally(), f"it did not come to an end in {MAX_ATTEMPTS} attempts: see the server's log"
    try:
        counts = await effective(room.state, _places(found.warehouse, found.value, found.uuid))
        return await run(room, found, leased, counts), ""
    except LakeshareError as reason:
        return Tally(), reason.message[:MAX_TOLD]


async def _note_failure(room: Room, parts: tuple[str, str, str], failure: str) -> None:
    """Write down why an attempt failed, beside how far it came; what is gone meanwhile is let go."""
    stored = await DUE.get(room.state, *parts)
    if stored is not None:
        told = replace(stored.value, last_error=failure)
        await room.state.commit(Transaction((stored.unchanged,), (DUE.put(told, *parts),)))


async def _leased_due(room: Room, stored: Stored[Due]) -> Stored[Due] | None:
    """Put work off before it is begun: what it writes down of its way stays, whatever becomes of this process."""
    due, parts = stored.value, stored.key[len(DUE.prefix) :]
    later = replace(due, attempts=due.attempts + 1, not_before_ms=room.now_ms() + _pause_ms(due.attempts))
    outcome = await room.state.commit(Transaction((stored.unchanged,), (DUE.put(later, *parts),)))
    return Stored(stored.key, later, outcome.generation) if isinstance(outcome, Applied) else None


async def schedule(room: Room) -> int:
    """Make due what is enabled and has not been done for long enough; return how much that is."""
    choices = await _without_gone_namespaces(room, await every_choice(room.state))
    if not any(getattr(each, field) for each in choices.values() for field in STATUS_FIELD.values()):
        return 0
    count = 0
    for warehouse in (await room.catalog.warehouses()).values():
        if warehouse.removing:
            continue
        async for pointer in POINTERS.all(room.state, warehouse.id):
            if pointer.value.kind is not EntryKind.TABLE:
                continue
            uuid = str(pointer.name)
            counts = effective_among(choices, _places(warehouse, pointer.value, uuid))
            for activity in Activity:
                if counts.is_enabled(activity):
                    interval_ms = counts.interval_ms(activity)
                    count += await _make_due(room, warehouse, pointer, activity, interval_ms)
    return count


async def _without_gone_namespaces(room: Room, choices: Mapping[Key, Choices]) -> Mapping[Key, Choices]:
    """Forget what was chosen for namespaces that are not there any more."""
    start = CHOICES.key("namespace")
    kept = dict(choices)
    for key in choices:
        if key[: len(start)] != start:
            continue
        warehouse_id, levels = str(key[-2]), tuple(str(key[-1]).split(SEPARATOR))
        absent = NAMESPACES.absent(warehouse_id, joined(levels[:-1]), levels[-1])
        outcome = await room.state.commit(Transaction((absent,), (Delete(key),)))
        if isinstance(outcome, Applied):
            del kept[key]
    return kept


async def _make_due(
    room: Room, warehouse: Warehouse, pointer: Stored[Pointer], activity: Activity, interval_ms: int
) -> int:
    uuid, now_ms = str(pointer.name), room.now_ms()
    ended = await ENDED.get(room.state, warehouse.id, uuid, activity.value)
    since_ms = pointer.value.created_at_ms if ended is None else ended.value.ended_at_ms
    if now_ms - since_ms < interval_ms:
        return 0
    parts = warehouse.name, uuid, activity.value
    await room.state.commit(Transaction((DUE.absent(*parts),), (DUE.put(Due(activity, now_ms, BY_SCHEDULE), *parts),)))
    return 1


async def _find(room: Room, warehouse_name: str, uuid: str) -> Found | None:
    try:
        warehouse = (await room.catalog.warehouses()).get(warehouse_name)
        pointer = None if warehouse is None or warehouse.removing else await room.catalog.pointer(warehouse, uuid)
        if warehouse is None or pointer is None:
            return None
        identifier = Identifier(pointer.value.namespace, pointer.value.name)
        found = await room.catalog.find(warehouse, identifier, EntryKind.TABLE)
    except NoSuchTable:
        return None
    return found if found is not None and found.uuid == uuid else None


def _places(warehouse: Warehouse, pointer: Pointer, uuid: str) -> "list[tuple[str, tuple[str | bytes, ...]]]":
    return places(warehouse.name, warehouse.id, pointer.namespace, uuid)


def _pause_ms(attempts: int) -> int:
    return min(FIRST_PAUSE_MS << min(attempts, 20), LONGEST_PAUSE_MS)
