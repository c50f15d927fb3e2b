"""The servers of bench/sharing: Lakeshare over a data folder, and the obvious implementation over logs on disk."""

import hashlib
import http.client
import json
import shutil
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from running import ACCESS_KEY, OURS, SECRET, answers, bytecode_kept, free_port, our_command, say, start, stop
from s3_meter import TICK, machine_seconds, tree

__all__ = ["Lakeshare", "Obvious", "Server", "Watch", "foreign_cores", "say"]
_LOOK_SECONDS = 0.02
_FOREIGN_SECONDS = 1.0


class Server:
    """A server in a process of its own, for as long as a block lasts."""

    ready_path: ClassVar[str] = "/_health/ready"

    def __init__(self, command: list[str], port: int, log: Path, environment: Mapping[str, str]) -> None:
        self.port = port
        self._log = log
        self._command = command
        self._environment = bytecode_kept() | dict(environment)

    @property
    def endpoint(self) -> str:
        """The URL of the server."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self.process = start(self._command[0], self._command, self._log, self._ready, self._environment)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stop(self.process)

    def _ready(self) -> bool:
        return answers(self.port, self.ready_path)


class Lakeshare(Server):
    """Our server, with rate limits off."""

    def __init__(self, data: Path, workers: int) -> None:
        port = free_port()
        environment = OURS | {"LAKESHARE_DELTA_SHARING_TOKEN_RATE": "0", "LAKESHARE_DELTA_SHARING_TOTAL_RATE": "0"}
        super().__init__(our_command(data, port, workers), port, data.with_name(f"{data.name}.log"), environment)
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
