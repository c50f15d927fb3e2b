"""A catalog in memory for the tests of its operations: state, store, and a clock that tests turn."""

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from lakeshare.formats.iceberg.creating import parse_create_table
from lakeshare.formats.iceberg.requirements import parse_requirements
from lakeshare.formats.iceberg.updates import parse_updates
from lakeshare.identity.caller import Need
from lakeshare.identity.directory import Directory
from lakeshare.identity.throttle import Throttle
from lakeshare.identity.vault import Vault
from lakeshare.identity.view import RootKey
from lakeshare.settings import Secret
from lakeshare.state.errors import StateUnknown
from lakeshare.state.memory import MemoryState
from lakeshare.state.port import Outcome, Transaction
from lakeshare.storage.memory import MemoryStore
from lakeshare.tables.catalog import Catalog
from lakeshare.tables.files import MetadataFiles
from lakeshare.tables.model.entries import EntryKind, Warehouse
from lakeshare.tables.model.names import Identifier
from lakeshare.tables.operations.commit import Commit, TableChange
from lakeshare.tables.operations.namespaces import CreateNamespace, create_namespace
from lakeshare.tables.operations.receipts import Once
from lakeshare.tables.operations.tables import CreateTable, Made, create_table
from lakeshare.tables.operations.warehouses import CreateWarehouse, create_warehouse
from lakeshare.tables.room import Room
from lakeshare.tables.vendor import Vendor
from tests.tables.lake import SCHEMA

NOW = 1_700_000_000.0


async def anything(_needs: Sequence[Need]) -> None:
    """Allow whatever is needed."""


class FaultyState(MemoryState):
    """State whose answers get lost, or come late, as a test has it: `before` and `after` are called once each."""

    def __init__(self) -> None:
        super().__init__()
        self.before: list[Callable[[], Any]] = []
        self.lose: list[bool] = []

    async def commit(self, transaction: Transaction) -> Outcome:
        if self.before:
            await self.before.pop(0)()
        lost = self.lose.pop(0) if self.lose else None
        if lost is False:
            raise StateUnknown("the answer was lost, and nothing was done")
        outcome = await super().commit(transaction)
        if lost is True:
            raise StateUnknown("the answer was lost, and all was done")
        return outcome


class Estate:
    """The catalog of one server, as one of its workers has it."""

    def __init__(self, state: FaultyState | None = None, store: MemoryStore | None = None) -> None:
        self.now = NOW
        self.state = state or FaultyState()
        self.store = store or MemoryStore()
        directory = Directory(self.state, Vault((b"k" * 32,)), RootKey("root", Secret("secret-of-root")))
        self.room = Room(
            self.state,
            self.store,
            Catalog(self.state),
            MetadataFiles(self.store),
            Vendor(directory, lambda: self.now),
            directory,
            Throttle.in_memory(10),
            lambda: self.now,
        )

    def beside(self) -> "Estate":
        """Return the same catalog as another worker has it."""
        return Estate(self.state, self.store)

    async def warehouse(self, name: str = "lake") -> Warehouse:
        with contextlib.suppress(Exception):
            return await self.room.catalog.warehouse(name)
        return await create_warehouse(self.room, CreateWarehouse(name, "root"), anything)

    async def table(self, name: str = "t", **more: Any) -> Made:
        """Make a table in the namespace `ns`, which is made with the first."""
        warehouse = await self.warehouse()
        if await self.room.catalog.namespace(warehouse, ("ns",)) is None:
            await create_namespace(self.room, CreateNamespace(warehouse, ("ns",), {}))
        new = parse_create_table({"name": name, "schema": SCHEMA} | more)
        made = await create_table(self.room, CreateTable(warehouse, Identifier(("ns",), name), new, "root"))
        assert isinstance(made, Made)
        return made

    async def change(self, name: str, requirements: list[Any], *updates: dict[str, Any]) -> TableChange:
        warehouse = await self.warehouse()
        target = await self.room.catalog.target(warehouse, Identifier(("ns",), name), EntryKind.TABLE)
        return TableChange(target, parse_requirements(requirements), parse_updates(list(updates)))

    async def setting(self, key: str, *names: str, once: Once | None = None) -> Commit:
        """Make a commit that sets a property of tables."""
        update = {"action": "set-properties", "updates": {key: "x"}}
        return Commit(tuple([await self.change(name, [], update) for name in names]), "root", once)

    async def properties(self, name: str) -> dict[str, str]:
        warehouse = await self.warehouse()
        found = await self.room.catalog.find_now(warehouse, Identifier(("ns",), name), EntryKind.TABLE)
        assert found is not None
        return dict((await self.beside().room.files.table(found.value)).properties)

    async def files(self) -> list[str]:
        """Name every metadata file in the warehouse."""
        from lakeshare.storage.port import Listing

        page = await self.store.list(Listing("lake", limit=1000))
        return [entry.key for entry in page.objects]
