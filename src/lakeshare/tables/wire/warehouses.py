"""Warehouses on the wire."""

from typing import Any

from lakeshare.http.response import Response
from lakeshare.tables.model.entries import Warehouse
from lakeshare.tables.operations import warehouses
from lakeshare.tables.room import Room
from lakeshare.tables.wire import answers
from lakeshare.tables.wire.asking import by, paging_of, warehouse_of
from lakeshare.tables.wire.bodies import flag_in, read_document, text_in
from lakeshare.tables.wire.call import Call, Route, flag

_WAREHOUSES = "/warehouses"
_WAREHOUSE = "/warehouses/{warehouse}"


def shown(warehouse: Warehouse) -> dict[str, Any]:
    """Write a warehouse."""
    return {
        "name": warehouse.name,
        "uuid": warehouse.id,
        "bucket": warehouse.bucket,
        "location": f"s3://{warehouse.bucket}/",
        "created-at-ms": warehouse.created_at_ms,
        "created-by": warehouse.created_by,
        "upgraded": warehouse.shared,
    }


async def _create(call: Call) -> warehouses.CreateWarehouse:
    document = read_document(call.body)
    return warehouses.CreateWarehouse(text_in(document, "name"), by(call), flag_in(document, "upgrade-existing"))


async def _created(room: Room, call: Call, asked: warehouses.CreateWarehouse) -> Response:
    return answers.json_answer(shown(await warehouses.create_warehouse(room, asked, call.admission.authorise)))


async def _list(call: Call) -> warehouses.ListWarehouses:
    return warehouses.ListWarehouses(paging_of(call))


async def _listed(room: Room, _call: Call, asked: warehouses.ListWarehouses) -> Response:
    found, token = await warehouses.list_warehouses(room, asked)
    return answers.json_answer({"warehouses": [shown(each) for each in found], "next-page-token": token})


async def _get(call: Call) -> warehouses.GetWarehouse:
    return warehouses.GetWarehouse(call.names["warehouse"])


async def _got(room: Room, _call: Call, asked: warehouses.GetWarehouse) -> Response:
    return answers.json_answer(shown(await warehouses.get_warehouse(room, asked)))


async def _delete(call: Call) -> warehouses.DeleteWarehouse:
    purge, force = flag(call.query, "purge"), flag(call.query, "force")
    found = await warehouse_of(call)
    return warehouses.DeleteWarehouse(found.name, by(call), purge, force, found.shared)


async def _deleted(room: Room, _call: Call, asked: warehouses.DeleteWarehouse) -> Response:
    await warehouses.delete_warehouse(room, asked)
    return answers.nothing()


ROUTES = (
    Route("CreateWarehouse", "POST", _WAREHOUSES, "CreateWarehouse", _create, _created, endpoint=False),
    Route("ListWarehouses", "GET", _WAREHOUSES, "ListWarehouses", _list, _listed, endpoint=False),
    Route("GetWarehouse", "GET", _WAREHOUSE, "GetWarehouse", _get, _got, endpoint=False),
    Route("DeleteWarehouse", "DELETE", _WAREHOUSE, "DeleteWarehouse", _delete, _deleted, endpoint=False),
)
