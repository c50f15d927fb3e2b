"""Views: making and replacing them. A lost race is tried again on what is there then; the later one wins."""

import asyncio
import random
import time
import uuid as uuids
from dataclasses import dataclass

from lakeshare.formats.iceberg.view_creating import CreateView as NewView
from lakeshare.formats.iceberg.view_creating import new_view
from lakeshare.formats.iceberg.view_updates import (
    AssertViewUuid,
    SetViewLocation,
    SetViewProperties,
    ViewUpdate,
    apply_view_updates,
    check_view_requirements,
)
from lakeshare.identity.caller import Need
from lakeshare.state.errors import StateUnknown
from lakeshare.state.port import Conflict, Repeated, Transaction
from lakeshare.tables.errors import CommitStateUnknown, KeyReused, OutOfTries, RefusedBefore
from lakeshare.tables.model.entries import EntryKind, Warehouse
from lakeshare.tables.model.names import Identifier
from lakeshare.tables.model.places import metadata_file, table_place, version_of
from lakeshare.tables.model.targets import Found, Target, missing, new_entry_need
from lakeshare.tables.operations import publish
from lakeshare.tables.operations.commit import (
    DEADLINE_SECONDS,
    FIRST_PAUSE_SECONDS,
    LONGEST_PAUSE_SECONDS,
    MAX_ATTEMPTS,
    current,
)
from lakeshare.tables.operations.receipts import Once, commit_once, facts_in, facts_of
from lakeshare.tables.operations.tables import Made, chosen_needs, location_for, publish_new, standing
from lakeshare.tables.room import Room


@dataclass(frozen=True, slots=True)
class CreateView:
    """A new view."""

    warehouse: Warehouse
    identifier: Identifier
    new: NewView
    by: str
    once: Once | None = None

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed: to make a view, and to have it where it is to lie."""
        need = new_entry_need("CreateView", self.warehouse.name, EntryKind.VIEW, self.identifier)
        return need, *chosen_needs(self.warehouse, self.new.location, self.new.properties)


async def create_view(room: Room, call: CreateView) -> Made:
    """Make a view. Raises NoSuchNamespace, AlreadyExists, BadRequest, and as formats do."""
    warehouse, identifier = call.warehouse, call.identifier
    if (facts := await facts_of(room.state, call.once)) is not None:
        return await standing(room, Target(warehouse, identifier, EntryKind.VIEW, None), facts)
    uuid = str(uuids.uuid4())
    location = await location_for(room, warehouse, identifier, call.new.location, uuid)
    if (taken := await room.catalog.named(warehouse, identifier)) is not None:
        raise publish.name_taken(EntryKind.VIEW, taken.value.kind, identifier)
    metadata = new_view(call.new, uuid=uuid, location=location, now_ms=room.now_ms())
    return await publish_new(room, warehouse, identifier, metadata, by=call.by, once=call.once)


@dataclass(frozen=True, slots=True)
class ReplaceView:
    """A commit on a view."""

    target: Target
    requirements: tuple[AssertViewUuid, ...]
    updates: tuple[ViewUpdate, ...]
    by: str
    once: Once | None = None

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed: to change the view, and to have it where it is to lie."""
        held = "" if self.target.found is None else self.target.found.value.location
        location, properties = held, dict[str, str]()
        for update in self.updates:
            if isinstance(update, SetViewLocation):
                location = update.location
            elif isinstance(update, SetViewProperties):
                properties |= update.updates
        return self.target.need("UpdateView"), *chosen_needs(self.target.warehouse, location, properties, held=held)


async def replace_view(room: Room, call: ReplaceView) -> Made:
    """Replace a view. Raises NoSuchView, CommitFailed, CommitStateUnknown, and as formats do."""
    target = call.target
    if (facts := await facts_of(room.state, call.once)) is not None:
        return await standing(room, target, facts)
    async with room.catalog.turn(target.entry().uuid):
        deadline = time.monotonic() + DEADLINE_SECONDS
        pause = FIRST_PAUSE_SECONDS
        for _ in range(MAX_ATTEMPTS):
            made = await _tried(room, call)
            if made is not None:
                return made
            if time.monotonic() > deadline:
                break
            await asyncio.sleep(random.uniform(0, pause))  # noqa: S311 no secret hangs on it
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
    raise OutOfTries("Cannot commit: others changed the view again and again, try again later")


async def _tried(room: Room, call: ReplaceView) -> Made | None:
    """Replace a view once; None where another was quicker."""
    found = await current(room, call.target)
    base = await room.files.view(found.value)
    check_view_requirements(call.requirements, base)
    now_ms = room.now_ms()
    new = apply_view_updates(base, call.updates, now_ms=now_ms)
    if new is base:
        return await _unchanged(room, call, found)
    table_place(new.location, found.warehouse.bucket)
    number = max(0, version_of(found.value.metadata_location)) + 1
    name = metadata_file(new.location, new.properties, number, str(uuids.uuid4()), found.warehouse.bucket)
    written = await room.files.write(name, new)
    return await _moved(room, call, found, publish.move(found, base, new, written, by=call.by, now_ms=now_ms))


async def _unchanged(room: Room, call: ReplaceView, found: Found) -> Made:
    """Leave the receipt of a request that has nothing to do: sent again, it still has not."""
    if call.once is not None:
        outcome = await commit_once(room.state, Transaction(), call.once, found.uuid)
        if isinstance(outcome, Repeated):
            return await standing(room, call.target, facts_in(outcome.answer))
    return Made(found.uuid, found.value)


async def _moved(room: Room, call: ReplaceView, found: Found, plan: publish.Plan) -> Made | None:
    """Lead a view to its new metadata file; None where another was quicker."""
    file, bucket = plan.pointer.metadata_location, found.warehouse.bucket
    try:
        outcome = await commit_once(room.state, Transaction(plan.expect, plan.changes), call.once, found.uuid)
    except StateUnknown:
        pointer = await room.catalog.pointer(found.warehouse, found.uuid)
        if pointer is None or pointer.value.metadata_location != file:
            raise CommitStateUnknown from None
        return Made(found.uuid, plan.pointer)
    except (KeyReused, RefusedBefore):
        await room.files.discard((file,), bucket)
        raise
    if isinstance(outcome, Conflict):
        await room.files.discard((file,), bucket)
        if await room.catalog.pointer(found.warehouse, found.uuid) is None:
            raise missing(EntryKind.VIEW, call.target.identifier)
        if publish.is_taken(plan, outcome.failed):
            raise publish.place_taken(plan.pointer.location)
        return None
    if isinstance(outcome, Repeated):
        return await standing(room, call.target, facts_in(outcome.answer))
    return Made(found.uuid, plan.pointer)
