"""Both implementations of state, each with a clock that tests turn."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from lakeshare.state.memory import MemoryState
from lakeshare.state.port import Archive
from lakeshare.state.sqlite import SqliteState

FEED_ENTRIES = 20
"""Small, so that tests reach the feed's bound."""


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now

    def move(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    """A clock to turn."""
    return Clock()


@pytest.fixture(params=["memory", "sqlite"])
async def make_state(
    request: pytest.FixtureRequest, tmp_path: Path, clock: Clock
) -> AsyncIterator[Callable[[str], Archive]]:
    """Make an empty state by name, of each implementation in turn; all are closed at the end."""
    made: list[Archive] = []

    def make(name: str) -> Archive:
        if request.param == "memory":
            made.append(MemoryState(clock=clock, feed_entries=FEED_ENTRIES))
        else:
            made.append(SqliteState(tmp_path / f"{name}.db", clock=clock, feed_entries=FEED_ENTRIES))
        return made[-1]

    yield make
    for state in made:
        await state.close()


@pytest.fixture
async def state(make_state: Callable[[str], Archive]) -> Archive:
    """An empty state, of each implementation in turn."""
    return make_state("state")
