"""The load clients of bench/sharing, which share the machine with what they measure: plain sockets, little work a byte.

Run as a program it does one job, given as JSON in its argument, and prints the result as JSON.
"""

import json
import selectors
import socket
import statistics
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

WAIT_SECONDS = 300
_BUFFER_BYTES = 1024 * 1024
_END = b"0\r\n\r\n"
_HEAD_BYTES = 16 * 1024
_PAUSE_SECONDS = 0.02
_WARM_UP = 512


@dataclass(frozen=True, slots=True)
class Read:
    """An answer that was read to its end."""

    first_ms: float
    seconds: float
    lines: int
    bytes: int


def request(method: str, path: str, token: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> bytes:
    """Lay out a request."""
    told = {
        "Host": "127.0.0.1",
        "Authorization": f"Bearer {token}",
        "Content-Length": str(len(body)),
        **(headers or {}),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in told.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body


def read_lines(port: int, asked: bytes) -> Read:
    """Send a request and read a chunked answer of lines, or one of known length; a body that is cut ends the run."""
    started = time.perf_counter()
    with socket.create_connection(("127.0.0.1", port), WAIT_SECONDS) as wire:
        wire.sendall(asked)
        begun = b""
        while (end := begun.find(b"\r\n\r\n")) < 0 or len(begun) == end + 4:
            begun += _more(wire)
        first_ms = (time.perf_counter() - started) * 1000
        head, begun = begun[:end].lower(), begun[end + 4 :]
        if b" 200 " not in head[:16]:
            sys.exit(f"a query was refused: {head.decode()} {begun[:500].decode()}")
        length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0]) if b"content-length:" in head else -1
        lines, size = _drain(wire, begun, length)
    return Read(first_ms, time.perf_counter() - started, lines, size)


def _more(wire: socket.socket) -> bytes:
    got = wire.recv(_HEAD_BYTES)
    if not got:
        sys.exit("the server closed the connection")
    return got


def _drain(wire: socket.socket, begun: bytes, length: int) -> tuple[int, int]:
    """Count what ends a line in the rest of a body: no size of a chunk looks like that."""
    buffer = bytearray(_BUFFER_BYTES)
    lines, size, tail = begun.count(b"}\n"), len(begun), begun[-5:]
    while size < length if length >= 0 else tail != _END:
        got = wire.recv_into(buffer)
        if not got:
            sys.exit("the body was cut")
        size += got
        lines += buffer.count(b"}\n", 0, got) + (tail[-1:] == b"}" and buffer[:1] == b"\n")
        tail = (tail + bytes(buffer[max(0, got - 5) : got]))[-5:]
    return lines, size


def many(port: int, asked: bytes, count: int) -> dict[str, Any]:
    """Read so many answers at once."""
    found: list[Read] = []
    threads = [threading.Thread(target=lambda: found.append(read_lines(port, asked))) for _ in range(count)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"seconds": time.perf_counter() - started, "answers": [asdict(read) for read in found]}


def listing(port: int, asked: bytes, seconds: float) -> dict[str, float]:
    """Ask over and over, each time by a connection of its own, until standard input ends or time is over."""
    stop = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        stop.set()

    threading.Thread(target=wait, daemon=True).start()
    waits: list[float] = []
    give_up = time.monotonic() + seconds
    while not stop.is_set() and time.monotonic() < give_up:
        waits.append(read_lines(port, asked).seconds * 1000)
        stop.wait(_PAUSE_SECONDS)
    waits.sort()
    return {
        "count": len(waits),
        "p50_ms": statistics.median(waits),
        "p99_ms": waits[int(len(waits) * 0.99)],
        "most_ms": waits[-1],
    }


def rate(port: int, asked: bytes, connections: int, seconds: float) -> dict[str, float]:
    """Keep one request under way on each of some connections, and return how many were answered in a second."""
    waiting = selectors.DefaultSelector()
    sent: dict[int, float] = {}
    for _ in range(connections):
        wire = socket.create_connection(("127.0.0.1", port), WAIT_SECONDS)
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        waiting.register(wire, selectors.EVENT_READ)
        wire.sendall(asked)
        sent[wire.fileno()] = time.perf_counter()
    warm: list[float] = []
    while len(warm) < _WARM_UP:
        _answered(waiting, asked, sent, warm)
    waits: list[float] = []
    started = time.perf_counter()
    while (elapsed := time.perf_counter() - started) < seconds:
        _answered(waiting, asked, sent, waits)
    waits.sort()
    return {
        "rate": len(waits) / elapsed,
        "count": len(warm) + len(waits),
        "p50_ms": statistics.median(waits),
        "p99_ms": waits[int(len(waits) * 0.99)],
    }


def _answered(waiting: selectors.BaseSelector, asked: bytes, sent: dict[int, float], waits: list[float]) -> None:
    for key, _ in waiting.select():
        wire = key.fileobj
        assert isinstance(wire, socket.socket)
        _whole(wire)
        now = time.perf_counter()
        waits.append((now - sent[key.fd]) * 1000)
        sent[key.fd] = now
        wire.sendall(asked)


def _whole(wire: socket.socket) -> None:
    got = _more(wire)
    while (end := got.find(b"\r\n\r\n")) < 0:
        got += _more(wire)
    head = got[:end].lower()
    if b" 200 " not in head[:16]:
        sys.exit(f"refused: {got[:500].decode()}")
    left = int(head.partition(b"content-length:")[2].split(b"\r\n")[0] or 0) - (len(got) - end - 4)
    while left > 0:
        left -= len(_more(wire))


_JOBS: dict[str, Callable[..., dict[str, Any]]] = {"many": many, "listing": listing, "rate": rate}


def main() -> None:
    """Do one job."""
    job = json.loads(sys.argv[1])
    asked = job.pop("asked").encode("latin-1")
    print(json.dumps(_JOBS[job.pop("job")](asked=asked, **job)))


if __name__ == "__main__":
    main()
