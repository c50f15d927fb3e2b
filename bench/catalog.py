"""Measure the Iceberg catalog: loads, lists, durable commits on one table and on many, and several at once.

Beside it, in the same run and with the same requests, Iceberg's own REST fixture over SQLite and files, which does not
sync its files. Both are asked by connections that are kept open; ours are signed.
"""

import argparse
import itertools
import json
import os
import statistics
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace

from catalog_load import Tally, Wire, copy_seconds, sample, wrk_sample
from catalog_peers import Peer, fixture, lakeshare

SCHEMA = {"type": "struct", "fields": [{"id": 1, "name": "id", "type": "long", "required": False}]}
NAMESPACE = "ns"
WRITERS = 16
ON_ONE = 8
LARGE_SNAPSHOTS = 10_000
COMMIT_SNAPSHOTS = 500
"""Snapshots of one request while the large table is made."""


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of one server."""

    row: str
    server: str
    rate: float
    p50_ms: float
    p99_ms: float
    cpu_us: float
    refused: int
    copies: float = 0.0
    """How many times the time of copying its bytes a large answer takes."""


class Bench:
    """One server with its tables."""

    def __init__(self, peer: Peer, options: argparse.Namespace) -> None:
        self.peer = peer
        self.seconds = 2.0 if options.quick else 6.0
        self.tables = 200 if options.quick else 1_000
        self.wire = Wire(peer.port)
        self.uuids: dict[str, str] = {}
        self.rows: list[Row] = []

    def fill(self) -> None:
        """Make the namespace and its tables."""
        self._ask("POST", self.peer.path("namespaces"), {"namespace": [NAMESPACE]})
        for number in range(self.tables):
            made = self._ask("POST", self.peer.path("namespaces", NAMESPACE, "tables"), _new(f"t{number:05d}"))
            self.uuids[f"t{number:05d}"] = made["metadata"]["table-uuid"]

    def run(self, rows: list[str]) -> None:
        """Measure the rows that are asked for."""
        steps: dict[str, Callable[[], None]] = {
            "load": self._load,
            "unchanged": self._unchanged,
            "list": self._list,
            "commit": self._commit,
            "one": self._one,
            "several": self._several,
            "large": self._large,
        }
        for name in rows:
            if name in steps:
                print(f"{self.peer.name}: {name}", file=sys.stderr)
                steps[name]()

    def _load(self) -> None:
        loads = [self.peer.asked("GET", self._table(name)).bytes() for name in self.uuids]
        self._measure_reads("loadTable", WRITERS, loads)

    def _unchanged(self) -> None:
        """Ask again for tables that have not changed; the fixture is not asked, since it is our own ratio."""
        if self.peer.signer is None:
            return
        name = next(iter(self.uuids))
        self.wire.socket.sendall(self.peer.asked("GET", self._table(name)).bytes())
        head = self.wire.socket.recv(65_536)
        etag = next(line[6:].decode() for line in head.split(b"\r\n") if line.lower().startswith(b"etag:"))
        asked = self.peer.asked("GET", self._table(name), {"if-none-match": etag}).bytes()
        self.wire = Wire(self.peer.port)
        self._measure_reads("loadTable, 304", WRITERS, [asked])

    def _list(self) -> None:
        asked = self.peer.asked("GET", self.peer.path("namespaces", NAMESPACE, "tables")).bytes()
        self._measure_reads(f"list of {self.tables} tables", ON_ONE, [asked])

    def _commit(self) -> None:
        names = itertools.islice(self.uuids, WRITERS)
        self._measure(f"commit, {WRITERS} tables", [self._committer(name) for name in names])

    def _one(self) -> None:
        name = next(iter(self.uuids))
        self._measure(f"commit, one table from {ON_ONE}", [self._committer(name) for _ in range(ON_ONE)])

    def _several(self) -> None:
        """Commit two tables at once; each writer has a pair of its own."""
        names = list(self.uuids)
        asked = self.peer.asked("POST", self.peer.path("transactions", "commit"))
        makers = []
        for at in range(ON_ONE):
            pair = names[2 * at : 2 * at + 2]
            numbers = itertools.count()

            def make(pair: list[str] = pair, numbers: Iterator[int] = numbers) -> bytes:
                changes = [{"identifier": _identifier(name), **self._change(name, next(numbers))} for name in pair]
                return asked.bytes(json.dumps({"table-changes": changes}).encode())

            makers.append(make)
        self._measure("commit, two tables at once", makers)

    def _large(self) -> None:
        """Load a table of ten thousand snapshots, beside a plain copy of as many bytes over the loopback."""
        if self.peer.signer is None:
            return
        self.wire = Wire(self.peer.port)
        made = self._ask("POST", self.peer.path("namespaces", NAMESPACE, "tables"), _new("large"))
        location, numbers = made["metadata"]["location"], range(1, LARGE_SNAPSHOTS + 1)
        for start in range(0, LARGE_SNAPSHOTS, COMMIT_SNAPSHOTS):
            some = [_snapshot(number, location) for number in numbers[start : start + COMMIT_SNAPSHOTS]]
            body = {"requirements": [], "updates": some}
            self._ask("POST", self._table("large"), body)
        asked = self.peer.asked("GET", self._table("large")).bytes()
        self._measure(f"load of {LARGE_SNAPSHOTS} snapshots", [lambda: asked])
        size = Wire(self.peer.port).ask(asked)[1]
        found = self.rows.pop()
        self.rows.append(replace(found, copies=found.p50_ms / 1000 / copy_seconds(size)))

    def _committer(self, name: str) -> Callable[[], bytes]:
        asked, numbers = self.peer.asked("POST", self._table(name)), itertools.count()
        return lambda: asked.bytes(json.dumps(self._change(name, next(numbers))).encode())

    def _change(self, name: str, number: int) -> dict[str, object]:
        return {
            "requirements": [{"type": "assert-table-uuid", "uuid": self.uuids[name]}],
            "updates": [{"action": "set-properties", "updates": {"number": str(number)}}],
        }

    def _table(self, name: str) -> str:
        return self.peer.path("namespaces", NAMESPACE, "tables", name)

    def _measure(self, row: str, makers: list[Callable[[], bytes]]) -> None:
        sample(self.peer.port, self.seconds, makers)  # A JVM is slow until it has compiled what is asked often.
        before = self.peer.cpu_seconds()
        tally, took = sample(self.peer.port, self.seconds, makers)
        self.rows.append(_row(row, self.peer.name, tally, took, self.peer.cpu_seconds() - before))

    def _measure_reads(self, row: str, connections: int, requests: list[bytes]) -> None:
        wrk_sample(self.peer.port, int(self.seconds), connections, requests)
        before = self.peer.cpu_seconds()
        found = wrk_sample(self.peer.port, int(self.seconds), connections, requests)
        if found is None:
            self._measure(row, [_cycled(requests[at % len(requests) :]) for at in range(connections)])
            return
        cpu = (self.peer.cpu_seconds() - before) / max(found.done, 1) * 1e6
        rate = found.done / found.seconds
        self.rows.append(Row(row, self.peer.name, rate, found.p50_ms, found.p99_ms, cpu, found.refused))

    def _ask(self, method: str, path: str, body: dict[str, object]) -> dict[str, dict[str, str]]:
        """Send one request, and read its answer whole: answers to these are small."""
        status, size, said = self.wire.ask(self.peer.asked(method, path).bytes(json.dumps(body).encode()))
        if status >= 300:
            sys.exit(f"{self.peer.name}: {method} {path} was answered {status}: {said[:500]!r}")
        return json.loads(said) if len(said) == size and said else {}


def _new(name: str) -> dict[str, object]:
    return {"name": name, "schema": SCHEMA, "properties": {"write.metadata.previous-versions-max": "3"}}


def _identifier(name: str) -> dict[str, object]:
    return {"namespace": [NAMESPACE], "name": name}


def _snapshot(number: int, location: str) -> dict[str, object]:
    snapshot = {
        "snapshot-id": number,
        "sequence-number": number,
        "timestamp-ms": 1_700_000_000_000 + number,
        "manifest-list": f"{location}/metadata/snap-{number}.avro",
        "summary": {"operation": "append", "added-data-files": "1", "added-records": "1000", "total-records": "1"},
        "schema-id": 0,
    }
    return {"action": "add-snapshot", "snapshot": snapshot}


def _cycled(requests: list[bytes]) -> Callable[[], bytes]:
    return itertools.cycle(requests).__next__


def _row(row: str, server: str, tally: Tally, took: float, cpu: float) -> Row:
    times = sorted(tally.latencies)
    done = sum(count for status, count in tally.statuses.items() if status < 400)
    return Row(
        row,
        server,
        done / took,
        statistics.median(times) * 1000,
        times[int(len(times) * 0.99)] * 1000,
        cpu / max(done, 1) * 1e6,
        len(times) - done,
    )


GOALS = {"loadTable": 2.0, f"commit, {WRITERS} tables": 4.0, "list of": 5.0}
"""Least ratio to the fixture."""


def table_of(rows: list[Row]) -> str:
    """Lay the figures out, with the ratio to the fixture where there is one."""
    theirs = {each.row: each for each in rows if each.server == "fixture"}
    lines = [
        "| | a second | p50 / p99 ms | CPU us | refused | ratio to the fixture | goal |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for each in (each for each in rows if each.server != "fixture"):
        peer = theirs.get(each.row)
        ratio = f"{each.rate / peer.rate:.1f}" if peer and peer.rate else ""
        goal = next((f"{least:g}" for start, least in GOALS.items() if each.row.startswith(start)), "")
        figures = f"{each.rate:.0f} | {each.p50_ms:.1f} / {each.p99_ms:.1f} | {each.cpu_us:.0f} | {each.refused}"
        lines.append(f"| {each.row} | {figures} | {ratio} | {goal if ratio else ''} |")
    lines += _own(rows)
    for each in theirs.values():
        figures = f"{each.rate:.0f} | {each.p50_ms:.1f} / {each.p99_ms:.1f} | {each.cpu_us:.0f} | {each.refused}"
        lines.append(f"| fixture: {each.row} | {figures} | | |")
    return "\n".join(lines)


def _own(rows: list[Row]) -> list[str]:
    """Write the ratios that are to ourselves."""
    ours = {each.row: each for each in rows if each.server != "fixture"}
    lines = []
    if "loadTable" in ours and "loadTable, 304" in ours:
        ratio = ours["loadTable, 304"].rate / ours["loadTable"].rate
        lines.append(f"| 304 to our own loadTable | {ratio:.2f} times | | | | | 1.5 |")
    lines += [
        f"| {each.row}, to a copy of its bytes | {each.copies:.1f} times | | | | | 3 at most |"
        for each in ours.values()
        if each.copies
    ]
    return lines


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", default="load,unchanged,list,commit,one,several,large")
    options = parser.parse_args()
    rows: list[Row] = []
    for start in (lakeshare, nullcontext if options.alone else fixture):
        with start() as peer:
            if peer is not None:
                bench = Bench(peer, options)
                bench.fill()
                bench.run(options.only.split(","))
                rows += bench.rows
    if options.json:
        print(json.dumps([asdict(each) for each in rows], indent=2))
    else:
        print(table_of(rows))
        print(f"\nLoad of the machine over the last five minutes: {os.getloadavg()[1]:.1f} on {os.cpu_count()} cores.")


if __name__ == "__main__":
    main()
