"""What an exchange, and the files it sends, need of the connection they are on."""

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from typing import Protocol


class PeerGone(OSError):
    """The peer closed the connection while it was being answered."""


class Flow(Protocol):
    """Back-pressure of a connection, both ways."""

    write_paused: bool

    def pause_reading(self) -> None:
        """Take no more bytes from the peer."""

    def resume_reading(self) -> None:
        """Take bytes from the peer again."""


class Connection(Protocol):
    """One connection of a client."""

    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    plain_fd: int
    """The socket's descriptor, or -1 where bytes are encrypted on their way."""

    @property
    def flow(self) -> Flow:
        """Return its back-pressure."""

    @property
    def gone(self) -> bool:
        """Say whether it is lost or closing."""

    def cut(self) -> None:
        """End it at once, whatever is under way."""

    @property
    def untaken(self) -> int:
        """Return how many bytes of a large body are still to come, none of which the parser need see."""

    def body_taken(self, size: int) -> None:
        """Note that bytes of a large body were taken from the socket past the loop."""

    def standing_lines(self) -> bytes:
        """Return the lines that every response has."""

    def expect_progress(self) -> None:
        """Give the peer its time to send or take a byte."""

    def expect_nothing(self) -> None:
        """Let the connection be: the application works."""

    async def drained(self) -> None:
        """Wait until the transport takes more, and fail if the connection is lost."""

    async def emptied(self) -> None:
        """Wait until the transport holds nothing back, and fail if the connection is lost."""

    async def writable(self, fd: int) -> None:
        """Wait until a duplicate of the socket takes bytes, and fail if the connection is lost."""


@contextlib.contextmanager
def borrowed(fd: int) -> Iterator[socket.socket]:
    """Yield a socket object on a descriptor that stays its owner's."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fileno=fd)
    try:
        yield sock
    finally:
        sock.detach()
