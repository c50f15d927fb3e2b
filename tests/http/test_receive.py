"""Large bodies by threads: byte for byte, from senders of every kind, with nothing taken that is behind them."""

import asyncio
import contextlib
import hashlib
import random
import socket
import ssl
import threading
import time
from pathlib import Path

import pytest

from lakeshare.http import protocol, receive
from lakeshare.http.receive import BLOCK_BYTES, POUR_BYTES, THREADS, TURN_BYTES
from lakeshare.http.request import Block, ClientGone, Request
from lakeshare.http.response import Response
from lakeshare.http.tls import Tls
from tests.http.edge import Client, Edge, served

SIZE = TURN_BYTES + BLOCK_BYTES + 12_345
GET = b"GET /next HTTP/1.1\r\nHost: a\r\n\r\n"


@pytest.fixture(scope="module")
def content() -> bytes:
    return random.Random(11).randbytes(SIZE)


class Intake:
    """A handler that takes bodies in, and remembers how each ended."""

    def __init__(self, pause: float = 0.0) -> None:
        self.pause = pause
        self.poured = 0
        self.ended: list[str] = []
        self.sizes: list[int] = []
        self.threads: set[str] = set()

    async def __call__(self, request: Request) -> Response:
        digest = hashlib.sha256()

        def sink(blocks: list[Block]) -> None:
            self.threads.add(threading.current_thread().name)
            self.sizes += map(len, blocks)
            if request.raw_path == "/refused":
                raise ValueError("no more of this")
            time.sleep(self.pause)
            for block in blocks:
                digest.update(block)

        try:
            if request.pour_into is None:
                async for chunk in request.chunks():
                    digest.update(chunk)
            else:
                self.poured += 1
                await request.pour(sink)
        except ValueError:
            return Response(422, [], b"refused")
        except (ClientGone, asyncio.CancelledError) as end:
            self.ended.append(type(end).__name__)
            raise
        return Response(200, [], digest.hexdigest().encode())


def head_of(size: int, path: str = "/", extra: str = "") -> bytes:
    return f"PUT {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n{extra}\r\n".encode()


def digest_of(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


def until(true: object, seconds: float = 10.0) -> bool:
    """Wait until something is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.01)
    return False


def send_in_threads(edge: Edge, bodies: list[bytes]) -> list[bytes]:
    """Send bodies side by side, and return the answers."""
    answers = [b""] * len(bodies)

    def one(place: int) -> None:
        with edge.connect() as client:
            client.send(head_of(len(bodies[place])) + bodies[place])
            answers[place] = client.reply().body

    threads = [threading.Thread(target=one, args=(place,)) for place in range(len(bodies))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


@pytest.mark.parametrize("size", [POUR_BYTES - 1, POUR_BYTES, BLOCK_BYTES, 2 * BLOCK_BYTES + 1, SIZE])
@pytest.mark.parametrize("with_head", [0, 1, 70_000, POUR_BYTES])
def test_a_body_arrives_whole(size: int, with_head: int, content: bytes):
    """Whatever of the body comes with the head, all of it arrives in order, and the connection goes on."""
    intake, body = Intake(), content[:size]
    with served(intake) as edge, edge.connect() as client:
        for _ in range(2):
            client.send(head_of(size) + body[:with_head])
            time.sleep(0.02)
            client.send(body[with_head:])
            assert client.reply().body == digest_of(body)
        assert client.ask("/").status == 200
    assert intake.poured == (2 if size >= POUR_BYTES else 0)
    assert all(name.startswith("lakeshare-receive") for name in intake.threads)


def test_blocks_end_at_multiples_of_their_size(content: bytes, monkeypatch: pytest.MonkeyPatch):
    """Where a quick sender's bytes are handed on depends on their place in the body alone."""
    monkeypatch.setattr(receive, "STALL_MS", 20_000)
    intake = Intake()
    with served(intake) as edge, edge.connect() as client:
        client.send(head_of(SIZE) + content)
        assert client.reply().status == 200
    at, edges = 0, 0
    for size in intake.sizes:
        at += size
        edges += at % BLOCK_BYTES == 0
    assert at == SIZE
    assert edges == SIZE // BLOCK_BYTES


def test_requests_behind_a_body_are_left_to_the_parser(content: bytes):
    """Bytes sent together with the body's end are the next requests, another large body among them."""
    with served(Intake()) as edge, edge.connect() as client:
        sender = threading.Thread(target=client.send, args=((head_of(SIZE) + content) * 3 + GET,))
        sender.start()
        for _ in range(3):
            assert client.reply().body == digest_of(content)
        assert client.reply().body == digest_of(b"")
        sender.join()


def test_a_client_that_waits_is_told_to_continue(content: bytes):
    """The thread begins once the client was told to send."""
    with served(Intake()) as edge, edge.connect() as client:
        client.send(head_of(SIZE, extra="Expect: 100-continue\r\n"))
        assert client.reply().status == 100
        client.send(content)
        assert client.reply().body == digest_of(content)


def test_a_slow_sender_is_served_by_the_loop(content: bytes):
    """Bytes that trickle are gathered without a thread, and none is lost where the two take turns."""
    intake, size = Intake(), POUR_BYTES + 50_000
    with served(intake, body_timeout=5) as edge, edge.connect() as client:
        client.send(head_of(size) + content[:1000])
        at = 1000
        for step in [1, 30_000, 7, 140_000, 1, 1, 60_000, size]:
            time.sleep(0.06)
            client.send(content[at : min(size, at + step)])
            at += step
        assert client.reply().body == digest_of(content[:size])
        assert client.ask("/").status == 200


@pytest.mark.parametrize("seconds", [0.0, 0.2])
@pytest.mark.parametrize("hard", [False, True])
def test_a_body_that_ends_early_is_not_whole(seconds: float, hard: bool, content: bytes):
    """A client that leaves, politely or not, in haste or after a while, ends its body for the handler too."""
    intake = Intake()
    with served(intake) as edge:
        with edge.connect() as client:
            client.send(head_of(SIZE) + content[:-1])
            time.sleep(seconds)
            if hard:
                client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        assert until(lambda: intake.ended == ["ClientGone"])
        assert until(lambda: edge.connections() == 0)


def test_a_half_closed_body_is_not_whole(content: bytes):
    """A client that says it sends no more is not waited for."""
    intake = Intake()
    with served(intake) as edge, edge.connect() as client:
        client.send(head_of(SIZE) + content[:-1])
        client.sock.shutdown(socket.SHUT_WR)
        assert client.closed()
        assert until(lambda: intake.ended == ["ClientGone"])


def test_a_sender_that_stalls_is_closed(content: bytes):
    """A body that stops coming ends with its time, however much of it a thread took."""
    intake = Intake()
    with served(intake, body_timeout=1) as edge, edge.connect() as client:
        client.send(head_of(SIZE) + content[: BLOCK_BYTES + 5])
        assert client.closed()
        assert until(lambda: intake.ended == ["ClientGone"])


@pytest.mark.parametrize("left", [0, 1000, 4 * BLOCK_BYTES])
def test_a_sink_that_refuses_ends_the_body(left: int, content: bytes):
    """The refusal is answered; the connection stays where little was unread, and else ends after the answer."""
    size = BLOCK_BYTES + left
    with served(Intake()) as edge, edge.connect() as client:
        client.send(head_of(size, "/refused") + content[:BLOCK_BYTES])
        assert client.reply().status == 422
        client.send(content[BLOCK_BYTES:size])
        if left <= 1000:
            client.send(GET)
            assert client.reply().status == 200
        else:
            assert client.closed()


def test_more_senders_than_threads_are_all_served(content: bytes):
    """Turns are shared: many large bodies at once arrive whole, and slow ones among them hold nobody up."""
    intake = Intake()
    with served(intake) as edge:
        slow = [edge.connect() for _ in range(2 * THREADS)]
        for client in slow:
            client.send(head_of(POUR_BYTES) + content[:5])
        bodies = [content[place : place + SIZE - 100] for place in range(THREADS + 4)]
        assert send_in_threads(edge, bodies) == [digest_of(body) for body in bodies]
        for client in slow:
            client.send(content[5:POUR_BYTES])
            assert client.reply().body == digest_of(content[:POUR_BYTES])
            client.sock.close()


def test_a_stop_lets_a_body_arrive(content: bytes):
    """A server that is told to stop takes the body under way, answers, and closes."""
    intake = Intake(pause=0.02)
    with served(intake) as edge, edge.connect() as client:
        client.send(head_of(SIZE) + content[:BLOCK_BYTES])
        assert until(lambda: intake.sizes)
        edge.server.stop()
        client.send(content[BLOCK_BYTES:])
        assert client.reply().body == digest_of(content)
        assert client.closed()


def test_a_stop_that_takes_too_long_leaves_no_thread_behind(content: bytes):
    """When patience ends, the handler is cancelled, and no byte is handed on after that."""
    intake = Intake()
    with served(intake, shutdown_timeout=1) as edge, edge.connect() as client:
        client.send(head_of(SIZE) + content[: 2 * BLOCK_BYTES])
        assert until(lambda: intake.sizes)
        edge.server.stop()
        assert until(lambda: not edge.thread.is_alive())
        taken = len(intake.sizes)
        with_more(client, content)
        assert intake.ended
        assert len(intake.sizes) == taken


def with_more(client: Client, content: bytes) -> None:
    """Send what nobody reads any more."""
    with contextlib.suppress(OSError):
        client.send(content[2 * BLOCK_BYTES :])


def test_a_cancelled_body_waits_for_its_thread(content: bytes):
    """A handler that gives up is not told so before the sink has returned."""
    order: list[str] = []

    async def handler(request: Request) -> Response:
        loop, begun = asyncio.get_running_loop(), asyncio.Event()

        def sink(_: object) -> None:
            order.append("begun")
            loop.call_soon_threadsafe(begun.set)
            time.sleep(0.3)
            order.append("done")

        pouring = asyncio.ensure_future(request.pour(sink))
        await begun.wait()
        pouring.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await pouring
        order.append("cancelled")
        return Response(200, [], b"late")

    with served(handler) as edge, edge.connect() as client:
        client.send(head_of(SIZE) + content[:BLOCK_BYTES])
        assert client.reply().body == b"late"
    assert order == ["begun", "done", "cancelled"]


def test_tls_has_no_way_past_the_loop(content: bytes, certificate: tuple[Path, Path, Path]):
    """Encrypted bodies come as chunks, and are the same."""
    intake = Intake()
    context = ssl.create_default_context(cafile=str(certificate[2]))
    with served(intake, Tls(str(certificate[0]), str(certificate[1]))) as edge, edge.connect_tls(context) as client:
        client.send(head_of(SIZE) + content)
        assert client.reply().body == digest_of(content)
    assert intake.poured == 0


def test_a_system_whose_sockets_cannot_be_shared_takes_chunks(content: bytes, monkeypatch: pytest.MonkeyPatch):
    """Where threads may not take from sockets, the loop reads all."""
    monkeypatch.setattr(protocol, "SOCKETS_SHARED", False)
    intake = Intake()
    with served(intake) as edge, edge.connect() as client:
        client.send(head_of(SIZE) + content)
        assert client.reply().body == digest_of(content)
    assert intake.poured == 0


def test_descriptors_are_given_back(content: bytes):
    """After many bodies no duplicate of a socket is left open."""
    folder = Path("/proc/self/fd")
    if not folder.is_dir():
        pytest.skip("this system does not list descriptors")
    with served(Intake()) as edge:
        send_in_threads(edge, [content])
        before = len([*folder.iterdir()])
        send_in_threads(edge, [content] * 4)
        assert until(lambda: edge.connections() == 0)
        assert until(lambda: len([*folder.iterdir()]) <= before)


def test_a_body_offered_with_an_upgrade_is_left_to_the_parser(content: bytes):
    """A body behind an offered upgrade, which the parser takes apart in its own way, arrives whole too."""
    intake = Intake()
    with served(intake) as edge, edge.connect() as client:
        client.send(head_of(SIZE, extra="Connection: Upgrade\r\nUpgrade: h2c\r\n") + content)
        assert client.reply().body == digest_of(content)
    assert intake.poured == 0
