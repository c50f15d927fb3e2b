"""The configuration that is every client's first question."""

from collections.abc import Sequence
from dataclasses import dataclass

from lakeshare.http.response import Response
from lakeshare.identity.caller import Need
from lakeshare.tables.errors import BadRequest
from lakeshare.tables.model.names import warehouse_of
from lakeshare.tables.model.targets import warehouse_need
from lakeshare.tables.operations.receipts import ADVERTISED
from lakeshare.tables.room import Room
from lakeshare.tables.wire import answers
from lakeshare.tables.wire.call import Call, Route


@dataclass(frozen=True, slots=True)
class GetConfig:
    """What a client must know before it asks for anything else."""

    name: str

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (warehouse_need("GetConfig", self.name),)


async def _config(call: Call) -> GetConfig:
    name = warehouse_of(call.query.get("warehouse", ""))
    if not name:
        held = (each for each, found in (await call.room.catalog.warehouses()).items() if not found.removing)
        open_to_caller = [each for each in held if call.may(warehouse_need("GetConfig", each))]
        if len(open_to_caller) != 1:
            raise BadRequest("Please specify a warehouse")
        (name,) = open_to_caller
    return GetConfig(name)


def config_route(endpoints: Sequence[str]) -> Route:
    """Return the route that tells clients of these endpoints."""

    async def configured(room: Room, call: Call, asked: GetConfig) -> Response:
        warehouse = await room.catalog.warehouse(asked.name)
        body = {
            "defaults": answers.storage_config(call),
            "overrides": {"prefix": warehouse.name},
            "endpoints": endpoints,
            "idempotency-key-lifetime": ADVERTISED,
        }
        return answers.json_answer(body)

    return Route("GetConfig", "GET", "/config", "GetConfig", _config, configured, endpoint=False)
