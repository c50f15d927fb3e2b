"""Tables: making, staging, registering, renaming and dropping them; views are renamed and dropped the same way."""

import uuid as uuids
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from lakeshare.formats.iceberg.creating import CreateTable as NewTable
from lakeshare.formats.iceberg.creating import new_table
from lakeshare.formats.iceberg.table import TableMetadata
from lakeshare.identity.caller import Need
from lakeshare.state.port import At, Conflict, Repeated, Transaction
from lakeshare.tables.errors import (
    AlreadyExists,
    BadRequest,
    CommitStateUnknown,
    InMotion,
    KeyReused,
    NoSuchNamespace,
    RefusedBefore,
)
from lakeshare.tables.files import Metadata, Written
from lakeshare.tables.model.entries import EntryKind, Pointer, Warehouse
from lakeshare.tables.model.names import Identifier, shown
from lakeshare.tables.model.places import (
    METADATA_FOLDER,
    chosen_place,
    file_place,
    metadata_file,
    new_location,
    place_of,
    table_place,
)
from lakeshare.tables.model.targets import Target, missing, new_entry_need, place_needs, reading_needs
from lakeshare.tables.operations import publish
from lakeshare.tables.operations.namespaces import location_of
from lakeshare.tables.operations.receipts import Once, commit_once, facts_in, facts_of, is_done
from lakeshare.tables.room import Room

RENAME_ATTEMPTS = 16


@dataclass(frozen=True, slots=True)
class CreateTable:
    """A new table, or a draft of one that a later commit makes."""

    warehouse: Warehouse
    identifier: Identifier
    new: NewTable
    by: str
    once: Once | None = None

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed: to make a table, and to have it where it is to lie."""
        need = new_entry_need("CreateTable", self.warehouse.name, EntryKind.TABLE, self.identifier)
        return need, *chosen_needs(self.warehouse, self.new.location, self.new.properties)


def chosen_needs(
    warehouse: Warehouse, location: str | None, properties: Mapping[str, str], *, held: str = ""
) -> tuple[Need, ...]:
    """Say what must be allowed to choose where a table or view lies, and where its metadata files do.

    What the server chooses, and what is `held` already, needs nothing.
    """
    place, own = chosen_place(location, warehouse.bucket), place_of(held)
    folder = chosen_place(properties.get(METADATA_FOLDER), warehouse.bucket)
    around = place or own
    if folder is not None and around is not None and folder.lies_in(around):
        folder = None
    return *place_needs(None if place == own else place), *place_needs(folder)


@dataclass(frozen=True, slots=True)
class Draft:
    """A table that is staged: what it would be, and nothing of it is kept."""

    metadata: TableMetadata


@dataclass(frozen=True, slots=True)
class Made:
    """A table or view that is there."""

    uuid: str
    pointer: Pointer


async def create_table(room: Room, call: CreateTable) -> Made | Draft:
    """Make a table, or a draft. Raises NoSuchNamespace, AlreadyExists, BadRequest, and as formats do."""
    warehouse, identifier = call.warehouse, call.identifier
    if (facts := await facts_of(room.state, call.once)) is not None:
        return await standing(room, Target(warehouse, identifier, EntryKind.TABLE, None), facts)
    uuid, now_ms = str(uuids.uuid4()), room.now_ms()
    location = await location_for(room, warehouse, identifier, call.new.location, uuid)
    if (taken := await room.catalog.named(warehouse, identifier)) is not None:
        raise publish.name_taken(EntryKind.TABLE, taken.value.kind, identifier)
    metadata = new_table(call.new, uuid=uuid, location=location, now_ms=now_ms)
    if call.new.stage_create:
        return Draft(metadata)
    return await publish_new(room, warehouse, identifier, metadata, by=call.by, once=call.once)


async def location_for(room: Room, warehouse: Warehouse, identifier: Identifier, wanted: str | None, uuid: str) -> str:
    """Return where a new table or view is to lie. Raises NoSuchNamespace, BadRequest."""
    namespace = await room.catalog.the_namespace(warehouse, identifier.namespace)
    if wanted:
        return table_place(wanted, warehouse.bucket).uri
    location = new_location(location_of(warehouse, identifier.namespace, namespace.value), identifier.name, uuid)
    table_place(location, warehouse.bucket)
    return location


async def publish_new(  # noqa: PLR0913 - what appears has as many sides
    room: Room, warehouse: Warehouse, identifier: Identifier, metadata: Metadata, *, by: str, once: Once | None
) -> Made:
    """Write a metadata file and let a table or view appear. Raises as `publish.creation_refused` says."""
    kind = EntryKind.TABLE if isinstance(metadata, TableMetadata) else EntryKind.VIEW
    name = metadata_file(metadata.location, metadata.properties, 0, str(uuids.uuid4()), warehouse.bucket)
    written = await room.files.write(name, metadata)
    new = publish.Creation(warehouse, identifier, kind, metadata, written, by, room.now_ms())
    return await _appear(room, new, once)


async def _appear(room: Room, new: publish.Creation, once: Once | None) -> Made:
    """Commit a creation. Where the request had its effect before that may have been this very one: its file is kept."""
    plan = publish.create(new)
    try:
        outcome = await commit_once(room.state, Transaction(plan.expect, plan.changes), once, new.uuid)
    except (KeyReused, RefusedBefore):
        await _discard(room, new)
        raise
    if isinstance(outcome, Conflict):
        await _discard(room, new)
        await room.catalog.warehouse(new.warehouse.name)
        taken = await room.catalog.named(new.warehouse, new.identifier)
        raise publish.creation_refused(new, outcome.failed, None if taken is None else taken.value.kind)
    if isinstance(outcome, Repeated):
        return await standing(room, new.target, facts_in(outcome.answer))
    return Made(new.uuid, plan.pointer)


async def _discard(room: Room, new: publish.Creation) -> None:
    if not new.foreign:
        await room.files.discard((new.written.location,), new.warehouse.bucket)


async def standing(room: Room, target: Target, facts: Sequence[str]) -> Made:
    """Return a table or view as it is now, for a request that had its effect before. Raises CommitStateUnknown.

    It must still be the one of the UUID that the request left. One that was dropped or renamed since is no reason to
    say that nothing was done: clients would remove the files that it refers to.
    """
    found = await room.catalog.find_now(target.warehouse, target.identifier, target.kind)
    if found is None or found.uuid not in facts:
        raise CommitStateUnknown
    return Made(found.uuid, found.value)


@dataclass(frozen=True, slots=True)
class Register:
    """A table or view whose metadata file is there already, under a name."""

    target: Target
    metadata_location: str
    by: str
    overwrite: bool = False
    once: Once | None = None

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed: to register, and where a table is replaced, to change it."""
        kind, warehouse = self.target.kind, self.target.warehouse.name
        action = "RegisterTable" if kind is EntryKind.TABLE else "RegisterView"
        need = new_entry_need(action, warehouse, kind, self.target.identifier)
        need = need._replace(facts=(*need.facts, ("s3tables:registerLocation", self.metadata_location)))
        if self.overwrite and self.target.found is not None:
            return need, self.target.need("UpdateTableMetadataLocation")
        return (need,)


Allow = Callable[[Sequence[Need]], Awaitable[object]]
"""Allows what is needed, at the gate that every request passes, or raises AccessDenied."""


async def register(room: Room, call: Register, allow: Allow) -> Made:
    """Give a name to a metadata file. Raises MetadataFileMissing, AlreadyExists, NoSuchNamespace, BadRequest."""
    target = call.target
    warehouse, identifier, kind = target.warehouse, target.identifier, target.kind
    if (facts := await facts_of(room.state, call.once)) is not None:
        return await standing(room, target, facts)
    await room.catalog.the_namespace(warehouse, identifier.namespace)
    taken = await room.catalog.named(warehouse, identifier)
    if taken is not None and (taken.value.kind is not kind or not call.overwrite):
        raise publish.name_taken(kind, taken.value.kind, identifier)
    held = "" if taken is None or target.found is None else target.found.value.location
    metadata, written = await _registrable(room, call, held, allow)
    new = publish.Creation(warehouse, identifier, kind, metadata, written, call.by, room.now_ms(), foreign=True)
    if taken is not None:
        return await _overwrite(room, call, new)
    return await _appear(room, new, call.once)


async def _registrable(room: Room, call: Register, held: str, allow: Allow) -> tuple[Metadata, Written]:
    """Read the file that is to be registered, in place of a table at `held` where there is one.

    It is read for who may read it: errors would tell others whether it is there, and what it says. Where the table and
    its metadata files lie stands in it: what is needed to have them there is asked for once that is known.
    """
    warehouse, location = call.target.warehouse, call.metadata_location
    file = file_place(location, warehouse.bucket)
    await allow(reading_needs(file, place_of(held)))
    metadata, written = await room.files.read(location, file, call.target.kind)
    table_place(metadata.location, warehouse.bucket)
    await allow(chosen_needs(warehouse, metadata.location, metadata.properties, held=held))
    return metadata, written


async def _overwrite(room: Room, call: Register, new: publish.Creation) -> Made:
    """Lead a name to another metadata file: of the same table, or of another in its place."""
    found = call.target.entry()
    if found.uuid == new.uuid:
        base = (
            await room.files.table(found.value) if new.kind is EntryKind.TABLE else await room.files.view(found.value)
        )
        plan = publish.move(found, base, new.metadata, new.written, by=call.by, now_ms=new.now_ms, foreign=True)
        transaction = Transaction(plan.expect, plan.changes)
    else:
        transaction = publish.replaced(publish.drop(found, call.by, new.now_ms, purge=False), publish.create(new))
    outcome = await commit_once(room.state, transaction, call.once, new.uuid)
    if isinstance(outcome, Conflict):
        if any(isinstance(each, At) for each in outcome.failed):
            raise InMotion(f"{call.target.identifier} was changed meanwhile: try again")
        raise publish.creation_refused(new, outcome.failed, None)
    facts = facts_in(outcome.answer) if isinstance(outcome, Repeated) else (new.uuid,)
    return await standing(room, new.target, facts)


@dataclass(frozen=True, slots=True)
class Rename:
    """Another name for a table or view; its UUID and its location stay."""

    target: Target
    to: Identifier

    by: str
    once: Once | None = None

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed: to rename it, and to make one of the new name."""
        kind = self.target.kind
        noun = "Table" if kind is EntryKind.TABLE else "View"
        made = new_entry_need(f"Create{noun}", self.target.warehouse.name, kind, self.to)
        return self.target.need(f"Rename{noun}"), made


async def rename(room: Room, call: Rename) -> None:
    """Rename. Raises NoSuchNamespace, NoSuchTable, NoSuchView, AlreadyExists."""
    if await is_done(room.state, call.once):
        return
    target, to = call.target, call.to
    before = f"Cannot rename {target.identifier} to {to}. "
    for _ in range(RENAME_ATTEMPTS):
        if await room.catalog.namespace(target.warehouse, to.namespace) is None:
            raise NoSuchNamespace(shown(to.namespace), before)
        found = await room.catalog.find_now(target.warehouse, target.identifier, target.kind)
        if found is None or target.found is None or found.uuid != target.found.uuid:
            raise missing(target.kind, target.identifier, before)
        if target.identifier == to:
            return
        taken = await room.catalog.named(target.warehouse, to)
        if taken is not None:
            raise AlreadyExists(f"{before}{taken.value.kind.value.capitalize()} already exists")
        plan = publish.rename(found, to)
        if not isinstance(await commit_once(room.state, Transaction(plan.expect, plan.changes), call.once), Conflict):
            return
    raise InMotion(f"{before}Others changed it again and again: try again")


@dataclass(frozen=True, slots=True)
class Drop:
    """The end of a table or view, with or without its files."""

    target: Target
    by: str
    purge: bool = False
    once: Once | None = None

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (self.target.need("DeleteTable" if self.target.kind is EntryKind.TABLE else "DeleteView"),)


async def drop(room: Room, call: Drop) -> None:
    """Drop. Raises NoSuchTable, NoSuchView, BadRequest."""
    if await is_done(room.state, call.once):
        return
    target = call.target
    allowed = target.entry()
    for _ in range(RENAME_ATTEMPTS):
        found = await room.catalog.find_now(target.warehouse, target.identifier, target.kind)
        if found is None or found.uuid != allowed.uuid:
            raise missing(target.kind, target.identifier)
        if call.purge and target.kind is EntryKind.TABLE:
            _check_purge((await room.files.table(found.value)), target)
        plan = publish.drop(found, call.by, room.now_ms(), purge=call.purge)
        if not isinstance(await commit_once(room.state, Transaction(plan.expect, plan.changes), call.once), Conflict):
            return
    raise InMotion(f"{target.identifier} was changed again and again: try again")


def _check_purge(metadata: TableMetadata, target: Target) -> None:
    if metadata.properties.get("gc.enabled", "true").lower() == "false":
        raise BadRequest(
            f"Cannot purge {target.identifier}: its property gc.enabled is false, so its files may belong to others."
            " Drop it without purge, or set the property to true first"
        )
