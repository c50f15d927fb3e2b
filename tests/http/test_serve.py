"""Starting, and stopping with requests in flight."""

import asyncio
import hashlib
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lakeshare.http.request import Request
from lakeshare.http.response import FileSpan, Response
from tests.http.edge import Edge, served

SIZE = 48 * 1024 * 1024


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "large"
    path.write_bytes(bytes(range(256)) * (SIZE // 256))
    return path


def stopping(edge: Edge) -> None:
    edge.server.stop()
    end = time.monotonic() + 5
    while edge.server.servers[0].is_serving() and time.monotonic() < end:
        time.sleep(0.01)


def test_a_download_in_flight_is_finished(file: Path):
    """A stop lets a large file arrive whole, then closes the connection."""

    async def handler(_: Request) -> Response:
        return Response(200, [], (FileSpan(str(file), 0, SIZE),))

    with served(handler, shutdown_timeout=20) as edge, edge.connect() as client:
        client.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        client.until(b"\r\n\r\n")
        stopping(edge)
        body = client.exactly(SIZE)
        assert hashlib.sha256(body).digest() == hashlib.sha256(file.read_bytes()).digest()
        assert client.closed()


def test_an_upload_in_flight_is_finished():
    """A stop lets a body arrive whole and be answered."""

    async def handler(request: Request) -> Response:
        return Response(200, [], b"%d" % len(await request.body(1 << 20)))

    with served(handler, shutdown_timeout=20) as edge, edge.connect() as client:
        client.send(b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf+")
        time.sleep(0.2)
        stopping(edge)
        client.send(b"other")
        reply = client.reply()
        assert (reply.body, reply.fields["connection"]) == (b"10", "close")
        assert client.closed()


def test_idle_connections_are_closed_at_once():
    """A stop does not wait for clients that ask nothing."""

    async def handler(_: Request) -> Response:
        return Response(200)

    with served(handler, shutdown_timeout=20) as edge, edge.connect() as idle, edge.connect() as silent:
        idle.ask("/")
        began = time.monotonic()
        edge.server.stop()
        assert idle.closed()
        assert silent.closed()
        edge.thread.join(10)
        assert time.monotonic() - began < 10


def test_requests_that_do_not_end_are_cancelled():
    """After the shutdown timeout a request is cancelled, and cleans up after itself."""
    cleaned = threading.Event()

    async def handler(_: Request) -> Response:
        try:
            await asyncio.sleep(3600)
        finally:
            cleaned.set()
        return Response(200)

    with served(handler, shutdown_timeout=1) as edge, edge.connect() as client:
        client.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        time.sleep(0.2)
        edge.server.stop()
        assert client.closed()
        assert cleaned.wait(5)


def test_a_stalled_download_does_not_hold_up_a_stop(file: Path):
    """A reader that takes nothing is cut off when the shutdown timeout ends."""

    async def stream() -> AsyncIterator[bytes]:
        while True:
            yield bytes(1 << 20)

    async def handler(request: Request) -> Response:
        if request.raw_path == "/stream":
            return Response(200, [], stream())
        return Response(200, [], (FileSpan(str(file), 0, SIZE),))

    with served(handler, shutdown_timeout=1) as edge, edge.connect() as first, edge.connect() as second:
        first.send(b"GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
        second.send(b"GET /file HTTP/1.1\r\nHost: a\r\n\r\n")
        first.until(b"\r\n\r\n")
        second.until(b"\r\n\r\n")
        edge.server.stop()
        edge.thread.join(10)
        assert not edge.thread.is_alive()
