"""How requests are cut into packets, and what noise is among them, changes no answer."""

import socket
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakeshare.http.limits import DIRECT_BYTES, DRAIN_LIMIT
from lakeshare.http.request import Request
from lakeshare.http.response import Response
from tests.http.edge import Edge, served

LARGE = 300_000


@dataclass(frozen=True)
class Sent:
    """A request, and the body of its answer."""

    data: bytes
    answer: bytes


@pytest.fixture(scope="module")
def edge() -> Iterator[Edge]:
    async def handler(request: Request) -> Response:
        if request.raw_path == "/unread":
            return Response(200, [], b"unread")
        body = await poured(request) if request.raw_path == "/poured" else await request.body(1 << 20)
        return Response(
            200, [], b"%b %d %d" % (request.method.encode(), len(body), sum(body[:1000]) + sum(body[-1000:]))
        )

    with served(handler) as edge:
        yield edge


async def poured(request: Request) -> bytes:
    """Take a body by threads where its connection can."""
    if request.pour_into is None:
        return await request.body(1 << 20)
    parts: list[bytes] = []
    await request.pour(lambda blocks: parts.extend(map(bytes, blocks)))
    return b"".join(parts)


def body_of(size: int) -> bytes:
    return (bytes(range(251)) * (size // 251 + 1))[:size]


def described(method: str, body: bytes) -> bytes:
    return b"%b %d %d" % (method.encode(), len(body), sum(body[:1000]) + sum(body[-1000:]))


sizes = st.one_of(st.integers(0, 2000), st.sampled_from([DIRECT_BYTES - 1, DIRECT_BYTES, DIRECT_BYTES + 1, LARGE]))
offers = st.sampled_from(["", "Connection: Upgrade\r\nUpgrade: h2c\r\n", "X-A: b\r\n"])


@st.composite
def gets(draw: st.DrawFn) -> Sent:
    return Sent(f"GET /a HTTP/1.1\r\nHost: a\r\n{draw(offers)}\r\n".encode(), described("GET", b""))


@st.composite
def puts(draw: st.DrawFn) -> Sent:
    body = body_of(draw(sizes))
    path = draw(st.sampled_from(["/a", "/poured"]))
    head = f"PUT {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n{draw(offers)}\r\n"
    return Sent(head.encode() + body, described("PUT", body))


@st.composite
def chunked(draw: st.DrawFn) -> Sent:
    parts = [body_of(size) for size in draw(st.lists(st.integers(1, 3000), max_size=6))]
    framed = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)
    head = f"PUT /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n{draw(offers)}\r\n"
    return Sent(head.encode() + framed + b"0\r\n\r\n", described("PUT", b"".join(parts)))


@st.composite
def unread(draw: st.DrawFn) -> Sent:
    size = draw(st.integers(0, DRAIN_LIMIT))
    return Sent(
        f"PUT /unread HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n".encode() + body_of(size), b"unread"
    )


requests = st.lists(st.one_of(gets(), puts(), chunked(), unread()), min_size=1, max_size=6)


@given(requests=requests, data=st.data())
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_cuts_change_no_answer(edge: Edge, requests: list[Sent], data: st.DataObject):
    """Requests of every kind, one after the other on a connection, cut anywhere, are each answered as alone."""
    wire = b"".join(sent.data for sent in requests)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(wire)), max_size=8)))
    with edge.connect() as client:
        client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for start, end in zip([0, *cuts], [*cuts, len(wire)], strict=True):
            client.send(wire[start:end])
        assert [client.reply().body for _ in requests] == [sent.answer for sent in requests]


@given(noise=st.binary(min_size=1, max_size=400), behind=st.booleans())
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_noise_is_refused_or_waited_for(edge: Edge, noise: bytes, behind: bool):
    """Whatever bytes come, the answer is a clean status or none, and the server goes on."""
    with edge.connect() as client:
        client.send((b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n" if behind else b"") + noise)
        client.sock.shutdown(socket.SHUT_WR)
        heard = client.rest()
    assert heard == b"" or heard.startswith(b"HTTP/1.1 ")
    assert edge.get("/a").status == 200


mutations = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), min_size=1, max_size=4)


@given(changes=mutations)
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_request_is_answered_cleanly(edge: Edge, changes: list[tuple[int, int]]):
    """A request with some bytes changed gets a whole answer or none, and never a broken server."""
    wire = bytearray(
        b"PUT /bucket/key?partNumber=1 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nX-Amz-Date: 20261116T000000Z\r\n"
        b"Authorization: AWS4-HMAC-SHA256 Credential=AKIA/x, Signature=00\r\n\r\nhello"
    )
    for position, value in changes:
        wire[position % len(wire)] = value
    with edge.connect() as client:
        client.send(bytes(wire))
        client.sock.shutdown(socket.SHUT_WR)
        heard = client.rest()
    if heard:
        assert heard.startswith(b"HTTP/1.1 ")
        assert not heard.startswith(b"HTTP/1.1 500")
    assert edge.get("/a").status == 200
