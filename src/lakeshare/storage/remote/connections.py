"""Signed GET and HEAD requests to another store, over connections that are kept. It blocks: call it on a thread.

Nothing is followed: an answer that points elsewhere is an answer. What may pass is tried again.
"""

import http.client
import ssl
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from lakeshare.storage.remote.errors import RemoteFailed

CONNECT_SECONDS = 5.0
READ_SECONDS = 30.0
"""Longest silence of the other store."""
ATTEMPTS = 3
PAUSE_SECONDS = 0.2
MAX_IDLE = 16
MAX_ERROR_BYTES = 64 * 1024
_PASSING = frozenset({429, 500, 502, 503, 504})

Sign = Callable[[str, str, float], Mapping[str, str]]
"""Returns the headers of a signed request: method, URL, time."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer whose body is still to be read."""

    status: int
    headers: Mapping[str, str]
    body: http.client.HTTPResponse

    @property
    def size(self) -> int:
        """Return how long the body is. Raises RemoteFailed."""
        text = self.headers.get("content-length", "")
        if not text.isdigit():
            raise RemoteFailed("it does not say how long an object is")
        return int(text)

    def read(self, limit_bytes: int) -> bytes:
        """Return the whole body. Raises RemoteFailed when it is longer than it may be, or cut short."""
        data = b"".join(self.chunks(limit_bytes))
        if self.headers.get("content-length", "").isdigit() and len(data) != self.size:
            raise RemoteFailed("its answer was cut short")
        return data

    def chunks(self, limit_bytes: int) -> Iterator[bytes]:
        """Yield the body. Raises RemoteFailed."""
        left = limit_bytes
        try:
            while chunk := self.body.read(1024 * 1024):
                left -= len(chunk)
                if left < 0:
                    raise RemoteFailed(f"its answer is longer than {limit_bytes} bytes")
                yield chunk
        except (OSError, http.client.HTTPException) as reason:
            raise RemoteFailed(f"its answer broke off ({type(reason).__name__})") from None


class Connections:
    """Connections to one origin."""

    def __init__(self, origin: str, sign: Sign, clock: Callable[[], float] = time.time) -> None:
        parts = urlsplit(origin)
        self._origin = origin
        self._sign = sign
        self._clock = clock
        self._host, self._port = parts.hostname or "", parts.port
        self._context = ssl.create_default_context() if parts.scheme == "https" else None
        self._idle: deque[http.client.HTTPConnection] = deque(maxlen=MAX_IDLE)

    @contextmanager
    def ask(self, method: str, target: str) -> Iterator[Reply]:
        """Send a request (`target` is path and query) and give its answer. Raises RemoteFailed.

        A body that was not read to its end costs the connection, and nothing else.
        """
        connection, reply = self._answered(method, target)
        try:
            yield reply
        finally:
            if reply.body.isclosed() and not reply.body.will_close:
                self._idle.append(connection)
            else:
                reply.body.close()
                connection.close()

    def close(self) -> None:
        """Close what is idle."""
        while self._idle:
            self._idle.popleft().close()

    def _answered(self, method: str, target: str) -> tuple[http.client.HTTPConnection, Reply]:
        failure = RemoteFailed("it does not answer")
        for attempt in range(ATTEMPTS):
            time.sleep(PAUSE_SECONDS * attempt)
            connection = self._connection()
            try:
                reply = self._sent(connection, method, target)
            except (OSError, http.client.HTTPException) as reason:
                connection.close()
                failure = RemoteFailed(f"it cannot be reached ({_said(reason)})")
                continue
            if reply.status not in _PASSING or attempt == ATTEMPTS - 1:
                return connection, reply
            connection.close()
        raise failure

    def _sent(self, connection: http.client.HTTPConnection, method: str, target: str) -> Reply:
        headers = self._sign(method, self._origin + target, self._clock())
        fresh = connection.sock is None
        if fresh:
            connection.connect()
            connection.sock.settimeout(READ_SECONDS)
        connection.request(method, target, headers={**headers, "accept-encoding": "identity"})
        answer = connection.getresponse()
        found = {name.lower(): value for name, value in answer.getheaders()}
        if method == "HEAD":
            answer.read()
        return Reply(answer.status, found, answer)

    def _connection(self) -> http.client.HTTPConnection:
        with suppress(IndexError):
            return self._idle.pop()
        return (
            http.client.HTTPConnection(self._host, self._port, timeout=CONNECT_SECONDS)
            if self._context is None
            else http.client.HTTPSConnection(self._host, self._port, timeout=CONNECT_SECONDS, context=self._context)
        )


def _said(reason: Exception) -> str:
    """Say what kind of failure it was, and no address."""
    if isinstance(reason, ssl.SSLError):
        return f"TLS: {getattr(reason, 'verify_message', '') or reason.reason or 'the handshake failed'}"
    return "no answer in time" if isinstance(reason, TimeoutError) else type(reason).__name__
