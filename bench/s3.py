"""Measure the object store beside nginx (GET) and MinIO: rates, CPU a unit, memory, and latency beside large downloads.

Samples of all servers alternate in one run on one machine, and what counts are their ratios: medians over the
rounds. The load clients and what else the machine did are measured too.
"""

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import s3_fill as fill
from running import ROOT, say
from s3_peers import Peer, build_peers, start_lakeshare, start_minio, start_nginx
from s3_report import plot, table, verdicts, write_docs
from s3_requests import Requests
from s3_samples import Sample, has_wrk, take, take_wrk

MIB = fill.MIB
BODY_FILE = "body"


@dataclass(frozen=True, slots=True)
class Run:
    """How long, how often, and how many keys."""

    seconds: float
    rounds: int
    patience: float
    many: int
    many_minio: int
    body: Path


class Loads:
    """The loads by the name of their row."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._large = fill.digests(fill.payload(fill.LARGE))
        self._small = fill.payload(fill.SMALL)
        self._puts = 0
        self.rows: dict[str, Callable[[Peer, int], Sample]] = {
            "get64m": lambda peer, number: self._get(peer, number, "get64m", [[key, {}] for key in fill.LARGE_KEYS], 4),
            "get8m": lambda peer, number: self._get(peer, number, "get8m", [[key, {}] for key in fill.MEDIUM_KEYS], 8),
            "range1m": lambda peer, number: self._get(peer, number, "range1m", _ranges(), 16),
            "get4k": lambda peer, number: self._get4k(peer, number, "get4k", Requests.presigned_target),
            "get4kh": lambda peer, number: self._get4k(peer, number, "get4kh", Requests.signed_target),
            "put64m": self._put64m,
            "put4k": self._put4k,
            "list": lambda peer, number: self._list(peer, number, "list", fill.MANY_KEYS),
            "list1k": lambda peer, number: self._list(peer, number, "list1k", fill.FEW_KEYS),
            "beside": self._beside,
        }

    def _job(self, peer: Peer, kind: str, connections: int, bucket: str = fill.BUCKET, **more: Any) -> dict[str, Any]:
        return {
            "kind": kind,
            "port": peer.port,
            "connections": connections,
            "seconds": self.run.seconds,
            "signing": peer.signing(bucket),
            **more,
        }

    def _get(self, peer: Peer, number: int, row: str, targets: list[list[Any]], connections: int) -> Sample:
        job = self._job(peer, "get", connections, targets=targets)
        return take(row, peer, number, [job], "bytes", self.run.patience)

    def _get4k(self, peer: Peer, number: int, row: str, line: Callable[[Requests, str], str]) -> Sample:
        job = self._job(peer, "", 32)
        requests = Requests(**job["signing"])
        return take_wrk(row, peer, number, [line(requests, key) for key in fill.SMALL_KEYS], job, self.run.patience)

    def _put64m(self, peer: Peer, number: int) -> Sample:
        job = self._job(peer, "put", 4, body=str(self.run.body), digests=self._large, prefix="written-")
        return take("put64m", peer, number, [job], "bytes", self.run.patience)

    def _put4k(self, peer: Peer, number: int) -> Sample:
        self._puts += 1
        job = self._job(
            peer,
            "small_put",
            32,
            small_body=self._small.hex(),
            digests=fill.digests(self._small),
            prefix=f"written/{self._puts:04}/",
            most=int(20_000 * self.run.seconds),
        )
        return take("put4k", peer, number, [job], "requests", self.run.patience)

    def _list(self, peer: Peer, number: int, row: str, bucket: str) -> Sample:
        many = (self.run.many if peer.name == "Lakeshare" else self.run.many_minio) if bucket == fill.MANY_KEYS else 0
        # Of a few connections one worker may get all: both rows must keep both busy to be compared.
        places = 16
        starts = [fill.key_name(many * place // places) for place in range(places)] if many else [""]
        job = self._job(peer, "list", places, bucket, starts=starts)
        return take(row, peer, number, [job], "keys", self.run.patience)

    def _beside(self, peer: Peer, number: int) -> Sample:
        large = self._job(peer, "get", 4, targets=[[key, {}] for key in fill.LARGE_KEYS])
        small = self._job(peer, "get", 4, targets=[[key, {}] for key in fill.SMALL_KEYS], pause=0.002)
        return take("beside", peer, number, [large, small], "bytes", self.run.patience)


def _ranges() -> list[list[Any]]:
    """Return a range of 1 MiB at each of many places of a large object."""
    return [
        [fill.LARGE_KEYS[place % 4], {"range": f"bytes={place * MIB}-{(place + 1) * MIB - 1}"}] for place in range(64)
    ]


class Bench:
    """The servers, filled alike, and the samples taken so far."""

    def __init__(self, run: Run, peers: list[Peer], rows: list[str]) -> None:
        self.run = run
        self.peers = peers
        self.loads = Loads(run)
        self.rows = rows
        self.samples: list[Sample] = []

    def fill(self) -> None:
        """Put what the rows read."""
        self.run.body.write_bytes(fill.payload(fill.LARGE))
        for peer in self.peers:
            say(f"filling {peer.name}")
            fill.fill_objects(peer)
            if peer.name == "nginx" or not {"list", "list1k"} & set(self.rows):
                continue
            fill.fill_keys_over_http(peer, fill.FEW_KEYS, fill.FEW)
            if peer.name == "Lakeshare":
                fill.fill_keys_in_index(peer, fill.MANY_KEYS, self.run.many)
            else:
                fill.fill_keys_over_http(peer, fill.MANY_KEYS, self.run.many_minio)

    def measure(self) -> None:
        """Take all samples: round by round, each round in another order of servers."""
        for number in range(self.run.rounds):
            for row in self.rows:
                peers = [
                    peer for peer in self.peers if peer.name != "nginx" or row.startswith(("get", "range", "beside"))
                ]
                turn = number % len(peers)
                for peer in peers[turn:] + peers[:turn]:
                    self._take(row, peer, number)

    def _take(self, row: str, peer: Peer, number: int) -> None:
        sample = self.loads.rows[row](peer, number)
        self.samples.append(sample)
        say(
            f"round {number + 1}/{self.run.rounds} {row:8} {peer.name:9} {sample.rate:>14,.0f}/s "
            f"cpu {sample.cpu_seconds / sample.seconds:.2f} client {sample.client:.2f} foreign {sample.foreign:.2f} "
            f"p99 {sample.p99_ms:.1f} ms, worker {sample.pss_mb:.0f} MB"
        )


def _rows(asked: str) -> list[str]:
    known = ["get64m", "get8m", "range1m", "get4k", "get4kh", "put64m", "put4k", "list", "list1k", "beside"]
    rows = [row for row in known if not asked or row in asked.split(",")]
    if unknown := set(filter(None, asked.split(","))) - set(known):
        sys.exit(f"no such row: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    if not has_wrk():
        say("wrk is not here (Debian: apt install wrk); get4k and get4kh are skipped")
        rows = [row for row in rows if not row.startswith("get4k")]
    return rows


def measure(options: argparse.Namespace) -> tuple[list[Sample], dict[str, str]]:
    """Start the servers, fill them, take the samples and stop them."""
    rows = _rows(options.only)
    seconds = options.seconds or (1.5 if options.quick else 4.0)
    rounds = options.rounds or (2 if options.quick else 5)
    where = Path(options.dir or ROOT / ".cache")
    where.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="bench-s3-", dir=where))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        many, many_minio = (100_000, 5_000) if options.quick else (1_000_000, 20_000)
        run = Run(seconds, rounds, options.patience, many, many_minio, folder / BODY_FILE)
        peers = []
        for start, name in ((start_lakeshare, "lakeshare"), (start_nginx, "nginx"), (start_minio, "minio")):
            if (peer := start(folder / name)) is not None:
                stack.callback(peer.stop)
                peers.append(peer)
        bench = Bench(run, peers, rows)
        bench.fill()
        bench.measure()
        facts = {peer.name: peer.version for peer in peers}
        facts |= {"keys listed, Lakeshare": f"{many:,}", "keys listed, MinIO": f"{many_minio:,}"}
        return bench.samples, facts


def main() -> None:
    """Measure and print; the exit code is 1 when a goal is missed."""
    parser = argparse.ArgumentParser(prog="bench/s3", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short samples, few rounds, fewer keys")
    parser.add_argument("--json", action="store_true", help="print every sample as JSON instead of a table")
    parser.add_argument("--only", default="", metavar="ROWS", help="rows to measure, with commas between them")
    parser.add_argument("--rounds", type=int, help="samples of each row and server")
    parser.add_argument("--seconds", type=float, help="length of a sample")
    parser.add_argument("--patience", type=float, default=5.0, help="longest wait for a quiet machine, a sample")
    parser.add_argument("--dir", help="where the data lies while it is measured (default: .cache)")
    parser.add_argument("--plot", metavar="FILE", help="draw the ratios")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md and its plot")
    parser.add_argument("--build-peers", action="store_true", help="build MinIO first, where Go is")
    options = parser.parse_args()
    if options.build_peers:
        build_peers()
    samples, facts = measure(options)
    facts["Python"] = f"{platform.python_version()}, {platform.python_compiler()}"
    facts["machine"] = f"{os.cpu_count()} processors"
    if options.json:
        print(json.dumps({"facts": facts, "samples": [asdict(sample) for sample in samples]}, indent=2))
    else:
        print(table(samples))
    if options.plot:
        plot(samples, Path(options.plot))
    if options.write:
        write_docs(samples, facts)
    sys.exit(any(verdict.met is False for verdict in verdicts(samples)))


if __name__ == "__main__":
    main()
