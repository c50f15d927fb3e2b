"""Measure Delta Sharing: queries of large tables cold and warm, many at once, small calls, and pandas end to end.

Beside it, in the same run, the obvious implementation (delta-rs, botocore's presigner, `json`). Rate limits are off.
Tables are synthetic logs, made once into .cache. Cold means a server that has just started and kept nothing of the
table; the logs themselves may lie in the kernel's cache.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import sharing_pandas
from running import ROOT, say
from sharing_load import read_lines, request
from sharing_peers import Lakeshare, Obvious, Watch, foreign_cores
from sharing_report import Figures, Sample, missed, plot, table_of, write_docs
from sharing_tables import SCHEMA, SHARE, Prepared, SyntheticTable, day_of, prepare

PARTS = ("queries", "obvious", "many", "rates", "pandas")
SMALL = SyntheticTable("t1k", 1_000)
MIDDLE = SyntheticTable("t100k", 100_000)
LARGE = SyntheticTable("t1m", 1_000_000)
COMMITS = SyntheticTable("c100k", 100_000, commits_only=True)
QUICK_SMALL, QUICK_MIDDLE = SyntheticTable("q1k", 1_000), SyntheticTable("q20k", 20_000)
QUICK_COMMITS = SyntheticTable("qc20k", 20_000, commits_only=True)
AT_ONCE = 8
CONNECTIONS = 16
WARM_ROUNDS = 3
SELECTIVE_ROUNDS = 5
LISTING_SECONDS = 120.0


class Bench:
    """One run: what is asked of which tables, and what was found."""

    def __init__(self, options: argparse.Namespace) -> None:
        quick = options.quick
        self.tables = (QUICK_SMALL, QUICK_MIDDLE, QUICK_COMMITS) if quick else (SMALL, MIDDLE, COMMITS, LARGE)
        self.middle = QUICK_MIDDLE if quick else MIDDLE
        self.seconds = 2.0 if quick else 3.0
        self.megabytes = 100 if quick else 1000
        self.rounds = 1 if quick else 3
        self.cache = Path(options.dir or ROOT / ".cache")
        self.figures = Figures(self.middle.files)
        self.made: Prepared

    def run(self, parts: list[str]) -> Figures:
        """Measure."""
        if parts != ["pandas"]:
            self.made = prepare(self.cache, self.tables)
        steps: dict[str, Callable[[], None]] = {
            "queries": self._queries,
            "obvious": self._obvious,
            "many": self._many,
            "rates": self._rates,
            "pandas": self._pandas,
        }
        for part in parts:
            self.figures.foreign[part] = foreign_cores()
            say(f"{part}; other work on the machine takes {self.figures.foreign[part]:.2f} processors")
            steps[part]()
        return self.figures

    def _queries(self) -> None:
        """Query each table by one worker: cold, warm, and by what a client may say to have fewer files."""
        self._rehearse()
        for table in self.tables:
            server = Lakeshare(self.made.data, 1)
            server.forget()
            with server:
                idle = Watch(server.workers).idle_mb
                with self._listed(server) as listed:
                    self._query(server, table, "cold", {}, idle)
                self.figures.listings[f"cold, {table.in_words}"] = listed
                for _ in range(WARM_ROUNDS):
                    self._query(server, table, "warm", {}, idle)
                if table.commits_only:
                    continue
                for _ in range(SELECTIVE_ROUNDS):
                    for row, body in _selective(table).items():
                        self._query(server, table, row, body, idle)

    def _rehearse(self) -> None:
        """Let bytecode be written, as it is wherever a package is installed."""
        server = Lakeshare(self.made.data, 1)
        server.forget()
        with server:
            for table in self.tables[:2]:
                read_lines(server.port, request("POST", _path(table, "query"), self.made.token, b"{}"))

    def _query(self, server: Lakeshare, table: SyntheticTable, row: str, body: dict[str, Any], idle: float) -> None:
        asked = request("POST", _path(table, "query"), self.made.token, json.dumps(body).encode())
        with Watch(server.workers) as watch:
            read = read_lines(server.port, asked)
        files = read.lines - 2
        if not body and files != table.files:
            sys.exit(f"{files} files were answered of {table.in_words}")
        sample = Sample(
            row, table.in_words, read.first_ms, read.seconds, files, read.bytes, watch.cpu_seconds, watch.peak_mb, idle
        )
        self._keep(sample)

    def _keep(self, sample: Sample) -> None:
        self.figures.samples.append(sample)
        say(
            f"{sample.table}, {sample.row}: first byte {sample.first_ms:.0f} ms, total {sample.seconds:.3f} s, "
            f"{sample.files} files, {sample.files / sample.seconds:,.0f}/s, CPU {sample.cpu_seconds:.2f} s, "
            f"peak {sample.peak_mb:.0f} MB, idle {sample.idle_mb:.0f} MB"
        )

    def _obvious(self) -> None:
        """Query the obvious implementation: the small and the middle table, first cold and then warm."""
        with Obvious(self.made.logs) as server:
            for table in (self.tables[0], self.middle):
                for row in ("obvious cold", "obvious warm"):
                    if row.endswith("cold") and table is self.middle:
                        continue  # what it costs is signing, either way
                    with Watch([server.process.pid]) as watch:
                        read = read_lines(server.port, request("POST", f"/{table.name}/query", "", b"{}"))
                    cost = (watch.cpu_seconds, watch.peak_mb, watch.idle_mb)
                    self._keep(
                        Sample(row, table.in_words, read.first_ms, read.seconds, read.lines - 2, read.bytes, *cost)
                    )

    def _many(self) -> None:
        """Let two workers answer eight queries at once, and time a listing beside them."""
        with Lakeshare(self.made.data, 2) as server:
            asked = request("POST", _path(self.middle, "query"), self.made.token, b"{}")
            for row in ("many, first", "many"):  # the first time makes both workers warm
                with self._listed(server) as listed, Watch(server.workers) as watch:
                    told = _job(server, "many", asked, count=AT_ONCE)
                answered = [one for one in told["answers"] if one["lines"] - 2 == self.middle.files]
                self.figures.many = {
                    "answered": len(answered),
                    "seconds": told["seconds"],
                    "first_ms": max(one["first_ms"] for one in told["answers"]),
                    "cpu_seconds": watch.cpu_seconds,
                    "peak_mb": watch.peak_mb,
                }
                self.figures.listings[row] = listed
                say(f"{row}: {len(answered)} of {AT_ONCE} in {told['seconds']:.2f} s, listing beside {listed}")

    def _rates(self) -> None:
        """Ask two workers for versions, metadata and listings over several connections."""
        with Lakeshare(self.made.data, 2) as server:
            calls = {
                "version": request("GET", _path(self.middle, "version"), self.made.token),
                "metadata": request("GET", _path(self.middle, "metadata"), self.made.token),
                "listing": request("GET", _LISTING, self.made.token),
            }
            for asked in calls.values():  # both workers open the table
                _job(server, "rate", asked, connections=CONNECTIONS, seconds=0.2)
            for _ in range(self.rounds):
                for call, asked in calls.items():
                    with Watch(server.workers) as watch:
                        told = _job(server, "rate", asked, connections=CONNECTIONS, seconds=self.seconds)
                    told["cpu_us"] = watch.cpu_seconds / told["count"] * 1e6
                    self.figures.rates.setdefault(call, []).append(told)
                    say(f"{call}: {told['rate']:,.0f}/s, p99 {told['p99_ms']:.1f} ms, CPU {told['cpu_us']:.0f} us each")

    def _pandas(self) -> None:
        """Read a table into pandas over the share, and from disk."""
        self.figures.pandas = sharing_pandas.measure(self.cache / "sharing-pandas", self.rounds, self.megabytes)

    @contextmanager
    def _listed(self, server: Lakeshare) -> Iterator[dict[str, float]]:
        """Time a listing over and over while a block lasts."""
        found: dict[str, float] = {}
        asked = request("GET", _LISTING, self.made.token)
        with _started(server, "listing", asked, seconds=LISTING_SECONDS) as process:
            time.sleep(0.3)  # until it has begun
            yield found
            told, _ = process.communicate(b"")
            found.update(json.loads(told))


_LISTING = f"/delta-sharing/shares/{SHARE}/schemas"


def _path(table: SyntheticTable, call: str) -> str:
    return f"/delta-sharing/shares/{SHARE}/schemas/{SCHEMA}/tables/{table.name}/{call}"


def _selective(table: SyntheticTable) -> dict[str, dict[str, Any]]:
    """Return what makes answers small: a day of a hundred, ten files by their statistics, and a limit of rows."""
    first = table.files // 2 * 1000
    between = [("greaterThanOrEqual", first), ("lessThan", first + 10_000)]
    ids = [_compare(op, "id", "long", str(value)) for op, value in between]
    return {
        "partition predicate": {"jsonPredicateHints": json.dumps(_compare("equal", "day", "date", day_of(7)))},
        "statistics predicate": {"jsonPredicateHints": json.dumps({"op": "and", "children": ids})},
        "limit": {"limitHint": 5000},
    }


def _compare(operator: str, column: str, kind: str, value: str) -> dict[str, Any]:
    sides = [
        {"op": "column", "name": column, "valueType": kind},
        {"op": "literal", "value": value, "valueType": kind},
    ]
    return {"op": operator, "children": sides}


def _started(server: Lakeshare, job: str, asked: bytes, **more: Any) -> "subprocess.Popen[bytes]":
    told = {"job": job, "port": server.port, "asked": asked.decode("latin-1"), **more}
    command = [sys.executable, str(Path(__file__).with_name("sharing_load.py")), json.dumps(told)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _job(server: Lakeshare, job: str, asked: bytes, **more: Any) -> dict[str, Any]:
    """Let a client in a process of its own do a job."""
    with _started(server, job, asked, **more) as process:
        told, _ = process.communicate()
    if process.returncode:
        sys.exit(f"the client failed at {job}")
    found: dict[str, Any] = json.loads(told)
    return found


def main() -> None:
    """Measure and print; the exit code is 1 when a goal is missed."""
    parser = argparse.ArgumentParser(prog="bench/sharing", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small tables and short samples")
    parser.add_argument("--json", action="store_true", help="print every sample as JSON instead of a table")
    parser.add_argument("--only", default="", metavar="PARTS", help=f"parts to measure, of {', '.join(PARTS)}")
    parser.add_argument("--dir", help="where the tables lie (default: .cache)")
    parser.add_argument("--plot", metavar="FILE", help="draw the totals")
    parser.add_argument("--write", action="store_true", help="write the section of docs/benchmarks.md and its plot")
    options = parser.parse_args()
    parts = [part for part in PARTS if not options.only or part in options.only.split(",")]
    if unknown := set(filter(None, options.only.split(","))) - set(PARTS):
        sys.exit(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    started = time.perf_counter()
    figures = Bench(options).run(parts)
    say(f"done in {time.perf_counter() - started:.0f} s on {os.cpu_count()} processors")
    print(json.dumps(asdict(figures), indent=2) if options.json else table_of(figures))
    if options.plot:
        plot(figures, Path(options.plot))
    if options.write:
        write_docs(figures)
    sys.exit(missed(figures))


if __name__ == "__main__":
    main()
