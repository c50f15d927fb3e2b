"""Waiting for a peer: one deadline a connection, and waits that end when the connection does.

The deadline is looked at by a sweep a few times a second, so that a request pays for no timer.
"""

import asyncio
import contextlib
import math
import socket
import struct
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from lakeshare.http.connection import PeerGone, borrowed
from lakeshare.http.limits import Limits
from lakeshare.http.near import bound_buffer

if TYPE_CHECKING:
    from uvicorn import Config
    from uvicorn.server import ServerState

NEVER = math.inf
_RESET = struct.pack("ii", 1, 0)


class PatientProtocol(HttpToolsProtocol):
    """A connection that can be waited for, and cut."""

    def __init__(
        self,
        config: "Config",
        server_state: "ServerState",
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.limits: Limits = config.limits  # type: ignore[attr-defined]
        self.deadline = NEVER
        self.lost = False
        self.plain_fd = -1
        self._unsent = 0
        self._writable: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a new connection."""
        super().connection_made(transport)
        if self.scheme == "http":
            self.plain_fd = transport.get_extra_info("socket").fileno()
            bound_buffer(self.plain_fd)
        self.deadline = self.loop.time() + self.limits.header_seconds

    def connection_lost(self, exc: Exception | None) -> None:
        """Let everyone who waits for the peer look again."""
        self.lost = True
        self.connections.discard(self)
        self.deadline = NEVER
        self.flow.resume_writing()
        if self._writable is not None:
            _settle(self._writable)
        if exc is None:
            self.transport.close()
        self.parser = None  # type: ignore[assignment]

    @property
    def gone(self) -> bool:
        """Say whether the connection is lost or closing."""
        return self.lost or bool(self.transport.is_closing())

    def cut(self) -> None:
        """Reset the connection: what the peer has not taken yet is thrown away, so that nothing looks whole."""
        if self.lost:
            return
        if self.plain_fd >= 0:
            with contextlib.suppress(OSError), borrowed(self.plain_fd) as sock:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.transport.abort()

    def expect_progress(self) -> None:
        """Give the peer its time to send or take a byte."""
        self.deadline = self.loop.time() + self.limits.body_seconds

    def expect_nothing(self) -> None:
        """Let the connection be: the application works."""
        self.deadline = NEVER

    async def drained(self) -> None:
        """Wait until the transport takes more, and fail if the connection is lost."""
        if self.flow.write_paused:
            self._unsent = self.transport.get_write_buffer_size()
            self.expect_progress()
            await self.flow.drain()
            self.expect_nothing()
        if self.lost:
            raise PeerGone

    async def emptied(self) -> None:
        """Wait until the transport holds nothing back, and fail if the connection is lost."""
        if self.gone:
            raise PeerGone
        if self.transport.get_write_buffer_size():
            self.transport.set_write_buffer_limits(high=0)
            try:
                await self.drained()
            finally:
                if not self.lost:
                    self.transport.set_write_buffer_limits()

    async def writable(self, fd: int) -> None:
        """Wait until a duplicate of the socket takes bytes, and fail if the connection is lost."""
        if self.gone:
            raise PeerGone
        self._writable = waiter = self.loop.create_future()
        self.loop.add_writer(fd, _settle, waiter)
        self.expect_progress()
        try:
            await waiter
        finally:
            self.loop.remove_writer(fd)
            self._writable = None
            self.expect_nothing()
        if self.lost:
            raise PeerGone


def _settle(waiter: "asyncio.Future[None]") -> None:
    if not waiter.done():
        waiter.set_result(None)
