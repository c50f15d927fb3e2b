"""A server killed at random under committing writers: what was acknowledged is there, nothing is half, all resolves."""

import contextlib
import itertools
import os
import random
import signal
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.admin.client import Client
from tests.live import LiveServer, running
from tests.tables.lake import Lake, set_property
from tests.tables.writers import Lost, Writer

WAREHOUSE = "durable"
TABLES = ("a", "b", "c")
WRITERS = 6
SHORT_ROUNDS = 4
LONG_ROUNDS = 220


@dataclass(slots=True)
class Pairs:
    """Commits a transaction over two tables again and again, and remembers what was said of each.

    What was not answered is sent again with its idempotency key once there is a server: then it must be done.
    """

    name: str
    chance: random.Random
    numbers: Iterator[int] = field(default_factory=itertools.count)
    acknowledged: dict[str, tuple[str, str]] = field(default_factory=dict)
    unknown: dict[str, tuple[str, str]] = field(default_factory=dict)

    def run(self, server: LiveServer, stop: threading.Event) -> None:
        writer = Writer(server, WAREHOUSE)
        with contextlib.suppress(Lost):
            for key, both in list(self.unknown.items()):
                assert self.sent(writer, key, both) == 204
                del self.unknown[key]
            while not stop.is_set():
                pair = tuple(self.chance.sample(TABLES, 2))
                self.sent(writer, f"{self.name}-{next(self.numbers)}", (pair[0], pair[1]))
        writer.close()

    def sent(self, writer: Writer, key: str, both: tuple[str, str]) -> int:
        """Commit once, and remember what came of it. Raises Lost."""
        changes = [set_property(key, "x") | {"identifier": {"namespace": ["ns"], "name": table}} for table in both]
        body, once = {"table-changes": changes}, str(uuid.uuid5(uuid.NAMESPACE_OID, key))
        try:
            status, _ = writer.send("POST", "/transactions/commit", body, idempotency_key=once)
        except Lost:
            self.unknown[key] = both
            raise
        if status == 204:
            self.acknowledged[key] = both
        return status

    def wrongs(self, held: dict[str, dict[str, str]]) -> list[str]:
        lost = [key for key, pair in self.acknowledged.items() if not all(key in held[table] for table in pair)]
        half = [key for key, pair in self.unknown.items() if (key in held[pair[0]]) != (key in held[pair[1]])]
        return [f"lost {key}" for key in lost] + [f"half {key}" for key in half]


class Killed(Exception):
    """The server was killed, as it was to be."""


def prepare(server: LiveServer) -> Lake:
    lake = Lake(Client.root(server), WAREHOUSE)
    if lake.call("GET", "/warehouses/{w}").status == 404:
        lake.ok("POST", "/warehouses", {"name": WAREHOUSE})
        where = lake.namespace("ns")
        for table in TABLES:
            lake.table(where, table)
    return lake


def held(lake: Lake) -> dict[str, dict[str, str]]:
    """Load every table: each pointer must lead to the metadata file that was committed."""
    found = {}
    for table in TABLES:
        loaded = lake.ok("GET", f"/{{w}}/namespaces/ns/tables/{table}")
        found[table] = loaded["metadata"]["properties"]
        page = lake.ok("GET", f"/{{w}}/namespaces/ns/tables/{table}/history")["versions"]
        assert page[0]["metadata-location"] == loaded["metadata-location"]
    return found


def one_round(data: Path, writers: list[Pairs], chance: random.Random) -> None:
    with contextlib.suppress(Killed), running(data) as server:
        lake = prepare(server)
        assert [line for writer in writers for line in writer.wrongs(held(lake))] == []
        stop = threading.Event()
        threads = [threading.Thread(target=writer.run, args=(server, stop)) for writer in writers]
        for thread in threads:
            thread.start()
        time.sleep(chance.uniform(0.3, 1.2))
        os.kill(server.process.pid, signal.SIGKILL)
        server.process.wait()
        stop.set()
        for thread in threads:
            thread.join()
        raise Killed


def run_rounds(data: Path, rounds: int) -> None:
    chance = random.Random(11)
    writers = [Pairs(f"w{number}", random.Random(number)) for number in range(WRITERS)]
    for _ in range(rounds):
        one_round(data, writers, chance)
    with running(data) as server:
        assert [line for writer in writers for line in writer.wrongs(held(prepare(server)))] == []
    assert sum(len(writer.acknowledged) for writer in writers) >= rounds


@pytest.mark.timeout(300)
def test_commits_survive_kills(tmp_path: Path):
    """A few kills under six writers of multi-table commits lose nothing acknowledged, and leave no half transaction."""
    run_rounds(tmp_path / "data", SHORT_ROUNDS)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_commits_survive_many_kills(tmp_path: Path):
    """Two hundred kills and more under six writers of multi-table commits lose nothing acknowledged."""
    run_rounds(tmp_path / "data", LONG_ROUNDS)
