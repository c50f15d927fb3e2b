"""Workers that are killed at any moment lose no update and leave no half transaction."""

import asyncio
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lakeshare.state.sqlite import SqliteState
from tests.state.ledger import broken_laws, everything, open_ledger, read_acknowledged

WORKERS = [["w0", "w1", "w2"], ["w3", "w4", "w5"], ["w6", "w7"]]
WRITERS = [writer for worker in WORKERS for writer in worker]
SHORT_ROUNDS, LONG_ROUNDS = 5, 120
ALL_AT_ONCE = 4
"""In every so many rounds all workers die together, so that the log is recovered by nobody who knew it."""


class Crew:
    """The worker processes, and what they have acknowledged."""

    def __init__(self, path: Path, folder: Path) -> None:
        self._path = path
        self._folder = folder
        self._processes = [self._start(writers) for writers in WORKERS]

    def kill(self, numbers: list[int]) -> None:
        """Kill workers without warning and start them again."""
        for number in numbers:
            assert self._processes[number].poll() is None, "a worker ended by itself"
            self._processes[number].send_signal(signal.SIGKILL)
        for number in numbers:
            self._processes[number].wait()
            self._processes[number] = self._start(WORKERS[number])

    def acknowledged(self) -> dict[str, int]:
        return {writer: read_acknowledged(self._folder, writer) for writer in WRITERS}

    def stop(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()

    def _start(self, writers: list[str]) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "tests.state.ledger", str(self._path), str(self._folder), *writers]
        return subprocess.Popen(command, cwd=Path(__file__).parents[2])


@pytest.mark.timeout(1_800)
async def test_killed_workers_lose_nothing_and_leave_nothing_half_done(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """3 workers with 8 writers are killed again and again; every moment of the ledger keeps its laws."""
    rounds = LONG_ROUNDS if request.config.getoption("--long", default=False) else SHORT_ROUNDS
    choose = random.Random(20260)
    folder = tmp_path / "acknowledged"
    folder.mkdir()
    state = SqliteState(tmp_path / "state.db")
    await open_ledger(state)
    crew = Crew(tmp_path / "state.db", folder)
    before = crew.acknowledged()
    try:
        for number in range(rounds):
            await _progress(crew, before)
            await asyncio.sleep(choose.uniform(0, 0.3))
            before = crew.acknowledged()
            crew.kill([0, 1, 2] if number % ALL_AT_ONCE == 0 else [choose.randrange(3)])
            facts = await everything(state)
            assert broken_laws(facts, before, crew.acknowledged()) == [], f"after round {number}"
    finally:
        crew.stop()
    last = crew.acknowledged()
    assert broken_laws(await everything(state), last, last) == []
    assert list(await state.check()) == []
    await state.close()


async def _progress(crew: Crew, before: dict[str, int]) -> None:
    """Wait until every worker has done something since, so that each kill meets work."""
    for _ in range(3_000):
        now = crew.acknowledged()
        if all(any(now[writer] > before[writer] for writer in worker) for worker in WORKERS):
            return
        await asyncio.sleep(0.01)
    pytest.fail(f"a worker does not come on: {before} {crew.acknowledged()}")
