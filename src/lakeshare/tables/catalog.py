"""The catalog as one worker reads it: warehouses at hand, names and pointers from state, listings remembered.

A commit of any worker is seen by the next question: what is remembered is derived from state, and made again when what
it was made from has changed.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from weakref import WeakValueDictionary

from lakeshare.state.derived import LOOK_SECONDS, Derived
from lakeshare.state.keys import Key
from lakeshare.state.keyspace import Stored
from lakeshare.state.port import Cursor, State
from lakeshare.tables.errors import NoSuchNamespace, NoSuchWarehouse
from lakeshare.tables.model.entries import EntryKind, Named, NamespaceRecord, Pointer, Warehouse
from lakeshare.tables.model.names import Identifier, Namespace, joined, shown
from lakeshare.tables.model.targets import Found, Target
from lakeshare.tables.records import NAMES, NAMESPACES, POINTERS, WAREHOUSES

ENTRIES_KEPT = 4_096
"""Tables and views whose pointers are remembered until anything is committed."""
PATH_CHARACTERS_KEPT = 512
"""Longest path whose question is remembered."""
LISTINGS_KEPT = 64
"""Namespaces whose whole listing is remembered, for tables and for views each."""
MAX_WAREHOUSES = 10_000


class Listed:
    """The names of a listing, and room for the form in which it is answered."""

    __slots__ = ("encoded", "names")

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.encoded: bytes | None = None


class Memory:
    """What a worker has found since anything was committed: tables and views by name, and questions by their path."""

    __slots__ = ("asked", "entries")

    def __init__(self) -> None:
        self.entries: OrderedDict[tuple[str, Identifier, EntryKind], Found] = OrderedDict()
        self.asked: OrderedDict[str, object] = OrderedDict()

    def ask(self, path: str, question: object) -> None:
        """Remember the question that a path asks; it may know no more than was read since this memory was given out."""
        if len(path) <= PATH_CHARACTERS_KEPT:
            self.asked[path] = question
            if len(self.asked) > ENTRIES_KEPT:
                self.asked.popitem(last=False)


class Catalog:
    """Reads of one worker."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._warehouses: Derived[Mapping[str, Warehouse]] = Derived(state, (WAREHOUSES.prefix,), _warehouses)
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._memory = Memory()
        self._newest: Cursor | None = None
        self._pulse = 0
        self._probe_at = float("-inf")
        self._listings: OrderedDict[tuple[str, str, EntryKind], Derived[Listed]] = OrderedDict()

    async def warehouses(self) -> Mapping[str, Warehouse]:
        """Return all warehouses by name, those that are being removed too."""
        known = self._warehouses.at_hand()
        return await self._warehouses.current() if known is None else known

    async def warehouse(self, name: str) -> Warehouse:
        """Return a warehouse. Raises NoSuchWarehouse."""
        found = (await self.warehouses()).get(name)
        if found is None or found.removing:
            raise NoSuchWarehouse(name)
        return found

    async def asked(self, name: str) -> Warehouse:
        """Return a warehouse as a request names it: one that is not there is nobody's, and holds nothing."""
        found = (await self.warehouses()).get(name)
        return Warehouse(name, "", name, 0, removing=True) if found is None else found

    async def namespace(self, warehouse: Warehouse, namespace: Namespace) -> Stored[NamespaceRecord] | None:
        """Return a namespace, if it is there."""
        return await NAMESPACES.get(self.state, *namespace_parts(warehouse, namespace))

    async def the_namespace(self, warehouse: Warehouse, namespace: Namespace) -> Stored[NamespaceRecord]:
        """Return a namespace. Raises NoSuchNamespace."""
        found = await self.namespace(warehouse, namespace)
        if found is None:
            raise NoSuchNamespace(shown(namespace))
        return found

    async def named(self, warehouse: Warehouse, identifier: Identifier) -> Stored[Named] | None:
        """Return what a name stands for, a table or a view."""
        return await NAMES.get(self.state, warehouse.id, joined(identifier.namespace), identifier.name)

    async def pointer(self, warehouse: Warehouse, uuid: str) -> Stored[Pointer] | None:
        """Return a pointer by UUID."""
        return await POINTERS.get(self.state, warehouse.id, uuid)

    async def find(self, warehouse: Warehouse, identifier: Identifier, kind: EntryKind) -> Found | None:
        """Return a table or view by name, as new as anything that was answered; None where there is none."""
        key = warehouse.id, identifier, kind
        entries = (await self.memory()).entries
        if (held := entries.get(key)) is not None:
            return held
        found = await self.find_now(warehouse, identifier, kind)
        if found is not None:
            entries[key] = found
            if len(entries) > ENTRIES_KEPT:
                entries.popitem(last=False)
        return found

    async def memory(self) -> Memory:
        """Return what has been found since anything was committed; an older finding lands where nobody looks."""
        # Pulse and time are read before the place: what is found from then on may be newer than it, never older.
        pulse, now = self.state.pulse(), time.monotonic()
        if pulse != self._pulse or now >= self._probe_at:
            newest = await self.state.newest()
            if newest != self._newest:
                self._memory, self._newest = Memory(), newest
            self._pulse, self._probe_at = pulse, now + LOOK_SECONDS
        return self._memory

    async def find_now(self, warehouse: Warehouse, identifier: Identifier, kind: EntryKind) -> Found | None:
        """Return a table or view by name as state has it; None where there is none of that kind."""
        if warehouse.removing:
            return None
        name = await self.named(warehouse, identifier)
        if name is None or name.value.kind is not kind:
            return None
        pointer = await self.pointer(warehouse, name.value.uuid)
        return None if pointer is None else Found(warehouse, name.value.uuid, name, pointer)

    async def target(self, warehouse: Warehouse, identifier: Identifier, kind: EntryKind) -> Target:
        """Look up what a request names."""
        return Target(warehouse, identifier, kind, await self.find(warehouse, identifier, kind))

    def turn(self, uuid: str) -> asyncio.Lock:
        """Return what writers of one table in this worker wait for: fewer of them then lose to each other."""
        found = self._turns.get(uuid)
        if found is None:
            found = self._turns[uuid] = asyncio.Lock()
        return found

    async def listing(self, warehouse: Warehouse, namespace: Namespace, kind: EntryKind) -> Listed:
        """Return the names of all tables, or of all views, of a namespace, in order."""
        key = warehouse.id, joined(namespace), kind
        derived = self._listings.get(key)
        if derived is None:
            derived = self._listings[key] = _listing(self.state, *key)
            if len(self._listings) > LISTINGS_KEPT:
                self._listings.popitem(last=False)
        else:
            self._listings.move_to_end(key)
        return await derived.current()


def namespace_parts(warehouse: Warehouse, namespace: Namespace) -> tuple[str, str, str]:
    """Return the parts of a namespace's key."""
    return warehouse.id, joined(namespace[:-1]), namespace[-1]


def _listing(state: State, warehouse_id: str, namespace: str, kind: EntryKind) -> Derived[Listed]:
    async def names(state: State) -> Listed:
        found = NAMES.all(state, warehouse_id, namespace)
        return Listed([str(each.name) async for each in found if each.value.kind is kind])

    source: Key = NAMES.key(warehouse_id, namespace)
    return Derived(state, (source,), names)


async def _warehouses(state: State) -> Mapping[str, Warehouse]:
    return {str(each.name): each.value async for each in WAREHOUSES.all(state)}
