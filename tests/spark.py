"""Spark for tests: the pipeline's Java, jars and sessions, set up for short jobs against a live server."""

import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from lakeshare.pipeline.conf import Wanted
from lakeshare.pipeline.connection import Connection
from lakeshare.pipeline.errors import NoSpark
from lakeshare.pipeline.java import find_java
from lakeshare.pipeline.session import spark_session
from lakeshare.settings import Secret
from tests.live import LiveServer

QUICK = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""Short jobs: the second compiler of Java would cost more than it saves."""


def needs_spark() -> None:
    """Skip where PySpark is not installed."""
    pytest.importorskip("pyspark", reason="needs PySpark: run scripts/setup --spark")


def java_for_spark(cache: Path) -> Path:
    """Return a JAVA_HOME that Spark runs on; skip where there is none, or no PySpark."""
    needs_spark()
    try:
        return find_java(cache)
    except NoSpark as missing:
        pytest.skip(f"needs Java 17 or 21. {missing.next_step}")


def connection_to(server: LiveServer) -> Connection:
    """Return how the pipeline reaches a server."""
    ca_file = str(server.ca_file) if server.ca_file else ""
    return Connection(server.endpoint, server.access_key, Secret(server.secret_key), ca_file=ca_file)


def session_for(
    server: LiveServer, cache: Path, more: dict[str, str] | None = None, warehouse: str = ""
) -> AbstractContextManager[Any]:
    """Open one of the pipeline's sessions; its jars lie in the cache of the tests."""
    java_for_spark(cache)
    wanted = Wanted("local[2]", warehouse=warehouse, more=QUICK | (more or {}))
    return spark_session(connection_to(server), wanted, os.environ | {"LAKESHARE_CACHE": str(cache)})
