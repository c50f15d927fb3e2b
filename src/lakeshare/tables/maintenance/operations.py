"""What can be asked about maintenance: what is chosen, how the last run ended, what a run would do, what needs work."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from lakeshare.columnar.source import FileGone, Unreadable
from lakeshare.errors import Kind
from lakeshare.formats.iceberg_files.retention import PROPERTIES
from lakeshare.identity.arns import EVERYTHING
from lakeshare.identity.caller import Need
from lakeshare.state.decide import decide
from lakeshare.state.port import Transaction
from lakeshare.tables.errors import TablesError
from lakeshare.tables.maintenance.choices import Activity, Choices, Effective, chosen, forgotten
from lakeshare.tables.maintenance.inheritance import SERVER, Place, effective, namespace_place, places, warehouse_place
from lakeshare.tables.maintenance.inheritance import table_place as place_of_table
from lakeshare.tables.maintenance.records import CHOICES, DUE, ENDED, Due, Ended
from lakeshare.tables.maintenance.report import Needs, needs_of
from lakeshare.tables.maintenance.running import DryRun, dry_run, folder_of
from lakeshare.tables.model.entries import Warehouse
from lakeshare.tables.model.jobs import JOBS
from lakeshare.tables.model.names import Identifier, Namespace
from lakeshare.tables.model.targets import Target, namespace_need, warehouse_need
from lakeshare.tables.room import Room

MAX_WORK = 1_000
"""Most jobs, and most activities, that are shown."""


class CannotLook(TablesError):
    """A file of the table that must be read to answer cannot be."""

    kind = Kind.INVALID


@dataclass(frozen=True, slots=True)
class Scope:
    """A place where choices are made: its own, those above it, and what must be allowed there."""

    place: Place
    chain: tuple[Place, ...]
    reading: Need
    writing: Need


def server_scope() -> Scope:
    """Return the server as a place of choices."""
    return Scope(SERVER, (SERVER,), Need("admin:ConfigRead", EVERYTHING), Need("admin:ConfigUpdate", EVERYTHING))


def warehouse_scope(warehouse: Warehouse) -> Scope:
    """Return a warehouse as a place of choices."""
    return Scope(
        warehouse_place(warehouse.name, warehouse.id),
        tuple(places(warehouse.name, warehouse.id)),
        warehouse_need("GetWarehouseMaintenanceConfiguration", warehouse.name),
        warehouse_need("PutWarehouseMaintenanceConfiguration", warehouse.name),
    )


def namespace_scope(warehouse: Warehouse, namespace: Namespace) -> Scope:
    """Return a namespace as a place of choices."""
    return Scope(
        namespace_place(warehouse.id, namespace),
        tuple(places(warehouse.name, warehouse.id, namespace)),
        namespace_need("GetWarehouseMaintenanceConfiguration", warehouse.name, namespace),
        namespace_need("PutWarehouseMaintenanceConfiguration", warehouse.name, namespace),
    )


def table_scope(target: Target) -> Scope:
    """Return a table as a place of choices; one that is not there is refused once it is known who asks."""
    warehouse, uuid = target.warehouse, "" if target.found is None else target.found.uuid
    return Scope(
        place_of_table(warehouse.id, uuid),
        tuple(places(warehouse.name, warehouse.id, target.identifier.namespace, uuid)),
        target.need("GetTableMaintenanceConfiguration"),
        target.need("PutTableMaintenanceConfiguration"),
    )


@dataclass(frozen=True, slots=True)
class GetChoices:
    """What is chosen at a place: what counts there, or with `own` what was chosen there itself."""

    scope: Scope
    own: bool = False
    target: Target | None = None
    namespace: "tuple[Warehouse, Namespace] | None" = None

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (self.scope.reading,)


async def get_choices(room: Room, call: GetChoices) -> Effective:
    """Return what is chosen. Raises NoSuchTable, NoSuchNamespace."""
    await _check(room, call.target, call.namespace)
    if not call.own:
        counts = await effective(room.state, list(call.scope.chain))
        return counts if call.target is None else replace(counts, properties=await _said(room, call.target))
    name, parts = call.scope.place
    stored = await CHOICES.get(room.state, *parts)
    own = Choices() if stored is None else stored.value
    names = [field for field in Choices.__dataclass_fields__ if getattr(own, field) is not None]
    return Effective(own, dict.fromkeys(names, name))


async def _said(room: Room, target: Target) -> Mapping[str, str]:
    """Return what a table's own properties say, which counts before all choices."""
    properties = (await room.files.table(target.entry().value)).properties
    return {name: properties[name] for name in PROPERTIES if name in properties}


@dataclass(frozen=True, slots=True)
class PutChoice:
    """A choice about one activity at a place; without a value the place above decides again."""

    scope: Scope
    activity: Activity
    enabled: bool | None = None
    settings: Mapping[str, object] | None = None
    target: Target | None = None
    namespace: "tuple[Warehouse, Namespace] | None" = None

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (self.scope.writing,)


async def put_choice(room: Room, call: PutChoice) -> None:
    """Choose. Raises BadRequest, NoSuchTable, NoSuchNamespace."""
    await _check(room, call.target, call.namespace)
    _, parts = call.scope.place

    async def plan() -> Transaction:
        stored = await CHOICES.get(room.state, *parts)
        before = Choices() if stored is None else stored.value
        after = forgotten(before, call.activity)
        if call.settings is not None:
            after = chosen(before, call.activity, call.enabled, call.settings)
        change = CHOICES.delete(*parts) if after == Choices() else CHOICES.put(after, *parts)
        return Transaction((CHOICES.absent(*parts) if stored is None else stored.unchanged,), (change,))

    await decide(room.state, plan)


async def _check(room: Room, target: Target | None, namespace: "tuple[Warehouse, Namespace] | None") -> None:
    if target is not None:
        target.entry()
    if namespace is not None:
        await room.catalog.the_namespace(*namespace)


@dataclass(frozen=True, slots=True)
class GetStatus:
    """How the last runs for a table ended."""

    target: Target

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (self.target.need("GetTableMaintenanceJobStatus"),)


@dataclass(frozen=True, slots=True)
class Standing:
    """How one activity stands for a table."""

    activity: Activity
    enabled: bool
    due: Due | None
    ended: Ended | None


async def get_status(room: Room, call: GetStatus) -> tuple[Standing, ...]:
    """Return how each activity stands. Raises NoSuchTable."""
    found = call.target.entry()
    counts = await effective(room.state, list(table_scope(call.target).chain))
    standings: list[Standing] = []
    for activity in Activity:
        due = await DUE.get(room.state, found.warehouse.name, found.uuid, activity.value)
        ended = await ENDED.get(room.state, found.warehouse.id, found.uuid, activity.value)
        standings.append(
            Standing(
                activity,
                counts.is_enabled(activity),
                None if due is None else due.value,
                None if ended is None else ended.value,
            )
        )
    return tuple(standings)


@dataclass(frozen=True, slots=True)
class Run:
    """A run that is asked for, or with `dry` what it would remove."""

    target: Target
    activity: Activity
    by: str
    dry: bool = False

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (self.target.need(f"{'Get' if self.dry else 'Put'}TableMaintenanceConfiguration"),)


async def run_now(room: Room, call: Run) -> DryRun | None:
    """Make a run due, or say what it would remove. Raises NoSuchTable, CannotLook."""
    found = call.target.entry()
    if call.dry:
        counts = await effective(room.state, list(table_scope(call.target).chain))
        try:
            return await dry_run(room, found, call.activity, counts)
        except (FileGone, Unreadable) as reason:
            raise CannotLook(reason.message) from None
    parts = found.warehouse.name, found.uuid, call.activity.value
    due = DUE.put(Due(call.activity, room.now_ms(), call.by), *parts)
    await room.state.commit(Transaction((DUE.absent(*parts),), (due,)))  # One that waits already will do.
    return None


@dataclass(frozen=True, slots=True)
class Report:
    """What of a table needs work."""

    target: Target

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (self.target.need("GetTableMaintenanceJobStatus"),)


async def report(room: Room, call: Report) -> Needs:
    """Look through a table's current snapshot. Raises NoSuchTable, CannotLook."""
    found = call.target.entry()
    counts = await effective(room.state, list(table_scope(call.target).chain))
    try:
        metadata = await room.files.table(found.value)
        return await needs_of(folder_of(room, found), metadata, counts.retention, room.now_ms())
    except (FileGone, Unreadable) as reason:
        raise CannotLook(reason.message) from None


@dataclass(frozen=True, slots=True)
class ListWork:
    """All that is still to be done."""

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need("admin:ListJobs", EVERYTHING),)


@dataclass(frozen=True, slots=True)
class Work:
    """One thing that is still to be done: for which table, since when, how often it was tried, and why it failed."""

    kind: str
    warehouse: str
    table: str
    asked_at_ms: int
    asked_by: str
    attempts: int
    not_before_ms: int
    failure: str = ""


async def list_work(room: Room) -> tuple[Work, ...]:
    """Return what drops and removals left to do, and what is due for tables, at most a page of each."""
    jobs = await JOBS.page(room.state, limit=MAX_WORK)
    found = [
        Work(
            each.value.kind.value,
            each.value.warehouse,
            each.value.name,
            each.value.created_at_ms,
            each.value.created_by,
            each.value.attempts,
            each.value.not_before_ms,
            each.value.last_error,
        )
        for each in jobs.items
    ]
    for due in (await DUE.page(room.state, limit=MAX_WORK)).items:
        warehouse, uuid, activity = (str(part) for part in due.key[len(DUE.prefix) :])
        value = due.value
        name = await _name_of(room, warehouse, uuid)
        asked = value.asked_at_ms, value.asked_by, value.attempts, value.not_before_ms
        found.append(Work(activity, warehouse, name, *asked, value.last_error))
    return tuple(found)


async def _name_of(room: Room, warehouse_name: str, uuid: str) -> str:
    warehouse = (await room.catalog.warehouses()).get(warehouse_name)
    pointer = None if warehouse is None else await room.catalog.pointer(warehouse, uuid)
    return uuid if pointer is None else str(Identifier(pointer.value.namespace, pointer.value.name))
