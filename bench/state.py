"""Measure state beside bare SQLite: commits from 16 writers, strong point reads, probes and scans.

Samples of both alternate in one run on one machine, and what counts is their ratio: the median over the rounds.
"""

import argparse
import asyncio
import itertools
import json
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from bare_sqlite import BareSqlite

from lakeshare.state.keys import Key, encode_key
from lakeshare.state.port import Applied, At, Put, Transaction
from lakeshare.state.sqlite import SqliteState

WRITERS = 16
KEYS = 10_000
VALUE = b"v" * 400
ROUNDS = 5
READS_BETWEEN_CLOCKS = 200


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: rates a second, their ratio, and the least it should be."""

    what: str
    bare: float
    lakeshare: float
    ratio: float
    goal: float | None


class Bench:
    """Both stores, filled alike."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self.seconds = seconds
        self.keys: list[Key] = [("table", "warehouse", "namespace", f"{number:06}") for number in range(KEYS)]
        self.encoded = [encode_key(key) for key in self.keys]
        self.bare = BareSqlite(folder / "bare.db", self.encoded, VALUE)
        self.state = SqliteState(folder / "state.db")
        self.swapped = [1] * KEYS

    async def fill(self) -> None:
        """Put every key."""
        for start in range(0, KEYS, 1_000):
            await self.state.commit(
                Transaction(changes=tuple(Put(key, VALUE) for key in self.keys[start : start + 1_000]))
            )

    async def close(self) -> None:
        """Let go of both."""
        self.bare.close()
        await self.state.close()

    async def bare_commits_from_threads(self) -> float:
        """Swap from 16 threads."""
        counts = [0] * WRITERS
        stop = time.perf_counter() + self.seconds

        def write(writer: int) -> None:
            while time.perf_counter() < stop:
                self.bare.swap(VALUE, self.encoded[writer], self.swapped[writer]).result()
                self.swapped[writer] += 1
                counts[writer] += 1

        threads = [threading.Thread(target=write, args=(writer,)) for writer in range(WRITERS)]
        started = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            await asyncio.to_thread(thread.join)
        return sum(counts) / (time.perf_counter() - started)

    async def bare_commits_from_tasks(self) -> float:
        """Swap from 16 tasks of one loop."""

        async def write(writer: int) -> None:
            await self.bare.swap_from_loop(VALUE, self.encoded[writer], self.swapped[writer])
            self.swapped[writer] += 1

        return await self._from_writers(write)

    async def commits(self) -> float:
        """Commit from 16 tasks, each expecting what it last wrote."""
        generations = [record.generation for record in (await self.state.get(self.keys[:WRITERS])).values() if record]

        async def write(writer: int) -> None:
            key = self.keys[writer]
            outcome = await self.state.commit(Transaction((At(key, generations[writer]),), (Put(key, VALUE),)))
            if not isinstance(outcome, Applied):
                sys.exit(f"a commit was refused: {outcome}")
            generations[writer] = outcome.generation

        return await self._from_writers(write)

    async def bare_reads(self) -> float:
        """Read random keys, one statement each."""
        return await self._repeated(self.bare.read, self.encoded)

    async def reads(self) -> float:
        """Read random keys through the port."""
        return await self._repeated_async(lambda key: self.state.get((key,)))

    async def probes(self) -> float:
        """Ask for the newest commit."""
        return await self._repeated_async(lambda _key: self.state.newest())

    async def bare_scans(self) -> float:
        """Read all keys in order, in pages of 1 000 rows."""
        return await self._rows(self._bare_page)

    async def scans(self) -> float:
        """Scan all keys in pages of 1 000."""
        return await self._rows(self._page)

    async def _bare_page(self, after: object) -> tuple[int, object]:
        statement = "SELECT k, gen, v FROM kv WHERE k > ? ORDER BY k LIMIT 1000"
        rows = self.bare.reader.execute(statement, (after or b"",)).fetchall()
        return len(rows), rows[-1][0] if len(rows) == 1_000 else None

    async def _page(self, after: object) -> tuple[int, object]:
        page = await self.state.scan(("table",), after)  # type: ignore[arg-type]
        return len(page.records), page.next_after

    async def _from_writers(self, write: Callable[[int], Awaitable[None]]) -> float:
        stop = time.perf_counter() + self.seconds
        done = 0

        async def loop(writer: int) -> None:
            nonlocal done
            while time.perf_counter() < stop:
                await write(writer)
                done += 1

        started = time.perf_counter()
        await asyncio.gather(*[loop(writer) for writer in range(WRITERS)])
        return done / (time.perf_counter() - started)

    async def _repeated(self, read: Callable[[bytes], object], keys: list[bytes]) -> float:
        choices = itertools.cycle(random.Random(1).choices(keys, k=KEYS))
        started, done = time.perf_counter(), 0
        while (elapsed := time.perf_counter() - started) < self.seconds:
            for _ in range(READS_BETWEEN_CLOCKS):
                read(next(choices))
            done += READS_BETWEEN_CLOCKS
        return done / elapsed

    async def _repeated_async(self, read: Callable[[Key], Awaitable[object]]) -> float:
        choices = itertools.cycle(random.Random(1).choices(self.keys, k=KEYS))
        started, done = time.perf_counter(), 0
        while (elapsed := time.perf_counter() - started) < self.seconds:
            for _ in range(READS_BETWEEN_CLOCKS):
                await read(next(choices))
            done += READS_BETWEEN_CLOCKS
        return done / elapsed

    async def _rows(self, page: Callable[[object], Awaitable[tuple[int, object]]]) -> float:
        started, done = time.perf_counter(), 0
        after: object = None
        while (elapsed := time.perf_counter() - started) < self.seconds:
            rows, after = await page(after)
            done += rows
        return done / elapsed


async def measure(seconds: float) -> list[Row]:
    """Take all samples."""
    with tempfile.TemporaryDirectory(prefix="bench-state-") as folder:
        bench = Bench(Path(folder), seconds)
        await bench.fill()
        pairs: list[tuple[str, float | None, list[Callable[[], Awaitable[float]]], Callable[[], Awaitable[float]]]] = [
            (
                f"commits, {WRITERS} writers",
                0.5,
                [bench.bare_commits_from_threads, bench.bare_commits_from_tasks],
                bench.commits,
            ),
            ("strong point reads", 0.3, [bench.bare_reads], bench.reads),
            ("probes for the newest commit", None, [bench.bare_reads], bench.probes),
            ("records scanned, pages of 1 000", None, [bench.bare_scans], bench.scans),
        ]
        rows = [await _compare(*pair) for pair in pairs]
        await bench.close()
        return rows


async def _compare(
    what: str, goal: float | None, bare: list[Callable[[], Awaitable[float]]], ours: Callable[[], Awaitable[float]]
) -> Row:
    """Alternate samples; where bare SQLite can be driven in two ways, the faster one of the round counts."""
    samples = [(max([await sample() for sample in bare]), await ours()) for _ in range(ROUNDS)]
    return Row(
        what,
        statistics.median(theirs for theirs, _ in samples),
        statistics.median(mine for _, mine in samples),
        statistics.median(mine / theirs for theirs, mine in samples),
        goal,
    )


def table(rows: list[Row]) -> str:
    """Write the rows as a Markdown table."""
    lines = ["| a second | bare SQLite | Lakeshare | ratio | goal |", "|---|---:|---:|---:|---|"]
    for row in rows:
        goal = "" if row.goal is None else f"≥ {row.goal}: {'met' if row.ratio >= row.goal else 'MISSED'}"
        lines.append(f"| {row.what} | {row.bare:,.0f} | {row.lakeshare:,.0f} | {row.ratio:.2f} | {goal} |")
    return "\n".join(lines)


def main() -> None:
    """Measure and print; the exit code is 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of each sample (default: 1)")
    arguments = parser.parse_args()
    rows = asyncio.run(measure(arguments.seconds))
    print(json.dumps([asdict(row) for row in rows], indent=2) if arguments.json else table(rows))
    sys.exit(any(row.goal is not None and row.ratio < row.goal for row in rows))


if __name__ == "__main__":
    main()
