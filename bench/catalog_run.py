"""Measure the Iceberg catalog: loads, 304s, listings, durable commits, and warp; beside Iceberg's own REST fixture.

Both servers run at once and are asked in turns, so that whatever else the machine does touches both. Lakeshare has two
workers, checks a SigV4 signature on every request, and a commit of its is durable when it is answered; the fixture asks
nobody who they are, and does not sync its metadata files.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from catalog_report import Figures, Sample, missed, plot, table_of, write_docs
from catalog_requests import AGED, LONG, SMALL
from catalog_servers import AGED_TABLES, GROUPS, WRITERS, Fixture, Ours, fixture_missing
from catalog_warp import KINDS, Warp, build
from sharing_peers import foreign_cores, say

LOADED = 256
"""Tables that are loaded in turns."""
CALLS: dict[str, dict[str, Any]] = {
    "load": {"connections": 16, "namespace": SMALL, "count": LOADED},
    "cached": {"connections": 16, "namespace": SMALL, "count": LOADED},
    "load_aged": {"connections": 16, "namespace": AGED, "count": AGED_TABLES},
    "cached_aged": {"connections": 16, "namespace": AGED, "count": AGED_TABLES},
    "list": {"connections": 8, "namespace": SMALL},
    "list_long": {"connections": 8, "namespace": LONG},
    "commit": {"connections": WRITERS},
    "append": {"connections": WRITERS},
    "one": {"connections": 8},
    "multi": {"connections": GROUPS},
    "long": {},
    **{call: {} for call in KINDS},
}
REHEARSED = ("load", "load_aged", "list", "commit", "append")
_FIRST_SECONDS = 1.0
OURS_ALONE = frozenset({"cached", "cached_aged"})


class Bench:
    """One run."""

    def __init__(self, options: argparse.Namespace) -> None:
        quick = options.quick
        self.alone = options.alone
        self.small, self.long, self.history = 1_000, 2_000 if quick else 10_000, 10_000
        self.rounds = 1 if quick else 3
        self.warm, self.seconds = (0.7, 1.3) if quick else (0.7, 1.8)
        self.warp_seconds = 3.0 if quick else 6.0
        self.figures = Figures(self.long)

    def run(self, calls: list[str], folder: Path) -> Figures:
        """Fill both servers and measure."""
        with ExitStack() as stack:
            self.warp = Warp(folder)
            calls = self.warp.possible(calls)
            servers: list[Ours | Fixture] = [stack.enter_context(Ours(folder))]
            if absent := "as asked" if self.alone else fixture_missing():
                say(f"the fixture is left out: {absent}")
            else:
                servers.append(stack.enter_context(Fixture(folder)))
            for server in servers:
                server.fill(self.small, self.long, self.history)
                if not server.speaker.ours:
                    self._rehearse(server)
                for call in (each for each in calls if each in KINDS):
                    self._warped(server, call, _FIRST_SECONDS)
            for _ in range(self.rounds):
                self.figures.foreign.append(foreign_cores())
                say(f"other work on the machine takes {self.figures.foreign[-1]:.2f} processors")
                for call in calls:
                    for server in servers[:1] if call in OURS_ALONE else servers:
                        self._measure(server, call)
        return self.figures

    def _rehearse(self, server: Ours | Fixture) -> None:
        """Let a JVM compile what it is about to do often."""
        for call in REHEARSED:
            _job(server, {"kind": call, "pid": server.process.pid, "warm": 0.0, "seconds": 3.0, **CALLS[call]})

    def _measure(self, server: Ours | Fixture, call: str) -> None:
        if call in KINDS:
            self._note(server, call, self._warped(server, call, self.warp_seconds))
            return
        timed = {"warm": self.warm, "seconds": self.seconds}
        found = _job(server, {"kind": call, "pid": server.process.pid, **timed, **CALLS[call]})
        if call == "long":
            self.figures.copies.append({"server": server.label, **found})
            say(f"{server.label}, long: " + ", ".join(f"{name} {value:,.2f}" for name, value in found.items()))
            return
        self._note(server, call, found)

    def _warped(self, server: Ours | Fixture, call: str, seconds: float) -> dict[str, Any]:
        """Let warp load a server; what it makes is there from its first time on."""
        return self.warp.drive(server.process.pid, server.port, server.place, call, seconds)

    def _note(self, server: Ours | Fixture, call: str, found: dict[str, Any]) -> None:
        sample = Sample(call=call, server=server.label, **found)
        self.figures.samples.append(sample)
        say(
            f"{server.label}, {call}: {sample.rate:,.0f}/s, p50 {sample.p50_ms:.1f} ms, p99 {sample.p99_ms:.1f} ms, "
            f"CPU {sample.cpu_us:.0f} us, {sample.statuses}"
        )


def _job(server: Ours | Fixture, told: dict[str, Any]) -> dict[str, Any]:
    """Let a client in a process of its own do a job."""
    job = json.dumps({"speaker": asdict(server.speaker), **told})
    command = [sys.executable, str(Path(__file__).with_name("catalog_client.py")), job]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit(f"the client failed at {told['kind']} of {server.label}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    """Measure and print; the exit code is 1 when a goal is missed."""
    parser = argparse.ArgumentParser(prog="bench/catalog", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer tables and short samples")
    parser.add_argument("--alone", action="store_true", help="without the fixture")
    parser.add_argument("--json", action="store_true", help="print every sample as JSON instead of a table")
    parser.add_argument("--only", default="", metavar="CALLS", help=f"calls to measure, of {', '.join(CALLS)}")
    parser.add_argument("--plot", metavar="FILE", help="draw the ratios")
    parser.add_argument("--build-peers", action="store_true", help="first build warp from its Go module")
    parser.add_argument("--write", action="store_true", help="write the section of docs/benchmarks.md and its plot")
    options = parser.parse_args()
    asked = [each for each in options.only.split(",") if each]
    if unknown := set(asked) - set(CALLS):
        sys.exit(f"no such call: {', '.join(sorted(unknown))}; there are {', '.join(CALLS)}")
    if options.build_peers:
        build()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="lakeshare-bench-") as folder:
        figures = Bench(options).run([call for call in CALLS if not asked or call in asked], Path(folder))
    say(f"done in {time.perf_counter() - began:.0f} s on {os.cpu_count()} processors")
    print(json.dumps(asdict(figures), indent=2) if options.json else table_of(figures))
    if options.plot:
        plot(figures, Path(options.plot))
    if options.write:
        write_docs(figures)
    sys.exit(missed(figures))


if __name__ == "__main__":
    main()
