"""What scripts/demo does once everything is installed."""

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
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import boto3
import pyarrow as pa
from botocore.exceptions import ClientError
from deltalake import DeltaTable, write_deltalake

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".demo"
START_SECONDS = 30
STOP_SECONDS = 40
BUCKET = "demo"
TABLE = f"s3://{BUCKET}/employees"


@dataclass(frozen=True, slots=True)
class Demo:
    """A server of the demo: how to reach it, and its process."""

    port: int
    access_key: str
    secret_key: str
    pid: int

    @property
    def endpoint(self) -> str:
        """The URL that clients are given."""
        return f"http://127.0.0.1:{self.port}"

    def is_running(self) -> bool:
        """Say whether the process is there, and is a server of this folder."""
        if not self.pid:
            return False
        if Path("/proc/self/cmdline").exists():
            try:
                return str(FOLDER) in Path(f"/proc/{self.pid}/cmdline").read_bytes().decode(errors="replace")
            except OSError:
                return False
        look = ["ps", "-p", str(self.pid), "-o", "command="]
        return str(FOLDER) in subprocess.run(look, capture_output=True, text=True, check=False).stdout

    def is_ready(self) -> bool:
        """Say whether the server answers."""
        try:
            with urllib.request.urlopen(self.endpoint + "/_health/ready", timeout=2):
                return True
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False


def main() -> None:
    """Start or look again, or clean up."""
    parser = argparse.ArgumentParser(prog="scripts/demo", description="Try Lakeshare on this machine.")
    parser.add_argument("--port", type=int, default=None, help="port of the server (default 9000)")
    parser.add_argument("--clean", action="store_true", help="stop the server and remove .demo")
    options = parser.parse_args()
    if options.clean:
        clean()
        return
    demo = start(options.port)
    write_and_read(demo)
    say_what_next(demo)


def step(text: str) -> None:
    """Show progress."""
    print(f"demo: {text}", flush=True)


def fail(text: str) -> NoReturn:
    """Stop with a message."""
    sys.exit(f"demo: {text}")


def remembered() -> Demo | None:
    """Return the server that an earlier run started, if there was one."""
    try:
        return Demo(**json.loads((FOLDER / "demo.json").read_text()))
    except FileNotFoundError:
        return None


def start(port: int | None) -> Demo:
    """Return a server that answers: the one that runs, or a new one over what an earlier run left."""
    known = remembered()
    if known and known.is_running():
        if port not in {None, known.port}:
            fail(f"a server of the demo runs on port {known.port}; stop it first with scripts/demo --clean")
        step(f"the server is running at {known.endpoint}")
        return await_ready(known)
    port = port or (known.port if known else 9000)
    if is_taken(port):
        fail(f"port {port} is taken by another program; choose another with scripts/demo --port {port + 100}")
    FOLDER.mkdir(mode=0o700, exist_ok=True)
    access_key = known.access_key if known else "demo-" + secrets.token_hex(4)
    secret_key = known.secret_key if known else secrets.token_urlsafe(24)
    step(f"starting a server on {FOLDER.name}/data, port {port}")
    demo = Demo(port, access_key, secret_key, launch(port, access_key, secret_key))
    remember(demo)
    return await_ready(demo)


def launch(port: int, access_key: str, secret_key: str) -> int:
    """Start the server in the background and return its process id."""
    command = [ROOT / ".venv/bin/lakeshare", "server", FOLDER / "data", "--address", f"127.0.0.1:{port}"]
    others = {name: value for name, value in os.environ.items() if not name.startswith(("LAKESHARE_", "MINIO_"))}
    environment = others | {"LAKESHARE_ROOT_USER": access_key, "LAKESHARE_ROOT_PASSWORD": secret_key}
    with (FOLDER / "server.log").open("ab") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True
        )
    return process.pid


def remember(demo: Demo) -> None:
    """Keep what a later run needs, for this user alone."""
    path = FOLDER / "demo.json"
    path.touch(mode=0o600)
    facts = {"port": demo.port, "access_key": demo.access_key, "secret_key": demo.secret_key, "pid": demo.pid}
    path.write_text(json.dumps(facts))


def is_taken(port: int) -> bool:
    """Say whether somebody listens on a port of this machine."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def await_ready(demo: Demo) -> Demo:
    """Wait until the server answers."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and demo.is_running():
        if demo.is_ready():
            return demo
        time.sleep(0.1)
    log = (FOLDER / "server.log").read_text(errors="replace")[-3000:]
    fail(f"the server did not start; the end of {FOLDER.name}/server.log:\n{log}")


def write_and_read(demo: Demo) -> None:
    """Make a bucket, write a Delta table into it, and read the table back."""
    s3 = boto3.client(
        "s3",
        endpoint_url=demo.endpoint,
        aws_access_key_id=demo.access_key,
        aws_secret_access_key=demo.secret_key,
        region_name="us-east-1",
    )
    try:
        s3.head_bucket(Bucket=BUCKET)
    except ClientError:
        s3.create_bucket(Bucket=BUCKET)
        step(f"created the bucket {BUCKET}")
    rows = {
        "id": [1, 2, 3, 4, 5],
        "name": ["Ada", "Ben", "Chi", "Dov", "Eve"],
        "department": ["Engineering", "Sales", "Engineering", "Marketing", "Sales"],
    }
    where = {
        "AWS_ENDPOINT_URL": demo.endpoint,
        "AWS_ACCESS_KEY_ID": demo.access_key,
        "AWS_SECRET_ACCESS_KEY": demo.secret_key,
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
    }
    write_deltalake(TABLE, pa.table(rows), mode="overwrite", storage_options=where)
    table = DeltaTable(TABLE, storage_options=where)
    step(f"wrote {TABLE}, version {table.version()}, and read it back:")
    for row in table.to_pyarrow_table().sort_by("id").to_pylist():
        print(f"    {row['id']}  {row['name']:<4} {row['department']}")


def say_what_next(demo: Demo) -> None:
    """Print what to try."""
    print(f"""
The server runs at {demo.endpoint}. Reach it with any S3 client:

    export AWS_ENDPOINT_URL={demo.endpoint} AWS_REGION=us-east-1
    export AWS_ACCESS_KEY_ID={demo.access_key} AWS_SECRET_ACCESS_KEY={demo.secret_key}

then, for example:

    aws s3 ls s3://{BUCKET}/employees/ --recursive
    .venv/bin/python -c 'from deltalake import DeltaTable; print(DeltaTable("{TABLE}",
        storage_options={{"AWS_ALLOW_HTTP": "true"}}).to_pyarrow_table().to_pydict())'

docs/s3.md has the settings of Spark, DuckDB, polars, pandas and others.
The log is {FOLDER.name}/server.log. Stop the server and remove all of this: scripts/demo --clean""")


def clean() -> None:
    """Stop the server, if it runs, and remove what the demo made."""
    demo = remembered()
    if demo and demo.is_running():
        step("stopping the server")
        os.kill(demo.pid, signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        while demo.is_running():
            if time.monotonic() > deadline:
                fail(f"the server (process {demo.pid}) has not stopped after {STOP_SECONDS} s")
            time.sleep(0.1)
    shutil.rmtree(FOLDER, ignore_errors=True)
    step(f"removed {FOLDER.name}")


if __name__ == "__main__":
    main()
