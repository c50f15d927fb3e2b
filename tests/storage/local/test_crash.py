"""A killed process loses nothing that it acknowledged, and leaves nothing half done."""

import hashlib
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lakeshare.storage.errors import NoSuchKey
from lakeshare.storage.local.fsck import check
from lakeshare.storage.local.layout import prepare
from lakeshare.storage.local.store import LocalStore

RACER = Path(__file__).with_name("racer.py")
ROUNDS = 20
LONG_ROUNDS = 200


def _start(root: Path, seed: int) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, RACER, "write", root, str(seed)], stdout=subprocess.PIPE, text=True)


def _kill_at_random(root: Path, seed: int, chance: random.Random) -> list[str]:
    """Let a process write for a moment, kill it, and return what it said."""
    with _start(root, seed) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(chance.uniform(0.01, 0.5))
        process.kill()
        return process.stdout.read().splitlines()


def _allowed(said: list[str]) -> dict[str, set[str]]:
    """Return what each key may hold: what was acknowledged last, or what was tried since."""
    allowed: dict[str, set[str]] = {}
    for line in said:
        verb, key, digest = line.split(" ")
        if verb == "ok":
            allowed[key] = {digest}
        else:
            allowed.setdefault(key, {"-"}).add(digest)
    return allowed


async def _kill_and_look(root: Path, rounds: int, bytes_of) -> int:
    chance = random.Random(7)
    acknowledged = 0
    for seed in range(rounds):
        said = _kill_at_random(root, seed, chance)
        acknowledged += sum(line.startswith("ok") for line in said)
        store = LocalStore.open_root(root)
        for key, digests in _allowed(said).items():
            assert await _digest(store, key, bytes_of) in digests, (seed, key)
        await store.close()
    return acknowledged


async def _digest(store: LocalStore, key: str, bytes_of) -> str:
    try:
        return hashlib.sha256(bytes_of(await store.open("b", key))).hexdigest()
    except NoSuchKey:
        return "-"


@pytest.mark.parametrize(
    "rounds", [ROUNDS, pytest.param(LONG_ROUNDS, marks=[pytest.mark.long, pytest.mark.timeout(900)])]
)
async def test_nothing_acknowledged_is_lost(tmp_path, bytes_of, rounds):
    """Killed again and again while it puts, copies, completes and deletes, a store has all that it acknowledged."""
    root = tmp_path / "data"
    prepare(root, fanout_digits=1)
    store = LocalStore.open_root(root)
    await store.create_bucket("b")
    await store.close()
    assert await _kill_and_look(root, rounds, bytes_of) > rounds
    report = check(root, deep=True)
    assert report.clean, report
    assert not list((root / "tmp").iterdir()) or not hasattr(os, "O_TMPFILE")
