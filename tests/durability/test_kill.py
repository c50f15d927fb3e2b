"""A server killed at random under parallel writers: what was acknowledged is there, and nothing half."""

import contextlib
import os
import random
import signal
import threading
import time

import pytest

from lakeshare.storage.local.fsck import check
from tests.durability.writers import Writer
from tests.live import running
from tests.raw import RawClient

WRITERS = 6
SHORT_ROUNDS = 6
LONG_ROUNDS = 200


def kill_everything(process) -> None:
    """Kill the supervisor; its workers die with it, or are killed besides."""
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def one_round(data, writers, chance) -> None:
    with contextlib.suppress(Killed), running(data) as server:
        sender = RawClient.of(server)
        sender.send("PUT", "/durable")
        sender.close()
        assert [line for writer in writers for line in writer.check(server)] == []
        stop = threading.Event()
        threads = [threading.Thread(target=writer.run, args=(server, stop)) for writer in writers]
        for thread in threads:
            thread.start()
        time.sleep(chance.uniform(0.1, 1.2))
        kill_everything(server.process)
        stop.set()
        for thread in threads:
            thread.join()
        raise Killed


class Killed(Exception):
    """The server was killed, as it was to be."""


def run_rounds(tmp_path, rounds: int) -> None:
    chance = random.Random(7)
    data = tmp_path / "data"
    writers = [Writer(f"writer-{number}", "durable", seed=number * 1000) for number in range(WRITERS)]
    for _ in range(rounds):
        one_round(data, writers, chance)
    with running(data) as server:
        assert [line for writer in writers for line in writer.check(server)] == []
    report = check(data, deep=True)
    assert report.clean, [(item.kind.value, item.subject, item.detail) for item in report.problems]
    assert sum(writer.acknowledged for writer in writers) > rounds * WRITERS


@pytest.mark.timeout(300)
def test_acknowledged_writes_survive_kills(tmp_path):
    """A few kills under six writers lose nothing that was acknowledged, and leave nothing half written."""
    run_rounds(tmp_path, SHORT_ROUNDS)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_acknowledged_writes_survive_many_kills(tmp_path):
    """Two hundred kills under six writers lose nothing that was acknowledged."""
    run_rounds(tmp_path, LONG_ROUNDS)
