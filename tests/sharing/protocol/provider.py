"""A provider and its recipients over the wire: a live server, tables in its buckets, shares and tokens."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import requests
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from deltalake import DeltaTable, write_deltalake

from tests.boto import boto_client
from tests.live import LiveServer

SCHEMA = "default"
DELTA = {"delta-sharing-capabilities": "responseformat=delta;readerfeatures=deletionvectors,columnmapping,timestampntz"}


class Provider:
    """Who shares: makes tables, shares and tokens on a server."""

    def __init__(self, server: LiveServer, bucket: str) -> None:
        self.server = server
        self.bucket = bucket
        self.s3 = boto_client(server)
        self.s3.create_bucket(Bucket=bucket)

    def write(self, path: str, data: Any, **more: Any) -> None:
        """Write a Delta table, or to one."""
        write_deltalake(self.uri(path), data, storage_options=self.server.delta_options, **more)

    def table(self, path: str) -> DeltaTable:
        """Open a table as delta-rs does."""
        return DeltaTable(self.uri(path), storage_options=self.server.delta_options)

    def uri(self, path: str) -> str:
        """Name a table."""
        return f"s3://{self.bucket}/{path}"

    def put(self, key: str, body: bytes) -> None:
        """Write an object."""
        self.s3.put_object(Bucket=self.bucket, Key=key, Body=body)

    def log(self, path: str, version: int, *actions: Mapping[str, Any]) -> None:
        """Write a commit of a table by hand."""
        lines = "".join(json.dumps(each) + "\n" for each in actions)
        self.put(f"{path}/_delta_log/{version:020d}.json", lines.encode())

    def share(self, name: str, **tables: str) -> None:
        """Share tables, each given as its path in the bucket."""
        self.admin("POST", "/shares", {"name": name, "tables": [self.spec(*each) for each in tables.items()]})

    def spec(self, table: str, path: str, **more: Any) -> dict[str, Any]:
        """Say what is to be shared."""
        return {"schema": SCHEMA, "spec": f"{table}:delta:{self.bucket}:{path}", **more}

    def token(self, share: str, **more: Any) -> "Recipient":
        """Make a token for a share."""
        made = self.admin("POST", f"/shares/{share}/tokens", more)
        return Recipient(made["profile"], made["id"], share)

    def admin(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Ask the admin API."""
        url = f"{self.server.endpoint}/_admin/v1{path}"
        data = b"" if body is None else json.dumps(body).encode()
        signed = AWSRequest(method, url, data=data, headers={"x-amz-content-sha256": hashlib.sha256(data).hexdigest()})
        SigV4Auth(Credentials(self.server.access_key, self.server.secret_key), "s3", "us-east-1").add_auth(signed)
        answer = requests.request(method, url, data=data, headers=dict(signed.headers), timeout=60)
        assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None


class Recipient:
    """Who reads, by one token."""

    def __init__(self, profile: dict[str, Any], token_id: str, share: str) -> None:
        self.profile = profile
        self.token_id = token_id
        self.share = share
        self.headers = {"Authorization": f"Bearer {profile['bearerToken']}"}

    def get(self, path: str, headers: Mapping[str, str] | None = None, **params: Any) -> requests.Response:
        """GET below the endpoint."""
        url = self.profile["endpoint"] + path
        return requests.get(url, params=params, headers=self.headers | dict(headers or {}), timeout=60)

    def of(self, table: str, call: str = "") -> str:
        """Name a call of a table."""
        return f"/shares/{self.share}/schemas/{SCHEMA}/tables/{table}" + (f"/{call}" if call else "")

    def query(self, table: str, headers: Mapping[str, str] | None = None, **body: Any) -> requests.Response:
        """POST a query."""
        url = self.profile["endpoint"] + self.of(table, "query")
        return requests.post(url, json=body, headers=self.headers | dict(headers or {}), timeout=60)

    def lines(self, table: str, headers: Mapping[str, str] | None = None, **body: Any) -> list[dict[str, Any]]:
        """Return the lines of a query."""
        return lines_of(self.query(table, headers, **body))


def lines_of(answer: requests.Response) -> list[dict[str, Any]]:
    """Read the lines of an answer; every one is JSON, none is blank, the last one ends."""
    assert answer.status_code == 200, f"{answer.status_code} {answer.text}"
    assert answer.headers["content-type"] == "application/x-ndjson; charset=utf-8"
    assert answer.text.endswith("\n")
    return [json.loads(line) for line in answer.text[:-1].split("\n")]


def files_of(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the files of lines."""
    return [line["file"] for line in lines if "file" in line]


def url_of(file: dict[str, Any]) -> str:
    """Return the URL of a file line of either format."""
    if "url" in file:
        return str(file["url"])
    return str(next(iter(file["deltaSingleAction"].values()))["path"])


def refused(answer: requests.Response, status: int, code: str, text: str) -> None:
    """Hold an answer to be an error as the protocol writes it."""
    assert answer.status_code == status, f"{answer.status_code} {answer.text}"
    said = answer.json()
    assert set(said) == {"errorCode", "message"}
    assert said["errorCode"] == code, said
    assert text in said["message"], said["message"]
