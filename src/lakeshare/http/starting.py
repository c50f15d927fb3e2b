"""Starting an answer at once: a coroutine runs until it first waits, and becomes a task only then.

Most answers never wait for anything, and a task with its turn of the loop costs a twentieth of a small one. Until the
first wait there is no current task: what asks for one (`asyncio.timeout`, `asyncio.TaskGroup`) must not be in its way.
"""

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any

_NOTHING = object()


def start(loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, None]) -> "asyncio.Task[None] | None":
    """Run a coroutine up to its first wait, and return the task that goes on from there; None if it has ended."""
    try:
        waited = coroutine.send(None)
    except StopIteration:
        return None
    return loop.create_task(_Rest(coroutine, waited))


class _Rest(Coroutine[Any, Any, None]):
    """A coroutine that was begun: what it waits for is handed on first."""

    __slots__ = ("_coroutine", "_waited")

    def __init__(self, coroutine: Coroutine[Any, Any, None], waited: object) -> None:
        self._coroutine = coroutine
        self._waited = waited

    def send(self, value: Any, /) -> Any:
        """Go on to the next wait."""
        if self._waited is _NOTHING:
            return self._coroutine.send(value)
        waited, self._waited = self._waited, _NOTHING
        return waited

    def throw(self, *error: Any) -> Any:
        """Raise an error where the coroutine waits."""
        self._waited = _NOTHING
        return self._coroutine.throw(*error)

    def close(self) -> None:
        """End the coroutine where it waits."""
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, None]:
        """Stand for a coroutine, as tasks ask for one; they never await it."""
        raise NotImplementedError
