"""A process of its own that works on a store: it says on its output what was acknowledged.

Run as `python racer.py write ROOT SEED` until killed, or `python racer.py race ROOT NAME ROUNDS`.
"""

import asyncio
import hashlib
import random
import sys
from pathlib import Path

from lakeshare.storage.errors import ConditionFailed
from lakeshare.storage.local.store import LocalStore
from lakeshare.storage.port import ALWAYS, Assembly, Condition, Copy, Delete, Facts, Put, Upload

TASKS = 4
SIZES = [0, 10, 3_000, 65_536, 70_000, 300_000, 1_200_000]


def say(*words: object) -> None:
    """Say a line at once, so that nothing acknowledged is lost with the process."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


async def put(store: LocalStore, key: str, data: bytes, condition: Condition = ALWAYS):
    async with store.stage(frozenset()) as staging:
        for start in range(0, len(data), 250_000):
            await staging.write(data[start : start + 250_000])
        return await store.put(Put("b", key, condition=condition), staging)


async def upload(store: LocalStore, key: str, pieces: list[bytes]):
    made = await store.create_upload(Upload("b", key, "", Facts(), 0))
    parts = []
    for number, piece in enumerate(pieces, 1):
        async with store.stage(frozenset()) as staging:
            await staging.write(piece)
            parts.append(await store.put_part(made, number, staging, None))
    digest = hashlib.md5(b"".join(bytes.fromhex(part.etag) for part in parts)).hexdigest()
    return await store.complete(made, Assembly(tuple(parts), f"{digest}-{len(parts)}", None), Put("b", key))


async def work(store: LocalStore, name: str, chance: random.Random) -> None:
    """Write keys of one's own, and say each write before it is tried and once it is acknowledged."""
    for number in range(100_000):
        key = f"{name}/{number % 11}"
        data = chance.randbytes(chance.choice(SIZES))
        digest = hashlib.sha256(data).hexdigest()
        match chance.randrange(5):
            case 0:
                say("try", key, "-")
                await store.delete("b", [Delete(key)])
                say("ok", key, "-")
            case 1:
                half = len(data) // 2
                say("try", key, digest)
                await upload(store, key, [data[:half], data[half:]])
                say("ok", key, digest)
            case 2:
                say("try", f"{key}.copy", digest)
                info = await put(store, f"{name}/source", data)
                await store.copy(Copy(Put("b", f"{key}.copy"), "b", f"{name}/source", info.pin))
                say("ok", f"{key}.copy", digest)
            case _:
                say("try", key, digest)
                await put(store, key, data)
                say("ok", key, digest)


async def write(root: Path, seed: int) -> None:
    store = LocalStore.open_root(root)
    say("ready")
    async with asyncio.TaskGroup() as group:
        for task in range(TASKS):
            group.create_task(work(store, f"{seed}-{task}", random.Random(seed * 100 + task)))


async def race(root: Path, name: str, rounds: int) -> None:
    """Race for each round's key, first for it to be absent, then for each ETag it has."""
    store = LocalStore.open_root(root)
    say("ready")
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    for number in range(rounds):
        key = f"race/{number:03}"
        data = f"{name} {number}".encode() * (9_000 if number % 2 else 1)
        try:
            await put(store, key, data, Condition(absent=True))
            say("absent", number, name)
        except ConditionFailed:
            pass
        before = await store.head("b", "counter")
        try:
            await put(store, "counter", f"{name} {number}".encode(), Condition(etag=before.etag))
            say("etag", before.etag, name)
        except ConditionFailed:
            pass
    await store.close()


async def single(root: Path, key: str, size: int) -> None:
    """Put one object and say so: for a trace of system calls."""
    store = LocalStore.open_root(root)
    await put(store, "before", b"the log has its header, and no later write need sync it")
    say("BEGIN")
    await put(store, key, b"x" * size)
    say("DONE")
    await store.close()


if __name__ == "__main__":
    verb, root_path, *rest = sys.argv[1:]
    if verb == "write":
        asyncio.run(write(Path(root_path), int(rest[0])))
    elif verb == "race":
        asyncio.run(race(Path(root_path), rest[0], int(rest[1])))
    else:
        asyncio.run(single(Path(root_path), rest[0], int(rest[1])))
