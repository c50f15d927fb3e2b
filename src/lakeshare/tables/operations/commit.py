"""Commits: check requirements, fold updates, write a new metadata file, then move the pointers (iceberg.md 1.7).

One transaction of state moves all pointers of a commit, of one table or of many. A lost race is tried again on what is
there then, until a deadline; a failed requirement never. Once the pointers have moved, nothing is an error any more.
"""

import asyncio
import random
import time
import uuid as uuids
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass

from lakeshare.errors import LakeshareError
from lakeshare.formats.iceberg.property_updates import SetLocation, SetProperties
from lakeshare.formats.iceberg.requirements import Requirement, check_requirements, is_create
from lakeshare.formats.iceberg.table import TableMetadata
from lakeshare.formats.iceberg.updates import Update, apply_updates, create_from_updates, dropped_metadata_files
from lakeshare.identity.caller import Need
from lakeshare.state.errors import BadTransaction, OverLimit, StateUnknown
from lakeshare.state.port import Applied, Expectation, Outcome, Repeated, Transaction
from lakeshare.tables.errors import BadRequest, CommitFailed, CommitStateUnknown, KeyReused, OutOfTries, RefusedBefore
from lakeshare.tables.files import Written
from lakeshare.tables.model.entries import EntryKind, Pointer
from lakeshare.tables.model.places import Place, metadata_file, new_location, place_of, table_place, version_of
from lakeshare.tables.model.targets import Found, Target, missing, new_entry_need
from lakeshare.tables.operations import publish
from lakeshare.tables.operations.namespaces import location_of
from lakeshare.tables.operations.receipts import Once, commit_once, facts_in, facts_of
from lakeshare.tables.operations.tables import chosen_needs, standing
from lakeshare.tables.room import Room
from lakeshare.tables.territory import unguarded

DEADLINE_SECONDS = 20.0
MAX_ATTEMPTS = 1_000
FIRST_PAUSE_SECONDS = 0.002
LONGEST_PAUSE_SECONDS = 0.1
MAX_TABLES = 100
"""Of one commit: what they change must fit one transaction of state."""
WRITTEN_TOGETHER = 8
"""Tables of one commit that are in memory at the same time, and whose metadata files become durable together."""
LOOKS = 3
"""How often state is asked whether a commit was applied whose answer was lost."""


@dataclass(frozen=True, slots=True)
class TableChange:
    """What a commit asks of one table."""

    target: Target
    requirements: tuple[Requirement, ...]
    updates: tuple[Update, ...]

    @property
    def creates(self) -> bool:
        """Whether the table is to appear."""
        return is_create(self.requirements)

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed: to change the table, or to make one."""
        target = self.target
        if self.creates:
            need = new_entry_need("CreateTable", target.warehouse.name, EntryKind.TABLE, target.identifier)
        else:
            need = target.need("UpdateTableMetadataLocation")
        return need, *self._places()

    def _places(self) -> tuple[Need, ...]:
        """Say what is needed for the places that the updates choose."""
        found = self.target.found
        held = "" if found is None or self.creates else found.value.location
        location, properties = held, dict[str, str]()
        for update in self.updates:
            if isinstance(update, SetLocation):
                location = update.location
            elif isinstance(update, SetProperties):
                properties |= update.updates
        return chosen_needs(self.target.warehouse, location, properties, held=held)


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of one table or of several, all or none."""

    changes: tuple[TableChange, ...]
    by: str
    once: Once | None = None

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return tuple(need for change in self.changes for need in change.requires())


@dataclass(frozen=True, slots=True)
class Step:
    """What one table comes to: the pointer there is, or the plan of a new one with what is left to clear up."""

    pointer: Pointer
    uuid: str
    plan: publish.Plan | None = None
    written: Written | None = None
    dropped: tuple[str, ...] = ()
    creation: publish.Creation | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """New metadata that is not written yet: the file it goes into, and what its table comes to once it is there."""

    file: str
    new: TableMetadata
    step: Callable[[Written], Step]


async def commit(room: Room, call: Commit) -> Sequence[Step]:
    """Commit. Raises CommitFailed, BadRequest, NoSuchTable, AlreadyExists, CommitStateUnknown, and as formats do."""
    _check(call)
    if (facts := await facts_of(room.state, call.once)) is not None:
        return [await _standing(room, change, facts) for change in call.changes]
    async with AsyncExitStack() as turns:
        for uuid in sorted({change.target.found.uuid for change in call.changes if change.target.found is not None}):
            await turns.enter_async_context(room.catalog.turn(uuid))
        return await _until_applied(room, call)


async def _until_applied(room: Room, call: Commit) -> Sequence[Step]:
    deadline = time.monotonic() + DEADLINE_SECONDS
    pause = FIRST_PAUSE_SECONDS
    for _ in range(MAX_ATTEMPTS):
        steps = await _steps(room, call)
        if call.once is None and all(step.plan is None for step in steps):
            return steps
        outcome = await _apply(room, call, steps)
        if isinstance(outcome, Applied):
            await _after(room, call, steps)
            return steps
        if isinstance(outcome, Repeated):
            # It was applied before: by another request of the same key, or by this one when its answer was lost. Then
            # the files are those that the pointers lead to, so none is discarded.
            facts = facts_in(outcome.answer)
            return [await _standing(room, each, facts) for each in call.changes]
        await _discard(room, call, steps)
        await _refuse_creations(room, steps, outcome.failed)
        _refuse_moves(steps, outcome.failed)
        if time.monotonic() > deadline:
            break
        await asyncio.sleep(random.uniform(0, pause))  # noqa: S311 no secret hangs on it
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
    raise OutOfTries("Cannot commit: others changed the table again and again, try again later")


async def _steps(room: Room, call: Commit) -> list[Step]:
    """Reckon and write all new metadata files, some at once; if one cannot be, none stays."""
    steps: list[Step | None] = []
    try:
        for start in range(0, len(call.changes), WRITTEN_TOGETHER):
            some = call.changes[start : start + WRITTEN_TOGETHER]
            drafts = [await _draft(room, call, change) for change in some]
            # All are waited for, the others of one that failed too: what they write is discarded, not left behind.
            outcomes = await asyncio.gather(*[_step(room, draft) for draft in drafts], return_exceptions=True)
            steps += [None if isinstance(each, BaseException) else each for each in outcomes]
            _raise_first(outcomes)
    except BaseException:
        await _discard(room, call, steps)
        raise
    return [step for step in steps if step is not None]


async def _step(room: Room, draft: Draft | Step) -> Step:
    return draft if isinstance(draft, Step) else draft.step(await room.files.write(draft.file, draft.new))


def _raise_first(outcomes: Sequence[Step | BaseException]) -> None:
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome


async def _draft(room: Room, call: Commit, change: TableChange) -> Draft | Step:
    if change.creates:
        return await _create(room, call, change)
    found = await current(room, change.target)
    base = await room.files.table(found.value)
    check_requirements(change.requirements, base)
    now_ms = room.now_ms()
    new = apply_updates(base, change.updates, now_ms=now_ms, previous_location=found.value.metadata_location)
    if new is base:
        return Step(found.value, found.uuid)
    if new.location != base.location:
        table_place(new.location, found.warehouse.bucket)
    number = max(0, version_of(found.value.metadata_location)) + 1

    def step(written: Written) -> Step:
        plan = publish.move(found, base, new, written, by=call.by, now_ms=now_ms)
        return Step(plan.pointer, found.uuid, plan, written, _dropped(base, new))

    return Draft(_file_name(new, number, found.warehouse.bucket), new, step)


async def _create(room: Room, call: Commit, change: TableChange) -> Draft:
    target = change.target
    warehouse, identifier = target.warehouse, target.identifier
    taken = await room.catalog.named(warehouse, identifier)
    if taken is not None and taken.value.kind is EntryKind.VIEW:
        raise publish.name_taken(EntryKind.TABLE, EntryKind.VIEW, identifier)
    check_requirements(change.requirements, None if taken is None else await _base_of(room, target))
    namespace = await room.catalog.the_namespace(warehouse, identifier.namespace)
    uuid = str(uuids.uuid4())
    location = new_location(location_of(warehouse, identifier.namespace, namespace.value), identifier.name, uuid)
    now_ms = room.now_ms()
    new = create_from_updates(change.updates, location=location, uuid=uuid, now_ms=now_ms)
    table_place(new.location, warehouse.bucket)

    def step(written: Written) -> Step:
        creation = publish.Creation(warehouse, identifier, EntryKind.TABLE, new, written, call.by, now_ms)
        plan = publish.create(creation)
        return Step(plan.pointer, creation.uuid, plan, written, creation=creation)

    return Draft(_file_name(new, 0, warehouse.bucket), new, step)


def _dropped(base: TableMetadata, new: TableMetadata) -> tuple[str, ...]:
    """Return the metadata files that may go: below the location alone, since a log may be another hand's."""
    if not new.deletes_dropped_metadata_files:
        return ()
    own = f"{base.location}/"
    return tuple(each for each in dropped_metadata_files(base, new) if each.startswith(own) and "/../" not in each)


def _file_name(new: TableMetadata, number: int, bucket: str) -> str:
    return metadata_file(new.location, new.properties, number, str(uuids.uuid4()), bucket)


async def _base_of(room: Room, target: Target) -> TableMetadata | None:
    found = await room.catalog.find_now(target.warehouse, target.identifier, EntryKind.TABLE)
    return None if found is None else await room.files.table(found.value)


async def current(room: Room, target: Target) -> Found:
    """Return the table that was allowed, as it is now; by its UUID, since another may have taken its name."""
    found = target.entry()
    pointer = await room.catalog.pointer(target.warehouse, found.uuid)
    if pointer is None:
        raise missing(target.kind, target.identifier)
    return Found(found.warehouse, found.uuid, found.name, pointer)


async def _apply(room: Room, call: Commit, steps: Sequence[Step]) -> Outcome:
    plans = [step.plan for step in steps if step.plan is not None]
    if (crossing := publish.crossing(plans)) is not None:
        await _discard(room, call, steps)
        raise publish.place_taken(crossing)
    expect = tuple(dict.fromkeys(each for plan in plans for each in plan.expect))
    changes = tuple(each for plan in plans for each in plan.changes)
    try:
        return await commit_once(room.state, Transaction(expect, changes), call.once, *[step.uuid for step in steps])
    except StateUnknown:
        return await _looked_for(room, call, steps)
    except (KeyReused, RefusedBefore, BadTransaction, OverLimit):
        await _discard(room, call, steps)
        raise


async def _looked_for(room: Room, call: Commit, steps: Sequence[Step]) -> Outcome:
    """Look whether a commit was applied: its pointers then lead to files that no other commit has."""
    pairs = zip(steps, call.changes, strict=True)
    step, change = next(((step, change) for step, change in pairs if step.plan), (None, None))
    if step is None or change is None:
        raise CommitStateUnknown
    for _ in range(LOOKS):
        try:
            pointer = await room.catalog.pointer(change.target.warehouse, step.uuid)
        except StateUnknown:
            continue
        if pointer is not None and pointer.value.metadata_location == step.pointer.metadata_location:
            return Applied(pointer.generation)
    raise CommitStateUnknown


async def _after(room: Room, call: Commit, steps: Sequence[Step]) -> None:
    """Clear up behind a commit; whatever fails here is no failure of the commit."""
    for step, change in zip(steps, call.changes, strict=True):
        if step.dropped:
            with suppress(LakeshareError):
                await _clear(room, step.dropped, change.target.warehouse.bucket)


async def _clear(room: Room, locations: Sequence[str], bucket: str) -> None:
    """Delete metadata files that fell off a log, but none that a pointer refers to: a log may name another table's."""
    keys = [place.key for each in locations if (place := place_of(each)) is not None and place.bucket == bucket]
    free = await unguarded(room.state, bucket, keys)
    await room.files.discard(tuple(Place(bucket, key).uri for key in free), bucket)


async def _discard(room: Room, call: Commit, steps: Sequence[Step | None]) -> None:
    for step, change in zip(steps, call.changes, strict=False):
        if step is not None and step.written is not None:
            await room.files.discard((step.written.location,), change.target.warehouse.bucket)


async def _refuse_creations(room: Room, steps: Sequence[Step], failed: tuple[Expectation, ...]) -> None:
    """Raise where a table could not appear: that is no race to be run again."""
    for step in steps:
        if step.creation is None or step.plan is None or not any(each in failed for each in step.plan.expect):
            continue
        taken = await room.catalog.named(step.creation.warehouse, step.creation.identifier)
        if taken is not None and taken.value.kind is EntryKind.TABLE:
            raise CommitFailed("Requirement failed: table already exists")
        raise publish.creation_refused(step.creation, failed, None if taken is None else taken.value.kind)


def _refuse_moves(steps: Sequence[Step], failed: tuple[Expectation, ...]) -> None:
    """Raise where a table cannot have the place that it is to move to: that is no race to be run again."""
    for step in steps:
        if step.plan is not None and publish.is_taken(step.plan, failed):
            raise publish.place_taken(step.pointer.location)


async def _standing(room: Room, change: TableChange, facts: Sequence[str]) -> Step:
    """Return a table as it is now, for a request that had its effect before. Raises CommitStateUnknown."""
    made = await standing(room, change.target, facts)
    return Step(made.pointer, made.uuid)


def _check(call: Commit) -> None:
    if len(call.changes) > MAX_TABLES:
        raise BadRequest(f"a commit changes at most {MAX_TABLES} tables")
    named = [change.target.identifier for change in call.changes]
    if len(set(named)) != len(named):
        raise BadRequest("a table stands in the commit more than once")
