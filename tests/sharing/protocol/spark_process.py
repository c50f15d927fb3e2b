"""A Spark session in a process of its own, and logs made of what a share answered, which that Spark reads.

Such a log is what the JVM connector makes: protocol, metadata and files as the share said them, with local files in
place of links.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import requests

from tests.live import clean_environment

Lines = list[dict[str, Any]]


class SparkProcess:
    """Asks the process, one line at a time."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def ask(self, do: str, **more: Any) -> Any:
        """Ask for one thing; fails with what Spark said."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": do, **more}) + "\n")
        self._process.stdin.flush()
        told = json.loads(self._process.stdout.readline() or '{"failed": "the process ended"}')
        assert "failed" not in told, told["failed"]
        return told["told"]


@contextmanager
def spark_process(folder: Path, cache: Path, java: Path, root: Path) -> Iterator[SparkProcess]:
    """Start Spark over a folder of tables, and end it."""
    command = [sys.executable, "-m", "tests.sharing.protocol.spark_tables", str(folder), str(cache)]
    env = clean_environment(JAVA_HOME=str(java), TZ="UTC", PATH=os.environ["PATH"])
    with (folder.parent / "spark.log").open("w") as log:
        process = subprocess.Popen(
            command, cwd=root, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        )
        try:
            yield SparkProcess(process)
        finally:
            if process.stdin is not None:
                process.stdin.close()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()


def write_snapshot(lines: Lines, folder: Path) -> str:
    """Write a log of one version from the lines of a query in the delta format."""
    actions = [_head(line) for line in lines[:2]] + [_local(line["file"], folder) for line in lines[2:]]
    _commit(folder, 0, actions)
    return str(folder)


def write_changes(lines: Lines, folder: Path, start: int, end: int) -> str:
    """Write a log of the versions of a change feed in the delta format; before its start nothing happened."""
    head = [_head(line) for line in lines[:2]]
    for version in range(end + 1):
        files = [line["file"] for line in lines[2:] if "file" in line and line["file"]["version"] == version]
        assert version >= start or not files
        told = {"commitInfo": {"timestamp": 1, "operation": "WRITE", "operationParameters": {}}}
        _commit(folder, version, [told, *(head if not version else ()), *(_local(file, folder) for file in files)])
    return str(folder)


def _head(line: dict[str, Any]) -> dict[str, Any]:
    if "protocol" in line:
        return {"protocol": line["protocol"]["deltaProtocol"]}
    return {"metaData": line["metaData"]["deltaMetadata"]}


def _local(file: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Give an action local files for its links."""
    name, action = next(iter(file["deltaSingleAction"].items()))
    action = action | {"path": _fetched(action["path"], folder, ".parquet").name}
    vector = action.get("deletionVector")
    if vector is not None and vector["storageType"] == "p":
        path = _fetched(vector["pathOrInlineDv"], folder, ".bin").as_uri()
        action["deletionVector"] = vector | {"pathOrInlineDv": path}
    return {name: action}


def _fetched(url: str, folder: Path, suffix: str) -> Path:
    path = folder / (sha256(url.split("?", maxsplit=1)[0].encode()).hexdigest() + suffix)
    if not path.exists():
        answer = requests.get(url, timeout=30)
        assert answer.status_code == 200, answer.text
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(answer.content)
    return path


def _commit(folder: Path, version: int, actions: Lines) -> None:
    log = folder / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    (log / f"{version:020d}.json").write_text("".join(json.dumps(each) + "\n" for each in actions))
