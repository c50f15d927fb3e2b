"""What the tests of the pipeline share: Java, a Spark session for a live server, and places to write to."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
import requests
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from lakeshare.pipeline.conf import Wanted
from lakeshare.pipeline.connection import Connection
from lakeshare.pipeline.java import find_java
from lakeshare.pipeline.session import spark_session
from lakeshare.settings import Secret
from tests.live import LiveServer

WAREHOUSE = "pipeline-tests"
# Short jobs: the second compiler of Java would cost more than it saves.
QUICK = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


def needs_spark() -> None:
    pytest.importorskip("pyspark", reason="needs PySpark: run scripts/setup --spark")


@pytest.fixture(scope="session")
def java(cache: Path) -> Path:
    """A JAVA_HOME that Spark runs on."""
    needs_spark()
    return find_java(cache)


def connection_to(server: LiveServer) -> Connection:
    ca_file = str(server.ca_file) if server.ca_file else ""
    return Connection(server.endpoint, server.access_key, Secret(server.secret_key), ca_file=ca_file)


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


@pytest.fixture(scope="session")
def spark(cache: Path, java: Path, live_server: LiveServer) -> Iterator[Any]:
    """One session with Delta, S3A and the Iceberg catalog of the live server."""
    make_warehouse(live_server, WAREHOUSE)
    environ = os.environ | {"LAKESHARE_CACHE": str(cache)}
    wanted = Wanted("local[2]", warehouse=WAREHOUSE, more=QUICK)
    with spark_session(connection_to(live_server), wanted, environ) as session:
        yield session


@pytest.fixture
def bucket(live_server: LiveServer, bucket_names: Callable[[str], str]) -> str:
    """A bucket of its own."""
    name = bucket_names("pipeline")
    client = boto3.client(
        "s3",
        endpoint_url=live_server.endpoint,
        aws_access_key_id=live_server.access_key,
        aws_secret_access_key=live_server.secret_key,
        region_name="us-east-1",
    )
    client.create_bucket(Bucket=name)
    client.close()
    return name
