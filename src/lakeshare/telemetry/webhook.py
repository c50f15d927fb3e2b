"""Audit events to a webhook: batches of lines of JSON, posted by a thread, so that no request waits for a receiver.

A receiver that is away is tried again until it is back; meanwhile events wait in a bounded queue. What finds the queue
full, and what the receiver refuses for good, is dropped, counted and said in the log: the files of the audit log have
it still. The log names the receiver's host alone, since a URL may hold a secret.
"""

import contextlib
import logging
import threading
import time
from collections import deque
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import SplitResult, urlsplit

import orjson

from lakeshare.settings import BadSetting, Secret
from lakeshare.telemetry.audit import COMPLAINT_SECONDS, AuditEvent

QUEUE_LIMIT = 20_000
"""Most events that wait for the receiver."""

BATCH = 500
"""Most events in one post."""

GATHER_SECONDS = 0.2
TIMEOUT_SECONDS = 10.0
FIRST_PAUSE = 0.5
LAST_PAUSE = 30.0
CLOSE_SECONDS = 5.0
"""How long the events that wait are still sent when the worker stops."""

ANSWER_LIMIT_BYTES = 64 * 1024
_RETRIED = frozenset({408, 425, 429})
_SERVER_FAULT = 500
_OK = range(200, 300)
_LINE = orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z
_log = logging.getLogger("lakeshare.telemetry")


class Webhook:
    """Posts the events of one worker."""

    def __init__(self, url: str, token: Secret, queue_limit: int = QUEUE_LIMIT) -> None:
        """Start the thread. Raises BadSetting for a URL that nothing can be posted to."""
        self._post = _Post(url, token)
        self._queue: deque[AuditEvent] = deque()
        self._limit = queue_limit
        self._closing = threading.Event()
        self._close_by = float("inf")
        self._complained_at = -COMPLAINT_SECONDS
        self.sent = 0
        """Events that the receiver took."""
        self.dropped = 0
        """Events that it did not take in time, or refused."""
        self.failures = 0
        """Posts that failed."""
        self._thread = threading.Thread(target=self._run, name="lakeshare-webhook", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Return how many events are on their way."""
        return len(self._queue)

    def write(self, event: AuditEvent) -> None:
        """Take an event, or drop it when too many wait."""
        if len(self._queue) < self._limit:
            self._queue.append(event)
        else:
            self._drop(1, "the queue is full")

    def close(self) -> None:
        """Send what waits, for a bounded time, and end the thread."""
        self._close_by = time.monotonic() + CLOSE_SECONDS
        self._closing.set()
        self._thread.join(CLOSE_SECONDS + TIMEOUT_SECONDS)
        if self._queue:
            self._drop(len(self._queue), "the server stopped")
        self._post.close()

    def _run(self) -> None:
        while not self._closing.wait(GATHER_SECONDS):
            self._send_waiting()
        self._send_waiting()

    def _send_waiting(self) -> None:
        while self._queue and time.monotonic() < self._close_by:
            batch = [self._queue[place] for place in range(min(len(self._queue), BATCH))]
            if not self._send(batch):
                return
            for _ in batch:
                self._queue.popleft()

    def _send(self, batch: list[AuditEvent]) -> bool:
        """Post a batch until it is taken or refused for good; False if the worker stops first."""
        lines = b"".join([orjson.dumps(event, option=_LINE) for event in batch])
        pause = FIRST_PAUSE
        while time.monotonic() < self._close_by:
            status, reason = self._post(lines)
            if status in _OK:
                self.sent += len(batch)
                return True
            self.failures += 1
            if status and status < _SERVER_FAULT and status not in _RETRIED:
                self._drop(len(batch), f"the receiver answered {status}")
                return True
            self._complain(reason or f"the receiver answered {status}")
            self._closing.wait(min(pause, max(0.0, self._close_by - time.monotonic())))
            pause = min(pause * 2, LAST_PAUSE)
        return False

    def _drop(self, count: int, reason: str) -> None:
        self.dropped += count
        self._complain(reason)

    def _complain(self, reason: str) -> None:
        now = time.monotonic()
        if now - self._complained_at >= COMPLAINT_SECONDS:
            self._complained_at = now
            facts = {"host": self._post.host, "reason": reason, "waiting": len(self._queue), "dropped": self.dropped}
            _log.error("audit webhook fails", extra=facts)


class _Post:
    """A connection to the receiver, kept open as long as it lasts."""

    def __init__(self, url: str, token: Secret) -> None:
        parts = _checked(url)
        self.host = parts.hostname or ""
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._headers = {"Content-Type": "application/x-ndjson"}
        if token:
            self._headers["Authorization"] = f"Bearer {token.reveal()}"
        make = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._connection = make(self.host, parts.port, timeout=TIMEOUT_SECONDS)

    def __call__(self, lines: bytes) -> tuple[int, str]:
        """Return the status of the answer, or 0 and why there is none."""
        try:
            self._connection.request("POST", self._target, lines, self._headers)
            with self._connection.getresponse() as answer:
                answer.read(ANSWER_LIMIT_BYTES)
                whole = answer.isclosed()
                status = answer.status
        except (OSError, HTTPException) as error:
            self._connection.close()
            return 0, f"{type(error).__name__}: {error}"
        if not whole:
            self._connection.close()
        return status, ""

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(OSError):
            self._connection.close()


def _checked(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
        parts = SplitResult("", "", "", "", "")
    if not usable or not url.isascii() or not url.isprintable() or " " in url:
        raise BadSetting("audit_webhook", "***", "write a URL such as https://log.example.com/audit")
    return parts
