"""Waiting for a server."""

import signal
from pathlib import Path

from tests.cli.conftest import PATIENCE_SECONDS, Cli
from tests.live import LiveServer, free_port


def test_a_server_that_answers_is_ready(lake: Cli):
    """Who asks a server that can serve is told so at once."""
    assert lake("ready", "lake").out == "The server `lake` is ready.\n"
    assert lake("ready", "lake/", "--json").record["healthy"] is True


def test_no_key_is_needed(cli: Cli, live_server: LiveServer):
    """Whether a server can serve is told to anyone."""
    cli.environment["LAKESHARE_HOST_open"] = live_server.endpoint
    cli("ready", "open")


def test_a_server_is_waited_for(cli: Cli, tmp_path: Path):
    """A command that was started before its server ends well once the server is up."""
    address = f"127.0.0.1:{free_port()}"
    cli.environment["LAKESHARE_HOST_late"] = f"http://{address}"
    with cli.start("ready", "late", "--timeout", "2m") as waiting:
        assert waiting.poll() is None
        with cli.start("server", tmp_path / "data", "--address", address, "--workers", "1") as server:
            out, err = waiting.communicate(timeout=PATIENCE_SECONDS)
            server.send_signal(signal.SIGTERM)
            server.communicate(timeout=PATIENCE_SECONDS)
    assert (waiting.returncode, out) == (0, b"The server `late` is ready.\n"), err
    assert server.returncode == 0


def test_waiting_ends(cli: Cli):
    """Where nobody comes, what was met last is told when the time is over."""
    cli.environment["LAKESHARE_HOST_none"] = f"http://127.0.0.1:{free_port()}"
    said = cli("ready", "none", "--timeout", "1s", code=5).err
    assert "nobody listens" in said
