"""One connection: uvicorn's httptools protocol with limits, timeouts, strict heads and files by the kernel.

Leans on the inside of one pinned uvicorn; `tests/http/test_uvicorn_contract.py` names what it uses. Timeouts
are one `deadline` a connection, looked at by a sweep a few times a second, so that a request pays for none.
"""

import asyncio
import contextlib
import math
import socket
import struct
from collections import deque
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from lakeshare.http.connection import PeerGone, borrowed
from lakeshare.http.exchange import EXTENSION, Exchange
from lakeshare.http.head import FIELD_COUNT_LIMIT, RawFields, Refusal, fields_of, plain_response, refuse, size_bytes
from lakeshare.http.limits import DIRECT_BYTES, LINGER_LIMIT, LINGER_SECONDS, Limits
from lakeshare.http.request import Scope

if TYPE_CHECKING:
    from uvicorn import Config
    from uvicorn.server import ServerState

NEVER = math.inf
_EXTENSIONS: dict[str, dict[str, Any]] = {EXTENSION: {}}
_RESET = struct.pack("ii", 1, 0)
_ASGI = {"version": "3.0", "spec_version": "2.4"}
_MALFORMED = Refusal(400, "The request is not valid HTTP.")
_TOO_LARGE = Refusal(431, "The request head is too large.")
_TOO_SLOW = Refusal(408, "The request head took too long.")


class _Refused(Exception):
    """Carries a refusal out of a callback of the parser."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.reason)
        self.refusal = refusal


class EdgeProtocol(HttpToolsProtocol):
    """A connection of one client."""

    cycle: Exchange  # type: ignore[assignment]

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
        self._running: Exchange | None = None
        self._queue: deque[tuple[Exchange, Scope]] = deque()
        self._in_head = False
        self._head_timed = False
        self._upgrade_body = False
        self._lingering = False
        self._direct = 0
        self._quiet = 0
        self._chunk = 0
        self._head_bound = 0
        self._unsent = 0
        self._discarded = 0
        self._writable: asyncio.Future[None] | None = None

    # The connection.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a new connection."""
        super().connection_made(transport)
        if self.scheme == "http":
            self.plain_fd = transport.get_extra_info("socket").fileno()
        self.deadline = self.loop.time() + self.limits.header_seconds

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell everyone who waits that the connection is gone."""
        self.lost = True
        self.connections.discard(self)
        self.deadline = NEVER
        for exchange in (self._running, self.cycle, *(queued for queued, _ in self._queue)):
            if exchange is not None:
                exchange.lose()
        self._queue.clear()
        self.flow.resume_writing()
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
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

    def shutdown(self) -> None:
        """Close when idle; otherwise close after the answer under way."""
        if self._lingering:
            self.transport.abort()
        elif self._running is None:
            self.transport.close()
        else:
            self.cycle.keep_alive = False

    # Time. One deadline; what it means depends on what the connection is doing.

    def check(self, now: float) -> None:
        """Look at the deadline; a connection that is closing has one even if nobody gave it any."""
        if self.deadline < now:
            self.overdue(now)
        elif self.deadline == NEVER and self.gone:
            self.expect_progress()

    def overdue(self, now: float) -> None:
        """End the wait that has lasted too long, unless bytes still trickle out."""
        unsent = self.transport.get_write_buffer_size()
        if unsent and unsent != self._unsent:
            self._unsent = unsent
            self.deadline = now + self.limits.body_seconds
        elif unsent or self._running is not None:
            self.cut()
        elif self._lingering:
            self.transport.abort()
        elif self._in_head or self._quiet:
            self._refuse(_TOO_SLOW)
        else:
            self.transport.close()
            self.deadline = now + self.limits.body_seconds

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

    # Bytes in.

    def data_received(self, data: bytes) -> None:
        """Parse what arrived."""
        size = len(data)
        if self._lingering:
            self._discard(size)
            return
        if self._direct:
            data = self._take_direct(data)
            if not data:
                return
            size = len(data)
        self._chunk = size
        self._quiet += size
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._refuse(_refusal_of(error))
        except httptools.HttpParserUpgrade as upgrade:
            self._pass_over_upgrade(data, upgrade.args[0])
        if self._quiet or self._in_head:
            self._stay_patient()

    def _take_direct(self, data: bytes) -> bytes:
        """Hand bytes of a large body over without the parser, which would copy them, and return what is behind it."""
        left = self._direct
        body, rest = (data, b"") if len(data) <= left else (data[:left], data[left:])
        self.on_body(body)
        if not self._direct:
            self.parser = httptools.HttpRequestParser(self)
            self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
            self.on_message_complete()
        return rest

    def _stay_patient(self) -> None:
        """Bound what a peer sends without ending a head, a chunk or a trailer, and how long a head takes."""
        if self._lingering or self.lost:
            return
        if self._quiet > self.limits.header_bytes:
            self._refuse(_TOO_LARGE if self._in_head else _MALFORMED)
        elif self._running is None and not self._head_timed:
            self._head_timed = True
            self.deadline = self.loop.time() + self.limits.header_seconds

    def _refuse(self, refusal: Refusal) -> None:
        exchange = self._running
        if exchange is not None and (exchange.response_started or not exchange.more_body):
            # The answer under way must end first, or is beyond help: the client sent garbage behind its request.
            self._refuse_later(exchange)
            return
        if exchange is not None:
            exchange.lose()
        self.transport.write(plain_response(refusal, self.standing_lines()))
        self._linger()

    def _refuse_later(self, exchange: Exchange) -> None:
        if exchange.more_body:
            self.cut()
            return
        exchange.keep_alive = False
        self._queue.clear()
        self.flow.pause_reading()

    def _pass_over_upgrade(self, data: bytes, offset: int) -> None:
        """Go on in HTTP/1.1 after a request that offered another protocol (RFC 9110, 7.8)."""
        rest = memoryview(data)[offset:]
        while len(rest) and not self._lingering:
            if self._upgrade_body:
                self._upgrade_body = False
                self.parser = _body_parser(self, self.cycle)
            try:
                self.parser.feed_data(rest)
            except httptools.HttpParserError as error:
                self._refuse(_refusal_of(error))
            except httptools.HttpParserUpgrade as upgrade:
                rest = rest[upgrade.args[0] :]
                continue
            return

    def _discard(self, size: int) -> None:
        self._discarded += size
        if self._discarded > LINGER_LIMIT:
            self.transport.abort()

    def _linger(self) -> None:
        """Stop writing, then throw away what the client still sends, so that it gets to read the answer."""
        self._lingering = True
        self.deadline = self.loop.time() + LINGER_SECONDS
        self._unsent = self.transport.get_write_buffer_size()
        self.flow.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()

    # What the parser finds.

    def on_message_begin(self) -> None:
        """Start a head."""
        self.url = b""
        self.headers = []
        self._in_head = True
        self._head_bound = 0 if self._quiet else self._chunk

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a field of the head, or of a trailer, which nobody reads."""
        self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Check a whole head, and start its exchange or queue it behind the one under way."""
        raw, self.headers = self.headers, []
        self._in_head = self._head_timed = False
        if self._head_bound + self._quiet > self.limits.header_bytes or len(raw) > FIELD_COUNT_LIMIT:
            self._check_size(raw)
        self._quiet = 0
        target, fields = self.url, fields_of(raw)
        version = self.parser.get_http_version()
        if (refusal := refuse(version, target, fields)) is not None:
            raise _Refused(refusal)
        scope = self._scope(version, target, raw, fields)
        length = int(fields.get("content-length", 0)) if "transfer-encoding" not in fields else None
        self.cycle = exchange = Exchange(self, scope["method"], length, self.response_completed)
        scope["lakeshare.reply"] = exchange.reply
        exchange.keep_alive = self.parser.should_keep_alive()
        if version != "1.1":
            exchange.http11 = exchange.keep_alive = False
        elif "expect" in fields:
            exchange.expects_continue = fields["expect"].lower() == "100-continue"
        if length != 0 and self.parser.should_upgrade():
            self._upgrade_body = True
        elif length is not None and length >= DIRECT_BYTES:
            self._direct = length
        if self._running is None:
            self._start(exchange, scope)
        else:
            self.flow.pause_reading()
            self._queue.append((exchange, scope))

    def _check_size(self, raw: RawFields) -> None:
        if len(raw) > FIELD_COUNT_LIMIT or size_bytes(self.url, raw) > self.limits.header_bytes:
            raise _Refused(_TOO_LARGE)

    def _scope(self, version: str, target: bytes, raw: RawFields, fields: dict[str, str]) -> Scope:
        method = self.parser.get_method().decode("ascii")
        raw_path, _, query = target.partition(b"?")
        if not target.startswith(b"/"):
            raw_path, query = _split_odd_target(method, target)
        path = raw_path.decode("latin-1")
        return {
            "type": "http",
            "asgi": _ASGI,
            "http_version": version,
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme,
            "method": method,
            "root_path": "",
            "path": unquote(path) if "%" in path else path,
            "raw_path": raw_path,
            "query_string": query,
            "headers": raw,
            "state": self.app_state,
            "extensions": _EXTENSIONS,
            "lakeshare.fields": fields,
        }

    def _start(self, exchange: Exchange, scope: Scope) -> None:
        self._running = exchange
        self.deadline = NEVER
        tasks = self.tasks
        exchange.task = task = self.loop.create_task(exchange.run(self.app, scope, tasks))
        tasks.add(task)

    def on_chunk_header(self) -> None:
        """Note that a chunked body moves on."""
        self._quiet = 0

    def on_body(self, body: bytes) -> None:
        """Hand a run of the body to its exchange."""
        self._quiet = 0
        if self._direct:
            self._direct -= len(body)
        exchange = self.cycle
        if exchange.response_complete:
            exchange.received += len(body)
        else:
            exchange.feed(body)

    def on_message_complete(self) -> None:
        """Note that the body is whole."""
        exchange = self.cycle
        self._quiet = 0
        if not exchange.more_body or self._upgrade_body:
            return
        exchange.finish()
        if self._running is None:
            self._idle()

    # After an answer.

    def standing_lines(self) -> bytes:
        """Return the lines that every response has."""
        lines: bytes = self.config.standing_lines  # type: ignore[attr-defined]
        return lines

    def response_completed(self, exchange: Exchange) -> None:
        """Go on with the next request, or close."""
        self.server_state.total_requests += 1
        self._running = None
        if self.gone:
            return
        if not exchange.keep_alive:
            self._close_after(exchange)
            return
        if self._queue:
            self._start(*self._queue.popleft())
            return
        if self.flow.read_paused:
            self.flow.resume_reading()
        if exchange.more_body:
            self.expect_progress()
        else:
            self._idle()

    def _close_after(self, exchange: Exchange) -> None:
        if exchange.more_body:
            self._linger()
            return
        self.transport.close()
        self._unsent = self.transport.get_write_buffer_size()
        self.expect_progress()

    def _idle(self) -> None:
        wait = self.limits.header_seconds if self._in_head else self.limits.keep_alive_seconds
        self.deadline = self.loop.time() + wait


def _settle(waiter: "asyncio.Future[None]") -> None:
    if not waiter.done():
        waiter.set_result(None)


def _refusal_of(error: httptools.HttpParserError) -> Refusal:
    cause = error.__context__
    return cause.refusal if isinstance(cause, _Refused) else _MALFORMED


def _split_odd_target(method: str, target: bytes) -> tuple[bytes, bytes]:
    """Split a target that is no path: `*`, or a whole URL, whose host the Host field repeats (RFC 9112, 3.2)."""
    if method == "CONNECT":
        raise _Refused(Refusal(405, "This server is no proxy."))
    if target == b"*":
        return target, b""
    try:
        url = httptools.parse_url(target)
    except httptools.HttpParserInvalidURLError:
        raise _Refused(_MALFORMED) from None
    return url.path or b"/", url.query or b""


class _Resumed:
    """Callbacks of a parser that is started in the middle of a request: those of its stand-in head are dropped."""

    def __init__(self, protocol: EdgeProtocol) -> None:
        self._protocol = protocol
        self.armed = False
        self.on_body = protocol.on_body
        self.on_chunk_header = protocol.on_chunk_header
        self.on_message_complete = protocol.on_message_complete

    def on_message_begin(self) -> None:
        if self.armed:
            self._protocol.on_message_begin()

    def on_url(self, url: bytes) -> None:
        if self.armed:
            self._protocol.on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.armed:
            self._protocol.on_header(name, value)

    def on_headers_complete(self) -> None:
        if self.armed:
            self._protocol.on_headers_complete()


def _body_parser(protocol: EdgeProtocol, exchange: Exchange) -> httptools.HttpRequestParser:
    """Return a parser that expects the body of an exchange next."""
    callbacks = _Resumed(protocol)
    parser = httptools.HttpRequestParser(callbacks)
    length = exchange.content_length
    framing = b"transfer-encoding: chunked" if length is None else b"content-length: %d" % length
    parser.feed_data(b"POST / HTTP/1.1\r\n" + framing + b"\r\n\r\n")
    callbacks.armed = True
    return parser
