"""A command that is stopped leaves nothing half done."""

import signal

import pytest

from tests.cli.conftest import Cli
from tests.cli.meddler import Meddler, meddling
from tests.live import LiveServer

MIB = 1024**2
STOP_SECONDS = 30


def stall_after(limit: int):
    """Let so many bytes of an answer through, and then no more."""

    def meddle(relay: Meddler, number: int, sent: int, chunk: bytes) -> bytes:
        if sent > limit:
            relay.stall()
        return chunk

    return meddle


def through(cli: Cli, relay: Meddler, server: LiveServer) -> None:
    cli("alias", "set", "slow", relay.url, server.access_key, server.secret_key, "--no-check")


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("size", [4 * MIB, 40 * MIB])
def test_a_stopped_download_leaves_no_file(
    lake: Cli, live_server: LiveServer, bucket: str, stop: signal.Signals, size: int
):
    """Neither the target nor a part of it is there, in one request or in ranges, and an older target is untouched."""
    source, folder = lake.home / "big", lake.home / "here"
    source.write_bytes(bytes(size))
    lake("cp", source, f"{bucket}/big")
    folder.mkdir()
    (folder / "old").write_text("old")
    with meddling(live_server.host, live_server.port, stall_after(MIB)) as relay:
        through(lake, relay, live_server)
        running = lake.start("cp", f"{bucket}/big".replace("lake/", "slow/"), folder / "old")
        assert relay.stalled.wait(STOP_SECONDS)
        assert len(list(folder.iterdir())) == 2
        running.send_signal(stop)
        _, err = running.communicate(timeout=STOP_SECONDS)
    assert running.returncode == 130
    assert b"stopped" in err
    assert b"Traceback" not in err
    assert [(path.name, path.read_text()) for path in folder.iterdir()] == [("old", "old")]


def test_a_stopped_upload_is_aborted(lake: Cli, live_server: LiveServer, bucket: str):
    """No object is there, and no unfinished upload either."""
    source = lake.home / "big"
    source.write_bytes(bytes(64 * MIB))

    def meddle(relay: Meddler, number: int, sent: int, chunk: bytes) -> bytes:
        if number > 2 and b"etag" in chunk.lower():
            relay.stall()
        return chunk

    with meddling(live_server.host, live_server.port, meddle) as relay:
        through(lake, relay, live_server)
        running = lake.start("cp", source, f"{bucket}/big".replace("lake/", "slow/"))
        assert relay.stalled.wait(STOP_SECONDS)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=STOP_SECONDS)
    assert running.returncode == 130
    assert lake("ls", "--recursive", bucket).out == ""
    assert lake("ls", "--incomplete", bucket).out == ""


def test_a_broken_upload_goes_on(lake: Cli, live_server: LiveServer, bucket: str):
    """With --continue the parts that are there are not sent again."""
    source = lake.home / "big"
    source.write_bytes(b"".join(bytes([number]) * (16 * MIB) for number in range(4)))

    def meddle(relay: Meddler, number: int, sent: int, chunk: bytes) -> bytes:
        if sent and b"etag" in chunk.lower():
            relay.stall()
        return chunk

    with meddling(live_server.host, live_server.port, meddle) as relay:
        through(lake, relay, live_server)
        running = lake.start("cp", "--continue", source, f"{bucket}/big".replace("lake/", "slow/"))
        assert relay.stalled.wait(STOP_SECONDS)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=STOP_SECONDS)
    begun = lake("ls", "--incomplete", "--json", bucket).record["uploadId"]
    lake("cp", "--continue", source, f"{bucket}/big")
    assert lake("ls", "--incomplete", bucket).out == ""
    assert begun
    lake("cp", f"{bucket}/big", "back")
    assert (lake.home / "back").read_bytes() == source.read_bytes()


def test_a_closed_pipe_ends_a_listing_quietly(lake: Cli, bucket: str):
    """`lakeshare ls | head -1` prints one line and no complaint."""
    folder = lake.home / "many"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}").write_text("x")
    lake("cp", "-r", folder, bucket)
    with lake.start("ls", "-r", bucket) as running:
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait(STOP_SECONDS) == 1
