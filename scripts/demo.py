"""What scripts/demo does once everything is installed: a server that is started or found, and a tour of it."""

import argparse
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NoReturn

from demo_tour import TourFailed, tour

ROOT = Path(__file__).resolve().parents[1]
START_SECONDS = 60
STOP_SECONDS = 40


@dataclass(slots=True)
class Demo:
    """A server of the demo: how to reach it, its process, and the steps of the tour that were done on it."""

    folder: Path
    port: int
    access_key: str
    secret_key: str
    pid: int = 0
    scale: float = 0.01
    done: dict[str, str] = field(default_factory=dict)

    @property
    def endpoint(self) -> str:
        """The URL that clients are given."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        """Where the server writes."""
        return self.folder / "server.log"

    def is_running(self) -> bool:
        """Say whether the process is there, and is a server of this folder."""
        if not self.pid:
            return False
        if Path("/proc/self/cmdline").exists():
            try:
                return str(self.folder) in Path(f"/proc/{self.pid}/cmdline").read_bytes().decode(errors="replace")
            except OSError:
                return False
        look = ["ps", "-p", str(self.pid), "-o", "command="]
        return str(self.folder) in subprocess.run(look, capture_output=True, text=True, check=False).stdout

    def is_ready(self) -> bool:
        """Say whether the server answers."""
        try:
            with urllib.request.urlopen(self.endpoint + "/_health/ready", timeout=2):
                return True
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False

    def remember(self) -> None:
        """Keep what a later run needs, for this user alone."""
        path = self.folder / "demo.json"
        fresh = path.with_suffix(".new")
        fresh.touch(mode=0o600)
        fresh.write_text(json.dumps(asdict(self) | {"folder": str(self.folder)}))
        fresh.replace(path)


def main() -> None:
    """Start or look again, or clean up."""
    parser = argparse.ArgumentParser(prog="scripts/demo", description="Try Lakeshare on this machine.")
    parser.add_argument("--port", type=int, default=None, help="port of the server (default 9000)")
    parser.add_argument("--scale", type=float, default=None, help="scale of TPC-H (at first 0.01: 15000 orders)")
    parser.add_argument("--folder", type=Path, default=ROOT / ".demo", help="where everything is kept (default .demo)")
    parser.add_argument("--clean", action="store_true", help="stop the server and remove the folder")
    options = parser.parse_args()
    folder: Path = options.folder.resolve()
    if options.clean:
        clean(folder)
        return
    started = time.monotonic()
    demo = start(folder, options.port)
    demo.scale = options.scale or demo.scale
    try:
        tour(demo)
    except TourFailed as reason:
        fail(f"{reason}\nThe server runs on, and its log is {shown(demo.log)}. Try again, or: scripts/demo --clean")
    step(f"done in {time.monotonic() - started:.0f} s")
    say_what_next(demo)


def step(text: str) -> None:
    """Show progress."""
    print(f"demo: {text}", flush=True)


def fail(text: str) -> NoReturn:
    """Stop with a message."""
    sys.exit(f"demo: {text}")


def shown(path: Path) -> str:
    """Write a path as short as it can be typed here."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def remembered(folder: Path) -> Demo | None:
    """Return the server that an earlier run started, if there was one."""
    try:
        return Demo(**json.loads((folder / "demo.json").read_text()) | {"folder": folder})
    except FileNotFoundError:
        return None
    except (TypeError, ValueError):
        fail(f"{shown(folder)} is of another version of the demo; remove it, and what runs on it, first")


def start(folder: Path, port: int | None) -> Demo:
    """Return a server that answers: the one that runs, or a new one over what an earlier run left."""
    demo = remembered(folder)
    if demo and demo.is_running():
        if port not in {None, demo.port}:
            fail(f"a server of the demo runs on port {demo.port}; stop it first with scripts/demo --clean")
        step(f"the server is running at {demo.endpoint}")
        return await_ready(demo, demo.is_running)
    port = port or (demo.port if demo else 9000)
    if is_taken(port):
        fail(f"port {port} is taken by another program; choose another with scripts/demo --port {port + 100}")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if demo is None:
        demo = Demo(folder, port, "demo-" + secrets.token_hex(4), secrets.token_urlsafe(24))
    step(f"starting a server on {shown(folder)}/data, port {port}")
    demo.port = port
    process = launch(demo)
    demo.pid = process.pid
    demo.remember()
    # A process that has just been started has no command line yet by which it could be known.
    return await_ready(demo, lambda: process.poll() is None)


def launch(demo: Demo) -> subprocess.Popen[bytes]:
    """Start the server in the background and return its process."""
    command = [Path(sys.executable).with_name("lakeshare"), "server", demo.folder / "data"]
    others = {name: value for name, value in os.environ.items() if not name.startswith(("LAKESHARE_", "MINIO_"))}
    environment = others | {"LAKESHARE_ROOT_USER": demo.access_key, "LAKESHARE_ROOT_PASSWORD": demo.secret_key}
    with demo.log.open("ab") as log:
        return subprocess.Popen(
            [*command, "--address", f"127.0.0.1:{demo.port}"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True,
        )  # fmt: skip


def is_taken(port: int) -> bool:
    """Say whether somebody listens on a port of this machine."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def await_ready(demo: Demo, is_running: Callable[[], bool]) -> Demo:
    """Wait until the server answers, for as long as it runs."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and is_running():
        if demo.is_ready():
            return demo
        time.sleep(0.1)
    log = demo.log.read_text(errors="replace")[-3000:]
    fail(f"the server did not start; the end of {shown(demo.log)}:\n{log}")


def say_what_next(demo: Demo) -> None:
    """Print what to try."""
    folder = shown(demo.folder)
    print(f"""
The server runs at {demo.endpoint}. What to try next:

    export PATH="{ROOT}/.venv/bin:$PATH" LAKESHARE_CONFIG_DIR="{demo.folder}/config"

    lakeshare tree --files demo/testdelta                       what Spark wrote
    lakeshare table share info demo/test                        what is shared
    lakeshare table show demo testice tpch customer             the Iceberg table
    lakeshare table config demo testice --spark                 settings for a Spark of your own
    lakeshare doctor demo                                       what a recipient would meet
    lakeshare pipeline ingest YOUR.csv demo/testdelta/yours     a table of your own
    python -c 'import delta_sharing; print(delta_sharing.load_as_pandas("{folder}/profile.share#test.tpch.orders"))'

Any S3 client reaches it too:

    export AWS_ENDPOINT_URL={demo.endpoint} AWS_REGION=us-east-1
    export AWS_ACCESS_KEY_ID={demo.access_key} AWS_SECRET_ACCESS_KEY={demo.secret_key}

docs/pipeline.md has the jobs, docs/sharing.md the shares, docs/s3.md the settings of Spark, DuckDB, polars and others.
The log is {shown(demo.log)}. Stop the server and remove all of this: scripts/demo --clean""")


def clean(folder: Path) -> None:
    """Stop the server, if it runs, and remove what the demo made."""
    demo = remembered(folder)
    if demo is None and folder.exists():
        fail(f"{shown(folder)} was not made by the demo: it has no demo.json")
    if demo is None:
        step(f"there is no {shown(folder)}: nothing to clean up")
        return
    if demo.is_running():
        step("stopping the server")
        os.kill(demo.pid, signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        while demo.is_running():
            if time.monotonic() > deadline:
                fail(f"the server (process {demo.pid}) has not stopped after {STOP_SECONDS} s")
            time.sleep(0.1)
    shutil.rmtree(folder, ignore_errors=True)
    step(f"removed {shown(folder)}")


if __name__ == "__main__":
    main()
