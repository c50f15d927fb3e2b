"""Maintenance as the server's own process does it: a round now and then, and a look at all tables more rarely."""

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from lakeshare.tables.maintenance.runner import run_round, schedule
from lakeshare.tables.room import Room

ROUND_SECONDS = 5.0
"""Between two rounds: a purge begins as soon after its drop."""
SCHEDULE_SECONDS = 300.0
"""Between two looks at which tables are due."""

OpenRoom = Callable[[], AbstractAsyncContextManager[Room]]


class Maintenance:
    """Does one round whenever it is called, in the process that calls it; the room stays open in between."""

    def __init__(self, open_room: OpenRoom) -> None:
        self._open_room = open_room
        self._runner: asyncio.Runner | None = None
        self._room: Room | None = None
        self._opened: AbstractAsyncContextManager[Room] | None = None
        self._scheduled_at = float("-inf")

    def __call__(self) -> None:
        """Do one round."""
        if self._runner is None:
            self._runner = asyncio.Runner()
        self._runner.run(self._round())

    async def _round(self) -> None:
        if self._room is None:
            self._opened = self._open_room()
            self._room = await self._opened.__aenter__()
        if time.monotonic() - self._scheduled_at >= SCHEDULE_SECONDS:
            await schedule(self._room)
            self._scheduled_at = time.monotonic()
        await run_round(self._room)

    def close(self) -> None:
        """Let go of the room."""
        if self._runner is not None and self._opened is not None:
            self._runner.run(self._closed(self._opened))
            self._runner.close()
        self._runner = self._room = self._opened = None

    async def _closed(self, opened: AbstractAsyncContextManager[Room]) -> None:
        await opened.__aexit__(None, None, None)
