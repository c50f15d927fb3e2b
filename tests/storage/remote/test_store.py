"""Another store that misbehaves: the right bytes, or an error that says what it did."""

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from lakeshare.http.response import FileSpan
from lakeshare.storage.errors import NoSuchBucket, NoSuchKey
from lakeshare.storage.port import Listing
from lakeshare.storage.remote import connections
from lakeshare.storage.remote.connections import Connections
from lakeshare.storage.remote.errors import RemoteFailed
from lakeshare.storage.remote.kept import Kept
from lakeshare.storage.remote.store import IN_MEMORY_BYTES, Address, RemoteStore

Answer = tuple[int, dict[str, str], bytes]
LARGE = b"x" * (IN_MEMORY_BYTES + 1)


class Scripted:
    """A server that answers what a test tells it to, and remembers what it was asked."""

    def __init__(self) -> None:
        self.answers: Callable[[str, str], Answer] = lambda _method, _path: (200, {"ETag": '"e"'}, b"data")
        self.asked: list[str] = []
        script = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                script.asked.append(f"{self.command} {self.path}")
                status, headers, body = script.answers(self.command, self.path)
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(body)
                if headers.get("Content-Length"):
                    self.close_connection = True

            do_HEAD = do_GET  # noqa: N815 - the name that the standard library calls

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def other(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scripted]:
    """A store that does as it is told; nobody waits between attempts."""
    monkeypatch.setattr(connections, "PAUSE_SECONDS", 0)
    scripted = Scripted()
    thread = threading.Thread(target=scripted.server.serve_forever, args=(0.01,))
    thread.start()
    yield scripted
    scripted.server.shutdown()
    thread.join()
    scripted.server.server_close()


@pytest.fixture
async def store(other: Scripted, tmp_path: Path) -> AsyncIterator[RemoteStore]:
    """The store as we read it."""
    made = RemoteStore(Address(other.endpoint), lambda *_: {"x-signed": "yes"}, Kept(tmp_path / "kept"), "uid")
    yield made
    made.close()


async def test_what_passes_is_tried_again(other: Scripted, store: RemoteStore):
    """Two failures in a row are borne; three are said."""
    answers = iter([(503, {}, b""), (500, {}, b""), (200, {"ETag": '"e"'}, b"data")])
    other.answers = lambda _method, _path: next(answers)
    opened = await store.open("b", "k")
    assert opened.content.spans(0, 4) == (b"data",)
    other.answers = lambda _method, _path: (503, {}, b"<Error><Code>SlowDown</Code></Error>")
    with pytest.raises(RemoteFailed, match="it answers 503 SlowDown"):
        await store.open("b", "k")
    assert len(other.asked) == 6


async def test_a_body_that_is_cut_short_is_not_taken_for_whole(other: Scripted, store: RemoteStore):
    """Neither of a small file, nor of a large one, nor of a listing."""
    other.answers = lambda _method, _path: (200, {"ETag": '"e"', "Content-Length": "9"}, b"half")
    with pytest.raises(RemoteFailed):
        await store.open("b", "k")
    other.answers = lambda _method, _path: (200, {"ETag": '"e"', "Content-Length": str(len(LARGE) + 5)}, LARGE)
    with pytest.raises(RemoteFailed):
        await store.open("b", "k")
    other.answers = lambda _method, _path: (200, {"Content-Length": "900"}, b"<ListBucketResult/>")
    with pytest.raises(RemoteFailed):
        await store.list(Listing("b"))


async def test_a_large_file_is_downloaded_once(other: Scripted, store: RemoteStore, tmp_path: Path):
    """It lies in a file that all workers share, under its ETag; another ETag is another file."""
    other.answers = lambda _method, _path: (200, {"ETag": '"one"'}, LARGE)
    first, second = await store.open("b", "k"), await store.open("b", "k")
    (span,) = first.content.spans(0, len(LARGE))
    assert isinstance(span, FileSpan)
    assert (span,) == second.content.spans(0, len(LARGE))
    assert Path(span.path).read_bytes() == LARGE
    other.answers = lambda _method, _path: (200, {"ETag": '"two"'}, LARGE)
    assert (await store.open("b", "k")).info.etag != first.info.etag
    assert len(list((tmp_path / "kept").iterdir())) == 2


async def test_redirects_are_not_followed(other: Scripted, store: RemoteStore):
    """Where a store points is not where the operator pointed."""
    other.answers = lambda _method, _path: (307, {"Location": "http://169.254.169.254/latest"}, b"")
    with pytest.raises(RemoteFailed, match="it sends us elsewhere"):
        await store.open("b", "k")
    assert other.asked == ["GET /b/k"]


async def test_what_is_missing_is_missing(other: Scripted, store: RemoteStore):
    """A key and a bucket are told apart."""
    other.answers = lambda _method, _path: (404, {}, b"<Error><Code>NoSuchKey</Code></Error>")
    with pytest.raises(NoSuchKey):
        await store.open("b", "k")
    other.answers = lambda _method, _path: (404, {}, b"<Error><Code>NoSuchBucket</Code></Error>")
    with pytest.raises(NoSuchBucket):
        await store.list(Listing("b"))


async def test_keys_are_encoded_as_they_are_signed(other: Scripted, store: RemoteStore):
    """Every character but those that need none; a folder is gone on after as a whole."""
    await store.open("b", "t/p=a b/x+é~.json")
    assert other.asked == ["GET /b/t/p%3Da%20b/x%2B%C3%A9~.json"]
    other.answers = lambda _method, _path: (200, {}, b"<ListBucketResult/>")
    await store.list(Listing("b", "t/", "/", "t/a b/", 10))
    asked = "list-type=2&max-keys=10&prefix=t%2F&start-after=t%2Fa%20b%2F%F4%8F%BF%BF"
    assert other.asked[-1] == f"GET /b/?delimiter=%2F&encoding-type=url&{asked}"
    virtual = Address("https://s3.example.net:8443", path_style=False)
    assert (virtual.origin("b"), virtual.path("b")) == ("https://b.s3.example.net:8443", "/")


async def test_versions_pin_where_they_can_be_read(other: Scripted, store: RemoteStore):
    """Without versions nothing is asked again; with them each key is asked for once, and no more than allowed."""
    assert await store.pins("plain", ["a", "b"]) == ["", ""]
    assert other.asked == ["HEAD /plain/a"]
    other.asked.clear()
    other.answers = lambda _method, path: (404, {}, b"") if "/gone" in path else (200, {"x-amz-version-id": "v1"}, b"")
    assert await store.pins("kept", ["a", "b", "gone", "d"], 3) == ["v1", "v1", None, ""]
    assert await store.pins("kept", ["a", "b"]) == ["v1", "v1"]
    assert sorted(other.asked) == ["HEAD /kept/a", "HEAD /kept/a", "HEAD /kept/a?versionId=v1", "HEAD /kept/b",
                                   "HEAD /kept/gone"]  # fmt: skip
    assert await store.pins("other", ["gone", "a"]) == [None, ""]


async def test_versions_that_may_not_be_read_pin_nothing(other: Scripted, store: RemoteStore):
    """A key without the right to read versions still reads: its links name the object alone."""
    other.answers = lambda _method, path: (403 if "versionId" in path else 200, {"x-amz-version-id": "v1"}, b"")
    assert await store.pins("b", ["a", "b"]) == ["", ""]


async def test_etags_of_two_keys_are_never_the_same(other: Scripted, store: RemoteStore, tmp_path: Path):
    """A store whose ETags say nothing of the bytes does not make two tables one."""
    one, two = await store.open("b", "one"), await store.open("b", "two")
    assert one.info.etag != two.info.etag
    page = b"<ListBucketResult><Contents><Key>one</Key><LastModified>2024-01-01T00:00:00Z</LastModified>"
    page += b"<ETag>e</ETag><Size>4</Size></Contents></ListBucketResult>"
    other.answers = lambda _method, _path: (200, {}, page)
    assert (await store.list(Listing("b"))).objects[0].etag == one.info.etag


def test_a_store_that_is_not_there_is_said_without_its_address(other: Scripted):
    """Recipients read what we say of it."""
    away = Connections("http://127.0.0.1:1", lambda *_: {})
    with pytest.raises(RemoteFailed, match=r"it cannot be reached \(ConnectionRefusedError\)\Z"), away.ask("GET", "/"):
        pass


def test_what_was_used_least_lately_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Files beyond the room are removed, but none that was asked for just now."""
    monkeypatch.setattr("lakeshare.storage.remote.kept.SPARED_SECONDS", -1)
    kept = Kept(tmp_path, keep_bytes=10)
    assert kept.add("a", [b"12345"], 5) is not None
    assert kept.add("b", [b"12345"], 5) is not None
    assert kept.add("short", [b"123"], 5) is None
    assert kept.find("b", 5) is not None
    assert kept.find("b", 6) is None
    monkeypatch.setattr("lakeshare.storage.remote.kept.SPARED_SECONDS", 900)
    assert kept.add("c", [b"12345"], 5) is not None
    assert kept.find("a", 5) is not None
