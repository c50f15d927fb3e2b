"""Namespaces: making, finding, listing, describing and dropping them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from lakeshare.identity.caller import Need
from lakeshare.state.decide import decide
from lakeshare.state.port import Conflict, Expectation, Repeated, Transaction
from lakeshare.tables.catalog import namespace_parts
from lakeshare.tables.errors import BadRequest, NamespaceExists, NamespaceNotEmpty, NoSuchNamespace, Unprocessable
from lakeshare.tables.model.entries import NamespaceRecord, Warehouse
from lakeshare.tables.model.names import Namespace, joined, shown
from lakeshare.tables.model.paging import Paging, token_for
from lakeshare.tables.model.places import chosen_place, namespace_location, place_of, table_place
from lakeshare.tables.model.targets import namespace_need, place_needs, warehouse_need
from lakeshare.tables.operations.receipts import Once, commit_once, facts_in, facts_of, is_done
from lakeshare.tables.records import NAMES, NAMESPACES, WAREHOUSES
from lakeshare.tables.room import Room

LOCATION = "location"
MAX_PROPERTIES = 1_000
MAX_PROPERTIES_BYTES = 256 * 1024
_PAGE_ROWS = 1_000


@dataclass(frozen=True, slots=True)
class CreateNamespace:
    """A new namespace, below one that is there."""

    warehouse: Warehouse
    namespace: Namespace
    properties: Mapping[str, str]
    once: Once | None = None

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed: to make it, and to have its tables where they are to lie."""
        need = namespace_need("CreateNamespace", self.warehouse.name, self.namespace)
        return need, *_chosen(self.warehouse, self.namespace, self.properties)


async def create_namespace(room: Room, call: CreateNamespace) -> Mapping[str, str]:
    """Make a namespace, and return its properties. Raises NamespaceExists, NoSuchNamespace, NoSuchWarehouse."""
    warehouse, namespace = call.warehouse, call.namespace
    record = NamespaceRecord(room.now_ms(), check_properties(call.properties, warehouse))
    if await is_done(room.state, call.once):
        held = await room.catalog.namespace(warehouse, namespace)
        return _shown(warehouse, namespace, record if held is None else held.value)
    parts = namespace_parts(warehouse, namespace)
    expect: list[Expectation] = [WAREHOUSES.exists(warehouse.name), NAMESPACES.absent(*parts)]
    if namespace[:-1]:
        expect.append(NAMESPACES.exists(*namespace_parts(warehouse, namespace[:-1])))
    outcome = await commit_once(room.state, Transaction(tuple(expect), (NAMESPACES.put(record, *parts),)), call.once)
    if isinstance(outcome, Conflict):
        if NAMESPACES.absent(*parts) in outcome.failed:
            raise NamespaceExists(shown(namespace))
        await room.catalog.warehouse(warehouse.name)
        raise NoSuchNamespace(shown(namespace[:-1]))
    return _shown(warehouse, namespace, record)


@dataclass(frozen=True, slots=True)
class NamespaceCall:
    """A question about one namespace."""

    warehouse: Warehouse
    namespace: Namespace
    action: str = "GetNamespace"

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (namespace_need(self.action, self.warehouse.name, self.namespace),)


async def load_namespace(room: Room, call: NamespaceCall) -> Mapping[str, str]:
    """Return a namespace's properties, its location among them. Raises NoSuchNamespace."""
    stored = await room.catalog.the_namespace(call.warehouse, call.namespace)
    return _shown(call.warehouse, call.namespace, stored.value)


@dataclass(frozen=True, slots=True)
class DropNamespace:
    """The removal of an empty namespace."""

    warehouse: Warehouse
    namespace: Namespace
    once: Once | None = None

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (namespace_need("DeleteNamespace", self.warehouse.name, self.namespace),)


async def drop_namespace(room: Room, call: DropNamespace) -> None:
    """Remove a namespace. Raises NoSuchNamespace, NamespaceNotEmpty."""
    if await is_done(room.state, call.once):
        return
    warehouse, path = call.warehouse, joined(call.namespace)
    parts = namespace_parts(warehouse, call.namespace)
    exists = NAMESPACES.exists(*parts)
    expect = (exists, NAMESPACES.empty(warehouse.id, path), NAMES.empty(warehouse.id, path))
    outcome = await commit_once(room.state, Transaction(expect, (NAMESPACES.delete(*parts),)), call.once)
    if isinstance(outcome, Conflict):
        raise (NoSuchNamespace if exists in outcome.failed else NamespaceNotEmpty)(shown(call.namespace))


@dataclass(frozen=True, slots=True)
class ListNamespaces:
    """The namespaces directly below one, or at the top."""

    warehouse: Warehouse
    parent: Namespace
    paging: Paging

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        if not self.parent:
            return (warehouse_need("ListNamespaces", self.warehouse.name),)
        return (namespace_need("ListNamespaces", self.warehouse.name, self.parent),)


async def list_namespaces(room: Room, call: ListNamespaces) -> tuple[list[Namespace], str | None]:
    """Return namespaces in order, and the token of the next page. Raises NoSuchNamespace."""
    warehouse, path, paging = call.warehouse, joined(call.parent), call.paging
    if call.parent:
        await room.catalog.the_namespace(warehouse, call.parent)
    context = f"namespaces\n{warehouse.id}\n{path}"
    after = paging.after(context)
    if paging.whole:
        return [(*call.parent, str(each.name)) async for each in NAMESPACES.all(room.state, warehouse.id, path)], None
    start = NAMESPACES.key(warehouse.id, path, after) if after else None
    page = await NAMESPACES.page(room.state, warehouse.id, path, after=start, limit=min(paging.size, _PAGE_ROWS))
    names = [(*call.parent, str(each.name)) for each in page.items]
    return names, None if page.next_after is None else token_for(context, str(page.next_after[-1]))


@dataclass(frozen=True, slots=True)
class UpdateProperties:
    """One change of a namespace's properties."""

    warehouse: Warehouse
    namespace: Namespace
    removals: tuple[str, ...]
    updates: Mapping[str, str]
    once: Once | None = None

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed: to change them, and to have new tables where they are to lie."""
        need = namespace_need("UpdateNamespaceProperties", self.warehouse.name, self.namespace)
        return need, *_chosen(self.warehouse, self.namespace, self.updates)


@dataclass(frozen=True, slots=True)
class Updated:
    """What came of it."""

    updated: tuple[str, ...]
    removed: tuple[str, ...]
    missing: tuple[str, ...]


async def update_properties(room: Room, call: UpdateProperties) -> Updated:
    """Change properties, all at once. Raises NoSuchNamespace, Unprocessable, BadRequest."""
    if both := sorted(set(call.removals) & call.updates.keys()):
        raise Unprocessable(f"Invalid namespace update: cannot set and remove {both[0]!r} at once")
    removals = tuple(dict.fromkeys(call.removals))
    done: list[tuple[str, ...]] = []

    async def plan() -> Transaction:
        stored = await room.catalog.the_namespace(call.warehouse, call.namespace)
        held = dict(stored.value.properties)
        removed = tuple(str(at) for at, name in enumerate(removals) if held.pop(name, None) is not None)
        held.update(call.updates)
        record = replace(stored.value, properties=check_properties(held, call.warehouse))
        done[:] = [removed]
        put = NAMESPACES.put(record, *namespace_parts(call.warehouse, call.namespace))
        return Transaction((stored.unchanged,), (put,), None if call.once is None else call.once.receipt(*removed))

    facts = await facts_of(room.state, call.once)
    if facts is None:
        outcome = await decide(room.state, plan)
        facts = facts_in(outcome.answer) if isinstance(outcome, Repeated) else done[0]
    gone = {int(at) for at in facts}
    return Updated(
        tuple(call.updates),
        tuple(name for at, name in enumerate(removals) if at in gone),
        tuple(name for at, name in enumerate(removals) if at not in gone),
    )


def check_properties(properties: Mapping[str, str], warehouse: Warehouse) -> Mapping[str, str]:
    """Return properties that a namespace may have: bounded, with a location inside the warehouse. Raises BadRequest."""
    if len(properties) > MAX_PROPERTIES:
        raise BadRequest(f"a namespace has at most {MAX_PROPERTIES} properties")
    if sum(len(name) + len(value) for name, value in properties.items()) > MAX_PROPERTIES_BYTES:
        raise BadRequest(f"the properties of a namespace take at most {MAX_PROPERTIES_BYTES} bytes")
    if location := properties.get(LOCATION):
        table_place(location, warehouse.bucket)
    return properties


def location_of(warehouse: Warehouse, namespace: Namespace, record: NamespaceRecord) -> str:
    """Return the folder that a namespace's new tables lie in."""
    return record.properties.get(LOCATION) or namespace_location(warehouse.bucket, namespace)


def _chosen(warehouse: Warehouse, namespace: Namespace, properties: Mapping[str, str]) -> tuple[Need, ...]:
    """Say what must be allowed to choose the folder of a namespace's new tables; the server's own needs nothing."""
    place = chosen_place(properties.get(LOCATION), warehouse.bucket)
    return () if place == place_of(namespace_location(warehouse.bucket, namespace)) else place_needs(place)


def _shown(warehouse: Warehouse, namespace: Namespace, record: NamespaceRecord) -> Mapping[str, str]:
    return {LOCATION: location_of(warehouse, namespace, record), **record.properties}
