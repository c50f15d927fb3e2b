"""The load client of bench/catalog: one process, some connections that stay open, requests signed beforehand.

Run as a program it does one job, given as JSON in its argument, and prints what it found as JSON.
"""

import json
import select
import socket
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from catalog_copy import long_table
from catalog_requests import Speaker
from catalog_scripts import SCRIPTS
from s3_meter import cpu_seconds, tree

_WAIT_SECONDS = 60
_RECEIVE_BYTES = 256 * 1024
_LAST_CHUNK = b"0\r\n\r\n"
_WITHOUT_BODY = (204, 304)
_REFUSED = 400
_FEWEST = 2


class Wire:
    """A connection with one request under way."""

    __slots__ = ("_chunked", "_got", "_left", "_script", "_socket", "sent_at", "status")

    def __init__(self, port: int, script: Iterator[bytes]) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), _WAIT_SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._script = script
        self._got, self._left, self._chunked = b"", -1, False
        self.status, self.sent_at = 0, 0.0

    def fileno(self) -> int:
        """Return what epoll knows the connection by."""
        return self._socket.fileno()

    def send(self, now: float) -> bool:
        """Send the next request, if there is one."""
        asked = next(self._script, None)
        if asked is None:
            return False
        self.sent_at = now
        self._socket.sendall(asked)
        return True

    def whole(self) -> bool:
        """Take what has come, and say whether that was the end of the answer."""
        got = self._socket.recv(_RECEIVE_BYTES)
        if not got:
            raise SystemExit("the server closed the connection")
        if self._chunked:
            self._got = (self._got + got)[-len(_LAST_CHUNK) :]
            return self._ended(whole=self._got == _LAST_CHUNK)
        if self._left < 0:
            return self._began(self._got + got)
        self._left -= len(got)
        return self._ended(whole=self._left <= 0)

    def _began(self, got: bytes) -> bool:
        end = got.find(b"\r\n\r\n")
        if end < 0:
            self._got = got
            return False
        self.status = int(got[9:12])
        if self.status in _WITHOUT_BODY:
            return self._ended(whole=True)
        _, named, rest = got[:end].lower().partition(b"\r\ncontent-length:")
        if named:
            self._left = int(rest.partition(b"\r\n")[0]) - (len(got) - end - 4)
            return self._ended(whole=self._left <= 0)
        self._chunked, self._got = True, got[-len(_LAST_CHUNK) :]
        return self._ended(whole=self._got == _LAST_CHUNK)

    def _ended(self, *, whole: bool) -> bool:
        if whole:
            self._got, self._left, self._chunked = b"", -1, False
        return whole


def metered(pid: int, port: int, scripts: list[Iterator[bytes]], warm: float, seconds: float) -> dict[str, Any]:
    """Drive a server, and return also what an answer costs it."""
    server = tree(pid)
    before = cpu_seconds(server)
    found = drive(port, scripts, warm, seconds)
    spent, answers = cpu_seconds(server) - before, found.pop("answers")
    return {**found, "cpu_us": spent / answers * 1e6}


def drive(port: int, scripts: list[Iterator[bytes]], warm: float, seconds: float) -> dict[str, Any]:
    """Keep a request under way on each connection, and return what was answered once it was warm."""
    poll, wires = select.epoll(), {}
    for script in scripts:
        wire = Wire(port, script)
        wires[wire.fileno()] = wire
        poll.register(wire.fileno(), select.EPOLLIN)
        wire.send(time.perf_counter())
    began = time.perf_counter() + warm
    stop, now, answers, going = began + seconds, 0.0, 0, len(wires)
    waits: list[float] = []
    statuses: Counter[int] = Counter()
    while now < stop and going == len(wires):
        for fd, _ in poll.poll(_WAIT_SECONDS):
            wire = wires[fd]
            if not wire.whole():
                continue
            now = time.perf_counter()
            answers += 1
            if now >= began:
                waits.append(now - wire.sent_at)
                statuses[wire.status] += 1
            going -= not wire.send(now)
    return _told(waits, statuses, now - began, answers)


def _told(waits: list[float], statuses: Counter[int], elapsed: float, answers: int) -> dict[str, Any]:
    if len(waits) < _FEWEST:
        raise SystemExit("hardly an answer came; nothing can be said")
    waits.sort()
    return {
        "rate": sum(count for status, count in statuses.items() if status < _REFUSED) / elapsed,
        "answers": answers,
        "p50_ms": statistics.median(waits) * 1000,
        "p99_ms": waits[int(len(waits) * 0.99)] * 1000,
        "statuses": {str(status): count for status, count in statuses.items()},
    }


def main() -> None:
    """Do one job."""
    job = json.loads(sys.argv[1])
    speaker = Speaker(**job.pop("speaker"))
    kind, pid, warm, seconds = (job.pop(name) for name in ("kind", "pid", "warm", "seconds"))
    if kind == "long":
        print(json.dumps(long_table(speaker, seconds)))
        return
    print(json.dumps(metered(pid, speaker.port, SCRIPTS[kind](speaker, **job), warm, seconds)))


if __name__ == "__main__":
    main()
