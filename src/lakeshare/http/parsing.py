"""Around the parser: refusals out of its callbacks, targets that are no paths, and bodies behind offered upgrades."""

from typing import Protocol

import httptools

from lakeshare.http.head import Refusal

MALFORMED = Refusal(400, "The request is not valid HTTP.")


class Refused(Exception):
    """Carries a refusal out of a callback of the parser."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.reason)
        self.refusal = refusal


class Callbacks(Protocol):
    """What a parser calls."""

    def on_message_begin(self) -> None:
        """Start a head."""

    def on_url(self, url: bytes) -> None:
        """Take a run of the target."""

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a field."""

    def on_headers_complete(self) -> None:
        """Take note that the head is whole."""

    def on_chunk_header(self) -> None:
        """Take note that a chunk begins."""

    def on_body(self, body: bytes) -> None:
        """Take a run of the body."""

    def on_message_complete(self) -> None:
        """Take note that the body is whole."""


def new_parser(callbacks: Callbacks) -> httptools.HttpRequestParser:
    """Return a parser that expects a head next, as uvicorn makes one."""
    parser = httptools.HttpRequestParser(callbacks)
    parser.set_dangerous_leniencies(lenient_data_after_close=True)
    return parser


def refusal_of(error: httptools.HttpParserError) -> Refusal:
    """Say what a parser's error is answered with."""
    cause = error.__context__
    return cause.refusal if isinstance(cause, Refused) else MALFORMED


def split_odd_target(method: str, target: bytes) -> tuple[bytes, bytes]:
    """Split a target that is no path: `*`, or a whole URL, whose host the Host field repeats (RFC 9112, 3.2)."""
    if method == "CONNECT":
        raise Refused(Refusal(405, "This server is no proxy."))
    if target == b"*":
        return target, b""
    try:
        url = httptools.parse_url(target)
    except httptools.HttpParserInvalidURLError:
        raise Refused(MALFORMED) from None
    return url.path or b"/", url.query or b""


class _Resumed:
    """Callbacks of a parser that is started in the middle of a request: those of its stand-in head are dropped."""

    def __init__(self, protocol: Callbacks) -> None:
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


def body_parser(protocol: Callbacks, length: int | None) -> httptools.HttpRequestParser:
    """Return a parser that expects a body next, of a length or in chunks."""
    callbacks = _Resumed(protocol)
    parser = new_parser(callbacks)
    framing = b"transfer-encoding: chunked" if length is None else b"content-length: %d" % length
    parser.feed_data(b"POST / HTTP/1.1\r\n" + framing + b"\r\n\r\n")
    callbacks.armed = True
    return parser
