"""Settings that change while we run: a handler put together anew by them, and the same for a thread without a loop.

No room needs to know that settings can change. A bell tells of a change that any worker of this server made, at the
price of one look at shared memory for a request. State is asked as well, now and then: it may be changed by an
import, or by another server.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from lakeshare.admin.book import Book
from lakeshare.http.asgi import Handler
from lakeshare.http.request import Request
from lakeshare.http.response import Response
from lakeshare.server.bell import Bell
from lakeshare.server.opened import open_state
from lakeshare.settings import Settings

LOOK_SECONDS = 1.0
"""Longest time that a change which rang no bell goes unseen by a worker that has something to do."""


class LiveHandler:
    """Answers each request by the settings as they are when it comes."""

    def __init__(self, book: Book, bell: Bell, settings: Settings, compose: Callable[[Settings], Handler]) -> None:
        self._book = book
        self._bell = bell
        self._compose = compose
        self._settings = settings
        self._handler = compose(settings)
        self._heard = -1
        self._look_at = 0.0
        self._looking = asyncio.Lock()

    async def __call__(self, request: Request) -> Response:
        """Answer one request."""
        if self._heard != self._bell.count or time.monotonic() >= self._look_at:
            await self._look()
        return await self._handler(request)

    async def _look(self) -> None:
        async with self._looking:
            heard = self._bell.count
            if heard == self._heard and time.monotonic() < self._look_at:
                return
            settings = await self._book.current()
            if settings != self._settings:
                self._handler = self._compose(settings)
                self._settings = settings
            self._heard, self._look_at = heard, time.monotonic() + LOOK_SECONDS


class LiveSettings:
    """The settings as they count now, for a thread that has no loop. Opens state when it is first asked."""

    def __init__(self, root: Path, given: Settings, sources: Mapping[str, str], bell: Bell) -> None:
        self._root = root
        self._given = given
        self._sources = sources
        self._bell = bell
        self._book: Book | None = None
        self._settings = given
        self._heard = -1

    def heard(self) -> Settings:
        """Return the settings as of the newest change that rang; costs nothing where none did."""
        return self._settings if self._heard == self._bell.count else self.current()

    def current(self) -> Settings:
        """Return the settings as of the newest commit."""
        heard = self._bell.count
        if self._book is None:
            self._book = Book(open_state(self._root), self._given, self._sources)
        self._settings, self._heard = asyncio.run(self._book.current()), heard
        return self._settings
