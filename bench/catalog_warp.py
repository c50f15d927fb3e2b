"""`warp iceberg`, MinIO's load client for Iceberg catalogs, as a part of bench/catalog.

It signs for Lakeshare as it does for AIStor. Other catalogs it takes for Polaris's: the fixture is asked so, below
/api/catalog and with a token that it does not check. Nested namespaces it cannot ask of the fixture, so that there is
one namespace; nor may it leave the size of a page to it, which then gives empty ones without end.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

from running import ACCESS_KEY, ROOT, SECRET, say
from s3_meter import cpu_seconds, tree

KINDS = {"warp_read": "catalog-read", "warp_commits": "catalog-commits", "warp_mixed": "catalog-mixed"}
"""The calls of bench/catalog, and the commands of warp's that they are."""
CLIENTS = 8
ENTITIES = 16
"""Tables, and as many views."""
CATALOG = "warp"
BUILT = ROOT / ".cache" / "bin" / "warp"
_MODULE = "github.com/minio/warp@v1.5.0"
_REQUIRED = "github.com/minio/madmin-go/v4@v4.10.5"
"""The version that its module file names has been withdrawn."""
_PAGE = 100
_SPARE_SECONDS = 60
_GOOD, _BAD = "200", "failed"


def find() -> str | None:
    """Find the program where LAKESHARE_WARP says, on the PATH, or where it was built."""
    for candidate in (os.environ.get("LAKESHARE_WARP"), shutil.which("warp"), str(BUILT)):
        if candidate and Path(candidate).exists() and _told(candidate, "iceberg", "--help"):
            return candidate
    return None


def build() -> None:
    """Build it from its module, which takes minutes and needs Go."""
    if find() is not None:
        return
    if (go := shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")) is None:
        say("Go is not here, so warp cannot be built")
        return
    say(f"building warp from {_MODULE}; this takes some minutes")
    fetched = subprocess.run([go, "mod", "download", "-json", _MODULE], stdout=subprocess.PIPE, check=True)
    with tempfile.TemporaryDirectory(prefix="lakeshare-warp-") as folder:
        source = shutil.copytree(
            json.loads(fetched.stdout)["Dir"], Path(folder) / "warp", copy_function=shutil.copyfile
        )
        for place in (source, *(each for each in source.rglob("*") if each.is_dir())):
            place.chmod(0o755)  # The cache of modules may only be read.
        subprocess.run([go, "mod", "edit", f"-require={_REQUIRED}"], cwd=source, check=True)
        subprocess.run([go, "build", "-mod=mod", "-o", str(BUILT), "."], cwd=source, check=True)


class Warp:
    """The program, if it is there, and a folder for what it leaves."""

    def __init__(self, folder: Path) -> None:
        self._program, self._folder = find(), folder

    def possible(self, calls: list[str]) -> list[str]:
        """Return the calls that can be made: without the program none of its own."""
        if self._program or not set(calls) & set(KINDS):
            return calls
        say("warp's rows are left out: build it with --build-peers (needs Go), or set LAKESHARE_WARP")
        return [call for call in calls if call not in KINDS]

    def drive(self, pid: int, port: int, place: str | None, call: str, seconds: float) -> dict[str, Any]:
        """Run one of its loads, and return what was answered; `place` is where the tables of the fixture lie.

        What it makes stays, so that the next run finds it, and the time of making it is no part of that run.
        """
        server = tree(pid)
        before = cpu_seconds(server)
        total = self._run(call, [f"--host=127.0.0.1:{port}", *_catalog(place)], seconds)["total"]
        spent = cpu_seconds(server) - before
        return _found(total, spent)

    def _run(self, call: str, more: list[str], seconds: float) -> Any:
        line = [
            str(self._program),
            "iceberg",
            KINDS[call],
            *more,
            f"--duration={seconds:g}s",
            f"--concurrent={CLIENTS}",
        ]
        line += [f"--catalog-name={CATALOG}", "--namespace-depth=1"]
        line += [f"--tables-per-ns={ENTITIES}", f"--views-per-ns={ENTITIES}"]
        line += [] if call == "warp_commits" else [f"--page-size={_PAGE}"]
        line += ["--noclear", "--json", "--no-color", f"--benchdata={self._folder / 'warp'}"]
        try:
            done = subprocess.run(
                line, capture_output=True, text=True, check=False, timeout=seconds + _SPARE_SECONDS, cwd=self._folder
            )
        except subprocess.TimeoutExpired:
            sys.exit(f"warp did not end: {' '.join(line)}")
        if done.returncode or '"by_op_type"' not in done.stdout:
            sys.exit(f"warp failed at {KINDS[call]}:\n{(done.stdout + done.stderr)[-2000:]}")
        return json.loads(done.stdout[done.stdout.index("{") :])


def _catalog(place: str | None) -> list[str]:
    if place is None:
        return [f"--access-key={ACCESS_KEY}", f"--secret-key={SECRET}", f"--base-location=s3://{CATALOG}"]
    return ["--external-catalog=polaris", "--access-key=any", "--secret-key=body", f"--base-location={place}"]


def _found(total: Any, spent: float) -> dict[str, Any]:
    asked, bad = total["total_requests"], total["total_errors"]
    if bad:
        say(f"warp was refused: {(total['first_errors'] or [''])[0]}")
    elapsed = datetime.fromisoformat(total["end_time"]) - datetime.fromisoformat(total["start_time"])
    parts = [part["single_sized_requests"] for of in total["requests_by_client"].values() for part in of]
    most = max(parts, key=lambda part: part["requests"])
    return {
        "rate": (asked - bad) / elapsed.total_seconds(),
        "p50_ms": most["dur_median_millis"],
        "p99_ms": max(part["dur_99_millis"] for part in parts),
        "cpu_us": spent / asked * 1e6,
        "statuses": {_GOOD: asked - bad} | ({_BAD: bad} if bad else {}),
    }


def _told(*command: str) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
