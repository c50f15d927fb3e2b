"""One connection: what it accepts, how long it waits, and how it ends."""

import asyncio
import select
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator

import pytest

from lakeshare.http.limits import BODY_HIGH_WATER, DRAIN_LIMIT
from lakeshare.http.request import ClientGone, Request
from lakeshare.http.response import Response
from tests.http.edge import Client, Edge, served

PUT = b"PUT /%b HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n%b\r\n"


async def count(request: Request) -> Response:
    """Answer with the size of the body; `/deny` answers without reading it."""
    if request.raw_path == "/deny":
        return Response(403, [], b"no")
    size = 0
    async for chunk in request.chunks():
        size += len(chunk)
    return Response(200, [], b"%d" % size)


@pytest.fixture(scope="module")
def counting() -> Iterator[Edge]:
    """A server that counts, with the settings that a server has."""
    with served(count) as edge:
        yield edge


# Bodies.


@pytest.mark.parametrize("size", [0, 1, 70_000, 3 * BODY_HIGH_WATER + 1, 20 * 1024 * 1024])
def test_a_body_arrives_whole(size: int, counting: Edge):
    """Every byte of a body reaches the handler, and the connection goes on."""
    with counting.connect() as client:
        for _ in range(2):
            client.send(PUT % (b"", size, b"") + b"x" * size)
            assert client.reply().body == b"%d" % size


def test_a_chunked_body_arrives_whole(counting: Edge):
    """Chunks, their extensions and a trailer are taken off; the connection goes on."""
    body = b"3;name=value\r\nabc\r\n" + b"10000\r\n" + b"x" * 65536 + b"\r\n0\r\nX-Trailer: 1\r\n\r\n"
    with counting.connect() as client:
        for _ in range(2):
            client.send(b"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
            assert client.reply().body == b"65539"


def test_a_body_in_single_bytes_arrives_whole(counting: Edge):
    """It does not matter how a request is cut into packets."""
    with counting.connect() as client:
        client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in PUT % (b"", 5, b"X-A: b\r\n") + b"hello":
            client.send(bytes((byte,)))
        assert client.reply().body == b"5"


def test_a_handler_that_does_not_read_stops_the_sender():
    """Bytes that nobody reads stay with the client: the server holds a bounded amount."""
    go = threading.Event()
    held: list[int] = []

    async def handler(request: Request) -> Response:
        await asyncio.to_thread(go.wait, 10)
        return await count(request)

    with served(handler) as edge, edge.connect() as client:
        size = 64 * 1024 * 1024
        client.send(PUT % (b"", size, b""))
        client.sock.settimeout(0.5)
        sent = 0
        block = memoryview(bytes(1 << 20))
        try:
            while sent < size:
                sent += client.sock.send(block)
        except TimeoutError:
            held.append(sent)
        assert held, "all was taken"
        go.set()
        client.sock.settimeout(20)
        while sent < size:
            sent += client.sock.send(block[: size - sent])
        assert client.reply().body == b"%d" % size


def test_a_client_that_waits_is_told_to_continue_when_its_body_is_read(counting: Edge):
    """100 Continue is sent when the handler asks for the body."""
    with counting.connect() as client:
        client.send(PUT % (b"", 5, b"Expect: 100-continue\r\n"))
        assert client.reply().status == 100
        client.send(b"hello")
        assert client.reply().body == b"5"
        assert client.ask("/").status == 200


def test_a_client_that_waits_with_an_empty_body_is_told_too(counting: Edge):
    """100 Continue is sent where there is no body to wait for: botocore takes the next answer for another otherwise."""
    with counting.connect() as client:
        client.send(PUT % (b"", 0, b"Expect: 100-continue\r\n"))
        assert client.reply().status == 100
        assert client.reply().body == b"0"
        assert client.ask("/").status == 200


def test_a_client_that_waits_is_refused_without_its_body(counting: Edge):
    """An answer without reading the body replaces 100 Continue, and the connection ends."""
    with counting.connect() as client:
        client.send(PUT % (b"deny", 1 << 30, b"Expect: 100-continue\r\n"))
        reply = client.reply()
        assert (reply.status, reply.fields["connection"]) == (403, "close")
        assert client.closed()


def test_a_client_that_does_not_wait_need_not_be_told():
    """No 100 Continue is sent to a client whose body is already there."""
    ready = threading.Event()

    async def handler(request: Request) -> Response:
        await asyncio.to_thread(ready.wait, 10)
        return await count(request)

    with served(handler) as edge, edge.connect() as client:
        client.send(PUT % (b"", 5, b"Expect: 100-continue\r\n") + b"hello")
        time.sleep(0.2)
        ready.set()
        assert client.reply().status == 200


def test_a_small_unread_body_is_thrown_away_and_the_connection_goes_on(counting: Edge):
    """A refused request with a short body does not cost a connection."""
    with counting.connect() as client:
        for _ in range(3):
            client.send(PUT % (b"deny", DRAIN_LIMIT, b""))
            reply = client.reply()
            assert (reply.status, "connection" in reply.fields) == (403, False)
            client.send(b"x" * DRAIN_LIMIT)
        assert client.ask("/").body == b"0"


def test_a_large_unread_body_ends_the_connection_after_the_answer(counting: Edge):
    """A client that goes on sending still gets to read why it was refused."""
    with counting.connect() as client:
        client.send(PUT % (b"deny", 6 << 20, b"") + bytes(3 << 20))
        client.send(bytes(3 << 20))
        reply = client.reply()
        assert (reply.status, reply.fields["connection"]) == (403, "close")
        assert client.closed()


def test_a_client_that_never_stops_sending_is_cut_off(counting: Edge):
    """What is thrown away for an answered client is bounded."""
    with counting.connect() as client:
        client.send(PUT % (b"deny", 1 << 40, b""))
        assert client.reply().status == 403
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            client.flood(bytes(1 << 20), 1000)


# Time.


def test_a_head_that_trickles_in_is_answered_408():
    """A head has one deadline, however often a byte comes."""
    with served(count, header_timeout=1) as edge, edge.connect() as client:
        client.send(b"GET / HTTP/1.1\r\nHost: a\r\n")
        for _ in range(200):
            if select.select([client.sock], [], [], 0.1)[0]:
                break
            client.send(b"X: y\r\n")
        assert client.reply().status == 408


@pytest.mark.parametrize("start", [b"G", b"GET / HTTP/1.1\r\nHost: a\r\nX-A", b"\r\n"])
def test_an_unfinished_head_is_answered_408_and_closed(start: bytes):
    """A client that stops within its head is told so."""
    with served(count, header_timeout=1) as edge, edge.connect() as client:
        client.send(start)
        assert client.reply().status == 408
        assert client.closed()


def test_a_later_head_has_a_deadline_too():
    """The second request of a connection may not trickle either."""
    with served(count, header_timeout=1) as edge, edge.connect() as client:
        assert client.ask("/").status == 200
        client.send(b"GET / HT")
        assert client.reply().status == 408
        assert client.closed()


def test_a_head_begun_behind_another_request_has_a_deadline_too():
    """Half a head sent together with a whole request is waited for no longer than any other."""
    with served(count, header_timeout=1) as edge, edge.connect() as client:
        client.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HT")
        assert client.reply().status == 200
        assert client.reply().status == 408


def test_a_connection_that_never_speaks_is_closed():
    """A client that connects and says nothing is let go without a word."""
    with served(count, header_timeout=1) as edge, edge.connect() as client:
        assert client.closed()


def test_an_idle_connection_is_closed_after_its_time():
    """Keep-alive lasts as long as the setting says, and ends without a word."""
    with served(count, keep_alive=1, header_timeout=20) as edge, edge.connect() as client:
        assert client.ask("/").status == 200
        time.sleep(0.4)
        assert client.ask("/").status == 200
        assert client.closed()


def test_a_sender_that_stalls_within_its_body_is_closed():
    """A body that stops arriving ends the request as if the client had left."""
    told: list[type[Exception]] = []

    async def handler(request: Request) -> Response:
        try:
            return await count(request)
        except ClientGone:
            told.append(ClientGone)
            raise

    with served(handler, body_timeout=1) as edge, edge.connect() as client:
        client.send(PUT % (b"", 100, b"") + b"half")
        assert client.closed()
    assert told == [ClientGone]


def test_a_sender_that_trickles_is_not_closed():
    """A slow body is no stalled one."""
    with served(count, body_timeout=1) as edge, edge.connect() as client:
        client.send(PUT % (b"", 6, b""))
        for _ in range(6):
            time.sleep(0.4)
            client.send(b"x")
        assert client.reply().body == b"6"


def test_a_slow_handler_is_not_closed():
    """The time that the server itself takes counts against nobody."""

    async def handler(request: Request) -> Response:
        await asyncio.sleep(2)
        return await count(request)

    with served(handler, body_timeout=1, header_timeout=1, keep_alive=1) as edge, edge.connect() as client:
        client.send(PUT % (b"", 5, b"") + b"hello")
        assert client.reply().body == b"5"


@pytest.mark.parametrize("half_closed", [False, True])
def test_a_reader_that_stalls_on_bytes_in_memory_is_closed(half_closed: bool):
    """An answer that nobody takes does not hold its connection for ever, not even one that is closing."""

    async def handler(_: Request) -> Response:
        return Response(200, [], bytes(32 << 20))

    with served(handler, body_timeout=1, keep_alive=1) as edge, edge.connect() as client:
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        client.until(b"\r\n\r\n")
        if half_closed:
            client.sock.shutdown(socket.SHUT_WR)
        end = time.monotonic() + 15
        while edge.connections() and time.monotonic() < end:
            time.sleep(0.1)
        assert edge.connections() == 0


def test_a_reader_that_is_merely_slow_gets_all():
    """An answer in memory is sent for as long as bytes move."""

    async def handler(_: Request) -> Response:
        return Response(200, [], bytes(16 << 20))

    with served(handler, body_timeout=1, keep_alive=1) as edge, edge.connect() as client:
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        client.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        client.until(b"\r\n\r\n")
        for _ in range(16):
            client.exactly(1 << 20)
            time.sleep(0.2)


# Size.


@pytest.mark.parametrize("field", [b"X: " + b"y" * 40_000, b"\r\n".join(b"X%d: y" % number for number in range(300))])
def test_a_large_head_is_answered_431(field: bytes, counting: Edge):
    """A head beyond its bound, in bytes or in fields, is refused cleanly."""
    with counting.connect() as client:
        client.send(b"GET / HTTP/1.1\r\nHost: a\r\n" + field + b"\r\n\r\n")
        assert client.reply().status == 431
        assert client.closed()


def test_a_head_that_never_ends_is_answered_431(counting: Edge):
    """The bound holds before the head is whole."""
    with counting.connect() as client:
        client.send(b"GET /" + b"a" * 50_000)
        assert client.reply().status == 431


def test_a_head_under_the_bound_is_served(counting: Edge):
    """The bound is not lower than it says."""
    with counting.connect() as client:
        assert client.ask("/", extra="X: " + "y" * 32_000 + "\r\n").status == 200
        assert client.ask("/" + "a" * 32_000).status == 200


def test_a_large_body_in_the_same_packet_is_no_large_head(counting: Edge):
    """Only the head counts against the bound of heads."""
    with counting.connect() as client:
        for _ in range(20):
            client.send(PUT % (b"", 200_000, b"") + bytes(200_000))
            assert client.reply().body == b"200000"


@pytest.mark.parametrize("start", [b"1;", b"0\r\nX: "])
def test_an_endless_chunk_extension_or_trailer_is_refused(start: bytes, counting: Edge):
    """What frames a chunked body is bounded as a head is."""
    with counting.connect() as client:
        client.send(b"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + start)
        client.flood(b"y" * 10_000, 100)  # Beyond the bound and what one read of the socket may bring with the head.
        assert client.reply().status == 400
        assert client.closed()


# Shape.

MALFORMED = [
    b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 3, 3\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\n Transfer-Encoding: chunked\r\n\r\n",
    b"GET / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\nHost: a\n\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nbad name: x\r\n\r\n",
    b"GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n",
    b"NONSENSE / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"complete nonsense\r\n\r\n",
]


@pytest.mark.parametrize("request_bytes", MALFORMED)
def test_malformed_and_ambiguous_requests_are_answered_400(request_bytes: bytes, counting: Edge):
    """What could be smuggled, or is no HTTP, is refused cleanly and ends the connection."""
    before = counting.server.server_state.total_requests
    with counting.connect() as client:
        client.send(request_bytes)
        reply = client.reply()
        assert (reply.status, reply.fields["connection"]) == (400, "close")
        assert client.closed()
    assert counting.server.server_state.total_requests == before


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
        (b"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n", 501),
        (b"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
        (b"CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", 405),
    ],
)
def test_what_is_not_served_is_refused_by_name(request_bytes: bytes, status: int, counting: Edge):
    """Transfer codings, versions and methods that are not served have their own statuses."""
    with counting.connect() as client:
        client.send(request_bytes)
        assert client.reply().status == status
        assert client.closed()


def test_garbage_behind_a_request_waits_for_its_answer():
    """A request that was whole is answered, then the connection ends."""

    async def handler(_: Request) -> Response:
        await asyncio.sleep(0.2)
        return Response(200, [], b"hello")

    with served(handler) as edge, edge.connect() as client:
        client.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n\0\0\0 garbage\r\n\r\n")
        assert client.reply().body == b"hello"
        assert client.closed()


def test_a_bad_chunk_is_answered_400():
    """A body that breaks its framing ends the request, and the client hears why."""
    told = threading.Event()

    async def handler(request: Request) -> Response:
        try:
            return await count(request)
        except ClientGone:
            told.set()
            raise

    with served(handler) as edge, edge.connect() as client:
        client.send(b"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
        time.sleep(0.1)
        client.send(b"zz\r\n")
        assert client.reply().status == 400
        assert client.closed()
    assert told.is_set()


def test_pipelined_requests_are_answered_in_order():
    """Any number of requests in one packet are answered one after the other."""

    async def handler(request: Request) -> Response:
        return Response(200, [], request.raw_path.encode())

    with served(handler) as edge, edge.connect() as client:
        client.send(b"".join(b"GET /%d HTTP/1.1\r\nHost: a\r\n\r\n" % number for number in range(500)))
        for number in range(500):
            assert client.reply().body == b"/%d" % number


def test_connection_close_is_honoured(counting: Edge):
    """A client that says close gets its answer and the end of the connection."""
    with counting.connect() as client:
        assert client.ask("/", extra="Connection: close\r\n").fields["connection"] == "close"
        assert client.closed()


UPGRADES = ["Connection: Upgrade\r\nUpgrade: TLS/1.2\r\n", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"]


@pytest.mark.parametrize("offer", UPGRADES)
@pytest.mark.parametrize("cut", [0, 40, 10_000])
def test_an_offered_upgrade_is_passed_over(offer: str, cut: int, counting: Edge):
    """Java's clients offer other protocols: the request is answered in HTTP/1.1, its body included."""
    sized = PUT % (b"", 100_000, offer.encode()) + bytes(100_000)
    chunked = f"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n{offer}\r\n".encode()
    chunked += b"5\r\nhello\r\n0\r\n\r\n"
    plain = f"GET / HTTP/1.1\r\nHost: a\r\n{offer}\r\n".encode()
    with counting.connect() as client:
        for data, body in ((plain, b"0"), (sized, b"100000"), (chunked, b"5"), (plain, b"0"), (sized, b"100000")):
            client.send(data[:cut])
            time.sleep(0.02)
            client.send(data[cut:])
            assert client.reply().body == body
        client.send(plain * 50 + sized + chunked)
        answers = [client.reply().body for _ in range(52)]
        assert answers == [b"0"] * 50 + [b"100000", b"5"]


def test_a_reader_who_pipelines_and_never_reads_is_bounded():
    """Answers that nobody takes stop the reading of further requests."""
    answered = 0

    async def handler(_: Request) -> Response:
        nonlocal answered
        answered += 1
        return Response(200, [], bytes(65536))

    with served(handler, body_timeout=20) as edge, edge.connect() as client:
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sock.settimeout(1)
        with pytest.raises(TimeoutError):
            client.flood(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" * 100, 200_000)
        assert answered < 2000


def test_a_stream_that_never_waits_leaves_the_loop_to_others():
    """Neither a quick reader nor a source that is always ready keeps other requests from being answered."""
    leave = threading.Event()

    async def endless() -> AsyncIterator[bytes]:
        while not leave.is_set():
            yield bytes(65536)

    async def handler(request: Request) -> Response:
        return Response(200, [], endless()) if request.raw_path == "/endless" else Response(200, [], b"hello")

    def read(client: Client) -> None:
        while client.sock.recv(1 << 20):
            pass

    with served(handler) as edge, edge.connect() as endlessly:
        endlessly.send(b"GET /endless HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        reader = threading.Thread(target=read, args=(endlessly,))
        reader.start()
        for _ in range(20):
            assert edge.get("/").body == b"hello"
        leave.set()
        reader.join(10)
        assert not reader.is_alive()


def test_many_connections_are_served():
    """Hundreds of connections at once are each answered."""
    clients: list[Client] = []
    with served(count) as edge:
        clients += [edge.connect() for _ in range(300)]
        for client in clients:
            client.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert {client.reply().status for client in clients} == {200}
        for client in clients:
            client.sock.close()
