"""The load client of bench/s3: a process that drives one server with requests that are signed beforehand.

It must cost little, since it shares the machine with what it measures: bodies that come are dropped by the kernel
(MSG_TRUNC), bodies that go are sent by it (sendfile), and heads are laid out before the clock starts. Driven over
pipes: a job as JSON in, `ready` out, `go` in, a result as JSON out.
"""

import json
import os
import re
import selectors
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

from s3_requests import Requests

DRAIN_BYTES = 4 * 1024 * 1024
"""Most bytes dropped by one system call."""

HEAD_BYTES = 16 * 1024
WAIT_SECONDS = 60
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_TOKEN = re.compile(rb"<NextContinuationToken>([^<]+)<")
_KEY_COUNT = re.compile(rb"<KeyCount>(\d+)<")


class BadAnswer(Exception):
    """An answer that is not what the request asked for."""


@dataclass(slots=True)
class Tally:
    """What one connection has done so far."""

    requests: int = 0
    bytes: int = 0
    keys: int = 0
    latencies: list[float] = field(default_factory=list)


class Wire:
    """One connection that is kept open."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), WAIT_SECONDS)
        self.socket.settimeout(None)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", WAIT_SECONDS, 0))
        self.scratch = bytearray(DRAIN_BYTES)

    def answer(self) -> tuple[int, bytes]:
        """Read a head, and return how much of the body is still to come, and what came with the head."""
        head = b""
        while (end := head.find(b"\r\n\r\n")) < 0:
            more = self.socket.recv(HEAD_BYTES)
            if not more:
                raise BadAnswer("the server closed the connection")
            head += more
        length = _LENGTH.search(head, 0, end + 2)
        begun = head[end + 4 :]
        left = int(length[1]) - len(begun) if length else -1
        if head[9:11] != b"20" or left < 0:
            raise BadAnswer(head[:400].decode("latin-1") + begun[:400].decode("latin-1"))
        return left, begun

    def drop(self, left: int) -> Iterator[int]:
        """Take the rest of a body without looking at it, and say how much each time."""
        while left:
            size = self.socket.recv_into(self.scratch, min(left, DRAIN_BYTES), socket.MSG_TRUNC | socket.MSG_WAITALL)
            if not size:
                raise BadAnswer("the body ended early")
            left -= size
            yield size

    def rest(self, left: int, begun: bytes) -> bytes:
        """Return a whole body."""
        if left > len(self.scratch):
            raise BadAnswer("the answer is too large")
        view = memoryview(self.scratch)[:left]
        while view:
            size = self.socket.recv_into(view, len(view), socket.MSG_WAITALL)
            if not size:
                raise BadAnswer("the body ended early")
            view = view[size:]
        return begun + bytes(self.scratch[:left])


class Job:
    """What one client process does: a worker for each connection, until the time is over."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.told = told
        self.port: int = told["port"]
        self.connections: int = told["connections"]
        self.seconds: float = told["seconds"]
        self.pause: float = told.get("pause", 0.0)
        self.requests = Requests(**told["signing"])
        self.tallies = [Tally() for _ in range(self.connections)]
        self.stop = 0.0
        self.failure = ""
        self.run: Callable[[], None] = getattr(self, "prepare_" + told["kind"])()

    # Downloads: each connection asks for one target after the other.

    def prepare_get(self) -> Callable[[], None]:
        targets = [(path, headers) for path, headers in self.told["targets"]]
        heads = [self.requests.presigned_get(path, headers) for path, headers in targets]
        wires = [Wire(self.port) for _ in range(self.connections)]

        def work(place: int) -> None:
            wire, tally = wires[place], self.tallies[place]
            for head in cycle(heads[place % len(heads) :] + heads[: place % len(heads)]):
                began = time.perf_counter()
                wire.socket.sendall(head)
                left, first = wire.answer()
                tally.bytes += len(first)
                for size in wire.drop(left):
                    tally.bytes += size
                now = time.perf_counter()
                if now > self.stop:
                    return
                tally.requests += 1
                tally.latencies.append(now - began)
                if self.pause:
                    time.sleep(self.pause)

        return lambda: self.in_threads(work)

    # Large uploads: the kernel sends the body from a file.

    def prepare_put(self) -> Callable[[], None]:
        body = os.open(self.told["body"], os.O_RDONLY)
        size = os.fstat(body).st_size
        heads = [self.requests.put(f"{self.told['prefix']}{place}", self.told["digests"], size) for place in range(64)]
        wires = [Wire(self.port) for _ in range(self.connections)]

        def work(place: int) -> None:
            wire, tally = wires[place], self.tallies[place]
            for head in heads[place :: self.connections] * 1000:
                began = time.perf_counter()
                wire.socket.sendall(head)
                sent = 0
                while sent < size:
                    sent += os.sendfile(wire.socket.fileno(), body, sent, size - sent)
                left, _ = wire.answer()
                for _ in wire.drop(left):
                    pass
                now = time.perf_counter()
                if now > self.stop:
                    # What was sent by the deadline counts, in proportion.
                    tally.bytes += int(size * (self.stop - began) / (now - began))
                    return
                tally.bytes += size
                tally.requests += 1
                tally.latencies.append(now - began)

        return lambda: self.in_threads(work)

    # Small uploads: many connections, one thread, each request a new key.

    def prepare_small_put(self) -> Callable[[], None]:
        body = bytes.fromhex(self.told["small_body"])
        heads = iter(
            [
                self.requests.put(f"{self.told['prefix']}{number:07}", self.told["digests"], len(body)) + body
                for number in range(self.told["most"])
            ]
        )
        wires = [Wire(self.port) for _ in range(self.connections)]

        def run() -> None:
            selector = selectors.DefaultSelector()
            began = [0.0] * self.connections
            for place, wire in enumerate(wires):
                selector.register(wire.socket, selectors.EVENT_READ, place)
                began[place] = time.perf_counter()
                wire.socket.sendall(next(heads))
            while time.perf_counter() < self.stop:
                for key, _ in selector.select(1.0):
                    place = key.data
                    wires[place].answer()
                    now = time.perf_counter()
                    if now < self.stop:
                        tally = self.tallies[place]
                        tally.requests += 1
                        tally.latencies.append(now - began[place])
                        began[place] = now
                        wires[place].socket.sendall(next(heads))

        return run

    # Listings: each connection walks the keys from its own place on, a page after the other, and begins again.

    def prepare_list(self) -> Callable[[], None]:
        wires = [Wire(self.port) for _ in range(self.connections)]

        def work(place: int) -> None:
            wire, tally = wires[place], self.tallies[place]
            token, start = "", self.told["starts"][place % len(self.told["starts"])]
            while True:
                began = time.perf_counter()
                wire.socket.sendall(self.requests.list(token, start))
                body = wire.rest(*wire.answer())
                now = time.perf_counter()
                if now > self.stop:
                    return
                tally.requests += 1
                tally.bytes += len(body)
                tally.keys += int(_KEY_COUNT.search(body)[1])  # type: ignore[index]
                tally.latencies.append(now - began)
                found = _TOKEN.search(body)
                token, start = (found[1].decode(), "") if found else ("", "")

        return lambda: self.in_threads(work)

    def in_threads(self, work: Callable[[int], None]) -> None:
        """Run one worker for each connection; what one raises ends the run."""

        def guarded(place: int) -> None:
            try:
                work(place)
            except (BadAnswer, OSError) as error:
                self.failure = self.failure or repr(error)

        threads = [threading.Thread(target=guarded, args=(place,)) for place in range(self.connections)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def result(self) -> dict[str, Any]:
        """Add up what the connections did."""
        latencies = sorted(latency for tally in self.tallies for latency in tally.latencies) or [0.0]
        return {
            "requests": sum(tally.requests for tally in self.tallies),
            "bytes": sum(tally.bytes for tally in self.tallies),
            "keys": sum(tally.keys for tally in self.tallies),
            "latencies": [latencies[int((len(latencies) - 1) * share)] for share in (0.5, 0.99, 1.0)],
            "failure": self.failure,
        }


def main() -> None:
    """Prepare, say so, wait for the word, run, and say what was done."""
    job = Job(json.loads(sys.stdin.readline()))
    sys.setswitchinterval(0.0005)
    print("ready", flush=True)
    if sys.stdin.readline().strip() != "go":
        return
    job.stop = time.perf_counter() + job.seconds
    job.run()
    print(json.dumps(job.result()), flush=True)


if __name__ == "__main__":
    main()
