"""The servers of bench/catalog: ours with two workers, and Iceberg's own REST fixture over SQLite and files."""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any
from urllib.parse import quote

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from catalog_load import Asked, Wire  # noqa: E402 - the tree is found first

from lakeshare.identity.sigv4.keys import Credentials  # noqa: E402
from lakeshare.identity.sigv4.sign import Signer  # noqa: E402
from lakeshare.settings import Secret  # noqa: E402
from tests.live import free_port, running  # noqa: E402

START_SECONDS = 120
UNSIGNED = "UNSIGNED-PAYLOAD"
WAREHOUSE = "bench"


@dataclass(frozen=True, slots=True)
class Peer:
    """A catalog that answers: its port, the path of its tables, its processes, and how requests to it are signed."""

    name: str
    port: int
    prefix: str
    pid: int
    signer: Signer | None = None

    def asked(self, method: str, path: str, headers: dict[str, str] | None = None) -> Asked:
        """Lay out a request."""
        url = f"http://127.0.0.1:{self.port}{path}"
        given = {"content-type": "application/json", **(headers or {})}
        if self.signer is not None:
            given = dict(self.signer.headers(method, url, time.time(), given, UNSIGNED))
        given["host"] = f"127.0.0.1:{self.port}"
        lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
        return Asked(f"{method} {path} HTTP/1.1\r\n{lines}".encode())

    def path(self, *parts: str) -> str:
        """Return a path below the warehouse."""
        return "/".join([self.prefix, *(quote(part, safe="") for part in parts)])

    def cpu_seconds(self) -> float:
        """Return what the server and its children have used of the processors."""
        ticks = 0
        for pid in (self.pid, *children(self.pid)):
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            ticks += int(fields[11]) + int(fields[12])
        return ticks / 100


def children(pid: int) -> list[int]:
    """Return the processes that a process started."""
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout
    return [int(line) for line in found.split()]


@contextmanager
def lakeshare() -> Iterator[Peer]:
    """Run our server over a fresh directory."""
    with tempfile.TemporaryDirectory(prefix="lakeshare-bench-") as folder, running(Path(folder) / "data") as server:
        credentials = Credentials(server.access_key, Secret(server.secret_key))
        signer = Signer(credentials, "us-east-1", "s3tables")
        peer = Peer("lakeshare", server.port, f"/_iceberg/v1/{WAREHOUSE}", server.process.pid, signer)
        body = b'{"name": "%s"}' % WAREHOUSE.encode()
        status, _, said = Wire(peer.port).ask(peer.asked("POST", "/_iceberg/v1/warehouses").bytes(body))
        if status != 200:
            sys.exit(f"the warehouse was not made: {said!r}")
        yield peer


@contextmanager
def fixture() -> Iterator[Peer | None]:
    """Run the fixture, if there is a Java to run it."""
    if not (shutil.which("javac") and shutil.which("mvn")):
        print("the fixture is left out: it needs Java 17 and Maven", file=sys.stderr)
        yield None
        return
    path = _rck().class_path()
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="iceberg-fixture-") as folder:
        source = ROOT / "bench" / "IcebergFixture.java"
        subprocess.run(["javac", "-nowarn", "-cp", path, "-d", folder, str(source)], check=True)
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
        command = ["java", "-Xmx1g", quiet, "-cp", f"{folder}:{path}", "IcebergFixture", str(port), folder]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            assert process.stdout is not None
            if process.stdout.readline() != b"ready\n":
                sys.exit("the fixture did not start")
            yield Peer("fixture", port, "/v1", process.pid)
        finally:
            process.kill()
            process.wait()


def _rck() -> Any:
    """Load scripts/rck, which knows the fixture's jars."""
    loader = SourceFileLoader("rck", str(ROOT / "scripts" / "rck"))
    spec = spec_from_loader("rck", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module
