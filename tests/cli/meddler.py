"""A relay between a client and a server that meddles: it stalls, breaks off, or changes bytes."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

CHUNK = 64 * 1024


@dataclass
class Meddler:
    """Relays connections. `meddle` sees what the server sends: (connection, bytes sent before, chunk)."""

    upstream: tuple[str, int]
    meddle: Callable[[int, int, bytes], bytes | None]
    listener: socket.socket
    stopped: threading.Event = field(default_factory=threading.Event)
    stalled: threading.Event = field(default_factory=threading.Event)
    count: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def stall(self) -> None:
        """Hold the connection until the relay is stopped."""
        self.stalled.set()
        self.stopped.wait()

    def serve(self) -> None:
        with suppress(OSError):
            while not self.stopped.is_set():
                client, _ = self.listener.accept()
                self.count += 1
                server = socket.create_connection(self.upstream)
                threading.Thread(target=self._up, args=(client, server), daemon=True).start()
                threading.Thread(target=self._down, args=(client, server, self.count), daemon=True).start()

    def _up(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while chunk := client.recv(CHUNK):
                server.sendall(chunk)
            server.shutdown(socket.SHUT_WR)

    def _down(self, client: socket.socket, server: socket.socket, number: int) -> None:
        sent = 0
        with client, server, suppress(OSError):
            while chunk := server.recv(CHUNK):
                changed = self.meddle(number, sent, chunk)
                if changed is None:
                    client.shutdown(socket.SHUT_RDWR)
                    return
                client.sendall(changed)
                sent += len(chunk)


@contextmanager
def meddling(host: str, port: int, meddle: Callable[[Meddler, int, int, bytes], bytes | None]) -> Iterator[Meddler]:
    """Relay to a server until the block ends."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        relay = Meddler((host, port), lambda *seen: meddle(relay, *seen), listener)
        threading.Thread(target=relay.serve, daemon=True).start()
        try:
            yield relay
        finally:
            relay.stopped.set()
