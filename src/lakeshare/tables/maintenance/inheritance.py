"""The choices that count for a table, from state."""

from collections.abc import Mapping

from lakeshare.state.keys import Key
from lakeshare.state.port import State
from lakeshare.tables.maintenance.choices import Choices, Effective, settled
from lakeshare.tables.maintenance.records import CHOICES
from lakeshare.tables.model.names import Namespace, joined, shown

Place = tuple[str, Key]
"""What a place is called, and its key below the choices."""

SERVER: Place = ("server", ("server",))


def warehouse_place(name: str, warehouse_id: str) -> Place:
    """Name a warehouse as a place of choices."""
    return f"warehouse {name}", ("warehouse", warehouse_id)


def namespace_place(warehouse_id: str, namespace: Namespace) -> Place:
    """Name a namespace as a place of choices."""
    return f"namespace {shown(namespace)}", ("namespace", warehouse_id, joined(namespace))


def table_place(warehouse_id: str, uuid: str) -> Place:
    """Name a table as a place of choices."""
    return "table", ("table", warehouse_id, uuid)


def places(name: str, warehouse_id: str, namespace: Namespace = (), uuid: str = "") -> list[Place]:
    """Return the places whose choices count, the nearest first."""
    found = [table_place(warehouse_id, uuid)] if uuid else []
    found += [namespace_place(warehouse_id, namespace[:end]) for end in range(len(namespace), 0, -1)]
    return [*found, warehouse_place(name, warehouse_id), SERVER]


async def effective(state: State, wanted: list[Place]) -> Effective:
    """Put together what counts, from the newest state."""
    keys = [CHOICES.key(*parts) for _, parts in wanted]
    found = await state.get(keys)
    values = [None if (record := found[key]) is None else CHOICES.read(record).value for key in keys]
    return settled([(name, value) for (name, _), value in zip(wanted, values, strict=True)])


def effective_among(all_choices: Mapping[Key, Choices], wanted: list[Place]) -> Effective:
    """Put together what counts, from all choices at hand."""
    return settled([(name, all_choices.get(CHOICES.key(*parts))) for name, parts in wanted])


async def every_choice(state: State) -> Mapping[Key, Choices]:
    """Return all choices by key."""
    return {each.key: each.value async for each in CHOICES.all(state)}
