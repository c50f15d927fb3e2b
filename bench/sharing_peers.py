"""The servers of bench/sharing: Lakeshare over a data folder, and the obvious implementation over logs on disk."""

import hashlib
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from s3_meter import TICK, machine_seconds, tree

ROOT = Path(__file__).resolve().parent.parent
ACCESS_KEY, SECRET = "benchmark", "only-for-this-run-0123456789"
_START_SECONDS = 60.0
_STOP_SECONDS = 30.0
_LOOK_SECONDS = 0.02
_FOREIGN_SECONDS = 1.0


class Server:
    """A server in a process of its own, for as long as a block lasts."""

    def __init__(self, command: list[str], port: int, log: Path, environment: Mapping[str, str]) -> None:
        self.port = port
        self._log = log
        self._command = command
        self._environment = {**os.environ, **environment, "PYTHONPYCACHEPREFIX": str(ROOT / ".cache" / "bytecode")}
        self._environment.pop("PYTHONDONTWRITEBYTECODE", None)

    @property
    def endpoint(self) -> str:
        """The URL of the server."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        with self._log.open("wb") as lines:
            self.process = subprocess.Popen(self._command, stdout=lines, stderr=lines, env=self._environment)
        give_up = time.monotonic() + _START_SECONDS
        while time.monotonic() < give_up and self.process.poll() is None:
            if self._ready():
                return self
            time.sleep(0.05)
        self.process.kill()
        sys.exit(f"{self._command[0]} did not start:\n{self._log.read_text(errors='replace')[-2000:]}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.terminate()
        try:
            self.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _ready(self) -> bool:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
            connection.request("GET", "/_health/ready")
            return connection.getresponse().status == http.HTTPStatus.OK
        except OSError:
            return False


class Lakeshare(Server):
    """Our server, with rate limits off."""

    def __init__(self, data: Path, workers: int) -> None:
        port = free_port()
        program = str(ROOT / ".venv/bin/lakeshare")
        command = [program, "server", str(data), "--address", f"127.0.0.1:{port}", "--workers", str(workers)]
        environment = {
            "LAKESHARE_ROOT_USER": ACCESS_KEY,
            "LAKESHARE_ROOT_PASSWORD": SECRET,
            "LAKESHARE_DELTA_SHARING_TOKEN_RATE": "0",
            "LAKESHARE_DELTA_SHARING_TOTAL_RATE": "0",
        }
        super().__init__(command, port, data.with_name(f"{data.name}.log"), environment)
        self._data = data

    def forget(self) -> None:
        """Take away what earlier servers kept of tables; for a server that does not run."""
        shutil.rmtree(self._data / "cache" / "tables", ignore_errors=True)

    def admin(self, method: str, path: str, body: Mapping[str, Any]) -> Any:
        """Ask the admin API."""
        url, data = f"{self.endpoint}/_admin/v1{path}", json.dumps(body).encode()
        signed = AWSRequest(method, url, data=data, headers={"x-amz-content-sha256": hashlib.sha256(data).hexdigest()})
        SigV4Auth(Credentials(ACCESS_KEY, SECRET), "s3", "us-east-1").add_auth(signed)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        connection.request(method, f"/_admin/v1{path}", data, dict(signed.headers))
        answer = connection.getresponse()
        told = answer.read()
        if answer.status >= http.HTTPStatus.BAD_REQUEST:
            sys.exit(f"{method} {path}: {answer.status} {told.decode()}")
        return json.loads(told) if told else None

    @property
    def workers(self) -> list[int]:
        """The processes that answer: the children of the supervisor."""
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(pid) for pid in listed.split()]


class Obvious(Server):
    """What anybody would write first; see sharing_obvious.py."""

    def __init__(self, logs: Path) -> None:
        port = free_port()
        command = [sys.executable, str(Path(__file__).with_name("sharing_obvious.py")), str(logs), str(port)]
        super().__init__(command, port, logs.with_name("obvious.log"), {})


class Watch:
    """What processes cost while a block lasts: CPU, their ended children's too, and the most memory of any one."""

    def __init__(self, pids: list[int]) -> None:
        self._pids = pids
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.idle_mb = max(_resident_mb(pid) for pid in pids)
        self.peak_mb = self.idle_mb
        self._before = self._cpu()
        self.cpu_seconds = 0.0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self.cpu_seconds = self._cpu() - self._before

    def _look(self) -> None:
        while not self._stop.wait(_LOOK_SECONDS):
            held = max(sum(_resident_mb(one) for one in tree(pid)) for pid in self._pids)
            self.peak_mb = max(self.peak_mb, held)

    def _cpu(self) -> float:
        ticks = 0
        for pid in self._pids:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(int(field) for field in fields[11:15])
        return ticks * TICK


def _resident_mb(pid: int) -> float:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024 if "VmRSS:" in status else 0.0


def foreign_cores() -> float:
    """Return how many processors work at the moment, while nothing of ours does."""
    before, at = machine_seconds(), time.monotonic()
    time.sleep(_FOREIGN_SECONDS)
    return (machine_seconds() - before) / (time.monotonic() - at)


def free_port() -> int:
    """Find a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def say(text: str) -> None:
    """Tell how far it is."""
    print(f"bench: {time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)
