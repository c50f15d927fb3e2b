"""The load client of bench/catalog: connections that are kept open, each with requests laid out beforehand.

Signatures leave the body out (UNSIGNED-PAYLOAD), so that one serves every body that is sent to the same path.
"""

import json
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

WAIT_SECONDS = 60
COPIES = 20
READ_BYTES = 256 * 1024
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request without its body: the head up to the length of it."""

    head: bytes

    def bytes(self, body: bytes = b"") -> bytes:
        """Return the request as it is sent."""
        return self.head + b"content-length: %d\r\n\r\n" % len(body) + body


@dataclass(slots=True)
class Tally:
    """What came of the requests of one sample."""

    statuses: dict[int, int] = field(default_factory=dict)
    latencies: list[float] = field(default_factory=list)
    bytes: int = 0

    def add(self, other: "Tally") -> None:
        """Take another's counts."""
        for status, count in other.statuses.items():
            self.statuses[status] = self.statuses.get(status, 0) + count
        self.latencies += other.latencies
        self.bytes += other.bytes


class Wire:
    """One connection."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), WAIT_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request: bytes) -> tuple[int, int, bytes]:
        """Send a request; return its status, how long its body is, and what of it came first."""
        self.socket.sendall(request)
        data = b""
        while (end := data.find(b"\r\n\r\n")) < 0:
            chunk = self.socket.recv(READ_BYTES)
            if not chunk:
                raise ConnectionError("the server closed the connection")
            data += chunk
        head, body = data[:end], data[end + 4 :]
        status = int(head[9:12])
        if status in (204, 304):
            return status, 0, b""
        if _CHUNKED.search(head):
            return status, self._chunked(body), body
        found = _LENGTH.search(head)
        size = int(found[1]) if found else 0
        self._skip(size - len(body))
        return status, size, body

    def _skip(self, left: int) -> None:
        while left > 0:
            left -= len(self.socket.recv(min(left, READ_BYTES)))

    def _chunked(self, data: bytes) -> int:
        """Read to the end of a body in chunks, which no body of ours holds itself."""
        total = len(data)
        while not data.endswith(b"\r\n0\r\n\r\n"):
            chunk = self.socket.recv(READ_BYTES)
            total += len(chunk)
            data = data[-16:] + chunk
        return total


def sample(port: int, seconds: float, makers: Sequence[Callable[[], bytes]]) -> tuple[Tally, float]:
    """Send what each maker makes over a connection of its own for a while; return the counts and the time it took."""
    total, lock = Tally(), threading.Lock()
    begin = threading.Barrier(len(makers) + 1)
    ends: list[float] = []

    def work(make: Callable[[], bytes]) -> None:
        wire, mine = Wire(port), Tally()
        begin.wait()
        stop = time.perf_counter() + seconds
        while (now := time.perf_counter()) < stop:
            status, size, _ = wire.ask(make())
            mine.latencies.append(time.perf_counter() - now)
            mine.statuses[status] = mine.statuses.get(status, 0) + 1
            mine.bytes += size
        with lock:
            total.add(mine)
            ends.append(time.perf_counter())

    threads = [threading.Thread(target=work, args=(make,)) for make in makers]
    for thread in threads:
        thread.start()
    begin.wait()
    started = time.perf_counter()
    for thread in threads:
        thread.join()
    return total, max(ends) - started


_WRK_REQUESTS = """
local requests = {%s}
local at = 0
request = function() at = at %% #requests + 1; return requests[at] end
done = function(summary, latency, all)
  io.write(string.format("figures %%d %%d %%d %%d %%d\\n", summary.requests, summary.duration,
    summary.errors.status, latency:percentile(50), latency:percentile(99)))
end
"""


@dataclass(frozen=True, slots=True)
class Figures:
    """What a sample came to: answers that were not refused, seconds, refusals, and latencies in milliseconds."""

    done: int
    seconds: float
    refused: int
    p50_ms: float
    p99_ms: float


def wrk_sample(port: int, seconds: float, connections: int, requests: Sequence[bytes]) -> Figures | None:
    """Send requests in turn by wrk, which costs far less than we do; None where it is not installed."""
    if shutil.which("wrk") is None:
        return None
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        quoted = (json.dumps(each.decode()) for each in requests)  # Its escapes are Lua's too.
        script.write(_WRK_REQUESTS % ",\n".join(quoted))
        script.flush()
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", script.name]
        said = subprocess.run([*command, f"http://127.0.0.1:{port}/"], capture_output=True, text=True, check=True)
    found = next(line for line in said.stdout.splitlines() if line.startswith("figures "))
    requests_sent, took, refused, middle, slow = (int(each) for each in found.split()[1:])
    return Figures(requests_sent - refused, took / 1e6, refused, middle / 1000, slow / 1000)


def copy_seconds(size: int) -> float:
    """Return how long it takes to move as many bytes over the loopback address, in the median."""
    data = b"x" * size
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def give() -> None:
            giver, _ = listener.accept()
            with giver:
                while giver.recv(1):
                    giver.sendall(data)

        thread = threading.Thread(target=give, daemon=True)
        thread.start()
        times = []
        with socket.create_connection(listener.getsockname()) as taker:
            for _ in range(COPIES):
                begin = time.perf_counter()
                taker.sendall(b"?")
                left = size
                while left > 0:
                    left -= len(taker.recv(READ_BYTES))
                times.append(time.perf_counter() - begin)
        thread.join()
    return sorted(times)[len(times) // 2]
