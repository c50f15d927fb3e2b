"""Asking a server: requests are signed, sent, repeated where that is safe, and answered with values or errors."""

import http.client
import json
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import unquote

from lakeshare.cli.aliases import Alias
from lakeshare.cli.errors import NEXT_STEPS, ClientError, Interrupted, Refused, Unreachable
from lakeshare.cli.remote import xml
from lakeshare.cli.remote.body import EMPTY, Body, sha256_hex
from lakeshare.cli.remote.connection import Connections
from lakeshare.cli.remote.trust import Trust
from lakeshare.identity.sigv4.canonical import encode
from lakeshare.identity.sigv4.keys import Credentials
from lakeshare.identity.sigv4.sign import Signer

ATTEMPTS = 4
"""How often a request is sent before its failure is told."""
PAUSE_SECONDS = 0.25
"""How long to wait before the second attempt; each further wait is twice as long."""
ANSWER_LIMIT_BYTES = 64 * 1024**2
"""Longest answer that is read into memory: a page of a listing is far below."""
ANSWER_SECONDS = 120
"""How long a server may be silent in the middle of a request."""
CLEANUP_SECONDS = 5
"""The same for a request that cleans up: somebody has pressed Ctrl-C and waits."""
TRY_AGAIN = frozenset({429, 500, 502, 503, 504})

Pairs = tuple[tuple[str, str], ...]
Moved = Callable[[int], None]


def unwatched(count: int) -> None:
    """Watch no bytes move."""
    del count


@dataclass(frozen=True, slots=True)
class Call:
    """A request. `path` is percent-encoded; `named` is what an error calls its target."""

    method: str
    path: str
    query: Pairs = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Body = EMPTY
    repeatable: bool = True
    named: str = ""

    @property
    def target(self) -> str:
        """The path with its query."""
        query = "&".join(f"{encode(name)}={encode(value)}" for name, value in self.query)
        return f"{self.path}?{query}" if query else self.path


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server said, read whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Server:
    """One server, asked with one key."""

    def __init__(self, alias: Alias, trust: Trust, environ: Mapping[str, str]) -> None:
        self.alias = alias
        self.connections = Connections(alias.url, trust, environ)
        self.stopped = threading.Event()
        token = alias.session_token or None
        credentials = Credentials(alias.access_key, alias.secret, token)
        self.signer = Signer(credentials, alias.region) if alias.access_key else None

    def stop(self) -> None:
        """End what is under way; later calls are refused unless they clean up."""
        self.stopped.set()
        self.connections.cut()

    def ask(self, call: Call, moved: Moved = unwatched, *, cleans_up: bool = False) -> Answer:
        """Send a request and read its answer whole."""
        with self.open(call, moved, cleans_up=cleans_up) as response:
            try:
                body = response.read(ANSWER_LIMIT_BYTES)
            except (OSError, http.client.HTTPException) as reason:
                raise self.connections.explain(reason) from None
            return Answer(response.status, _headers(response), body)

    @contextmanager
    def open(
        self, call: Call, moved: Moved = unwatched, *, cleans_up: bool = False
    ) -> Iterator[http.client.HTTPResponse]:
        """Send a request and yield its answer to be read; an answer that is an error is raised."""
        connection, response = self._answered(call, moved, cleans_up=cleans_up)
        try:
            yield response
        except BaseException:
            self.connections.drop(connection)
            raise
        if response.isclosed() and not response.will_close:
            self.connections.give_back(connection)
        else:
            self.connections.drop(connection)

    def _answered(
        self, call: Call, moved: Moved, *, cleans_up: bool
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """Return a good answer, after as many attempts as that may take."""
        error: ClientError = Unreachable("no attempt was made")
        for attempt in range(ATTEMPTS if call.repeatable and not cleans_up else 1):
            if attempt:
                self._pause(attempt)
            if self.stopped.is_set() and not cleans_up:
                raise Interrupted
            sent = _Counter(moved)
            try:
                fresh = attempt > 0 or cleans_up or not call.repeatable
                connection, response = self._send(call, sent, fresh=fresh, cleans_up=cleans_up)
            except Unreachable as reason:
                error = reason
            else:
                if response.status < 300:
                    return connection, response
                error = self._refusal(call, connection, response)
                if response.status not in TRY_AGAIN:
                    raise error
            sent.take_back()
        raise Interrupted if self.stopped.is_set() and not cleans_up else error

    def _pause(self, attempt: int) -> None:
        self.stopped.wait(PAUSE_SECONDS * 2 ** (attempt - 1) * random.uniform(0.5, 1.5))  # noqa: S311 - spreads load

    def _send(
        self, call: Call, moved: Moved, *, fresh: bool, cleans_up: bool
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        headers = self.signed_headers(call)
        connection, reused = self.connections.take(CLEANUP_SECONDS if cleans_up else ANSWER_SECONDS, fresh=fresh)
        if self.stopped.is_set() and not cleans_up:  # It was opened after the others were cut.
            self.connections.drop(connection)
            raise Interrupted
        try:
            return connection, self._exchange(connection, call, headers, moved)
        except (OSError, http.client.HTTPException) as reason:
            self.connections.drop(connection)
            if reused and isinstance(reason, http.client.RemoteDisconnected | ConnectionError):
                return self._send(
                    call, moved, fresh=True, cleans_up=cleans_up
                )  # The server closed it while it was idle.
            raise self.connections.explain(reason) from None
        except BaseException:
            self.connections.drop(connection)
            raise

    def _exchange(
        self, connection: http.client.HTTPConnection, call: Call, headers: Mapping[str, str], moved: Moved
    ) -> http.client.HTTPResponse:
        connection.putrequest(
            call.method, self.connections.prefix + call.target, skip_host=True, skip_accept_encoding=True
        )
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        try:
            for chunk in call.body.chunks():
                connection.send(chunk)
                moved(len(chunk))
        except (BrokenPipeError, ConnectionResetError):
            pass  # The server may have refused the request before its body: then its answer is there to be read.
        return connection.getresponse()

    def signed_headers(self, call: Call) -> Mapping[str, str]:
        """Return the headers to send."""
        headers = {name.lower(): _latin(value) for name, value in call.headers.items()}
        headers |= {"user-agent": "lakeshare", "accept-encoding": "identity"}
        if call.body.size or call.method in ("PUT", "POST", "PATCH"):
            headers["content-length"] = str(call.body.size)
        url = self.alias.url + call.target
        if self.signer is None:
            return headers | {"host": url.split("/")[2]}
        return self.signer.headers(call.method, url, time.time(), headers, sha256_hex(call.body))

    def _refusal(
        self, call: Call, connection: http.client.HTTPConnection, response: http.client.HTTPResponse
    ) -> ClientError:
        try:
            body = response.read(ANSWER_LIMIT_BYTES)
        except (OSError, http.client.HTTPException):
            body = b""
        self.connections.drop(connection)
        return refusal_of(call, response.status, body, self.alias.name)


class _Counter:
    """Counts what moved in one attempt, so that a failed one can be taken back."""

    def __init__(self, moved: Moved) -> None:
        self._moved = moved
        self._count = 0

    def __call__(self, count: int) -> None:
        self._count += count
        self._moved(count)

    def take_back(self) -> None:
        if self._count:
            self._moved(-self._count)


_BY_STATUS = {
    301: ("PermanentRedirect", "the server sends requests elsewhere"),
    302: ("Found", "the server sends requests elsewhere"),
    307: ("TemporaryRedirect", "the server sends requests elsewhere"),
    400: ("BadRequest", "the server refused the request"),
    403: ("AccessDenied", "access is denied"),
    404: ("NoSuchKey", "it does not exist"),
    405: ("MethodNotAllowed", "the server does not allow that"),
    412: ("PreconditionFailed", "it changed meanwhile"),
    416: ("InvalidRange", "it is shorter than what was asked for"),
}
"""What an answer without a body means, as a HEAD has none."""


def refusal_of(call: Call, status: int, body: bytes, alias: str) -> ClientError:
    """Read an error: S3's XML, the JSON of the admin API, of sharing or of the Iceberg catalog, or a status alone."""
    named = call.named or f"{alias}{unquote(call.path)}"
    stripped = body.lstrip()
    if stripped.startswith(b"{"):
        try:
            said = json.loads(body)
            if "errorCode" in said:
                return Refused(status, said["errorCode"], said["message"], "")
            error = said["error"]
            code = error["type"] if isinstance(error["code"], int) else error["code"]
            step = NEXT_STEPS.get(code, "").replace("ALIAS", alias)
            return Refused(status, code, error["message"], "", step)
        except (ValueError, KeyError, TypeError):
            pass
    if stripped.startswith(b"<"):
        try:
            node = xml.parse(body, "Error")
            return Refused(status, node.text_of("Code"), node.text_of("Message"), named)
        except ValueError:
            return Unreachable(
                f"{alias} answered {status} and a page instead of S3's XML",
                "Check that the alias's URL is that of the server, not of a console or a proxy.",
            )
    code, message = _BY_STATUS.get(status, (str(status), f"the server answered {status}"))
    return Refused(status, code, message, named)


def _headers(response: http.client.HTTPResponse) -> Mapping[str, str]:
    return {name.lower(): value for name, value in response.getheaders()}


def _latin(value: str) -> str:
    """Return a header's value as its UTF-8 bytes look in Latin-1, which is how headers travel."""
    return value if value.isascii() else value.encode("utf-8", "surrogateescape").decode("latin-1")
