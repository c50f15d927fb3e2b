"""Telling how far a transfer is: a bar for a person at a terminal, nothing for anybody else."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lakeshare.cli.output import Output

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Bar:
    """What transfers tell: what is planned, what has moved, what is done. This one keeps the sums and draws nothing."""

    def __init__(self) -> None:
        self.planned_bytes = 0
        self.done_count = 0
        self.planned_count = 0

    def plan(self, size: int) -> None:
        """One more item is to be moved."""
        self.planned_bytes += size
        self.planned_count += 1

    def moved(self, count: int) -> None:
        """Some bytes moved; fewer than none when an attempt is begun again."""

    def done(self) -> None:
        """One item is where it belongs."""
        self.done_count += 1


class DrawnBar(Bar):
    """A bar with bytes, rate and the time that is left."""

    def __init__(self, progress: "Progress", task: "TaskID") -> None:
        super().__init__()
        self._progress, self._task = progress, task

    def plan(self, size: int) -> None:
        """One more item is to be moved."""
        super().plan(size)
        self._progress.update(self._task, total=self.planned_bytes, description=self._description())

    def moved(self, count: int) -> None:
        """Some bytes moved."""
        self._progress.advance(self._task, count)

    def done(self) -> None:
        """One item is where it belongs."""
        super().done()
        self._progress.update(self._task, description=self._description())

    def _description(self) -> str:
        return f"{self.done_count}/{self.planned_count}"


@contextmanager
def bar_for(output: Output) -> Iterator[Bar]:
    """Yield a bar, drawn if somebody is there to see it."""
    if not output.draws:
        yield Bar()
        return
    from rich.console import Console  # noqa: PLC0415 - loads slowly, and only a terminal needs it
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(binary_units=True),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True, no_color=output.color is False)
    with Progress(*columns, console=console, transient=True) as progress:
        output.bar_is_shown = True
        try:
            yield DrawnBar(progress, progress.add_task("", total=0))
        finally:
            output.bar_is_shown = False
