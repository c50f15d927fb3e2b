"""One request and its answer on a connection: the ASGI receive and send that an application is given.

Answers may carry runs of files: `{"type": "http.response.file", "path", "offset", "count", "more_body"}`,
offered to applications as the ASGI extension `lakeshare.sendfile`.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from enum import Enum, auto
from typing import TYPE_CHECKING

from lakeshare.http.head import BODILESS, ResponseHead, response_head
from lakeshare.http.limits import BODY_HIGH_WATER, BODY_LOW_WATER, DRAIN_LIMIT
from lakeshare.http.request import Message, Receive, Scope, Send
from lakeshare.http.sendfile import PeerGone, send_file

if TYPE_CHECKING:
    from lakeshare.http.protocol import EdgeProtocol

App = Callable[[Scope, Receive, Send], Awaitable[None]]

EXTENSION = "lakeshare.sendfile"
JOIN_LIMIT = 64 * 1024
"""Bodies up to this are copied behind their head and leave in one write."""


class Cut(Exception):  # noqa: N818 - an event that the application asks for, not an error of its own
    """The application cannot finish an answer it began: the connection must end without looking whole."""


class WrongLength(RuntimeError):
    """An application sends more or fewer bytes than its content-length promised."""


class Framing(Enum):
    """How a response says where its body ends."""

    NONE = auto()
    LENGTH = auto()
    CHUNKED = auto()
    CLOSE = auto()


class Exchange:
    """One request and its answer."""

    __slots__ = (
        "_buffered",
        "_chunks",
        "_ended",
        "_framing",
        "_head",
        "_left",
        "_waiter",
        "content_length",
        "disconnected",
        "expects_continue",
        "http11",
        "keep_alive",
        "more_body",
        "protocol",
        "received",
        "response_complete",
        "response_started",
        "scope",
    )

    def __init__(self, protocol: "EdgeProtocol", scope: Scope, content_length: int | None) -> None:
        self.protocol = protocol
        self.scope = scope
        self.content_length = content_length
        self.keep_alive = True
        self.http11 = True
        self.expects_continue = False
        self.disconnected = False
        self.more_body = True
        self.received = 0
        self.response_started = False
        self.response_complete = False
        self._chunks: deque[bytes] = deque()
        self._buffered = 0
        self._waiter: asyncio.Future[None] | None = None
        self._head: bytes | None = None
        self._framing = Framing.NONE
        self._left = 0
        self._ended = False

    async def run(self, app: App) -> None:
        """Let the application answer, and end the connection where it does not."""
        try:
            await app(self.scope, self.receive, self.send)
        except (PeerGone, Cut):
            pass
        finally:
            if not self.response_complete and not self.disconnected:
                self.protocol.cut()

    # The request's body.

    def feed(self, chunk: bytes) -> None:
        """Take a run of the body from the parser."""
        size = len(chunk)
        self.received += size
        self._chunks.append(chunk)
        self._buffered += size
        if self._buffered > BODY_HIGH_WATER:
            self.protocol.flow.pause_reading()
        self.wake()

    def finish(self) -> None:
        """Note that the body is whole."""
        self.more_body = False
        self.wake()

    def lose(self) -> None:
        """Note that the connection is gone."""
        if not self.response_complete:
            self.disconnected = True
        self.wake()

    def wake(self) -> None:
        """Let a waiting receive look again."""
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    async def receive(self) -> Message:
        """Return the next run of the body, or the news that the client went away."""
        if self.expects_continue:
            self._continue()
        while not self._chunks and not self.disconnected and not self.response_complete and not self._body_told():
            await self._wait()
        if self._chunks:
            return self._next_chunk()
        if self.disconnected or self.response_complete:
            return {"type": "http.disconnect"}
        self._ended = True
        return {"type": "http.request", "body": b"", "more_body": False}

    def _body_told(self) -> bool:
        return not self.more_body and not self._ended

    def _next_chunk(self) -> Message:
        chunk = self._chunks.popleft()
        self._buffered -= len(chunk)
        if self._buffered < BODY_LOW_WATER and self.protocol.cycle is self:
            self.protocol.flow.resume_reading()
        more = self.more_body or bool(self._chunks)
        self._ended = not more
        return {"type": "http.request", "body": chunk, "more_body": more}

    async def _wait(self) -> None:
        protocol = self.protocol
        self._waiter = protocol.loop.create_future()
        if self.more_body:
            protocol.flow.resume_reading()
            protocol.expect_progress()
        try:
            await self._waiter
        finally:
            self._waiter = None
            protocol.expect_nothing()

    def _continue(self) -> None:
        self.expects_continue = False
        if not self._chunks and self.more_body and not self.response_started and not self.protocol.gone:
            self.protocol.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    # The response.

    async def send(self, message: Message) -> None:
        """Send one part of the answer."""
        if self.protocol.flow.write_paused:
            await self.protocol.drained()
        if self.disconnected:
            raise PeerGone
        kind = message["type"]
        if kind == "http.response.body":
            self._send_body(message.get("body", b""), more=message.get("more_body", False))
        elif kind == "http.response.file":
            await self._send_file(message)
        elif kind == "http.response.start":
            self._start(message["status"], message.get("headers", ()))
        else:
            raise RuntimeError(f"unknown ASGI message {kind!r}")

    def _start(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        if self.response_started and self._head is None:
            raise RuntimeError("a response was started twice")
        head = response_head(status, self.protocol.standing_lines(), headers)
        self.response_started = True
        self._head = self._framed(status, head)

    def _framed(self, status: int, head: ResponseHead) -> bytes:
        ending = b"\r\n"
        if self.scope["method"] == "HEAD" or status in BODILESS:
            self._framing = Framing.NONE
        elif head.length is not None:
            self._framing, self._left = Framing.LENGTH, head.length
        elif self.http11:
            self._framing, ending = Framing.CHUNKED, b"transfer-encoding: chunked\r\n\r\n"
        else:
            self._framing, self.keep_alive = Framing.CLOSE, False
        if head.close or not self._body_can_be_drained():
            self.keep_alive = False
        if not self.keep_alive:
            ending = b"connection: close\r\n" + ending
        return head.lines + ending

    def _body_can_be_drained(self) -> bool:
        if not self.more_body:
            return True
        if self.content_length is None or self.expects_continue:
            return False
        return self.content_length - self.received <= DRAIN_LIMIT

    def _take_head(self) -> bytes:
        if not self.response_started or self.response_complete:
            raise RuntimeError("a body was sent outside of a response")
        head = self._head
        self._head = None
        return head or b""

    def _send_body(self, body: bytes, *, more: bool) -> None:
        if self._framing is Framing.LENGTH:
            self._account(len(body), more=more)
            self._write(self._take_head(), body)
        elif self._framing is Framing.CHUNKED:
            last = b"" if more else b"0\r\n\r\n"
            if body:
                self._write(self._take_head() + b"%x\r\n" % len(body), body, b"\r\n" + last)
            elif last:
                self._write(self._take_head(), last)
        else:
            self._write(self._take_head(), body if self._framing is Framing.CLOSE else b"")
        if not more:
            self._complete()

    def _write(self, *parts: bytes) -> None:
        transport = self.protocol.transport
        if sum(map(len, parts)) <= JOIN_LIMIT:
            transport.write(b"".join(parts))
        else:
            transport.writelines(parts)

    def _account(self, size: int, *, more: bool) -> None:
        if size > self._left or (not more and size != self._left):
            raise WrongLength(f"{self._left} bytes were promised, {size} were sent")
        self._left -= size

    async def _send_file(self, message: Message) -> None:
        count, more = message["count"], message.get("more_body", False)
        if self._framing is Framing.LENGTH:
            self._account(count, more=more)
            await send_file(self.protocol, self._take_head, message["path"], message["offset"], count)
        elif self._framing is Framing.NONE:
            self.protocol.transport.write(self._take_head())
        else:
            raise WrongLength("files are sent only under a content-length")
        if not more:
            self._complete()

    def _complete(self) -> None:
        self.response_complete = True
        self.wake()
        self.protocol.response_completed(self)
