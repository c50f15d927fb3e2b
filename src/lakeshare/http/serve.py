"""One worker's server: uvicorn's accept loop and clean stop, around our protocol."""

import asyncio
import contextlib
import logging
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence

import uvicorn

from lakeshare.http.asgi import Edge, Handler
from lakeshare.http.limits import Limits
from lakeshare.http.protocol import EdgeProtocol
from lakeshare.http.tls import Tls
from lakeshare.settings import Settings

SERVER_NAME = "Lakeshare"
BACKLOG = 2048
SWEEP_TICKS = 3
"""Ticks of a tenth of a second between two looks for connections that are overdue."""

TLS_SHUTDOWN_SECONDS = 5.0
"""Longest wait for a peer to end its side of TLS."""

CERTIFICATE_TICKS = 50
"""Ticks between two looks at the certificate files."""


class EdgeConfig(uvicorn.Config):
    """uvicorn's settings, and what our protocol needs besides."""

    def __init__(self, handler: Handler, settings: Settings, tls: Tls | None) -> None:
        super().__init__(
            Edge(handler, settings),
            http=EdgeProtocol,
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            headers=[("server", SERVER_NAME)],
            workers=1,
            backlog=BACKLOG,
            timeout_keep_alive=settings.keep_alive,
            timeout_graceful_shutdown=settings.shutdown_timeout,
            ssl_context_factory=None if tls is None else lambda _config, _default: tls.context,
        )
        self.limits = Limits.of(settings)
        self.tls = tls
        self.standing_lines = f"server: {SERVER_NAME}\r\n".encode()


class EdgeServer(uvicorn.Server):
    """uvicorn's server, with deadlines for connections and signals taken by the loop."""

    config: EdgeConfig

    def __init__(self, config: EdgeConfig, started: Callable[[], None] | None = None) -> None:
        super().__init__(config)
        self._on_started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections on sockets that already listen, and say so."""
        loop = asyncio.get_running_loop()
        self.servers = [await self._accept(loop, sock) for sock in sockets or ()]
        self.started = True
        if self._on_started is not None:
            self._on_started()

    async def _accept(self, loop: asyncio.AbstractEventLoop, sock: socket.socket) -> asyncio.Server:
        config = self.config

        def connection() -> EdgeProtocol:
            return EdgeProtocol(config, self.server_state, {}, loop)

        if config.ssl is None:
            return await loop.create_server(connection, sock=sock, backlog=BACKLOG)
        return await loop.create_server(
            connection,
            sock=sock,
            backlog=BACKLOG,
            ssl=config.ssl,
            ssl_handshake_timeout=config.limits.header_seconds,
            ssl_shutdown_timeout=TLS_SHUTDOWN_SECONDS,
        )

    async def on_tick(self, counter: int) -> bool:
        """Do what is due ten times a second."""
        ended = await super().on_tick(counter)
        if not counter % SWEEP_TICKS:
            self._sweep()
            lines = (b"%b: %b\r\n" % field for field in self.server_state.default_headers)
            self.config.standing_lines = b"".join(lines)
        if self.config.tls is not None and not counter % CERTIFICATE_TICKS:
            self.config.tls.reload_if_changed()
        return ended

    def _sweep(self) -> None:
        now = asyncio.get_running_loop().time()
        for connection in list(self.server_state.connections):
            if isinstance(connection, EdgeProtocol):
                connection.check(now)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on SIGTERM and SIGINT, read the certificate again on SIGHUP; a thread's server takes none."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()
        handlers = {signal.SIGTERM: self.stop, signal.SIGINT: self.stop, signal.SIGHUP: self.reload}
        for number, handler in handlers.items():
            loop.add_signal_handler(number, handler)
        try:
            yield
        finally:
            for number in handlers:
                loop.remove_signal_handler(number)

    def stop(self) -> None:
        """Finish the requests in flight, then end."""
        self.should_exit = True

    def reload(self) -> None:
        """Read the certificate again."""
        if self.config.tls is not None:
            self.config.tls.reload()


async def serve(
    handler: Handler,
    sockets: Sequence[socket.socket],
    settings: Settings,
    tls: Tls | None = None,
    started: Callable[[], None] | None = None,
) -> None:
    """Answer requests on listening sockets until a signal says stop, and finish those in flight."""
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    await EdgeServer(EdgeConfig(handler, settings, tls), started).serve(list(sockets))
