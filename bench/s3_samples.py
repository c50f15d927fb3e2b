"""One sample: a load on one server for a few seconds, and what it did and cost."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import s3_meter
from s3_peers import Peer

LOAD = Path(__file__).with_name("s3_load.py")
QUIET_CORES = 0.2
"""What the rest of the machine may do while we wait for a good moment."""

_MEMORY_AT = 0.8
"""The part of a sample after which memory is looked at."""

_CLIENT_SECONDS = 180
_WRK = """
local requests = {}
init = function()
  for line in io.lines("%s") do
    local target, headers = line:match("^[^\\t]+"), {}
    for name, value in line:gmatch("\\t([^:\\t]+): ([^\\t]*)") do headers[name] = value end
    requests[#requests + 1] = wrk.format("GET", target, headers)
  end
end
local number = 0
request = function()
  number = number + 1
  return requests[number %% #requests + 1]
end
"""
_WRK_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


@dataclass(frozen=True, slots=True)
class Sample:
    """What came of it. `amount` is bytes, requests or keys; `foreign` and `client` are processors kept busy."""

    row: str
    peer: str
    round: int
    amount: float
    seconds: float
    cpu_seconds: float
    client: float
    foreign: float
    p50_ms: float
    p99_ms: float
    pss_mb: float
    rss_mb: float

    @property
    def rate(self) -> float:
        """Return the amount a second."""
        return self.amount / self.seconds

    @property
    def cpu_each(self) -> float:
        """Return CPU seconds a unit."""
        return self.cpu_seconds / self.amount if self.amount else 0.0


@dataclass(frozen=True, slots=True)
class Cost:
    """What a stretch of time cost: the server, the clients, the rest of the machine, and the largest worker."""

    seconds: float
    server: float
    clients: float
    foreign: float
    memory: s3_meter.Memory


class Failed(Exception):
    """A load that did not do what it was asked to."""


def _watch(peer: Peer, clients: Sequence["subprocess.Popen[str]"], seconds: float) -> Cost:
    """Let time pass, and return what it cost."""
    server, load = s3_meter.tree(peer.process.pid), [client.pid for client in clients]
    at, machine = time.perf_counter(), s3_meter.machine_seconds()
    server_before, load_before = s3_meter.cpu_seconds(server), s3_meter.cpu_seconds(load)
    time.sleep(seconds * _MEMORY_AT)
    held = [s3_meter.memory(pid) for pid in s3_meter.workers(peer.process.pid)]
    time.sleep(max(0.0, at + seconds - time.perf_counter()))
    used, driven = s3_meter.cpu_seconds(server) - server_before, s3_meter.cpu_seconds(load) - load_before
    busy, passed = s3_meter.machine_seconds() - machine, time.perf_counter() - at
    most = s3_meter.Memory(max(one.pss for one in held), max(one.rss for one in held))
    return Cost(passed, used, driven, max(0.0, busy - used - driven), most)


def take(row: str, peer: Peer, number: int, jobs: Sequence[dict[str, Any]], unit: str, patience: float) -> Sample:
    """Run clients side by side on one server; the last one's answer counts."""
    with ExitStack() as stack:
        clients = [stack.enter_context(_client(job)) for job in jobs]
        for client in clients:
            _expect_ready(client)
        s3_meter.wait_for_quiet(QUIET_CORES, patience)
        for client in clients:
            _tell(client, "go")
        cost = _watch(peer, clients, jobs[-1]["seconds"])
        results = [json.loads(client.communicate(timeout=_CLIENT_SECONDS)[0]) for client in clients]
    for result in results:
        if result["failure"]:
            raise Failed(f"{row} on {peer.name}: {result['failure']}")
    p50, p99, _ = results[-1]["latencies"]
    return _sample(row, peer, number, sum(result[unit] for result in results), cost, (p50, p99))


def take_wrk(row: str, peer: Peer, number: int, lines: Sequence[str], told: dict[str, Any], patience: float) -> Sample:
    """Drive small GETs by wrk, which costs less than any client of ours: a target a line, and headers behind tabs."""
    with tempfile.TemporaryDirectory() as folder:
        targets, script = Path(folder, "targets"), Path(folder, "load.lua")
        targets.write_text("".join(f"{line}\n" for line in lines))
        script.write_text(_WRK % targets)
        command = ["wrk", "-t1", f"-c{told['connections']}", f"-d{round(told['seconds'])}s", "--latency"]
        s3_meter.wait_for_quiet(QUIET_CORES, patience)
        wrk = subprocess.Popen(
            [*command, "-s", str(script), f"http://127.0.0.1:{peer.port}/"], stdout=subprocess.PIPE, text=True
        )
        cost = _watch(peer, [wrk], round(told["seconds"]))
        report = wrk.communicate(timeout=_CLIENT_SECONDS)[0]
    if "Non-2xx" in report or "Socket errors" in report or wrk.returncode:
        raise Failed(f"{row} on {peer.name}: {report}")
    done, lasted = re.search(r"(\d+) requests in ([\d.]+)s", report).groups()  # type: ignore[union-attr]
    latencies = _wrk_latency(report, 50), _wrk_latency(report, 99)
    amount = int(done) / float(lasted) * cost.seconds
    return _sample(row, peer, number, amount, cost, latencies)


def has_wrk() -> bool:
    """Say whether wrk is there."""
    return shutil.which("wrk") is not None


def _sample(row: str, peer: Peer, number: int, amount: float, cost: Cost, latencies: tuple[float, float]) -> Sample:
    return Sample(
        row,
        peer.name,
        number,
        amount,
        cost.seconds,
        cost.server,
        cost.clients / cost.seconds,
        cost.foreign / cost.seconds,
        latencies[0] * 1000,
        latencies[1] * 1000,
        cost.memory.pss,
        cost.memory.rss,
    )


def _client(job: dict[str, Any]) -> "subprocess.Popen[str]":
    client = subprocess.Popen(
        [sys.executable, str(LOAD)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    assert client.stdin is not None
    client.stdin.write(json.dumps(job) + "\n")
    return client


def _expect_ready(client: "subprocess.Popen[str]") -> None:
    assert client.stdout is not None
    if client.stdout.readline().strip() != "ready":
        raise Failed("a client did not start")


def _tell(client: "subprocess.Popen[str]", word: str) -> None:
    assert client.stdin is not None
    client.stdin.write(word + "\n")
    client.stdin.flush()


def _wrk_latency(report: str, percent: int) -> float:
    number, unit = re.search(rf"\s{percent}%\s+([\d.]+)(us|ms|s)", report).groups()  # type: ignore[union-attr]
    return float(number) * _WRK_UNITS[unit]
