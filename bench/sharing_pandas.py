"""A table read into pandas by the client's own package, and the same files from the local disk by the same kernel.

Run as a program it reads once, in a process of its own, and prints the seconds; the clock starts after the imports.
"""

import json
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from deltalake import write_deltalake
from running import ACCESS_KEY, SECRET, say
from sharing_peers import Lakeshare

BUCKET, SHARE, SCHEMA, TABLE = "lake", "bench", "default", "orders"
ROWS_A_FILE = 1_000_000
WAYS = ("kernel", "plain")
"""The delta format, read by the kernel, and the parquet format, read file by file."""


@dataclass(frozen=True, slots=True)
class Pandas:
    """Seconds over the share and from the disk, and their ratio: medians over the rounds."""

    way: str
    shared: float
    local: float
    ratio: float


def measure(folder: Path, rounds: int, megabytes: int) -> list[Pandas]:
    """Write a table to disk and to a server, and read it both ways in turn."""
    shutil.rmtree(folder, ignore_errors=True)
    local = folder / "local"
    local.mkdir(parents=True)
    with Lakeshare(folder / "data", 2) as server:
        options = {
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_ENDPOINT_URL": server.endpoint,
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
        }
        _bucket(server)
        _write(local, f"s3://{BUCKET}/{TABLE}", options, megabytes)
        server.admin(
            "POST",
            "/shares",
            {"name": SHARE, "tables": [{"schema": SCHEMA, "spec": f"{TABLE}:delta:{BUCKET}:{TABLE}"}]},
        )
        profile = folder / "profile.json"
        profile.write_text(json.dumps(server.admin("POST", f"/shares/{SHARE}/tokens", {})["profile"]))
        try:
            return [_compared(way, profile, local, rounds) for way in WAYS]
        finally:
            shutil.rmtree(local)


def _bucket(server: Lakeshare) -> None:
    import boto3  # noqa: PLC0415 - not for the processes that are timed

    boto3.client(
        "s3",
        endpoint_url=server.endpoint,
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET,
        region_name="us-east-1",
    ).create_bucket(Bucket=BUCKET)


def _write(local: Path, uri: str, options: dict[str, str], megabytes: int) -> None:
    """Append the same files to both tables until they are large enough."""
    size, number = 0, 0
    while size < megabytes * 1_000_000:
        rows = _rows(number)
        write_deltalake(str(local), rows, mode="append")
        write_deltalake(uri, rows, mode="append", storage_options=options)
        size, number = sum(path.stat().st_size for path in local.glob("*.parquet")), number + 1
    say(f"wrote {number} files of {size / 1e6 / number:.0f} MB twice")


def _rows(number: int) -> pa.Table:
    random = np.random.default_rng(number)
    words = pa.array(["open", "paid", "packed", "sent", "lost", "returned"])
    keys = np.arange(number * ROWS_A_FILE, (number + 1) * ROWS_A_FILE)
    return pa.table(
        {
            "id": keys,
            "customer": random.integers(0, 10**12, ROWS_A_FILE),
            "price": random.random(ROWS_A_FILE) * 1000,
            "discount": random.random(ROWS_A_FILE),
            "weight": random.random(ROWS_A_FILE),
            "quantity": random.integers(0, 100, ROWS_A_FILE),
            "day": pa.array(random.integers(18_000, 20_000, ROWS_A_FILE).astype(np.int32), pa.date32()),
            "state": words.take(pa.array(random.integers(0, len(words), ROWS_A_FILE))),
        }
    )


def _compared(way: str, profile: Path, local: Path, rounds: int) -> Pandas:
    pairs = []
    for number in range(rounds):
        shared, from_disk = _timed(way, f"{profile}#{SHARE}.{SCHEMA}.{TABLE}"), _timed(way, str(local))
        say(f"pandas {way} round {number + 1}: {shared:.2f} s shared, {from_disk:.2f} s from disk")
        pairs.append((shared, from_disk))
    return Pandas(
        way,
        statistics.median(shared for shared, _ in pairs),
        statistics.median(from_disk for _, from_disk in pairs),
        statistics.median(shared / from_disk for shared, from_disk in pairs),
    )


def _timed(way: str, place: str) -> float:
    told = subprocess.run([sys.executable, __file__, way, place], capture_output=True, text=True, check=False)
    if told.returncode:
        sys.exit(f"reading {place} failed:\n{told.stderr[-2000:]}")
    return float(told.stdout.strip().rsplit("\n", 1)[-1])


def _reader(way: str, place: str) -> Callable[[], int]:
    import delta_kernel_rust_sharing_wrapper as kernel  # noqa: PLC0415
    import delta_sharing  # noqa: PLC0415
    import pandas as pd  # noqa: PLC0415
    import pyarrow.dataset as ds  # noqa: PLC0415

    def shared() -> int:
        return len(delta_sharing.load_as_pandas(place, use_delta_format=way == "kernel"))

    def by_kernel() -> int:
        interface = kernel.PythonInterface(f"file://{place}/")
        snapshot = kernel.Table(f"file://{place}/").snapshot(interface)
        batches = kernel.ScanBuilder(snapshot).build().execute(interface)
        return len(pa.Table.from_batches(batches).to_pandas(self_destruct=True))

    def plainly() -> int:
        files = sorted(Path(place).glob("*.parquet"))
        frames = [ds.dataset(str(file)).to_table().to_pandas(date_as_object=True) for file in files]
        return len(pd.concat(frames, axis=0, ignore_index=True, copy=False))

    if "#" in place:
        return shared
    return by_kernel if way == "kernel" else plainly


def main(arguments: Sequence[str]) -> None:
    """Read once."""
    read = _reader(*arguments)
    started = time.perf_counter()
    rows = read()
    seconds = time.perf_counter() - started
    if not rows:
        sys.exit("no rows")
    print(seconds)


if __name__ == "__main__":
    main(sys.argv[1:])
