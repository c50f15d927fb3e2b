"""scripts/demo: the whole tour on a folder of its own, again when nothing changed, and cleaned away."""

import importlib
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.spark import needs_spark

PATIENCE_SECONDS = 1500
pytestmark = [pytest.mark.spark, pytest.mark.timeout(2 * PATIENCE_SECONDS)]


def run(command: list[str | Path], cwd: Path, cache: Path) -> str:
    """Run the demo as a user does, without settings of ours, and return what it printed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LAKESHARE_", "AWS_", "MC_"))}
    done = subprocess.run(
        command, cwd=cwd, env=kept | {"LAKESHARE_CACHE": str(cache)}, capture_output=True, text=True, check=False,
        timeout=PATIENCE_SECONDS, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        found: int = probe.getsockname()[1]
    return found


def assert_toured(said: str, orders: int, customers: int) -> None:
    """Each reader of the tour saw every row."""
    assert f"Rows   : {orders} read, {orders} written, 0 rejected" in said
    assert f"Rows   : {customers} read, {customers} written, 0 rejected" in said
    assert [line.split()[0] for line in said.splitlines() if "rows; the first:" in line] == [
        str(orders),
        str(customers),
    ]
    assert "Customer#000000149     3325232.13" in said
    assert "What to try next" in said


@pytest.fixture
def folder(tmp_path: Path, repository: Path, cache: Path) -> Iterator[Path]:
    """A folder for the demo, whose server is stopped whatever happens."""
    place = tmp_path / "demo"
    yield place
    run([sys.executable, repository / "scripts/demo.py", "--folder", place, "--clean"], repository, cache)
    assert not place.exists()


def test_the_demo_tours_and_is_quick_again(repository: Path, cache: Path, folder: Path, port: int):
    """Every step works; a second run finds all of it done and only reads; the profile is the owner's alone."""
    needs_spark()
    demo = [sys.executable, repository / "scripts/demo.py", "--folder", folder, "--port", str(port), "--scale", "0.001"]
    assert_toured(run(demo, repository, cache), 1500, 150)
    again = run(demo, repository, cache)
    assert "the server is running" in again
    assert "by Spark" not in again
    assert "1500 rows; the first:" in again
    profile = folder / "profile.share"
    assert json.loads(profile.read_text())["shareCredentialsVersion"] == 1
    assert profile.stat().st_mode & 0o077 == 0
    assert (folder / "demo.json").stat().st_mode & 0o077 == 0


def test_nothing_is_installed_to_clean_up_nothing(repository: Path, cache: Path, tmp_path: Path):
    """Where the demo never ran, --clean says so at once, and again does no harm."""
    shutil.copytree(repository / "scripts", tmp_path / "scripts")
    assert "nothing to clean up" in run(["scripts/demo", "--clean"], tmp_path, cache)
    assert [path.name for path in tmp_path.iterdir()] == ["scripts"]


def test_a_server_that_has_no_command_line_yet_is_waited_for(
    repository: Path, tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch
):
    """What was just started is known by its process: on a busy machine its command line is empty for a moment."""
    monkeypatch.syspath_prepend(str(repository / "scripts"))
    demo = importlib.import_module("demo")
    launch, started = demo.launch, []

    def launched(wanted: object) -> object:
        started.append(launch(wanted))
        return started[-1]

    monkeypatch.setattr(demo, "launch", launched)
    monkeypatch.setattr(demo.Demo, "is_running", lambda _: False)
    try:
        assert demo.start(tmp_path, port).is_ready()
    finally:
        for process in started:
            process.terminate()
            process.wait(PATIENCE_SECONDS)


@pytest.mark.long
def test_the_demo_works_from_a_fresh_clone(repository: Path, cache: Path, tmp_path: Path, port: int):
    """A clone with nothing beside it sets itself up and tours."""
    if shutil.which("git") is None or not (repository / ".git").exists():
        pytest.skip("needs git, and a repository to clone")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", repository, clone], check=True)
    try:
        said = run(["scripts/demo", "--port", str(port), "--scale", "0.001"], clone, cache)
        assert_toured(said, 1500, 150)
    finally:
        run(["scripts/demo", "--clean"], clone, cache)
