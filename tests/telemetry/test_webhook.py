"""The audit webhook: batches, retries, a bounded queue, and nothing dropped in silence."""

import json
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from lakeshare.settings import BadSetting, Secret
from lakeshare.telemetry import webhook
from lakeshare.telemetry.audit import AuditEvent
from lakeshare.telemetry.webhook import BATCH, Webhook
from tests.admin.client import Client
from tests.live import free_port, running
from tests.patience import until


def event(number: int) -> AuditEvent:
    return AuditEvent(
        time=datetime(2026, 11, 16, tzinfo=UTC),
        request_id=str(number),
        peer="127.0.0.1",
        access_key="annie",
        action="GetObject",
        resources=(),
        decision="allow",
        status=200,
    )


class Receiver(ThreadingHTTPServer):
    """Takes posts, answering as it is told: each status once, then 200."""

    def __init__(self, port: int = 0, statuses: tuple[int, ...] = ()) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.statuses = list(statuses)
        self.posts: list[list[dict[str, Any]]] = []
        self.headers: list[dict[str, str]] = []

    @property
    def ids(self) -> list[str]:
        return [line["request_id"] for post in self.posts for line in post]


class Handler(BaseHTTPRequestHandler):
    server: Receiver
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status = self.server.statuses.pop(0) if self.server.statuses else 200
        if status == 200:
            self.server.posts.append([json.loads(line) for line in body.splitlines()])
            self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_args: object) -> None:
        return


@contextmanager
def receiving(port: int = 0, statuses: tuple[int, ...] = ()) -> Iterator[Receiver]:
    receiver = Receiver(port, statuses)
    thread = threading.Thread(target=receiver.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield receiver
    finally:
        receiver.shutdown()
        receiver.server_close()
        thread.join()


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries and closings take no longer than a test should."""
    monkeypatch.setattr(webhook, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(webhook, "LAST_PAUSE", 0.1)
    monkeypatch.setattr(webhook, "GATHER_SECONDS", 0.05)
    monkeypatch.setattr(webhook, "CLOSE_SECONDS", 1.0)


def url(receiver: Receiver) -> str:
    return f"http://127.0.0.1:{receiver.server_address[1]}/audit?tenant=7"


def test_events_arrive_in_batches():
    """Every event arrives once, in order, in posts of bounded size that carry the token."""
    with receiving() as receiver:
        hook = Webhook(url(receiver), Secret("the-token"))
        for number in range(BATCH * 2 + 1):
            hook.write(event(number))
        hook.close()
        assert receiver.ids == [str(number) for number in range(BATCH * 2 + 1)]
        assert max(len(post) for post in receiver.posts) <= BATCH
        assert receiver.headers[0]["authorization"] == "Bearer the-token"
        assert receiver.headers[0]["content-type"] == "application/x-ndjson"
        assert (hook.sent, hook.dropped, hook.failures, hook.waiting) == (BATCH * 2 + 1, 0, 0, 0)


@pytest.mark.parametrize("status", [500, 503, 429, 408])
def test_a_receiver_in_trouble_is_tried_again(status: int):
    """After answers that may pass, the same events are posted until they are taken."""
    with receiving(statuses=(status, status)) as receiver:
        hook = Webhook(url(receiver), Secret(""))
        hook.write(event(1))
        until(lambda: hook.sent == 1)
        hook.close()
        assert (receiver.ids, hook.failures, hook.dropped) == (["1"], 2, 0)
        assert "authorization" not in receiver.headers[0]


def test_a_receiver_that_is_away_is_waited_for():
    """Events wait while nobody listens, and arrive once somebody does."""
    port = free_port()
    hook = Webhook(f"http://127.0.0.1:{port}/", Secret(""))
    for number in range(3):
        hook.write(event(number))
    until(lambda: hook.failures >= 2)
    with receiving(port) as receiver:
        until(lambda: hook.sent == 3)
        hook.close()
        assert (receiver.ids, hook.dropped) == (["0", "1", "2"], 0)


def test_what_is_refused_for_good_is_dropped_aloud(caplog: pytest.LogCaptureFixture):
    """A batch that the receiver will never take is counted and said, and the next one goes through."""
    with receiving(statuses=(400,)) as receiver, caplog.at_level(logging.ERROR, "lakeshare.telemetry"):
        hook = Webhook(url(receiver), Secret(""))
        hook.write(event(1))
        until(lambda: hook.dropped == 1)
        hook.write(event(2))
        until(lambda: hook.sent == 1)
        hook.close()
        assert receiver.ids == ["2"]
    (record,) = caplog.records
    assert (record.getMessage(), vars(record)["reason"]) == ("audit webhook fails", "the receiver answered 400")
    assert "tenant" not in str(vars(record))


def test_a_full_queue_drops_the_newest_aloud(caplog: pytest.LogCaptureFixture):
    """Beyond its bound the queue takes nothing; what did not fit is counted, and at the end what still waits."""
    with caplog.at_level(logging.ERROR, "lakeshare.telemetry"):
        hook = Webhook(f"http://127.0.0.1:{free_port()}/", Secret(""), queue_limit=10)
        for number in range(25):
            hook.write(event(number))
        assert (hook.waiting, hook.dropped) == (10, 15)
        hook.close()
    assert (hook.sent, hook.dropped) == (0, 25)
    assert caplog.records


@pytest.mark.parametrize(
    "bad", ["ftp://host/", "https:///s3cret", "http://host:port/", "host/path", "http://a b/", "http://h:0/"]
)
def test_a_url_that_cannot_be_posted_to_is_refused(bad: str):
    """A webhook that could never work stops the server at its start, and the URL is not shown."""
    with pytest.raises(BadSetting, match="audit_webhook") as refused:
        Webhook(bad, Secret(""))
    assert bad not in refused.value.message


def test_a_server_posts_its_events(tmp_path: Path):
    """With a receiver set, every request of every worker is posted, and counted in the metrics."""
    with receiving() as receiver:
        options = {"LAKESHARE_AUDIT_WEBHOOK": url(receiver), "LAKESHARE_AUDIT_WEBHOOK_TOKEN": "the-token"}
        with running(tmp_path / "data", environment=options) as server:
            root = Client.root(server)
            answers = [root.call("GET", "/account") for _ in range(8)]
            wanted = {answer.headers["x-request-id"] for answer in answers}
            until(lambda: wanted <= set(receiver.ids))
            time.sleep(1.1)  # a worker looks at these numbers once a second
            for _ in range(8):
                root.call("GET", "/account")
            text = root.raw("GET", "/metrics").body.decode()
            assert "lakeshare_audit_webhook_dropped_total 0" in text
            (sent,) = [line for line in text.splitlines() if line.startswith("lakeshare_audit_webhook_sent_total ")]
            assert float(sent.split()[1]) >= 8
        everything = [line for post in receiver.posts for line in post]
        assert root.secret_key not in json.dumps(everything)
        assert {each["authorization"] for each in receiver.headers} == {"Bearer the-token"}
