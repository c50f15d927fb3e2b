"""The settings of a session, pure: what Spark, Delta, Iceberg and S3A must be told to work with one server."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lakeshare.pipeline.connection import Connection

CATALOG = "lakeshare"
"""The name of the server's Iceberg catalog in Spark's SQL."""
SIGNING_NAME = "s3tables"
LOCAL = "local"

_PARTS = 4
"""Partitions of a shuffle on one machine: Spark's 200 are for clusters."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What whoever starts a job may choose."""

    master: str = "local[*]"
    driver_memory: str = "1g"
    warehouse: str = ""
    name: str = "lakeshare"
    more: Mapping[str, str] = field(default_factory=dict)


def settings(connection: Connection, wanted: Wanted, jars: Sequence[Path], work: Path) -> dict[str, str]:
    """Return every setting of a session; what was asked for beyond ours wins."""
    found = _engine(wanted, jars, work) | _objects(connection)
    if wanted.warehouse:
        found |= _catalog(connection, wanted.warehouse)
    return found | dict(wanted.more)


def with_java_options(found: Mapping[str, str], options: Sequence[str]) -> dict[str, str]:
    """Return settings that give further options to Java, besides those that are there."""
    names = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions") if options else ()
    return {**found, **{name: " ".join([*options, *filter(None, [found.get(name)])]) for name in names}}


def launcher_variables(found: Mapping[str, str], java: Path, arguments: str) -> dict[str, str]:
    """Return the variables of the environment that start Spark: a driver on its own is not looked up by its name.

    One whose executors are elsewhere must be: they would look for it on their own machine.
    """
    alone = {"SPARK_LOCAL_HOSTNAME": "localhost"} if found["spark.master"].startswith(LOCAL) else {}
    return {"JAVA_HOME": str(java), "PYSPARK_SUBMIT_ARGS": arguments, **alone}


def _engine(wanted: Wanted, jars: Sequence[Path], work: Path) -> dict[str, str]:
    found = {
        "spark.app.name": wanted.name,
        "spark.master": wanted.master,
        "spark.driver.memory": wanted.driver_memory,
        "spark.jars": ",".join(str(jar) for jar in jars),
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions,"
        "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # Two drivers on one table: the server refuses the second commit, and this log store lets Delta try again.
        "spark.delta.logStore.s3a.impl": "io.delta.storage.GCSLogStore",
        "spark.sql.session.timeZone": "UTC",
        # What makes a row of a CSV file a bad one must not depend on which columns are asked for.
        "spark.sql.csv.parser.columnPruning.enabled": "false",
        "spark.sql.warehouse.dir": str(work / "warehouse"),
        "spark.ui.showConsoleProgress": "false",
    }
    if not wanted.master.startswith(LOCAL):
        return found
    return found | {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": str(_PARTS),
        "spark.databricks.delta.snapshotPartitions": str(_PARTS),
    }


def _objects(connection: Connection) -> dict[str, str]:
    """Return what S3A, Hadoop's connector, is told: Delta tables and sources go through it."""
    s3a = {
        "endpoint": connection.endpoint,
        "endpoint.region": connection.region,
        "path.style.access": "true",
        "connection.ssl.enabled": "true" if connection.is_encrypted else "false",
        "access.key": connection.access_key,
        "secret.key": connection.secret.reveal(),
        "aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
        "attempts.maximum": "4",
        "retry.limit": "4",
    }
    if connection.session_token:
        s3a["session.token"] = connection.session_token.reveal()
        s3a["aws.credentials.provider"] = "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider"
    return {f"spark.hadoop.fs.s3a.{name}": value for name, value in s3a.items()}


def _catalog(connection: Connection, warehouse: str) -> dict[str, str]:
    """Return what Iceberg is told: its catalog speaks REST, signed, and reads and writes files by itself."""
    keys = {"access-key-id": connection.access_key, "secret-access-key": connection.secret.reveal()}
    if connection.session_token:
        keys["session-token"] = connection.session_token.reveal()
    options = {
        "type": "rest",
        "uri": connection.catalog,
        "warehouse": warehouse,
        "rest.auth.type": "sigv4",
        "rest.signing-name": SIGNING_NAME,
        "rest.signing-region": connection.region,
        "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "s3.endpoint": connection.endpoint,
        "s3.path-style-access": "true",
        "client.region": connection.region,
        "cache-enabled": "false",
        **{f"rest.{name}": value for name, value in keys.items()},
        **{f"s3.{name}": value for name, value in keys.items()},
    }
    prefix = f"spark.sql.catalog.{CATALOG}"
    return {prefix: "org.apache.iceberg.spark.SparkCatalog"} | {f"{prefix}.{n}": v for n, v in options.items()}


def properties(found: Mapping[str, str]) -> str:
    """Write settings as a file of Java's properties, which `ps` does not show."""
    return "".join(f"{_escaped(name)} {_escaped(value)}\n" for name, value in found.items())


def _escaped(text: str) -> str:
    """Write a name or a value so that Java reads it as it is."""
    out = []
    for char in text:
        if char in "\\ :=#!":
            out.append("\\" + char)
        elif " " <= char <= "~":
            out.append(char)
        else:
            units = char.encode("utf-16-be")
            out.append("".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2)))
    return "".join(out)
