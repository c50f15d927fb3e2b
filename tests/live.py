"""A real server in a process of its own, for the tests that hold real clients against it."""

import os
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ACCESS_KEY = "lakeshare-tests"
SECRET_KEY = "tests/secret+key=0123456789"
START_SECONDS = 90
STOP_SECONDS = 45
LOG_BYTES_SHOWN = 20_000


@dataclass(slots=True, eq=False)
class LiveServer:
    """A server that answers, and what a client needs to reach it."""

    process: "subprocess.Popen[bytes]"
    data: Path
    log: Path
    host: str
    port: int
    access_key: str
    secret_key: str
    ca_file: Path | None = None

    @property
    def endpoint(self) -> str:
        """The URL that clients are given."""
        return f"{'https' if self.ca_file else 'http'}://{self.netloc}"

    @property
    def netloc(self) -> str:
        """Host and port."""
        return f"{self.host}:{self.port}"

    @property
    def delta_options(self) -> dict[str, str]:
        """What delta-rs needs to read and write here."""
        options = {
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": "us-east-1",
            "AWS_ALLOW_HTTP": "true",
        }
        return options | ({"allow_invalid_certificates": "true"} if self.ca_file else {})

    def log_size(self) -> int:
        """Say how much the server has logged so far."""
        return self.log.stat().st_size

    def log_since(self, offset: int) -> str:
        """Return what the server has logged since then, or the end of it."""
        with self.log.open("rb") as lines:
            lines.seek(max(offset, self.log_size() - LOG_BYTES_SHOWN))
            return lines.read().decode(errors="replace")


def free_port() -> int:
    """Find a port of the loopback address that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def clean_environment(**more: str) -> dict[str, str]:
    """Return this environment without the settings of any S3 client or server, and with these."""
    ours = ("AWS_", "LAKESHARE_", "MINIO_", "MC_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return kept | more


def lakeshare() -> str:
    """Return the path of the command that is installed beside this interpreter."""
    return str(Path(sys.executable).with_name("lakeshare"))


@contextmanager
def running(
    data: Path,
    *options: str,
    environment: Mapping[str, str] | None = None,
    credentials: tuple[str, str] | None = (ACCESS_KEY, SECRET_KEY),
    tls: tuple[Path, Path, Path] | None = None,
    workers: int = 2,
    ended_by_test: bool = False,
) -> Iterator[LiveServer]:
    """Run a server over a data directory until the block ends; then it must stop cleanly, if the test has not ended it.

    `tls` is (certificate, key, authority). Without credentials the server has those that it makes, or that the
    environment gives it.
    """
    port, log = free_port(), data.with_name(data.name + ".log")
    command = [lakeshare(), "server", str(data), "--address", f"127.0.0.1:{port}", "--workers", str(workers)]
    if tls:
        command += ["--tls-cert", str(tls[0]), "--tls-key", str(tls[1])]
    settings = dict(environment or {})
    if credentials:
        settings |= {"LAKESHARE_ROOT_USER": credentials[0], "LAKESHARE_ROOT_PASSWORD": credentials[1]}
    with log.open("ab") as lines:
        process = subprocess.Popen(
            [*command, *options],
            stdin=subprocess.DEVNULL,
            stdout=lines,
            stderr=subprocess.STDOUT,
            env=clean_environment(**settings),
        )
    # pyarrow's and Hadoop's clients look up the name of the certificate, so TLS goes by name.
    server = LiveServer(
        process=process,
        data=data,
        log=log,
        host="localhost" if tls else "127.0.0.1",
        port=port,
        access_key=credentials[0] if credentials else "",
        secret_key=credentials[1] if credentials else "",
        ca_file=tls[2] if tls else None,
    )
    try:
        _await_ready(server)
        yield server
        if not ended_by_test:
            _stop(server)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _await_ready(server: LiveServer) -> None:
    trust = ssl.create_default_context(cafile=str(server.ca_file)) if server.ca_file else None
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.process.poll() is None:
        try:
            with urllib.request.urlopen(server.endpoint + "/_health/ready", timeout=5, context=trust):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.05)
    said = server.log_since(0)
    msg = f"the server was not ready after {START_SECONDS} s (exit code {server.process.poll()}); it said:\n{said}"
    raise AssertionError(msg)


def _stop(server: LiveServer) -> None:
    server.process.send_signal(signal.SIGTERM)
    try:
        code = server.process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        code = None
    assert code == 0, f"after SIGTERM the server ended with {code}; it said:\n{server.log_since(0)}"
    assert "Traceback" not in server.log_since(0), f"the server logged a traceback:\n{server.log_since(0)}"
