"""A value made from state, made again only when what it was made from has changed."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from lakeshare.state.keys import Key, is_under
from lakeshare.state.port import Changed, Cursor, FellBehind, State

T = TypeVar("T")

FEED_PAGE = 64
"""Commits looked through at once: as many as are read without a thread."""

MAX_FEED_PAGES = 16
"""Pages looked through before making the value again is held to be cheaper."""


class Derived(Generic[T]):
    """What `make` returns, as of the newest commit of any process whenever it is asked for.

    `sources` are keys and prefixes. Asking costs one probe while nothing is committed, and a look at the change feed
    after a commit that touched no source.
    """

    def __init__(self, state: State, sources: Sequence[Key], make: Callable[[State], Awaitable[T]]) -> None:
        self._state = state
        self._sources = tuple(sources)
        self._make = make
        self._made: tuple[Cursor, T] | None = None
        self._making = asyncio.Lock()
        self.reused = 0
        """How often the value was at hand."""
        self.made = 0
        """How often it was made."""

    async def current(self) -> T:
        """Return the value; of callers that find it old, one makes it and the others wait."""
        now = await self._state.newest()
        if self._made is not None and self._made[0] == now:
            self.reused += 1
            return self._made[1]
        async with self._making:
            return await self._renewed()

    async def _renewed(self) -> T:
        # The place is read before the value is made: the value may be newer than its place, never older.
        now = await self._state.newest()
        if self._made is not None and (self._made[0] == now or not await self._touched(self._made[0], now)):
            value = self._made[1]
        else:
            value = await self._make(self._state)
            self.made += 1
        self._made = now, value
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
