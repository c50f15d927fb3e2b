"""A server in a process of its own, on this machine: started, waited for, and ended; and how far a bench is."""

import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ACCESS_KEY, SECRET = "benchmark", "only-for-this-run-0123456789"
OURS = {"LAKESHARE_ROOT_USER": ACCESS_KEY, "LAKESHARE_ROOT_PASSWORD": SECRET}
"""What tells our server who root is."""

_START_SECONDS = 60.0
_STOP_SECONDS = 30.0
_LOG_CHARACTERS = 2000

Process = subprocess.Popen[bytes]


def our_command(data: Path, port: int, workers: int) -> list[str]:
    """Return what serves a data folder with Lakeshare."""
    program = str(ROOT / ".venv/bin/lakeshare")
    return [program, "server", str(data), "--address", f"127.0.0.1:{port}", "--workers", str(workers)]


def start(
    name: str, command: Sequence[str], log: Path, ready: Callable[[], bool], environment: Mapping[str, str]
) -> Process:
    """Start a server and wait until it is ready; end the bench with the end of its log where it is not."""
    with log.open("wb") as lines:
        process = subprocess.Popen(command, stdout=lines, stderr=lines, env=environment)
    give_up = time.monotonic() + _START_SECONDS
    while time.monotonic() < give_up and process.poll() is None:
        if ready():
            return process
        time.sleep(0.05)
    stop(process)
    sys.exit(f"{name} did not start:\n{log.read_text(errors='replace')[-_LOG_CHARACTERS:]}")


def stop(process: Process) -> None:
    """End a server and all it started."""
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def listens(port: int) -> bool:
    """Say whether somebody listens on a port."""
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def answers(port: int, path: str) -> bool:
    """Say whether a path is answered well."""
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        connection.request("GET", path)
        return connection.getresponse().status == http.HTTPStatus.OK
    except OSError:
        return False


def free_port() -> int:
    """Find a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def bytecode_kept() -> dict[str, str]:
    """Return the environment, with compiled Python kept in the cache of the repository."""
    kept = {**os.environ, "PYTHONPYCACHEPREFIX": str(ROOT / ".cache" / "bytecode")}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return kept


def say(text: str) -> None:
    """Tell how far it is."""
    print(f"bench: {time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)
