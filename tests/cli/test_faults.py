"""What a bad network does to a transfer: it is mended where it can be, and told where it cannot."""

import os

import pytest

from lakeshare.cli.remote.body import Slice
from tests.cli.conftest import Cli
from tests.cli.meddler import Meddler, meddling
from tests.live import LiveServer

MIB = 1024**2


def through(cli: Cli, relay: Meddler, server: LiveServer) -> None:
    cli("alias", "set", "rough", relay.url, server.access_key, server.secret_key, "--no-check")


@pytest.mark.parametrize("size", [2 * MIB, 40 * MIB])
def test_a_download_that_breaks_off_is_gone_on_with(lake: Cli, live_server: LiveServer, bucket: str, size: int):
    """A connection that closes in the middle of an answer costs a new request, and the file is whole."""
    source = lake.home / "big"
    source.write_bytes(os.urandom(size))
    lake("cp", source, f"{bucket}/big")
    broken: list[int] = []

    def meddle(relay: Meddler, number: int, sent: int, chunk: bytes) -> bytes | None:
        if sent > MIB and len(broken) < 2:
            broken.append(number)
            return None
        return chunk

    with meddling(live_server.host, live_server.port, meddle) as relay:
        through(lake, relay, live_server)
        lake("cp", f"{bucket}/big".replace("lake/", "rough/"), "back")
    assert len(broken) == 2
    assert (lake.home / "back").read_bytes() == source.read_bytes()


@pytest.mark.parametrize("size", [300_000, 4 * MIB, 40 * MIB])
def test_a_changed_byte_is_noticed(lake: Cli, live_server: LiveServer, bucket: str, size: int):
    """A download whose bytes changed on the way is refused, and no file is left."""
    source = lake.home / "big"
    source.write_bytes(os.urandom(size))
    lake("cp", source, f"{bucket}/big")

    def meddle(relay: Meddler, number: int, sent: int, chunk: bytes) -> bytes:
        return bytes([chunk[0] ^ 1]) + chunk[1:] if sent > 100_000 else chunk

    with meddling(live_server.host, live_server.port, meddle) as relay:
        through(lake, relay, live_server)
        said = lake("cp", f"{bucket}/big".replace("lake/", "rough/"), "back", code=1).err
    assert "did not arrive whole" in said
    assert sorted(path.name for path in lake.home.iterdir()) == ["big", "config"]


def test_an_upload_survives_a_lost_answer(lake: Cli, live_server: LiveServer, bucket: str):
    """Answers that never come are asked for again, that to the completion of an upload too."""
    source = lake.home / "big"
    source.write_bytes(os.urandom(40 * MIB))
    lost: set[str] = set()

    def meddle(relay: Meddler, number: int, sent: int, chunk: bytes) -> bytes | None:
        for name in ("InitiateMultipartUploadResult", "CompleteMultipartUploadResult"):
            if name.encode() in chunk and name not in lost:
                lost.add(name)
                return None
        return chunk

    with meddling(live_server.host, live_server.port, meddle) as relay:
        through(lake, relay, live_server)
        lake("cp", source, f"{bucket}/big".replace("lake/", "rough/"))
    assert len(lost) == 2
    lake("cp", f"{bucket}/big", "back")
    assert (lake.home / "back").read_bytes() == source.read_bytes()


def test_a_server_that_speaks_no_http_is_told(lake: Cli, live_server: LiveServer):
    """An answer that is no HTTP ends with the code for servers that cannot be reached."""

    def meddle(relay: Meddler, number: int, sent: int, chunk: bytes) -> bytes:
        return b"SSH-2.0-OpenSSH_9.9\r\n"

    with meddling(live_server.host, live_server.port, meddle) as relay:
        through(lake, relay, live_server)
        assert "closed the connection" in lake("ls", "rough", code=5).err


def test_a_page_in_place_of_xml_is_told(lake: Cli, live_server: LiveServer):
    """A web page, as a console or a proxy sends it, is told apart from S3."""
    page = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<html></html>"

    def meddle(relay: Meddler, number: int, sent: int, chunk: bytes) -> bytes:
        return page

    with meddling(live_server.host, live_server.port, meddle) as relay:
        through(lake, relay, live_server)
        assert "does not answer as S3 does" in lake("ls", "rough", code=5).err
        assert "does not answer as S3 does" in lake("ls", "rough/bucket", code=5).err


def test_a_redirect_is_told(lake: Cli, live_server: LiveServer):
    """A server that sends requests elsewhere is not followed: a signature is for one place."""
    moved = b"HTTP/1.1 307 Temporary Redirect\r\nLocation: http://example.com/\r\nContent-Length: 0\r\n\r\n"

    def meddle(relay: Meddler, number: int, sent: int, chunk: bytes) -> bytes:
        return moved

    with meddling(live_server.host, live_server.port, meddle) as relay:
        through(lake, relay, live_server)
        assert "elsewhere" in lake("ls", "rough", code=1).err


def test_a_proxy_is_used(lake: Cli, live_server: LiveServer):
    """HTTP_PROXY names a proxy, which is asked for whole URLs, and NO_PROXY takes hosts out."""
    with meddling(live_server.host, live_server.port, lambda relay, number, sent, chunk: chunk) as relay:
        lake.environment = {"HTTP_PROXY": relay.url}
        lake("ls", "lake")
        assert relay.count == 1
        lake.environment |= {"NO_PROXY": live_server.host}
        lake("ls", "lake")
        assert relay.count == 1


def test_a_file_that_shrinks_is_told(lake: Cli, bucket: str, monkeypatch: pytest.MonkeyPatch, quick):
    """An upload whose file becomes shorter ends with an error, and no object is there."""
    source = lake.home / "file"
    source.write_bytes(bytes(MIB))
    slices = "lakeshare.cli.transfer.upload.Slice"
    monkeypatch.setattr(slices, lambda path, offset, size: Slice(path, offset, size + 1))
    assert "became shorter" in quick("cp", source, f"{bucket}/file", code=1).err
    assert quick("ls", bucket).out == ""
