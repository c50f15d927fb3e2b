"""A keyspace speaks of values where state speaks of bytes."""

from dataclasses import dataclass

import pytest

from lakeshare.state.errors import CorruptValue
from lakeshare.state.keyspace import Keyspace, Stored
from lakeshare.state.port import Absent, Applied, Archive, At, Conflict, Delete, Empty, Exists, Put, Transaction


@dataclass(frozen=True, slots=True)
class Share:
    comment: str
    objects: tuple[str, ...] = ()


SHARES = Keyspace(("share",), Share)


async def test_a_value_is_put_read_changed_and_deleted(state: Archive) -> None:
    """A room creates, reads, renames and finds its values without a byte in sight."""
    sales = Share("all of it", ("orders",))
    created = await state.commit(Transaction((SHARES.absent("sales"),), (SHARES.put(sales, "sales"),)))
    assert created == Applied(1)
    stored = await SHARES.get(state, "sales")
    assert stored == Stored(("share", "sales"), sales, 1)
    assert stored is not None
    assert stored.name == "sales"
    renamed = Transaction(
        (stored.unchanged, SHARES.absent("turnover")), (SHARES.put(sales, "turnover"), SHARES.delete("sales"))
    )
    assert await state.commit(renamed) == Applied(2)
    assert isinstance(await state.commit(renamed), Conflict)
    assert await SHARES.get(state, "sales") is None


async def test_values_are_listed_in_pages_and_whole(state: Archive) -> None:
    """A page goes on where it ended; `all` goes through every page."""
    names = [f"{number:04}" for number in range(7)]
    await state.commit(Transaction(changes=tuple(SHARES.put(Share(name), name) for name in names)))
    page = await SHARES.page(state, limit=4)
    rest = await SHARES.page(state, after=page.next_after, limit=4)
    assert [item.value.comment for item in (*page.items, *rest.items)] == names
    assert rest.next_after is None
    assert [item.name async for item in SHARES.all(state)] == names


def test_expectations_and_changes_carry_the_prefix() -> None:
    """Each method gives the port's own value, under the keyspace's prefix."""
    deep = Keyspace(("table", "w"), Share)
    assert deep.key("ns", "t") == ("table", "w", "ns", "t")
    assert deep.absent("t") == Absent(("table", "w", "t"))
    assert deep.exists("t") == Exists(("table", "w", "t"))
    assert deep.empty("ns") == Empty(("table", "w", "ns"))
    assert deep.delete("t") == Delete(("table", "w", "t"))
    assert deep.put(Share("c"), "t") == Put(("table", "w", "t"), b'{"comment":"c","objects":[]}')
    assert Stored(("table", "w", "t"), Share("c"), 5).unchanged == At(("table", "w", "t"), 5)


async def test_a_value_that_cannot_be_read_names_its_key(state: Archive) -> None:
    """Bytes of another shape are an error that says where they lie."""
    await state.commit(Transaction(changes=(Put(("share", "broken"), b'{"colour":1}'),)))
    with pytest.raises(CorruptValue, match="broken"):
        await SHARES.get(state, "broken")


def test_a_kind_that_cannot_be_stored_is_refused_when_declared() -> None:
    """The mistake shows when the module is imported, not when the first value is read."""
    with pytest.raises(TypeError):
        Keyspace(("x",), complex)
