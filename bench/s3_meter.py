"""What a tree of processes costs, read from /proc: CPU seconds, memory, and what the rest of the machine did."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TICK = 1 / os.sysconf("SC_CLK_TCK")
_BUSY = (0, 1, 2, 5, 6)
"""user, nice, system, irq and softirq among the numbers of a cpu line (proc_stat(5))."""
_QUIET_LOOK_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class Memory:
    """Megabytes of one process: what it alone would free, and what is mapped."""

    pss: float
    rss: float


def tree(pid: int) -> list[int]:
    """Return a process and all that came from it."""
    found, waiting = [], [pid]
    while waiting:
        one = waiting.pop()
        found.append(one)
        for listed in Path(f"/proc/{one}/task").glob("*/children"):
            waiting += [int(child) for child in _text(listed).split()]
    return found


def cpu_seconds(pids: Sequence[int]) -> float:
    """Return what processes have used since they began, in user and kernel."""
    ticks = 0
    for pid in pids:
        fields = _text(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12]) if fields else 0
    return ticks * TICK


def machine_seconds() -> float:
    """Return what all processors have worked since the machine began."""
    numbers = _text(Path("/proc/stat")).partition("\n")[0].split()[1:]
    return sum(int(numbers[place]) for place in _BUSY) * TICK


def memory(pid: int) -> Memory:
    """Return what a process holds."""
    lines = _text(Path(f"/proc/{pid}/smaps_rollup")).splitlines()
    sizes = {name: int(rest.split()[0]) / 1024 for name, _, rest in (line.partition(":") for line in lines[1:])}
    return Memory(sizes.get("Pss", 0.0), sizes.get("Rss", 0.0))


def workers(pid: int) -> list[int]:
    """Return the processes under a supervisor; the process itself where it has none."""
    return tree(pid)[1:] or [pid]


def wait_for_quiet(most_foreign: float, patience_seconds: float) -> None:
    """Wait until the machine does little else, as long as patience lasts."""
    give_up = time.monotonic() + patience_seconds
    while time.monotonic() < give_up:
        before, at = machine_seconds(), time.monotonic()
        time.sleep(_QUIET_LOOK_SECONDS)
        if (machine_seconds() - before) / (time.monotonic() - at) < most_foreign:
            return


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
