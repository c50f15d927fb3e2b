"""Spark with Hadoop's S3A connector against a live server: Parquet and Delta, on one session for all tests."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.live import LiveServer
from tests.spark import session_for

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(600),  # The first session fetches about 100 MB of jars.
    pytest.mark.filterwarnings("ignore"),  # PySpark leaves sockets to the garbage collector.
]

ONCE_IN_SMALL_PARTS = {"spark.hadoop.fs.s3a.multipart.size": "5M", "spark.hadoop.fs.s3a.attempts.maximum": "1"}
"""Each request is sent once, so that no retry hides a failure, and files of some megabytes have parts."""


@pytest.fixture(scope="module")
def spark(cache: Path, live_server: LiveServer) -> Iterator[Any]:
    """One session with Delta and S3A."""
    with session_for(live_server, cache, ONCE_IN_SMALL_PARTS) as session:
        yield session


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
    options = live_server.delta_options
    where = f"s3://{bucket}/shared"
    assert DeltaTable(where, storage_options=options).to_pyarrow_table().num_rows == 10
    write_deltalake(where, pa.table({"id": pa.array([10], pa.int64())}), mode="append", storage_options=options)
    assert spark.read.format("delta").load(f"s3a://{bucket}/shared").count() == 11
