"""At a terminal: a bar with bytes, rate and time, and colours; elsewhere neither."""

import os
import pty
import subprocess

from tests.cli.conftest import Cli
from tests.live import lakeshare


def at_a_terminal(cli: Cli, *arguments: str) -> str:
    """Run a command as at a terminal, and return what it shows."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [lakeshare(), *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=cli.env | {"TERM": "xterm", "COLUMNS": "120"},
        cwd=cli.home,
    ) as running:
        os.close(theirs)
        shown = b""
        while chunk := _read(ours):
            shown += chunk
        assert running.wait(60) == 0, shown
    os.close(ours)
    return shown.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says so when the other end is closed.
        return b""


def test_a_bar_is_drawn_at_a_terminal(lake: Cli, bucket: str):
    """`cp` shows bytes and a rate while it goes, and one line when it is done."""
    (lake.home / "file").write_bytes(bytes(20 * 1024**2))
    shown = at_a_terminal(lake, "cp", "file", f"{bucket}/file")
    assert "MiB" in shown
    assert "1 copied, 20 MiB" in shown
    assert "->" not in shown
    assert "\x1b[?25h" in shown
    assert "\x1b" not in at_a_terminal(lake, "--no-color", "ls", bucket)


def test_no_bar_is_drawn_elsewhere(lake: Cli, bucket: str):
    """Through a pipe each copy is a line, and standard error is empty."""
    (lake.home / "file").write_text("x")
    told = lake("cp", "file", f"{bucket}/file")
    assert told.err == ""
    assert told.lines[0] == f"`file` -> `{bucket}/file`"
    assert "\x1b" not in lake("tree", bucket).out
