"""Files by the kernel: byte for byte, in order, to readers of every kind, and never short in silence."""

import hashlib
import os
import random
import socket
import ssl
import threading
import time
from pathlib import Path

import pytest

from lakeshare.http import sendfile
from lakeshare.http.request import Request
from lakeshare.http.response import FileSpan, Response, Spans
from lakeshare.http.sendfile import LOOP_BYTES, SMALL_BYTES, THREAD_TURN_BYTES, TURN_BYTES
from lakeshare.http.tls import Tls
from tests.http.edge import Edge, served

SIZE = THREAD_TURN_BYTES + 3 * TURN_BYTES + 12_345
EDGES = [
    1,
    SMALL_BYTES,
    SMALL_BYTES + 1,
    TURN_BYTES,
    TURN_BYTES + 1,
    LOOP_BYTES,
    LOOP_BYTES + 1,
    THREAD_TURN_BYTES + 1,
]


@pytest.fixture(scope="module")
def content() -> bytes:
    return random.Random(7).randbytes(SIZE)


@pytest.fixture(scope="module")
def file(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("files") / "blob"
    path.write_bytes(content)
    return path


@pytest.fixture(scope="module")
def context(certificate: tuple[Path, Path, Path]) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(certificate[2]))


def serving(file: Path):
    """Answer `/offset-length,…` with spans of the file, and `/offset-length,text` with bytes between them."""

    async def handler(request: Request) -> Response:
        parts: list[bytes | FileSpan] = []
        for item in request.raw_path[1:].split(","):
            offset, dash, length = item.partition("-")
            parts.append(FileSpan(str(file), int(offset), int(length)) if dash else item.encode())
        return Response(200, [], tuple(parts))

    return handler


def open_files() -> int:
    held = Path("/proc/self/fd")
    return len([*held.iterdir()]) if held.is_dir() else 0


def settled(edge: Edge, files: int) -> bool:
    """Wait until the server holds no connection and no more files than before."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        if edge.connections() == 0 and open_files() <= files:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("length", EDGES)
def test_every_way_sends_the_same_bytes(length: int, file: Path, content: bytes):
    """Whatever the size decides, the bytes are the file's, and the connection goes on."""
    with served(serving(file)) as edge, edge.connect() as client:
        for offset in (0, 4097, SIZE - length):
            assert client.ask(f"/{offset}-{length}").body == content[offset : offset + length]


@pytest.mark.parametrize("length", EDGES)
def test_the_copying_way_sends_the_same_bytes(length: int, file: Path, content: bytes, certificate, context):
    """Under TLS the bytes are copied, and the same."""
    tls = Tls(str(certificate[0]), str(certificate[1]))
    with served(serving(file), tls) as edge, edge.connect_tls(context) as client:
        for offset in (0, 4097, SIZE - length):
            assert client.ask(f"/{offset}-{length}").body == content[offset : offset + length]


def test_a_system_without_sendfile_copies(file: Path, content: bytes, monkeypatch: pytest.MonkeyPatch):
    """Where the kernel cannot copy to a socket, threads read."""
    monkeypatch.setattr(sendfile, "KERNEL_COPIES", False)
    with served(serving(file)) as edge:
        assert edge.get(f"/5-{3 * TURN_BYTES}").body == content[5 : 5 + 3 * TURN_BYTES]


@pytest.mark.parametrize("answer", [BlockingIOError(11, "not now"), OSError(95, "not supported")])
@pytest.mark.parametrize("length", [1, SMALL_BYTES, SMALL_BYTES + 1, TURN_BYTES])
def test_what_the_disk_must_fetch_is_sent_the_same(
    length: int, answer: OSError, file: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
):
    """Threads wait for the disk where the kernel says so, and a file system that cannot say so is believed quick."""

    def ask(*_: object) -> int:
        raise answer

    monkeypatch.setattr(os, "preadv", ask)
    with served(serving(file)) as edge, edge.connect() as client:
        for offset in (0, 4097):
            assert client.ask(f"/{offset}-{length},between,3-4").body == (
                content[offset : offset + length] + b"between" + content[3:7]
            )


def test_spans_and_bytes_keep_their_order(file: Path, content: bytes):
    """A body of many parts, small and large, of files and of memory, arrives in its order."""
    chance = random.Random(3)
    parts, wanted = [], []
    for number in range(60):
        if number % 3 == 0:
            parts.append(f"text{number}" * 50)
            wanted.append(parts[-1].encode())
            continue
        length = chance.choice([1, 100, SMALL_BYTES, SMALL_BYTES + 1, 300_000, TURN_BYTES + 5])
        offset = chance.randrange(SIZE - length)
        parts.append(f"{offset}-{length}")
        wanted.append(content[offset : offset + length])
    with served(serving(file), header_limit=64 * 1024) as edge, edge.connect() as client:
        for _ in range(2):
            assert client.ask("/" + ",".join(parts)).body == b"".join(wanted)


def test_pipelined_requests_are_answered_in_order(file: Path, content: bytes):
    """Requests sent together are answered one after the other, files between small answers."""
    asked = ["/0-10", f"/0-{2 * TURN_BYTES}", "/7-7", f"/9-{SMALL_BYTES + 1}", "/1-1"]
    with served(serving(file)) as edge, edge.connect() as client:
        client.send(b"".join(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode() for path in asked))
        for path in asked:
            offset, length = map(int, path[1:].split("-"))
            assert client.reply().body == content[offset : offset + length]


def test_empty_spans_and_no_spans_are_empty_bodies(file: Path):
    """A body of nothing has length 0, and the connection goes on."""
    bodies: list[Spans] = [(), (FileSpan(str(file), 3, 0),), (b"", FileSpan(str(file), 0, 0), b"")]

    async def handler(request: Request) -> Response:
        return Response(200, [], bodies[int(request.raw_path[1:])])

    with served(handler) as edge, edge.connect() as client:
        for number in (0, 1, 2, 0):
            assert client.ask(f"/{number}").fields["content-length"] == "0"


def test_head_sends_no_byte_of_a_file(file: Path):
    """HEAD has the length of the spans, and the next answer follows at once."""
    with served(serving(file)) as edge, edge.connect() as client:
        for length in EDGES:
            assert client.ask(f"/0-{length}", "HEAD").fields["content-length"] == str(length)


def test_a_slow_reader_gets_every_byte(file: Path, content: bytes):
    """A peer that stalls again and again is handed back and forth between threads and loop, and gets it all."""
    with served(serving(file)) as edge, edge.connect() as client:
        client.send(f"GET /0-{SIZE} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        client.until(b"\r\n\r\n")
        digest, left = hashlib.sha256(), SIZE
        while left:
            block = client.exactly(min(4 * TURN_BYTES, left))
            digest.update(block)
            left -= len(block)
            time.sleep(0.05)
        assert digest.digest() == hashlib.sha256(content).digest()
        assert client.ask("/0-5").body == content[:5]


def test_many_slow_readers_do_not_hold_up_a_quick_one(file: Path, content: bytes):
    """More stalled downloads than there are threads leave threads for the others."""
    with served(serving(file)) as edge:
        stalled = [edge.connect() for _ in range(3 * sendfile.THREADS)]
        for client in stalled:
            client.send(f"GET /0-{SIZE} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
            client.until(b"\r\n\r\n")
        assert edge.get(f"/0-{LOOP_BYTES + 1}").body == content[: LOOP_BYTES + 1]
        for client in stalled:
            client.sock.close()


def test_a_run_that_leaves_the_cache_midway_goes_on_in_a_thread(
    file: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
):
    """A run that the loop began, and whose next turn is not in the page cache, is finished by a thread."""
    answers, pushed = iter([True, True, False]), []
    real = sendfile._Run.push

    def push(run: sendfile._Run) -> bool:
        pushed.append(run.offset)
        return real(run)

    monkeypatch.setattr(sendfile._Run, "is_cached", lambda _run: next(answers))
    monkeypatch.setattr(sendfile._Run, "push", push)
    with served(serving(file)) as edge:
        assert edge.get(f"/0-{4 * TURN_BYTES}").body == content[: 4 * TURN_BYTES]
    assert pushed[0] == 2 * TURN_BYTES


@pytest.mark.parametrize("length", [TURN_BYTES, SIZE])
def test_a_reader_that_leaves_costs_nothing_afterwards(length: int, file: Path):
    """When the client closes midway, the file and the duplicate of the socket are closed too."""
    with served(serving(file)) as edge:
        edge.get("/0-100000")
        files = open_files()
        for _ in range(10):
            with edge.connect() as client:
                client.send(f"GET /0-{length} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
                client.exactly(50_000)
        assert settled(edge, files)


def test_a_reader_that_stalls_is_closed(file: Path):
    """A peer that takes no byte for the body timeout loses its connection."""
    with served(serving(file), body_timeout=1) as edge:
        files = open_files()
        with edge.connect() as client:
            client.send(f"GET /0-{SIZE} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
            client.until(b"\r\n\r\n")
            assert settled(edge, files + 1)
            with pytest.raises((EOFError, ConnectionResetError)):
                client.exactly(SIZE)


@pytest.mark.parametrize("length", [100, SMALL_BYTES + 1, 2 * TURN_BYTES])
def test_a_short_file_is_a_500_while_nothing_was_sent(length: int, tmp_path: Path, caplog):
    """A file that cannot hold the span is found out before the head leaves."""
    path = tmp_path / "short"
    path.write_bytes(b"x" * (length - 1))
    with served(serving(path)) as edge:
        assert edge.get(f"/0-{length}").status == 500
    assert "is shorter than the answer promised" in caplog.text


def test_a_missing_file_is_a_500(tmp_path: Path, caplog):
    """A file that is not there is found out before the head leaves."""
    with served(serving(tmp_path / "missing")) as edge:
        assert edge.get("/0-10").status == 500
        assert edge.get(f"/0-{TURN_BYTES * 2}").status == 500


@pytest.mark.parametrize("second", [100, SMALL_BYTES + 1, 2 * TURN_BYTES])
def test_a_later_span_that_fails_cuts_the_connection(second: int, file: Path, tmp_path: Path, caplog):
    """Once bytes have left, a failure ends the connection short of the promised length."""

    async def handler(_: Request) -> Response:
        return Response(200, [], (FileSpan(str(file), 0, 500_000), FileSpan(str(tmp_path / "missing"), 0, second)))

    with served(handler) as edge, edge.connect() as client, pytest.raises((EOFError, ConnectionResetError)):
        client.ask("/")


def test_a_file_cut_while_it_is_sent_cuts_the_connection(tmp_path: Path, caplog):
    """A file that loses bytes after the head has left never ends as if it were whole."""
    size = 64 * TURN_BYTES
    path = tmp_path / "shrinking"
    path.write_bytes(b"x" * size)
    with served(serving(path)) as edge, edge.connect() as client:
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        client.send(f"GET /0-{size} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        client.until(b"\r\n\r\n")
        os.truncate(path, 0)
        with pytest.raises((EOFError, ConnectionResetError)):
            client.exactly(size)


def test_downloads_leave_small_requests_alone(file: Path, content: bytes):
    """Small answers come while large files are on their way on other connections."""
    with served(serving(file)) as edge:
        digests: list[bytes] = []

        def download() -> None:
            with edge.connect() as client:
                digests.extend(hashlib.sha256(client.ask(f"/0-{SIZE}").body).digest() for _ in range(3))

        threads = [threading.Thread(target=download) for _ in range(3)]
        for thread in threads:
            thread.start()
        with edge.connect() as client:
            for _ in range(100):
                assert client.ask("/3-5").body == content[3:8]
        for thread in threads:
            thread.join()
        assert set(digests) == {hashlib.sha256(content).digest()}
        assert len(digests) == 9
