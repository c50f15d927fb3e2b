"""Requests of bench/catalog as they cross the wire: signed beforehand for Lakeshare, bare for the fixture."""

import hashlib
import http.client
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lakeshare.identity.sigv4.keys import Credentials
from lakeshare.identity.sigv4.sign import Signer
from lakeshare.settings import Secret

WAREHOUSE = "bench"
SMALL, LONG, AGED, WORK = "small", "long", "aged", "work"
"""The namespaces: a thousand young tables, ten thousand empty ones, some old ones, and those that are committed to."""
HISTORY = 10
"""Snapshots that a table begins with."""
AGED_HISTORY = 120
"""Snapshots of an old table: an hourly commit, and the five days for which Iceberg keeps snapshots by default."""
_TYPES = ("long", "string", "double", "timestamptz", "int", "decimal(12, 2)")
_COLUMNS = 12
_WAIT_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Speaker:
    """Speaks to one server; without a key it does not sign."""

    port: int
    access_key: str = ""
    secret: str = ""

    @property
    def ours(self) -> bool:
        """Whether it is Lakeshare."""
        return bool(self.access_key)

    def catalog(self, path: str) -> str:
        """Return a path of the catalog."""
        return f"/_iceberg/v1/{WAREHOUSE}{path}" if self.ours else f"/v1{path}"

    def table(self, namespace: str, name: str) -> str:
        """Return the path of a table."""
        return self.catalog(f"/namespaces/{namespace}/tables/{name}")

    def request(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> bytes:
        """Lay out a request."""
        return self.laid_out(method, path, b"" if body is None else json.dumps(body).encode(), headers or {})

    def laid_out(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str], service: str = "s3tables"
    ) -> bytes:
        """Lay out a request whose body is bytes."""
        sent = {"host": f"127.0.0.1:{self.port}", **headers}
        if body:
            sent |= {"content-type": "application/json", "content-length": str(len(body))}
        if self.ours:
            signer = Signer(Credentials(self.access_key, Secret(self.secret)), "us-east-1", service)
            digest = hashlib.sha256(body).hexdigest()
            sent = signer.headers(method, f"http://127.0.0.1:{self.port}{path}", time.time(), sent, digest)
        lines = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode("latin-1") + body

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Ask once, by a connection of its own, and return the answer; a refusal ends the run."""
        told = self.request(method, path, body)
        head, _, raw = told.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode("latin-1").split("\r\n")[1:])
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_WAIT_SECONDS)
        connection.request(method, path, raw or None, headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        if answer.status >= http.HTTPStatus.BAD_REQUEST:
            raise SystemExit(f"{method} {path}: {answer.status} {text[:2000].decode()}")
        return json.loads(text) if text else None


def schema() -> dict[str, Any]:
    """Return the schema of every table."""
    fields = [
        {"id": place + 1, "name": f"column_{place}", "type": _TYPES[place % len(_TYPES)], "required": place == 0}
        for place in range(_COLUMNS)
    ]
    return {"type": "struct", "schema-id": 0, "fields": fields}


PROPERTIES = {"owner": "bench", "write.format.default": "parquet"}
_SPEC = {"spec-id": 0, "fields": [{"source-id": 4, "field-id": 1000, "name": "day", "transform": "day"}]}
_ORDER: dict[str, Any] = {"order-id": 0, "fields": []}


def creation(name: str) -> dict[str, Any]:
    """Return what creates a table."""
    return {"name": name, "schema": schema(), "partition-spec": _SPEC, "properties": PROPERTIES}


def appearance(namespace: str, name: str, uuid: str, more: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what creates a table within a transaction."""
    updates = [
        {"action": "assign-uuid", "uuid": uuid},
        {"action": "upgrade-format-version", "format-version": 2},
        {"action": "add-schema", "schema": schema()},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": _SPEC},
        {"action": "set-default-spec", "spec-id": -1},
        {"action": "add-sort-order", "sort-order": _ORDER},
        {"action": "set-default-sort-order", "sort-order-id": -1},
        {"action": "set-properties", "updates": PROPERTIES},
        *more,
    ]
    return {"identifier": identifier(namespace, name), "requirements": [{"type": "assert-create"}], "updates": updates}


def identifier(namespace: str, name: str) -> dict[str, Any]:
    """Return the name of a table."""
    return {"namespace": [namespace], "name": name}


def snapshots(first: int, count: int, location: str, at_ms: int) -> list[dict[str, Any]]:
    """Return updates that add snapshots, each the child of the one before; number and id are the same."""
    return [_snapshot(first + place, location, at_ms + place) for place in range(count)]


def moved_to(snapshot: int) -> dict[str, Any]:
    """Return the update that makes a snapshot current."""
    return {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": snapshot}


_SUMMARY = {
    "operation": "append",
    "spark.app.id": "local-1763300000000",
    "engine-name": "spark",
    "engine-version": "4.0.1",
    "iceberg-version": "Apache Iceberg 1.11.0",
    "added-data-files": "4",
    "added-records": "100000",
    "added-files-size": "8388608",
    "changed-partition-count": "1",
    "total-records": "1000000",
    "total-files-size": "83886080",
    "total-data-files": "40",
    "total-delete-files": "0",
    "total-position-deletes": "0",
    "total-equality-deletes": "0",
}
"""What Spark writes."""


def _snapshot(number: int, location: str, at_ms: int) -> dict[str, Any]:
    value: dict[str, Any] = {
        "snapshot-id": number,
        "sequence-number": number,
        "timestamp-ms": at_ms,
        "manifest-list": f"{location}/metadata/snap-{number:019}-1-5fb7bf0e-6e6b-4d5e-8a4b-2f0d3c9a7b11.avro",
        "schema-id": 0,
        "summary": _SUMMARY,
    }
    if number > 1:
        value["parent-snapshot-id"] = number - 1
    return {"action": "add-snapshot", "snapshot": value}


def append(uuid: str, number: int, location: str, at_ms: int) -> dict[str, Any]:
    """Return a commit as a writer of one snapshot sends it."""
    return {
        "requirements": [
            {"type": "assert-table-uuid", "uuid": uuid},
            {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": number - 1},
        ],
        "updates": [_snapshot(number, location, at_ms), moved_to(number)],
    }


def property_commit(uuid: str, name: str, value: int) -> dict[str, Any]:
    """Return a commit that sets a property: it changes nothing that another such commit relies on."""
    return {
        "requirements": [{"type": "assert-table-uuid", "uuid": uuid}],
        "updates": [{"action": "set-properties", "updates": {name: str(value)}}],
    }
