"""A catalog in memory with tables that have real manifests, and a clock that the test turns."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from lakeshare.formats.iceberg.creating import parse_create_table
from lakeshare.formats.iceberg.metadata import TableMetadata
from lakeshare.formats.iceberg.requirements import AssertTableUuid
from lakeshare.formats.iceberg.updates import parse_updates
from lakeshare.state.memory import MemoryState
from lakeshare.state.port import Transaction
from lakeshare.storage.memory import MemoryStore
from lakeshare.storage.port import Listing, Put
from lakeshare.tables.catalog import Catalog
from lakeshare.tables.files import MetadataFiles
from lakeshare.tables.maintenance.choices import Activity
from lakeshare.tables.maintenance.records import DUE, Due
from lakeshare.tables.model.entries import EntryKind, Warehouse
from lakeshare.tables.model.names import Identifier
from lakeshare.tables.model.places import place_of
from lakeshare.tables.model.targets import Found, Target
from lakeshare.tables.operations.commit import Commit, TableChange, commit
from lakeshare.tables.operations.namespaces import CreateNamespace, create_namespace
from lakeshare.tables.operations.tables import CreateTable, create_table
from lakeshare.tables.operations.warehouses import CreateWarehouse, create_warehouse
from lakeshare.tables.room import Room
from tests.formats.iceberg_files.manifests import entry, listed, manifest, manifest_list
from tests.tables.estate import anything

SCHEMA = {"type": "struct", "fields": [{"id": 1, "name": "id", "type": "long", "required": False}]}
START = 1_700_000_000.0
DAY = 86_400.0


@dataclass
class Clock:
    """Time, as the test says."""

    now: float = START

    def __call__(self) -> float:
        return self.now

    def ns(self) -> int:
        """Return it as a store asks for it."""
        return int(self.now * 1e9)


@dataclass
class Lake:
    """A catalog with one warehouse and one namespace."""

    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self.state = MemoryState()
        self.store = MemoryStore(clock_ns=self.clock.ns)
        nobody = cast("Any", None)
        files = MetadataFiles(self.store)
        self.room = Room(self.state, self.store, Catalog(self.state), files, nobody, nobody, nobody, self.clock)
        self._snapshots = 0

    async def open(self) -> "Lake":
        """Make the warehouse `wh` and the namespace `ns`."""
        self.warehouse: Warehouse = await create_warehouse(self.room, CreateWarehouse("wh-1", "tests"), anything)
        await create_namespace(self.room, CreateNamespace(self.warehouse, ("ns",), {}))
        return self

    def room_beside(self) -> Room:
        """Return the room as a worker has it that remembers nothing."""
        return replace(self.room, files=MetadataFiles(self.store))

    async def table(self, name: str = "t", **properties: str) -> "Table":
        """Make a table."""
        body = {"name": name, "schema": SCHEMA, "properties": properties}
        call = CreateTable(self.warehouse, Identifier(("ns",), name), parse_create_table(body), "tests")
        await create_table(self.room, call)
        return Table(self, Identifier(("ns",), name))

    async def write(self, uri: str, data: bytes) -> None:
        """Write an object."""
        place = place_of(uri)
        assert place is not None
        async with self.store.stage(frozenset(), len(data)) as staging:
            await staging.write(data)
            await self.store.put(Put(place.bucket, place.key), staging)

    async def keys(self) -> list[str]:
        """Name all objects of the bucket."""
        return [each.key for each in (await self.store.list(Listing("wh-1"))).objects]

    def next_snapshot(self) -> int:
        """Count snapshots."""
        self._snapshots += 1
        return self._snapshots

    async def ask(self, table: "Table", activity: Activity) -> None:
        """Make something due."""
        found = await table.found()
        due = Due(activity, self.room.now_ms(), "tests")
        await self.state.commit(Transaction(changes=(DUE.put(due, "wh-1", found.uuid, activity.value),)))


@dataclass
class Table:
    """A table whose snapshots the test makes."""

    lake: Lake
    identifier: Identifier
    manifests: list[dict[str, Any]] = field(default_factory=list)
    by_snapshot: dict[int, list[dict[str, Any]]] = field(default_factory=dict)

    async def found(self) -> Found:
        """Look it up."""
        found = await self.lake.room.catalog.find(self.lake.warehouse, self.identifier, EntryKind.TABLE)
        assert found is not None
        return found

    async def metadata(self) -> TableMetadata:
        """Return what it is now."""
        return await self.lake.room.files.table((await self.found()).value)

    async def location(self) -> str:
        """Return where it lies."""
        return (await self.found()).value.location

    async def commit(self, *updates: dict[str, Any]) -> None:
        """Commit updates as a client does."""
        found = await self.found()
        target = Target(self.lake.warehouse, self.identifier, EntryKind.TABLE, found)
        change = TableChange(target, (AssertTableUuid(found.uuid),), parse_updates(list(updates)))
        await commit(self.lake.room, Commit((change,), "tests"))

    async def append(self, *names: str, replaces: bool = False, status: int = 1, **facts: Any) -> int:
        """Commit a snapshot with data files, beside those that are there or in their place."""
        location, number = await self.location(), self.lake.next_snapshot()
        entries = []
        for name in names:
            await self.lake.write(f"{location}/data/{name}", b"x" * 100)
            entries.append(entry(f"{location}/data/{name}", status=status, snapshot=number, **facts))
        data = manifest(entries, 2)
        path = f"{location}/metadata/m{number}.avro"
        await self.lake.write(path, data)
        line = listed(path, data, snapshot=number, added_files_count=len(names))
        self.manifests = [line] if replaces else [*self.manifests, line]
        await self._snapshot(number, location)
        return number

    async def _snapshot(self, number: int, location: str) -> None:
        self.by_snapshot[number] = self.manifests
        path = f"{location}/metadata/snap-{number}.avro"
        await self.lake.write(path, manifest_list(self.manifests, 2))
        metadata = await self.metadata()
        snapshot = {
            "snapshot-id": number,
            "sequence-number": metadata.last_sequence_number + 1,
            "timestamp-ms": self.lake.room.now_ms(),
            "manifest-list": path,
            "summary": {"operation": "append"},
            "schema-id": 0,
        }
        if metadata.current_snapshot_id is not None:
            snapshot["parent-snapshot-id"] = metadata.current_snapshot_id
        ref = {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": number}
        await self.commit({"action": "add-snapshot", "snapshot": snapshot}, ref)

    async def files(self) -> list[str]:
        """Name the objects below its location, without it."""
        place = place_of(await self.location())
        assert place is not None
        return [key.removeprefix(place.key + "/") for key in await self.lake.keys() if key.startswith(place.key + "/")]


def without_metadata(names: Sequence[str]) -> list[str]:
    """Leave out metadata files, whose names are random."""
    return [name for name in names if not name.endswith(".metadata.json")]
