"""One request and its answer on a connection: the ASGI receive and send that an application is given.

Beyond ASGI an answer may carry runs of files, `{"type": "http.response.file", "path", "offset", "count",
"more_body"}`, offered as the extension `lakeshare.sendfile`; and one that is whole in memory may be given to
`Exchange.reply`, found in the scope as `lakeshare.reply`, which writes it at once. A large body may be asked for by
`Exchange.pour`, in the scope as `lakeshare.pour` where a thread can take it from the socket.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from enum import Enum, auto

from lakeshare.http.connection import Connection, PeerGone
from lakeshare.http.head import BODILESS, STATUS_LINES, response_head, response_lines
from lakeshare.http.limits import BODY_HIGH_WATER, BODY_LOW_WATER, DRAIN_LIMIT
from lakeshare.http.receive import Turn
from lakeshare.http.request import Message, Receive, Scope, Send, Sink
from lakeshare.http.sendfile import TURN_BYTES, send_file

App = Callable[[Scope, Receive, Send], Awaitable[None]]

EXTENSION = "lakeshare.sendfile"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
JOIN_LIMIT = 64 * 1024
"""Bodies up to this are copied behind their head and leave in one write."""


class Cut(Exception):
    """The application cannot finish an answer that it began: the connection must end without looking whole."""


class WrongLength(RuntimeError):
    """An application sends more or fewer bytes than its content-length promised."""


class Framing(Enum):
    """How a response says where its body ends."""

    NONE = auto()
    LENGTH = auto()
    CHUNKED = auto()
    CLOSE = auto()


class Exchange:
    """One request and its answer. Most of its state is at rest for most requests: the class holds the defaults."""

    keep_alive = True
    http11 = True
    expects_continue = False
    disconnected = False
    received = 0
    response_started = False
    response_complete = False
    task: "asyncio.Task[None] | None" = None
    _chunks: deque[bytes] | None = None
    _buffered = 0
    _ended = False
    _waiter: "asyncio.Future[None] | None" = None
    _head: bytes | None = None
    _framing = Framing.NONE
    _left = 0
    _turn = 0

    def __init__(
        self,
        connection: Connection,
        method: str,
        content_length: int | None,
        completed: "Callable[[Exchange], None]",
    ) -> None:
        self.connection = connection
        self.method = method
        self.content_length = content_length
        self.more_body = content_length != 0
        self._completed = completed

    async def run(self, app: App, scope: Scope, tasks: "set[asyncio.Task[None]]") -> None:
        """Let the application answer, and end the connection where it does not."""
        try:
            await app(scope, self.receive, self.send)
        except (PeerGone, Cut):
            pass
        finally:
            if self.task is not None:
                tasks.discard(self.task)
            if not self.response_complete and not self.disconnected:
                self.connection.cut()

    # The request's body.

    def feed(self, chunk: bytes) -> None:
        """Take a run of the body from the parser."""
        size = len(chunk)
        self.received += size
        self._buffered += size
        if self._chunks is None:
            self._chunks = deque()
        self._chunks.append(chunk)
        if self._buffered > BODY_HIGH_WATER:
            self.connection.flow.pause_reading()
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
        while not self._chunks and self._may_hear_more():
            await self._wait()
        if self._chunks:
            return self._next_chunk(self._chunks)
        if self.disconnected or self.response_complete:
            return {"type": "http.disconnect"}
        self._ended = True
        return {"type": "http.request", "body": b"", "more_body": False}

    async def pour(self, sink: Sink) -> bool:
        """Let threads hand what is left of a large body to a sink, and say whether all of it came."""
        if self.expects_continue:
            self._continue()
        connection = self.connection
        while (self._chunks or self.more_body) and not self.disconnected:
            connection.flow.pause_reading()
            left = connection.untaken if self.more_body else 0
            turn = Turn(connection, sink, self._all_chunks(), self.received, left)
            try:
                await turn.run()
            finally:
                connection.body_taken(turn.taken)
            if turn.stalled:
                await self._gather()
        self._ended = True
        return not self.disconnected

    def _all_chunks(self) -> list[bytes]:
        chunks = list(self._chunks or ())
        self._chunks, self._buffered = None, 0
        return chunks

    async def _gather(self) -> None:
        """Let the loop read until there is enough for a turn."""
        while self._buffered < BODY_LOW_WATER and self.more_body and not self.disconnected:
            await self._wait()

    def _may_hear_more(self) -> bool:
        return not self.disconnected and not self.response_complete and (self.more_body or self._ended)

    def _next_chunk(self, chunks: deque[bytes]) -> Message:
        chunk = chunks.popleft()
        self._buffered -= len(chunk)
        if self.more_body and self._buffered < BODY_LOW_WATER:
            self.connection.flow.resume_reading()
        more = self.more_body or bool(chunks)
        self._ended = not more
        return {"type": "http.request", "body": chunk, "more_body": more}

    async def _wait(self) -> None:
        connection = self.connection
        self._waiter = connection.loop.create_future()
        if self.more_body:
            connection.flow.resume_reading()
            connection.expect_progress()
        try:
            await self._waiter
        finally:
            self._waiter = None
            connection.expect_nothing()

    def encourage(self) -> None:
        """Tell a client to go on that asked, though its body is empty: botocore loses count of answers otherwise.

        It takes the final answer to such a request for the next request's as well, and then waits in vain.
        """
        self.expects_continue = False
        self.connection.transport.write(CONTINUE)

    def _continue(self) -> None:
        self.expects_continue = False
        if not self._chunks and self.more_body and not self.response_started and not self.connection.gone:
            self.connection.transport.write(CONTINUE)

    # The response.

    def reply(self, status: int, headers: list[tuple[str, str]], body: bytes, told: int | None) -> bool:
        """Write a whole answer at once, and say whether that was possible; `told` is the length that `headers` say."""
        connection = self.connection
        if connection.flow.write_paused or self.response_started or self.disconnected:
            return False
        size, bodiless = len(body), status in BODILESS
        if told is not None and told != size and self.method != "HEAD":
            return False
        if bodiless and (size or told is not None):
            return False
        lines = response_lines(headers)
        self.response_started = True
        head = b"".join(
            (
                STATUS_LINES[status],
                connection.standing_lines(),
                lines,
                b"content-length: %d\r\n" % size if told is None and not bodiless else b"",
                b"\r\n" if self._can_stay() else b"connection: close\r\n\r\n",
            )
        )
        if self.method == "HEAD":
            connection.transport.write(head)
        elif size <= JOIN_LIMIT:
            connection.transport.write(head + body)
        else:
            connection.transport.writelines((head, body))
        self._complete()
        return True

    async def send(self, message: Message) -> None:
        """Send one part of the answer."""
        if self.connection.flow.write_paused:
            await self.connection.drained()
        if self.disconnected or self.connection.gone:
            raise PeerGone
        kind = message["type"]
        if kind == "http.response.body":
            body, more = message.get("body", b""), message.get("more_body", False)
            self._send_body(body, more=more)
            if more:
                await self._give_way(len(body))
        elif kind == "http.response.file":
            await self._send_file(message)
        elif kind == "http.response.start":
            self._start(message["status"], message.get("headers", ()))
        else:
            raise RuntimeError(f"unknown ASGI message {kind!r}")

    async def _give_way(self, size: int) -> None:
        """Let others have the loop once in a while: neither a quick reader nor a quick stream would ever wait."""
        self._turn += size
        if self._turn >= TURN_BYTES:
            self._turn = 0
            await asyncio.sleep(0)

    def _start(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        if self.response_started and self._head is None:
            raise RuntimeError("a response was started twice")
        head = response_head(status, self.connection.standing_lines(), headers)
        self.response_started = True
        ending = self._frame(status, head.length)
        if head.close:
            self.keep_alive = False
        if not self._can_stay():
            ending = b"connection: close\r\n" + ending
        self._head = head.lines + ending

    def _frame(self, status: int, length: int | None) -> bytes:
        if self.method == "HEAD" or status in BODILESS:
            self._framing = Framing.NONE
        elif length is not None:
            self._framing, self._left = Framing.LENGTH, length
        elif self.http11:
            self._framing = Framing.CHUNKED
            return b"transfer-encoding: chunked\r\n\r\n"
        else:
            self._framing, self.keep_alive = Framing.CLOSE, False
        return b"\r\n"

    def _can_stay(self) -> bool:
        """Say whether the connection outlives the answer: not with more than a little of the body unread."""
        if self.more_body and (
            self.content_length is None or self.expects_continue or self.content_length - self.received > DRAIN_LIMIT
        ):
            self.keep_alive = False
        return self.keep_alive

    def _take_head(self) -> bytes:
        if not self.response_started or self.response_complete:
            raise RuntimeError("a body was sent outside of a response")
        head, self._head = self._head, None
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
        transport = self.connection.transport
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
            await send_file(self.connection, self._take_head, message["path"], message["offset"], count)
        elif self._framing is Framing.NONE:
            self.connection.transport.write(self._take_head())
        else:
            raise WrongLength("files are sent only under a content-length")
        if not more:
            self._complete()

    def _complete(self) -> None:
        self.response_complete = True
        if self._waiter is not None:
            self.wake()
        self._completed(self)
