"""A ledger kept by several processes that may die at any moment, and the laws it must keep.

Each writer does its numbered steps one after another. A step is one transaction: it counts itself, counts in the
common total, moves money between two accounts, and writes its entry into the writer's journal, whose oldest entry
goes. It carries a receipt, so that a writer that comes back repeats the step it was in without doing it twice.

Run as a program, it is one worker: `python -m tests.state.ledger PATH FOLDER WRITER...`.
"""

import asyncio
import os
import random
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from lakeshare.state.decide import decide
from lakeshare.state.keys import Key, number_of, ordinal
from lakeshare.state.port import (
    Absent,
    Archive,
    At,
    Delete,
    Expectation,
    Fact,
    Put,
    Receipt,
    Record,
    State,
    Transaction,
)
from lakeshare.state.sqlite import SqliteState

ACCOUNTS = 6
OPENING = 1_000
JOURNAL = 50
ATTEMPTS = 10_000
TOTAL: Key = ("total",)


async def open_ledger(state: State) -> None:
    """Give every account its money."""
    await state.commit(Transaction(changes=tuple(Put(_account(n), b"%d" % OPENING) for n in range(ACCOUNTS))))


async def plan(state: State, writer: str, step: int, choose: random.Random) -> Transaction:
    """Plan one step on the ledger as it is now."""
    source, target = choose.sample(range(ACCOUNTS), 2)
    amount = choose.randrange(1, 50)
    keys: tuple[Key, ...] = (TOTAL, ("done", writer), _account(source), _account(target))
    found = await state.get(keys)
    changed = [_number(found[key]) + by for key, by in zip(keys, (1, 1, -amount, amount), strict=True)]
    expect: list[Expectation] = [
        Absent(key) if (record := found[key]) is None else At(key, record.generation) for key in keys
    ]
    return Transaction(
        expect=tuple(expect),
        changes=(
            *(Put(key, b"%d" % number) for key, number in zip(keys, changed, strict=True)),
            Put(("journal", writer, ordinal(step)), bytes(200)),
            Delete(("journal", writer, ordinal(max(0, step - JOURNAL)))),
        ),
        receipt=Receipt(writer, str(step), b"step", b"done", 3_600),
    )


def broken_laws(facts: Sequence[Fact], acknowledged: dict[str, int], at_most: dict[str, int]) -> list[str]:
    """Name each law that one moment of the ledger breaks."""
    values = {fact.key: fact for fact in facts if isinstance(fact, Record)}
    faults: list[str] = []
    money = sum(_number(values[_account(number)]) for number in range(ACCOUNTS))
    if money != ACCOUNTS * OPENING:
        faults.append(f"half a transaction: the accounts hold {money}")
    done = {writer: _number(values.get(("done", writer))) for writer in acknowledged}
    if _number(values.get(TOTAL)) != sum(done.values()):
        faults.append(f"a lost update: the total is {_number(values.get(TOTAL))}, the steps are {sum(done.values())}")
    for writer, steps in done.items():
        if not acknowledged[writer] <= steps <= at_most[writer] + 1:
            faults.append(f"{writer} did {steps} steps, heard of {acknowledged[writer]} to {at_most[writer]}")
        journal = [number_of(key[2]) for key in values if key[:2] == ("journal", writer)]
        if journal != list(range(max(1, steps - JOURNAL + 1), steps + 1)):
            faults.append(f"half a transaction: {writer} did {steps} steps, its journal holds {journal}")
    return faults


def read_acknowledged(folder: Path, writer: str) -> int:
    """Read the last step that a writer was told is done."""
    try:
        return int((folder / writer).read_text() or 0)
    except FileNotFoundError:
        return 0


async def everything(state: Archive) -> list[Fact]:
    """Read the whole ledger at one moment."""
    return [fact async for run in state.dump() for fact in run]


async def _write(state: State, folder: Path, writer: str) -> None:
    choose = random.Random()
    step = read_acknowledged(folder, writer)
    file = os.open(folder / writer, os.O_WRONLY | os.O_CREAT, 0o600)
    while True:
        step += 1
        await decide(state, partial(plan, state, writer, step, choose), ATTEMPTS)
        os.pwrite(file, b"%012d" % step, 0)


async def _work(path: Path, folder: Path, writers: Sequence[str]) -> None:
    state = SqliteState(path)
    async with asyncio.TaskGroup() as group:
        for writer in writers:
            group.create_task(_write(state, folder, writer))


def _number(record: Record | None) -> int:
    return 0 if record is None else int(record.value)


def _account(number: int) -> Key:
    return ("account", str(number))


if __name__ == "__main__":
    asyncio.run(_work(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]))
