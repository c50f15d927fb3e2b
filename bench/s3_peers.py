"""The servers that are measured, each on a port and a folder of its own: Lakeshare, MinIO and nginx."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BUILT = ROOT / ".cache" / "bin"
ACCESS_KEY, SECRET = "benchmark", "only-for-this-run-0123456789"
WORKERS = 2
_START_SECONDS = 30.0
_STOP_SECONDS = 15.0

_NGINX = """daemon off; worker_processes {workers}; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000; default_type application/octet-stream;
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
  uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
  server {{ listen 127.0.0.1:{port} reuseport; root {folder}/www; }}
}}
"""


@dataclass(slots=True)
class Peer:
    """A server that runs."""

    name: str
    port: int
    folder: Path
    process: "subprocess.Popen[bytes]"
    version: str

    def signing(self, bucket: str) -> dict[str, Any]:
        """Return what a client needs to sign requests for a bucket."""
        return {"port": self.port, "bucket": bucket, "access_key": ACCESS_KEY, "secret": SECRET}

    def stop(self) -> None:
        """End it and all it started."""
        self.process.terminate()
        try:
            self.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def start_lakeshare(folder: Path) -> Peer:
    """Serve a data folder with two workers, everything else as it comes."""
    port = _free_port()
    command = [ROOT / ".venv/bin/lakeshare", "server", folder, "--address", f"127.0.0.1:{port}", "--workers", WORKERS]
    environment = {"LAKESHARE_ROOT_USER": ACCESS_KEY, "LAKESHARE_ROOT_PASSWORD": SECRET}
    return _started("Lakeshare", port, folder, command, environment, _version([command[0], "--version"]))


def start_minio(folder: Path) -> Peer | None:
    """Serve a folder by MinIO, if it is there."""
    program = os.environ.get("LAKESHARE_MINIO") or shutil.which("minio") or BUILT / "minio"
    if not Path(program).exists():
        _say("MinIO is not here: build it with --build-peers (needs Go), or set LAKESHARE_MINIO; its rows are skipped")
        return None
    port = _free_port()
    command = [program, "server", "--quiet", "--address", f"127.0.0.1:{port}"]
    command += ["--console-address", f"127.0.0.1:{_free_port()}", folder]
    environment = {
        "MINIO_ROOT_USER": ACCESS_KEY,
        "MINIO_ROOT_PASSWORD": SECRET,
        "MINIO_BROWSER": "off",
        "MINIO_UPDATE": "off",
    }
    return _started("MinIO", port, folder, command, environment, _version([program, "--version"]))


def start_nginx(folder: Path) -> Peer | None:
    """Serve files by nginx, if it is there."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        _say("nginx is not here (Debian: apt install nginx-light); its rows are skipped")
        return None
    port = _free_port()
    (folder / "www").mkdir(parents=True)
    configuration = folder / "nginx.conf"
    user = "user root;\n" if os.geteuid() == 0 else ""
    configuration.write_text(user + _NGINX.format(folder=folder, port=port, workers=WORKERS))
    command = [program, "-p", folder, "-c", configuration, "-e", folder / "error.log"]
    return _started("nginx", port, folder, command, {}, _version([program, "-v"]))


def build_peers() -> None:
    """Build MinIO from its module, which takes minutes."""
    if (go := shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")) is None:
        _say("Go is not here, so MinIO cannot be built")
        return
    if (BUILT / "minio").exists():
        return
    _say("building MinIO from github.com/minio/minio@latest; this takes some minutes")
    BUILT.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "GOBIN": str(BUILT)}
    subprocess.run([go, "install", "github.com/minio/minio@latest"], env=environment, check=True)


def _started(
    name: str, port: int, folder: Path, command: Sequence[object], environment: Mapping[str, str], version: str
) -> Peer:
    folder.mkdir(parents=True, exist_ok=True)
    log = (folder.parent / f"{name}.log").open("wb")
    process = subprocess.Popen(
        [str(word) for word in command], stdout=log, stderr=log, env={**os.environ, **environment}
    )
    peer = Peer(name, port, folder, process, version)
    give_up = time.monotonic() + _START_SECONDS
    while time.monotonic() < give_up:
        if process.poll() is not None:
            break
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return peer
    peer.stop()
    sys.exit(f"{name} did not start:\n{(folder.parent / f'{name}.log').read_text(errors='replace')[-2000:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _version(command: Sequence[object]) -> str:
    told = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    return (told.stdout or told.stderr).partition("\n")[0].strip()


def _say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr)
