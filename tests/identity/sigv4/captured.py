"""Requests of real clients as they crossed the wire, from the shared vectors."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lakeshare.http.request import Request
from lakeshare.settings import Secret
from tests.identity.sigv4.wire import SECRET, request
from tests.vectors import S3_REQUESTS

REQUESTS = 278
BODY_LIMIT = 1200
"""The capture kept no more than this many bytes of a body."""

_SECRETS = {
    "http-mc.jsonl": {},
    "http-duckdb.jsonl": {"": "b"},
    "https-boto3-awscli.jsonl": {"": "B"},
    "http-python-clients.jsonl": {
        "pyarrow": "x",
        "delta-rs": "sek",
        "pyiceberg pyiceberg.io.pyarrow.PyArrowFileIO": "bkt",
        "pyiceberg pyiceberg.io.fsspec.FsspecFileIO": "bkt",
        "polars": "bkt",
        "obstore": "bkt",
        "s3fs": "bkt",
    },
}
"""The secret that each client was given, by file and mark, where it was not AWS's example."""


@dataclass(frozen=True)
class Captured:
    """One request. Its body is whole unless it was longer than the capture kept."""

    name: str
    request: Request
    body: bytes
    secret: Secret

    @property
    def timestamp(self) -> str:
        return self.request.headers["x-amz-date"]

    @property
    def whole(self) -> bool:
        declared = self.request.headers.get("content-length")
        return len(self.body) == int(declared) if declared else len(self.body) < BODY_LIMIT


@cache
def captured() -> tuple[Captured, ...]:
    """Return every captured request; none where the vectors are not there."""
    return tuple(item for path in sorted(S3_REQUESTS.glob("*.jsonl")) for item in _read(path))


def _read(path: Path) -> Iterator[Captured]:
    mark = ""
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        record = json.loads(line)
        if "mark" in record:
            mark = record["mark"] if not record["mark"].startswith("ERR") else mark
            continue
        method, target, _ = record["req"].split(" ")
        host = next(value for name, value in record["rh"] if name.lower() == "host")
        secret = Secret(_SECRETS[path.name].get(mark, SECRET.reveal()))
        found = request(method, f"http://{host}{target}", [tuple(pair) for pair in record["rh"]])
        yield Captured(f"{path.stem}:{number} {method} {target[:60]}", found, record["rb"].encode("latin-1"), secret)
