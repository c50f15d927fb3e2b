"""Connections to one server: kept open, reused, and cut when a command is told to stop."""

import http.client
import socket
import threading
from collections.abc import Mapping
from urllib.parse import urlsplit

from lakeshare.cli.errors import Unreachable
from lakeshare.cli.remote.body import CHUNK_BYTES
from lakeshare.cli.remote.explain import Where, explain
from lakeshare.cli.remote.trust import Trust

CONNECT_SECONDS = 10
"""How long a server has to accept a connection."""
_PORTS = {"http": 80, "https": 443}


class Connections:
    """Connections to one server; each is used by one thread at a time."""

    def __init__(self, url: str, trust: Trust, environ: Mapping[str, str]) -> None:
        parts = urlsplit(url)
        self._scheme, self._host = parts.scheme, parts.hostname or ""
        self._port = parts.port or _PORTS[parts.scheme]
        self._url = url
        self._trust = trust
        self._context = trust.context() if self._scheme == "https" else None
        self._proxy = _proxy_of(parts.scheme, self._host, environ)
        self._lock = threading.Lock()
        self._idle: list[http.client.HTTPConnection] = []
        self._busy: set[http.client.HTTPConnection] = set()

    @property
    def prefix(self) -> str:
        """What stands before a path in a request line: the whole URL for a proxy that does not tunnel."""
        return self._url if self._proxy and self._scheme == "http" else ""

    def take(self, answer_seconds: float, *, fresh: bool = False) -> tuple[http.client.HTTPConnection, bool]:
        """Return a connection whose answers may take so long, and whether it was used before."""
        with self._lock:
            if self._idle and not fresh:
                connection = self._idle.pop()
                self._busy.add(connection)
                return connection, True
        connection = self._open()
        connection.sock.settimeout(answer_seconds)
        with self._lock:
            self._busy.add(connection)
        return connection, False

    def give_back(self, connection: http.client.HTTPConnection) -> None:
        """Keep a connection for the next request."""
        with self._lock:
            self._busy.discard(connection)
            if connection.sock is not None:
                self._idle.append(connection)

    def drop(self, connection: http.client.HTTPConnection) -> None:
        """Close a connection that is not to be used again."""
        with self._lock:
            self._busy.discard(connection)
        connection.close()

    def close(self) -> None:
        """Close every connection that is not in use."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def cut(self) -> None:
        """End every connection now, so that no thread waits on one."""
        self.close()
        with self._lock:
            busy = list(self._busy)
        for connection in busy:
            if connection.sock is not None:
                try:
                    connection.sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue

    def _open(self) -> http.client.HTTPConnection:
        host, port = self._proxy or (self._host, self._port)
        connection: http.client.HTTPConnection
        if self._context is None:
            connection = http.client.HTTPConnection(host, port, timeout=CONNECT_SECONDS, blocksize=CHUNK_BYTES)
        else:
            connection = http.client.HTTPSConnection(
                host, port, timeout=CONNECT_SECONDS, blocksize=CHUNK_BYTES, context=self._context
            )
        if self._proxy and self._scheme == "https":
            connection.set_tunnel(self._host, self._port)
        try:
            connection.connect()
        except OSError as reason:
            connection.close()
            raise self.explain(reason) from None
        return connection

    def explain(self, reason: Exception) -> Unreachable:
        """Say why the server cannot be reached, and what to do about it."""
        proxy = self._proxy[0] if self._proxy else ""
        return explain(reason, Where(self._host, self._port, self._context is not None, proxy))


def _proxy_of(scheme: str, host: str, environ: Mapping[str, str]) -> tuple[str, int] | None:
    """Return the proxy that the environment names for a host."""
    if not any(name.lower() in (f"{scheme}_proxy", "all_proxy") for name in environ):
        return None
    from urllib.request import getproxies_environment, proxy_bypass  # noqa: PLC0415 - seldom, and slow

    proxies = getproxies_environment()
    chosen = proxies.get(scheme) or proxies.get("all")
    if not chosen or proxy_bypass(host):
        return None
    parts = urlsplit(chosen if "://" in chosen else f"http://{chosen}")
    return (parts.hostname, parts.port or 80) if parts.hostname else None
