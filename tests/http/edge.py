"""A served handler in a thread of the test, and a client that speaks in bytes."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Self

import uvloop

from lakeshare.http.asgi import Handler
from lakeshare.http.serve import EdgeConfig, EdgeServer
from lakeshare.http.tls import Tls
from lakeshare.settings import Settings

PATIENCE = 20.0


@dataclass(eq=False)
class Edge:
    """A server that runs in a thread."""

    port: int
    server: EdgeServer
    thread: threading.Thread
    tls: Tls | None = None

    def connect(self) -> "Client":
        """Open a plain connection."""
        return Client(socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE))

    def connect_tls(self, context: ssl.SSLContext) -> "Client":
        """Open an encrypted connection."""
        raw = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        return Client(context.wrap_socket(raw, server_hostname="localhost"))

    def get(self, path: str) -> "Reply":
        """Ask once, on a connection of its own."""
        with self.connect() as client:
            return client.ask(path)

    def connections(self) -> int:
        """Count the connections that the server holds."""
        return len(self.server.server_state.connections)


@dataclass(eq=False)
class Reply:
    """What came back."""

    status: int
    fields: dict[str, str]
    body: bytes


@dataclass(eq=False)
class Client:
    """A connection that sends and reads bytes."""

    sock: socket.socket
    held: bytes = field(default=b"")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.sock.close()

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.sock.sendall(data)

    def flood(self, block: bytes, times: int) -> None:
        """Send a block again and again."""
        for _ in range(times):
            self.send(block)

    def ask(self, path: str, method: str = "GET", extra: str = "", body: bytes = b"") -> Reply:
        """Send one request and read its answer."""
        self.send(f"{method} {path} HTTP/1.1\r\nHost: test\r\n{extra}\r\n".encode() + body)
        return self.reply(bodiless=method == "HEAD")

    def reply(self, *, bodiless: bool = False) -> Reply:
        """Read one answer."""
        head = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
        status = int(head[0].split(" ")[1])
        if bodiless or status in {100, 204, 304}:
            return Reply(status, fields, b"")
        if fields.get("transfer-encoding") == "chunked":
            return Reply(status, fields, self._chunked())
        if "content-length" in fields:
            return Reply(status, fields, self.exactly(int(fields["content-length"])))
        return Reply(status, fields, self.rest())

    def until(self, mark: bytes) -> bytes:
        """Read up to a mark."""
        while mark not in self.held:
            self._more()
        found, _, self.held = self.held.partition(mark)
        return found

    def exactly(self, size: int) -> bytes:
        """Read a number of bytes."""
        parts = [self.held]
        have = len(self.held)
        while have < size:
            got = self.sock.recv(min(1 << 20, size - have))
            if not got:
                raise EOFError(f"{have} of {size} bytes came")
            parts.append(got)
            have += len(got)
        whole = b"".join(parts)
        self.held = whole[size:]
        return whole[:size]

    def rest(self) -> bytes:
        """Read until the server closes."""
        parts, self.held = [self.held], b""
        while got := self.sock.recv(1 << 20):
            parts.append(got)
        return b"".join(parts)

    def closed(self) -> bool:
        """Wait for the end of the connection, and say whether nothing came before it."""
        try:
            return self.held == b"" and self.sock.recv(1) == b""
        except ConnectionResetError:
            return True

    def _chunked(self) -> bytes:
        parts = []
        while size := int(self.until(b"\r\n"), 16):
            parts.append(self.exactly(size))
            assert self.exactly(2) == b"\r\n"
        assert self.exactly(2) == b"\r\n"
        return b"".join(parts)

    def _more(self) -> None:
        got = self.sock.recv(1 << 16)
        if not got:
            raise EOFError(f"the connection ended after {self.held!r}")
        self.held += got


@contextmanager
def served(handler: Handler, tls: Tls | None = None, **chosen: int | tuple[str, ...]) -> Iterator[Edge]:
    """Serve a handler in a thread until the block ends."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    listener.settimeout(0)
    port = listener.getsockname()[1]
    started = threading.Event()
    server = EdgeServer(EdgeConfig(handler, Settings(**{"shutdown_timeout": 5, **chosen}), tls), started.set)
    thread = threading.Thread(target=lambda: uvloop.run(server.serve([listener])), name="edge", daemon=True)
    thread.start()
    assert started.wait(PATIENCE)
    try:
        yield Edge(port, server, thread, tls)
    finally:
        server.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive(), "the server did not stop"
