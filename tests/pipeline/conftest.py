"""What the tests of the pipeline share: Java, a Spark session for a live server, and places to write to."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.boto import boto_client
from tests.live import LiveServer
from tests.spark import java_for_spark, session_for

WAREHOUSE = "pipeline-tests"


@pytest.fixture(scope="session")
def java(cache: Path) -> Path:
    """A JAVA_HOME that Spark runs on."""
    return java_for_spark(cache)


def make_warehouse(server: LiveServer, name: str) -> None:
    """Make a warehouse."""
    asked = AWSRequest(
        "POST", f"{server.endpoint}/_iceberg/v1/warehouses", {"content-type": "application/json"},
        json.dumps({"name": name}).encode(),
    )  # fmt: skip
    SigV4Auth(Credentials(server.access_key, server.secret_key), "s3tables", "us-east-1").add_auth(asked)
    verify = str(server.ca_file) if server.ca_file else True
    answer = requests.post(asked.url, asked.body, headers=dict(asked.headers), timeout=30, verify=verify)
    assert answer.status_code == 200, answer.text


@pytest.fixture(scope="module")
def spark(cache: Path, live_server: LiveServer) -> Iterator[Any]:
    """A session with Delta, S3A and the Iceberg catalog of the live server.

    It ends with its module: a process has one at a time, and the next module of the same process may want another.
    """
    make_warehouse(live_server, WAREHOUSE)
    with session_for(live_server, cache, warehouse=WAREHOUSE) as session:
        yield session


@pytest.fixture
def bucket(live_server: LiveServer, bucket_names: Callable[[str], str]) -> str:
    """A bucket of its own."""
    name = bucket_names("pipeline")
    client = boto_client(live_server)
    client.create_bucket(Bucket=name)
    client.close()
    return name
