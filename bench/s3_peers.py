"""The servers that are measured, each on a port and a folder of its own: Lakeshare, MinIO and nginx."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from running import ACCESS_KEY, OURS, ROOT, SECRET, Process, free_port, listens, our_command, say, start, stop

BUILT = ROOT / ".cache" / "bin"
WORKERS = 2

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
    process: Process
    version: str

    def signing(self, bucket: str) -> dict[str, Any]:
        """Return what a client needs to sign requests for a bucket."""
        return {"port": self.port, "bucket": bucket, "access_key": ACCESS_KEY, "secret": SECRET}

    def stop(self) -> None:
        """End it and all it started."""
        stop(self.process)


def start_lakeshare(folder: Path) -> Peer:
    """Serve a data folder with two workers, everything else as it comes."""
    port = free_port()
    command = our_command(folder, port, WORKERS)
    return _started("Lakeshare", port, folder, command, OURS, _version([command[0], "--version"]))


def start_minio(folder: Path) -> Peer | None:
    """Serve a folder by MinIO, if it is there."""
    program = os.environ.get("LAKESHARE_MINIO") or shutil.which("minio") or BUILT / "minio"
    if not Path(program).exists():
        say("MinIO is not here: build it with --build-peers (needs Go), or set LAKESHARE_MINIO; its rows are skipped")
        return None
    port = free_port()
    command = [program, "server", "--quiet", "--address", f"127.0.0.1:{port}"]
    command += ["--console-address", f"127.0.0.1:{free_port()}", folder]
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
        say("nginx is not here (Debian: apt install nginx-light); its rows are skipped")
        return None
    port = free_port()
    (folder / "www").mkdir(parents=True)
    configuration = folder / "nginx.conf"
    user = "user root;\n" if os.geteuid() == 0 else ""
    configuration.write_text(user + _NGINX.format(folder=folder, port=port, workers=WORKERS))
    command = [program, "-p", folder, "-c", configuration, "-e", folder / "error.log"]
    return _started("nginx", port, folder, command, {}, _version([program, "-v"]))


def build_peers() -> None:
    """Build MinIO from its module, which takes minutes."""
    if (go := shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")) is None:
        say("Go is not here, so MinIO cannot be built")
        return
    if (BUILT / "minio").exists():
        return
    say("building MinIO from github.com/minio/minio@latest; this takes some minutes")
    BUILT.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "GOBIN": str(BUILT)}
    subprocess.run([go, "install", "github.com/minio/minio@latest"], env=environment, check=True)


def _started(
    name: str, port: int, folder: Path, command: Sequence[object], environment: Mapping[str, str], version: str
) -> Peer:
    folder.mkdir(parents=True, exist_ok=True)
    words, log = [str(word) for word in command], folder.parent / f"{name}.log"
    process = start(name, words, log, lambda: listens(port), {**os.environ, **environment})
    return Peer(name, port, folder, process, version)


def _version(command: Sequence[object]) -> str:
    told = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    return (told.stdout or told.stderr).partition("\n")[0].strip()
