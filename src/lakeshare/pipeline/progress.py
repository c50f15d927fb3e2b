"""How a job tells how far it is. Who started it decides whether anybody sees that."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

POLL_SECONDS = 0.25
STAGES_LOOKED_AT = 32
"""Most stages of Spark whose tasks are summed up for one look."""


class Told(Protocol):
    """Whoever is told."""

    def step(self, text: str) -> None:
        """A new step begins."""

    def at(self, done: int, total: int) -> None:
        """So much of the step is done."""


class _Silent:
    def step(self, text: str) -> None:
        del text

    def at(self, done: int, total: int) -> None:
        del done, total


SILENT: Told = _Silent()


@contextmanager
def watching(context: Any, told: Told) -> Iterator[None]:
    """Tell how many tasks of Spark's running stages are done, while the block runs."""
    if told is SILENT:
        yield
        return
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(context.statusTracker(), told.at, ended), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _watch(tracker: Any, at: Callable[[int, int], None], ended: threading.Event) -> None:
    while not ended.wait(POLL_SECONDS):
        stages = [tracker.getStageInfo(number) for number in list(tracker.getActiveStageIds())[:STAGES_LOOKED_AT]]
        running = [stage for stage in stages if stage is not None]
        if running:
            at(sum(stage.numCompletedTasks for stage in running), sum(stage.numTasks for stage in running))
