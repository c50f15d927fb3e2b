"""Facts under one epoch are read as of one moment, and changed only as they were read."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from lakeshare.state.epoch import READ_ATTEMPTS, Epoch, Plan
from lakeshare.state.errors import Contended
from lakeshare.state.keys import Key
from lakeshare.state.limits import MAX_PAGE_ROWS
from lakeshare.state.port import Absent, Archive, At, Page, Put
from tests.state.faulty import Faulty

EPOCH = Epoch(("facts",), ("facts", "epoch"))


class Moving(Faulty):
    """A state that somebody else changes after each of its first scans."""

    def __init__(self, state: Archive, scans: int) -> None:
        super().__init__(state)
        self.scans, self.inside = scans, state

    async def scan(self, prefix: Key, after: Key | None = None, limit: int = MAX_PAGE_ROWS) -> Page:
        page = await super().scan(prefix, after, limit)
        if self.scans:
            await EPOCH.change(self.inside, add(self.inside, f"new-{self.scans}"))
            self.scans -= 1
        return page


def fact(name: str) -> Key:
    return ("facts", name)


def add(state: Archive, name: str) -> Callable[[], Awaitable[tuple[At | Absent, Plan[int]]]]:
    """Plan to add a fact; the answer is how many there are then."""

    async def planned() -> tuple[At | Absent, Plan[int]]:
        records, epoch = await EPOCH.read(state)
        held = sum(key != EPOCH.key for key in records)
        return EPOCH.unchanged(epoch), Plan((Put(fact(name), b""),), held + 1)

    return planned


async def test_changes_that_meet_are_planned_again(state: Archive) -> None:
    """Of changes at the same time each sees all that came before it."""
    answers = await asyncio.gather(*[EPOCH.change(state, add(state, f"{place}")) for place in range(6)])
    assert sorted(answers) == [1, 2, 3, 4, 5, 6]
    records, epoch = await EPOCH.read(state)
    assert set(records) == {EPOCH.key, *(fact(f"{place}") for place in range(6))}
    assert records[EPOCH.key] == epoch


async def test_what_changes_while_it_is_read_is_read_again(state: Archive) -> None:
    """Records of two moments are never put together; where changes never stop, that is told."""
    await EPOCH.change(state, add(state, "first"))
    records, epoch = await EPOCH.read(Moving(state, 2))
    assert {fact("new-2"), fact("new-1")} < set(records)
    assert EPOCH.unchanged(epoch) == EPOCH.unchanged((await state.get((EPOCH.key,)))[EPOCH.key])
    with pytest.raises(Contended):
        await EPOCH.read(Moving(state, READ_ATTEMPTS))
