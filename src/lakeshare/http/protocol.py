"""One connection: uvicorn's httptools protocol with limits, timeouts, strict heads and files by the kernel.

Leans on the inside of one pinned uvicorn; `tests/http/test_uvicorn_contract.py` names what it uses.
"""

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import httptools

from lakeshare.http.exchange import EXTENSION, Exchange
from lakeshare.http.head import FIELD_COUNT_LIMIT, RawFields, Refusal, fields_of, plain_response, refuse, size_bytes
from lakeshare.http.limits import DIRECT_BYTES, LINGER_LIMIT, LINGER_SECONDS
from lakeshare.http.parsing import MALFORMED, Refused, body_parser, new_parser, refusal_of, split_odd_target
from lakeshare.http.patience import NEVER, PatientProtocol
from lakeshare.http.receive import POUR_BYTES, SOCKETS_SHARED
from lakeshare.http.request import Scope
from lakeshare.http.starting import start

if TYPE_CHECKING:
    from uvicorn import Config
    from uvicorn.server import ServerState

_EXTENSIONS: dict[str, dict[str, Any]] = {EXTENSION: {}}
_ASGI = {"version": "3.0", "spec_version": "2.4"}
_TOO_LARGE = Refusal(431, "The request head is too large.")
_TOO_SLOW = Refusal(408, "The request head took too long.")


class EdgeProtocol(PatientProtocol):
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
        self._running: Exchange | None = None
        self._queue: deque[tuple[Exchange, Scope]] = deque()
        self._due: tuple[Exchange, Scope] | None = None
        self._in_head = False
        self._head_timed = False
        self._upgrade_body = False
        self._lingering = False
        self._direct = 0
        self._quiet = 0
        self._chunk = 0
        self._head_bound = 0
        self._discarded = 0

    # The connection.

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell everyone who waits that the connection is gone."""
        super().connection_lost(exc)
        for exchange in (self._running, self.cycle, *(queued for queued, _ in self._queue)):
            if exchange is not None:
                exchange.lose()
        self._queue.clear()

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
            self._refuse(refusal_of(error))
        except httptools.HttpParserUpgrade as upgrade:
            self._pass_over_upgrade(data, upgrade.args[0])
        if self._quiet or self._in_head:
            self._stay_patient()
        if self._due is not None:
            self._begin(*self._due)

    def _take_direct(self, data: bytes) -> bytes:
        """Hand bytes of a large body over without the parser, which would copy them, and return what is behind it."""
        left = self._direct
        body, rest = (data, b"") if len(data) <= left else (data[:left], data[left:])
        self.on_body(body)
        if not self._direct:
            self.parser = new_parser(self)
            self.on_message_complete()
        return rest

    @property
    def untaken(self) -> int:
        """Return how many bytes of a large body are still to come, none of which the parser need see."""
        return self._direct

    def body_taken(self, size: int) -> None:
        """Note that bytes of a large body were taken from the socket past the loop."""
        if not size or self.lost:
            return
        self._direct -= size
        self.cycle.received += size
        if not self._direct:
            self.parser = new_parser(self)
            self.on_message_complete()

    def _stay_patient(self) -> None:
        """Bound what a peer sends without ending a head, a chunk or a trailer, and how long a head takes."""
        if self._lingering or self.lost:
            return
        if self._quiet > self.limits.header_bytes:
            self._refuse(_TOO_LARGE if self._in_head else MALFORMED)
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
                self.parser = body_parser(self, self.cycle.content_length)
            try:
                self.parser.feed_data(rest)
            except httptools.HttpParserError as error:
                self._refuse(refusal_of(error))
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
            raise Refused(refusal)
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
            if length >= POUR_BYTES and SOCKETS_SHARED and self.plain_fd >= 0:
                scope["lakeshare.pour"] = exchange.pour
        if self._running is None:
            self._run(exchange)
            self._due = exchange, scope  # Begun once the parser is through with what came.
        else:
            self.flow.pause_reading()
            self._queue.append((exchange, scope))

    def _check_size(self, raw: RawFields) -> None:
        if len(raw) > FIELD_COUNT_LIMIT or size_bytes(self.url, raw) > self.limits.header_bytes:
            raise Refused(_TOO_LARGE)

    def _scope(self, version: str, target: bytes, raw: RawFields, fields: dict[str, str]) -> Scope:
        method = self.parser.get_method().decode("ascii")
        raw_path, _, query = target.partition(b"?")
        if not target.startswith(b"/"):
            raw_path, query = split_odd_target(method, target)
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

    def _run(self, exchange: Exchange) -> None:
        """Let an exchange be the one under way."""
        self._running = exchange
        self.deadline = NEVER

    def _begin(self, exchange: Exchange, scope: Scope) -> None:
        """Answer at once, in a task only if something must be waited for."""
        self._due = None
        self._encourage(exchange)
        task = start(self.loop, exchange.run(self.app, scope, self.tasks))
        if task is not None:
            exchange.task = task
            self.tasks.add(task)

    def _begin_later(self, exchange: Exchange, scope: Scope) -> None:
        """Answer in the loop's next turn: the answer before this one is still on its way out of the call stack."""
        self._run(exchange)
        self._encourage(exchange)
        exchange.task = task = self.loop.create_task(exchange.run(self.app, scope, self.tasks))
        self.tasks.add(task)

    @staticmethod
    def _encourage(exchange: Exchange) -> None:
        if exchange.expects_continue and exchange.content_length == 0:
            exchange.encourage()

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
            self._begin_later(*self._queue.popleft())
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
