"""What the tests of sharing share."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lakeshare.state.sqlite import SqliteState
from tests.sharing.estate import Estate


@pytest.fixture(params=["memory", "sqlite"])
async def any_estate(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Estate]:
    """An empty estate over each implementation of state."""
    if request.param == "memory":
        yield Estate()
        return
    state = SqliteState(tmp_path / "state.db")
    yield Estate(state)
    await state.close()


@pytest.fixture
def estate() -> Estate:
    """An empty estate in memory."""
    return Estate()
