"""Warehouses: making one of a bucket, finding, listing and removing it."""

import uuid
from dataclasses import dataclass

from lakeshare.identity.arns import warehouse_arn
from lakeshare.identity.caller import Need
from lakeshare.state.port import Conflict, Transaction
from lakeshare.storage.errors import BucketExists
from lakeshare.storage.port import Listing
from lakeshare.tables.errors import BadRequest, BucketHasObjects, NoSuchWarehouse, WarehouseExists, WarehouseNotEmpty
from lakeshare.tables.model.entries import Warehouse
from lakeshare.tables.model.jobs import JOBS, Job, JobKind
from lakeshare.tables.model.names import check_warehouse
from lakeshare.tables.model.paging import Paging, token_for
from lakeshare.tables.model.targets import bucket_needs
from lakeshare.tables.operations.jobs import new_job_id
from lakeshare.tables.operations.tables import Allow
from lakeshare.tables.records import NAMESPACES, WAREHOUSES
from lakeshare.tables.room import Room

_CONTEXT = "warehouses"


@dataclass(frozen=True, slots=True)
class CreateWarehouse:
    """A new warehouse; `upgrade` lets it be a bucket that holds objects already."""

    name: str
    by: str
    upgrade: bool = False

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need("s3tables:CreateWarehouse", warehouse_arn(self.name)),)


async def create_warehouse(room: Room, call: CreateWarehouse, allow: Allow) -> Warehouse:
    """Make a warehouse. Raises BadRequest, WarehouseExists, BucketHasObjects, AccessDenied.

    A bucket that is there already is somebody's: what is needed to have it is asked for once that is known.
    """
    name = check_warehouse(call.name)
    held = (await room.catalog.warehouses()).get(name)
    if held is not None:
        raise WarehouseExists(name, ", and is being removed" if held.removing else "")
    made = Warehouse(name, str(uuid.uuid4()), name, room.now_ms(), call.by, shared=await _adopt(room, call, allow))
    outcome = await room.state.commit(Transaction((WAREHOUSES.absent(name),), (WAREHOUSES.put(made, name),)))
    if isinstance(outcome, Conflict):
        raise WarehouseExists(name)
    return made


async def _adopt(room: Room, call: CreateWarehouse, allow: Allow) -> bool:
    """Make the bucket, or take the one that is there; say whether it holds objects."""
    try:
        await room.store.create_bucket(call.name)
    except BucketExists:
        await allow(bucket_needs(call.name))
        page = await room.store.list(Listing(call.name, limit=1))
        if not page.objects:
            return False
        if not call.upgrade:
            raise BucketHasObjects(call.name) from None
        return True
    return False


@dataclass(frozen=True, slots=True)
class ListWarehouses:
    """All warehouses, or a page of them."""

    paging: Paging

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need("s3tables:ListWarehouses", warehouse_arn("*")),)


async def list_warehouses(room: Room, call: ListWarehouses) -> tuple[list[Warehouse], str | None]:
    """Return warehouses by name, and the token of the next page."""
    after = call.paging.after(_CONTEXT)
    found = await room.catalog.warehouses()
    names = sorted(name for name, each in found.items() if name > after and not each.removing)
    if call.paging.whole or len(names) <= call.paging.size:
        return [found[name] for name in names], None
    shown = names[: call.paging.size]
    return [found[name] for name in shown], token_for(_CONTEXT, shown[-1])


@dataclass(frozen=True, slots=True)
class GetWarehouse:
    """One warehouse."""

    name: str

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need("s3tables:GetWarehouse", warehouse_arn(self.name)),)


async def get_warehouse(room: Room, call: GetWarehouse) -> Warehouse:
    """Return a warehouse. Raises NoSuchWarehouse."""
    return await room.catalog.warehouse(call.name)


@dataclass(frozen=True, slots=True)
class DeleteWarehouse:
    """The removal of a warehouse: of the catalog's part alone, or with `purge` of everything in its bucket."""

    name: str
    by: str
    purge: bool = False
    force: bool = False
    shared: bool = False

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed; a purge takes the ordinary objects along that a shared bucket has."""
        need = Need("s3tables:DeleteWarehouse", warehouse_arn(self.name))
        return (need, *bucket_needs(self.name)) if self.purge and self.shared else (need,)


async def delete_warehouse(room: Room, call: DeleteWarehouse) -> None:
    """Remove a warehouse. Raises NoSuchWarehouse, WarehouseNotEmpty, BadRequest."""
    stored = await WAREHOUSES.get(room.state, call.name)
    if stored is None or stored.value.removing:
        raise NoSuchWarehouse(call.name)
    held = stored.value
    if not call.purge:
        expect = stored.unchanged, NAMESPACES.empty(held.id)
        outcome = await room.state.commit(Transaction(expect, (WAREHOUSES.delete(held.name),)))
        if isinstance(outcome, Conflict):
            raise WarehouseNotEmpty(held.name)
        return
    if not call.force:
        raise BadRequest(f"purge removes every table and object of {held.name} and its bucket: add force=true as well")
    job = Job(
        new_job_id(room.now_ms()), JobKind.PURGE_WAREHOUSE, held.name, held.id, held.bucket, room.now_ms(), call.by
    )
    leaving = Warehouse(
        held.name, held.id, held.bucket, held.created_at_ms, held.created_by, shared=held.shared, removing=True
    )
    changes = WAREHOUSES.put(leaving, held.name), JOBS.put(job, job.id)
    if isinstance(await room.state.commit(Transaction((stored.unchanged,), changes)), Conflict):
        raise NoSuchWarehouse(call.name)
