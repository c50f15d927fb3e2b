"""Requests and responses at the edge, over a real socket."""

import asyncio
import logging
import re
import threading
from collections.abc import AsyncIterator

import pytest

from lakeshare.http.request import Request
from lakeshare.http.response import Response
from tests.http.edge import served


async def echo(request: Request) -> Response:
    facts = [request.id, request.method, request.raw_path, request.raw_query, request.scheme, request.peer]
    facts += [f"{name}={value}" for name, value in sorted(request.headers.items())]
    return Response(200, [("content-type", "text/plain")], "\n".join(facts).encode("latin-1"))


@pytest.mark.parametrize(
    "target",
    [
        "/a%20b//c/../d",
        "/%2F%2e%2E?x=%2F&y",
        "/b/k?prefix=a+b&list-type=2",
        "/?a=b?c",
        "//x",
        "/a;b=1,2:3@4!$'()*~|^`{}",
    ],
)
def test_path_and_query_arrive_as_they_were_sent(target: str):
    """Nothing is decoded or tidied: signatures are over the raw bytes."""
    with served(echo) as edge:
        lines = edge.get(target).body.decode().split("\n")
    path, _, query = target.partition("?")
    assert lines[1:4] == ["GET", path, query]


def test_a_whole_url_as_target_is_its_path():
    """The absolute form of a target is accepted (RFC 9112, 3.2.2)."""
    with served(echo) as edge:
        assert edge.get("http://test/a%20b?c=d").body.decode().split("\n")[1:4] == ["GET", "/a%20b", "c=d"]


def test_fields_are_lower_case_and_joined():
    """Names are lower-case, and repeated fields are one."""
    with served(echo) as edge, edge.connect() as client:
        lines = client.ask("/", extra="X-Amz-Meta-A: 1\r\nX-AMZ-meta-a: 2\r\n").body.decode().split("\n")
    assert lines[4:] == ["http", "127.0.0.1", "host=test", "x-amz-meta-a=1,2"]


def test_request_ids_are_unique_and_of_sixteen_hexadecimals():
    """Each request has an id of its own."""
    with served(echo) as edge, edge.connect() as client:
        ids = [client.ask("/").body.decode().split("\n")[0] for _ in range(500)]
    assert len(set(ids)) == 500
    assert all(re.fullmatch(r"[0-9A-F]{16}", each) for each in ids)


def test_every_answer_names_the_server_and_the_time():
    """Server, Date and Content-Length are on each answer."""
    with served(echo) as edge:
        fields = edge.get("/").fields
    assert fields["server"] == "Lakeshare"
    assert re.fullmatch(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT", fields["date"])
    assert fields["content-type"] == "text/plain"


def test_trusted_proxies_say_who_the_client_is():
    """X-Forwarded-For is believed from a trusted peer."""
    with served(echo, trusted_proxies=("127.0.0.0/8",)) as edge, edge.connect() as client:
        lines = (
            client.ask("/", extra="X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Proto: https\r\n").body.decode().split("\n")
        )
    assert lines[4:6] == ["https", "1.2.3.4"]


def test_strangers_do_not_say_who_the_client_is():
    """X-Forwarded-For is ignored where no proxy is trusted."""
    with served(echo) as edge, edge.connect() as client:
        lines = (
            client.ask("/", extra="X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Proto: https\r\n").body.decode().split("\n")
        )
    assert lines[4:6] == ["http", "127.0.0.1"]


@pytest.mark.parametrize("status", [204, 304])
def test_bodiless_answers_end_after_their_head(status: int):
    """204 and 304 have no body and no length, and the connection goes on."""

    async def handler(_: Request) -> Response:
        return Response(status, [("etag", '"x"')])

    with served(handler) as edge, edge.connect() as client:
        for _ in range(3):
            reply = client.ask("/")
            assert reply.status == status
            assert "content-length" not in reply.fields
            assert "transfer-encoding" not in reply.fields


def test_a_head_answer_keeps_its_length():
    """HEAD has the content-length of GET, and no body."""

    async def handler(_: Request) -> Response:
        return Response(200, [("content-length", "123456")], b"")

    with served(handler) as edge, edge.connect() as client:
        for _ in range(3):
            assert client.ask("/", "HEAD").fields["content-length"] == "123456"


async def _slowly(count: int) -> AsyncIterator[bytes]:
    for number in range(count):
        await asyncio.sleep(0)
        yield b"%d," % number * 1000


def test_a_stream_is_chunked_and_ends():
    """A stream of unknown length is sent in chunks, and the connection goes on."""

    async def handler(_: Request) -> Response:
        return Response(200, [], _slowly(200))

    with served(handler) as edge, edge.connect() as client:
        for _ in range(2):
            reply = client.ask("/")
            assert reply.fields["transfer-encoding"] == "chunked"
            assert reply.body == b"".join(b"%d," % number * 1000 for number in range(200))


def test_a_stream_of_known_length_is_not_chunked():
    """A stream under a content-length is sent as it is."""

    async def handler(_: Request) -> Response:
        return Response(200, [("content-length", "2000")], _slowly(1))

    with served(handler) as edge, edge.connect() as client:
        assert client.ask("/").body == b"0," * 1000
        assert client.ask("/").body == b"0," * 1000


def test_a_stream_is_not_read_for_head():
    """HEAD on a stream answers at once and closes the stream."""
    seen: list[str] = []

    async def stream() -> AsyncIterator[bytes]:
        seen.append("read")
        yield b"x"

    async def handler(_: Request) -> Response:
        return Response(200, [], stream())

    with served(handler) as edge, edge.connect() as client:
        assert client.ask("/", "HEAD").status == 200
        assert client.ask("/", "HEAD").status == 200
    assert seen == []


def test_a_stream_that_fails_does_not_look_whole(caplog: pytest.LogCaptureFixture):
    """The last chunk is never sent after a failure: the client sees the connection break."""

    async def stream() -> AsyncIterator[bytes]:
        yield b"begun"
        raise ValueError("the disk is on fire")

    async def handler(_: Request) -> Response:
        return Response(200, [], stream())

    with served(handler) as edge, edge.connect() as client, pytest.raises((EOFError, ConnectionResetError)):
        client.ask("/")
    assert "the disk is on fire" in caplog.text


def test_a_handler_that_fails_is_a_bare_500_in_the_log_under_its_id(caplog: pytest.LogCaptureFixture):
    """The client learns the request's id and nothing else; the log has both."""

    async def handler(_: Request) -> Response:
        raise ValueError("secret detail")

    with served(handler) as edge, edge.connect() as client:
        reply = client.ask("/")
        again = client.ask("/")
    assert (reply.status, reply.body, again.status) == (500, b"", 500)
    logged = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [record.__dict__["request_id"] for record in logged] == [
        reply.fields["x-request-id"],
        again.fields["x-request-id"],
    ]


@pytest.mark.parametrize("value", ["a\r\nset-cookie: b=c", "a\nb", "snow ☃"])
def test_a_field_that_cannot_be_sent_is_a_500(value: str, caplog: pytest.LogCaptureFixture):
    """A response field can neither add lines nor break the answer midway."""

    async def handler(_: Request) -> Response:
        return Response(200, [("x", value)], b"hello")

    with served(handler) as edge:
        reply = edge.get("/")
    assert (reply.status, reply.body) == (500, b"")
    assert "set-cookie" not in reply.fields


def test_a_client_that_leaves_is_no_error(caplog: pytest.LogCaptureFixture):
    """A body that ends early raises ClientGone in the handler, and nothing is logged."""
    told = threading.Event()

    async def handler(request: Request) -> Response:
        try:
            await request.body(1 << 20)
        finally:
            told.set()
        return Response(200)

    with served(handler) as edge:
        with edge.connect() as client:
            client.send(b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf")
        assert told.wait(10)
    assert caplog.records == []


def test_a_stream_stops_when_its_reader_leaves():
    """An endless stream is closed once the client is gone."""
    closed = threading.Event()

    async def stream() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"x" * 65536
        finally:
            closed.set()

    async def handler(_: Request) -> Response:
        return Response(200, [], stream())

    with served(handler) as edge:
        with edge.connect() as client:
            client.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            client.exactly(100_000)
        assert closed.wait(10)


def test_after_hears_what_was_sent():
    """`after` is told the bytes of the body and whether they were all of it."""
    heard: list[tuple[int, bool]] = []

    async def broken() -> AsyncIterator[bytes]:
        yield b"12345"
        raise ValueError

    async def handler(request: Request) -> Response:
        body = {"/bytes": b"abc", "/stream": _slowly(2), "/broken": broken()}[request.raw_path]
        return Response(200, [], body, after=lambda sent, whole: heard.append((sent, whole)))

    with served(handler) as edge:
        edge.get("/bytes")
        edge.get("/stream")
        with edge.connect() as client, pytest.raises((EOFError, ConnectionResetError)):
            client.ask("/broken")
        with edge.connect() as client:
            client.ask("/bytes", "HEAD")
    assert heard == [(3, True), (4000, True), (5, False), (0, True)]


def test_http_1_0_gets_an_answer_that_ends_with_the_connection():
    """A stream to an old client is not chunked."""

    async def handler(_: Request) -> Response:
        return Response(200, [], _slowly(2))

    with served(handler) as edge, edge.connect() as client:
        client.send(b"GET / HTTP/1.0\r\n\r\n")
        head, _, body = client.rest().partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head
    assert b"connection: close" in head
    assert body == b"0," * 1000 + b"1," * 1000
