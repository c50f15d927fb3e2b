"""A value made from state, made again only when what it was made from has changed."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from lakeshare.state.keys import Key, is_under
from lakeshare.state.port import Changed, Cursor, FellBehind, State

T = TypeVar("T")

FEED_PAGE = 64
"""Commits looked through at once: as many as are read without a thread."""

MAX_FEED_PAGES = 16
"""Pages looked through before making the value again is held to be cheaper."""


LOOK_SECONDS = 1.0
"""Longest time for which the pulse of state is believed when it says that nothing is new."""


class Derived(Generic[T]):
    """What `make` returns, as of the newest commit of any process whenever it is asked for.

    `sources` are keys and prefixes. Asking costs a look at the pulse of state while nothing is committed, with a probe
    now and then, and a look at the change feed after a commit that touched no source. A commit that was never answered,
    because its process died, may go unseen until the next probe.
    """

    def __init__(self, state: State, sources: Sequence[Key], make: Callable[[State], Awaitable[T]]) -> None:
        self._state = state
        self._sources = tuple(sources)
        self._make = make
        self._made: tuple[Cursor, T] | None = None
        self._making = asyncio.Lock()
        self._pulse = 0
        self._probe_at = float("-inf")
        self.reused = 0
        """How often the value was at hand."""
        self.made = 0
        """How often it was made."""

    def at_hand(self) -> T | None:
        """Return the value if it is known to be as new as anything that was answered, without asking state."""
        if self._made is None or self._state.pulse() != self._pulse or time.monotonic() >= self._probe_at:
            return None
        self.reused += 1
        return self._made[1]

    async def current(self) -> T:
        """Return the value; of callers that find it old, one makes it and the others wait."""
        if (value := self.at_hand()) is not None:
            return value
        async with self._making:
            return await self._renewed()

    async def _renewed(self) -> T:
        # Pulse and place are read before the value is made: the value may be newer than them, never older.
        pulse, probe_at = self._state.pulse(), time.monotonic() + LOOK_SECONDS
        now = await self._state.newest()
        if self._made is not None and (self._made[0] == now or not await self._touched(self._made[0], now)):
            value = self._made[1]
        else:
            value = await self._make(self._state)
            self.made += 1
        self._made, self._pulse, self._probe_at = (now, value), pulse, probe_at
        return value

    async def _touched(self, since: Cursor, until: Cursor) -> bool:
        """Tell whether a commit after `since` and up to `until` may have changed a source."""
        for _ in range(MAX_FEED_PAGES):
            news = await self._state.changes(since, FEED_PAGE)
            if isinstance(news, FellBehind):
                return True
            if any(self._concerns(change) for commit in news.commits for change in commit.changes):
                return True
            since = news.cursor
            if since.generation >= until.generation:
                return False
        return True

    def _concerns(self, change: Changed) -> bool:
        return any(change.key == source or is_under(change.key, source) for source in self._sources)
