"""How long a table with a long history takes to load, beside copying as many bytes over a socket of the same kind."""

import os
import signal
import socket
import statistics
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from catalog_requests import WORK, Speaker

NAME = "long"
_FEWEST = 8
_BUFFER_BYTES = 1024 * 1024
_WAIT_SECONDS = 120


def long_table(speaker: Speaker, seconds: float) -> dict[str, float]:
    """Load the table, copy its bytes, and get its metadata file as an object, in turns; return medians."""
    path = speaker.table(WORK, NAME)
    loaded = speaker.ask("GET", path)
    ways: dict[str, Callable[[], int]] = {"load": _asking(speaker.port, speaker.request("GET", path))}
    if speaker.ours:
        key = urlsplit(loaded["metadata-location"])
        ways["object"] = _asking(
            speaker.port, speaker.laid_out("GET", f"/{key.netloc}{key.path}", b"", {}, service="s3")
        )
    size = ways["load"]()
    pid, port = _copier(size)
    try:
        ways["copy"] = _asking(port, b"GET / HTTP/1.1\r\n\r\n")
        times = _in_turns(ways, seconds)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return {"bytes": size, **{way: statistics.median(taken) * 1000 for way, taken in times.items()}}


def _in_turns(ways: dict[str, Callable[[], int]], seconds: float) -> dict[str, list[float]]:
    for ask in ways.values():
        ask()
    times: dict[str, list[float]] = {way: [] for way in ways}
    stop = time.monotonic() + seconds
    while time.monotonic() < stop or len(times["load"]) < _FEWEST:
        for way, ask in ways.items():
            began = time.perf_counter()
            ask()
            times[way].append(time.perf_counter() - began)
    return times


def _asking(port: int, asked: bytes) -> Callable[[], int]:
    """Return what asks over one connection, and returns how long the body was."""
    wire = socket.create_connection(("127.0.0.1", port), _WAIT_SECONDS)
    wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    buffer = bytearray(_BUFFER_BYTES)

    def ask() -> int:
        wire.sendall(asked)
        got = wire.recv(_BUFFER_BYTES)
        while (end := got.find(b"\r\n\r\n")) < 0:
            got += wire.recv(_BUFFER_BYTES)
        if got[9:12] != b"200":
            raise SystemExit(got[:1000].decode("latin-1"))
        _, named, rest = got[:end].lower().partition(b"\r\ncontent-length:")
        if not named:
            return _chunked(wire, got)
        size = int(rest.partition(b"\r\n")[0])
        left = size - (len(got) - end - 4)
        while left > 0:
            left -= wire.recv_into(buffer)
        return size

    return ask


def _chunked(wire: socket.socket, got: bytes) -> int:
    size, tail = len(got), got[-5:]
    while tail != b"0\r\n\r\n":
        got = wire.recv(_BUFFER_BYTES)
        size, tail = size + len(got), (tail + got)[-5:]
    return size


def _copier(size: int) -> tuple[int, int]:
    """Start a process that answers with so many bytes from its memory, whatever it is asked."""
    listening = socket.create_server(("127.0.0.1", 0))
    port: int = listening.getsockname()[1]
    pid = os.fork()
    if pid:
        listening.close()
        return pid, port
    answer = f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode() + bytes(size)
    wire, _ = listening.accept()
    while wire.recv(_BUFFER_BYTES):
        wire.sendall(answer)
    os._exit(0)
