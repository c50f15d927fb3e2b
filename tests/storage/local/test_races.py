"""Conditions hold between processes, and every process sees what any has written."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

from lakeshare.storage.local.store import LocalStore

RACER = Path(__file__).with_name("racer.py")
PROCESSES = 3
ROUNDS = 60


def _race(root: Path) -> list[list[str]]:
    """Let several processes race, and return the words of every win."""
    processes = [
        subprocess.Popen(
            [sys.executable, RACER, "race", root, f"p{number}", str(ROUNDS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(PROCESSES)
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    said = []
    for process in processes:
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        said += [line.split(" ") for line in out.splitlines()]
    return said


async def test_of_racers_in_several_processes_one_wins(local, tmp_path):
    """Each round's absent key has exactly one winner, whose bytes are there, and no ETag is ever swapped twice."""
    await local.put("counter", b"start")
    said = _race(tmp_path / "data")
    winners = {int(number): name for kind, number, name in said if kind == "absent"}
    assert Counter(number for kind, number, _ in said if kind == "absent") == Counter(map(str, range(ROUNDS)))
    for number, name in winners.items():
        assert (await local.read(f"race/{number:03}")).startswith(f"{name} {number}".encode())
    swapped = Counter(etag for kind, etag, _ in said if kind == "etag")
    assert swapped
    assert set(swapped.values()) == {1}


async def test_two_stores_of_one_directory_agree(local, tmp_path, world_of):
    """What one store acknowledges, another of the same directory reads at once."""
    other = world_of(LocalStore.open_root(tmp_path / "data"))
    for number in range(20):
        await local.put("k", b"%d" % number)
        assert await other.read("k") == b"%d" % number
        await other.put("big", b"%d" % number * 70_000)
        assert await local.read("big") == b"%d" % number * 70_000
        await other.delete("big")
        assert (await local.keys())[0] == ["k"]
    await other.store.close()
