"""The outermost middleware: an ASGI scope becomes a Request, a Response becomes ASGI messages.

The one place that catches every exception: it logs it under the request's id and answers a bare 500.
"""

import itertools
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable

from lakeshare.http.connection import PeerGone
from lakeshare.http.exchange import EXTENSION, Cut
from lakeshare.http.forwarded import Proxies
from lakeshare.http.head import BODILESS, fields_of
from lakeshare.http.request import ClientGone, Message, Receive, Request, Scope, Send
from lakeshare.http.response import Body, FileSpan, Response, Spans
from lakeshare.http.sendfile import COPY_BYTES, SMALL_BYTES, read_block, read_cached
from lakeshare.settings import Settings

Handler = Callable[[Request], Awaitable[Response]]

_ID_BITS = 64
_ID_MASK = (1 << _ID_BITS) - 1
_ID_STRIDE = 0x9E3779B97F4A7C15
"""An odd number: multiplying by it modulo 2**64 gives each count another id."""

_log = logging.getLogger("lakeshare.http")


class Edge:
    """An ASGI application around a handler of requests."""

    def __init__(self, handler: Handler, settings: Settings) -> None:
        self._handler = handler
        self._proxies = Proxies(settings.trusted_proxies) if settings.trusted_proxies else None
        self._counter = itertools.count(secrets.randbits(_ID_BITS))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = self._request(scope, receive)
        try:
            await transmit(await self._handler(request), scope, send)
        except (ClientGone, PeerGone):
            return
        except Cut:
            raise
        except Exception as error:  # noqa: BLE001 - the outermost middleware
            _log.exception("request failed", extra={"request_id": request.id, "method": request.method})
            await _apologise(request, send, error)

    def _request(self, scope: Scope, receive: Receive) -> Request:
        fields = scope.get("lakeshare.fields")
        if fields is None:
            fields = fields_of(scope["headers"])
        client, scheme = scope["client"], scope["scheme"]
        peer = client[0] if client else ""
        if self._proxies is not None:
            peer, scheme = self._proxies.origin(peer, scheme, fields)
        return Request(
            f"{next(self._counter) * _ID_STRIDE & _ID_MASK:016X}",
            scope["method"],
            scope["raw_path"].decode("latin-1"),
            scope["query_string"].decode("latin-1"),
            fields,
            scheme,
            peer,
            receive,
            scope.get("lakeshare.pour"),
        )


async def transmit(response: Response, scope: Scope, send: Send) -> None:
    """Send a response, and tell how that went; a body that fails midway leaves the answer visibly unfinished."""
    body = _gathered(response.body, scope["method"])
    sent, whole = 0, False
    try:
        if isinstance(body, bytes) and _replied(response, body, scope):
            sent = len(body)
        elif response.after is None:
            await _send_parts(response, body, scope, send)
        else:
            sending = _Counted(send)
            try:
                await _send_parts(response, body, scope, sending)
            finally:
                sent = sending.sent
        whole = True
    finally:
        if response.after is not None:
            response.after(0 if scope["method"] == "HEAD" else sent, whole)


class _Counted:
    """A way to send that counts the bytes of bodies."""

    __slots__ = ("_send", "sent")

    def __init__(self, send: Send) -> None:
        self._send = send
        self.sent = 0

    async def __call__(self, message: Message) -> None:
        await self._send(message)
        self.sent += message.get("count", 0) or len(message.get("body", b""))


def _replied(response: Response, body: bytes, scope: Scope) -> bool:
    """Write a whole answer at once, and say whether that was possible."""
    reply = scope.get("lakeshare.reply")
    return reply is not None and reply(response.status, response.headers, body, _told_length(response))


async def _send_parts(response: Response, body: Body, scope: Scope, send: Send) -> None:
    told = _told_length(response)
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in response.headers]
    if told is None and isinstance(body, bytes | tuple) and response.status not in BODILESS:
        raw.append((b"content-length", b"%d" % _length(body)))
    await send({"type": "http.response.start", "status": response.status, "headers": raw})
    if isinstance(body, bytes):
        await send({"type": "http.response.body", "body": body})
    elif isinstance(body, tuple):
        await _send_spans(body, scope, send)
    else:
        await _send_stream(body, send, wanted=scope["method"] != "HEAD" and response.status not in BODILESS)


def _gathered(body: Body, method: str) -> Body:
    """Return spans that are small together, and need no disk, as bytes."""
    if not isinstance(body, tuple) or method == "HEAD":
        return body
    if len(body) == 1 and isinstance(body[0], bytes):
        return body[0]
    if _length(body) > SMALL_BYTES:
        return body
    found = [part if isinstance(part, bytes) else read_cached(part.path, part.offset, part.length) for part in body]
    blocks = [block for block in found if block is not None]
    return b"".join(blocks) if len(blocks) == len(body) else body


def _told_length(response: Response) -> int | None:
    told = dict(response.headers).get("content-length")
    return None if told is None else int(told)


def _length(body: bytes | Spans) -> int:
    if isinstance(body, bytes):
        return len(body)
    return sum(len(part) if isinstance(part, bytes) else part.length for part in body)


async def _send_spans(spans: Spans, scope: Scope, send: Send) -> None:
    parts = [part for part in spans if (len(part) if isinstance(part, bytes) else part.length)]
    by_kernel = EXTENSION in scope.get("extensions", {})
    if not parts or scope["method"] == "HEAD":
        await send({"type": "http.response.body"})
        return
    last = len(parts) - 1
    for position, part in enumerate(parts):
        more = position < last
        if isinstance(part, bytes):
            await send({"type": "http.response.body", "body": part, "more_body": more})
        elif by_kernel:
            await send(_file_message(part, more=more))
        else:
            await _send_copied(part, send, more=more)


def _file_message(span: FileSpan, *, more: bool) -> Message:
    return {
        "type": "http.response.file",
        "path": span.path,
        "offset": span.offset,
        "count": span.length,
        "more_body": more,
    }


async def _send_copied(span: FileSpan, send: Send, *, more: bool) -> None:
    done = 0
    while done < span.length:
        size = min(COPY_BYTES, span.length - done)
        block = await read_block(span.path, span.offset + done, size)
        done += size
        await send({"type": "http.response.body", "body": block, "more_body": more or done < span.length})


async def _send_stream(stream: AsyncIterator[bytes], send: Send, *, wanted: bool) -> None:
    try:
        if wanted:
            async for chunk in stream:
                if chunk:
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
    finally:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()
    await send({"type": "http.response.body"})


async def _apologise(request: Request, send: Send, error: Exception) -> None:
    headers = [(b"content-type", b"text/plain"), (b"content-length", b"0"), (b"x-request-id", request.id.encode())]
    try:
        await send({"type": "http.response.start", "status": 500, "headers": headers})
        await send({"type": "http.response.body"})
    except (PeerGone, RuntimeError):
        raise Cut from error
