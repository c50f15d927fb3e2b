"""Spark with Iceberg's runtime against the catalog of a live server: signed as vendors document it, and by OAuth."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.live import LiveServer
from tests.spark import session_for
from tests.tables.lake import Lake

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(600),  # The first session fetches about 100 MB of jars.
    pytest.mark.filterwarnings("ignore"),  # PySpark leaves sockets to the garbage collector.
]

SIGNED, TOKEN = "aistor", "tokens"
"""The names of two catalogs over one warehouse: one signs and has keys for S3, one has a token and is vended them."""


@pytest.fixture(scope="module")
def lake(live_server: LiveServer) -> Lake:
    """A warehouse for the tests of this file."""
    return Lake.made(live_server, "spark-catalog")


def signed(server: LiveServer, lake: Lake) -> dict[str, str]:
    """Return the settings of AIStor's page for Spark, without the catalog-impl that Iceberg refuses beside a type."""
    return {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".type": "rest",
        ".uri": f"{server.endpoint}/_iceberg",
        ".warehouse": lake.warehouse,
        ".rest.access-key-id": server.access_key,
        ".rest.endpoint": server.endpoint,
        ".rest.secret-access-key": server.secret_key,
        ".rest.sigv4-enabled": "true",
        ".rest.signing-name": "s3tables",
        ".rest.signing-region": "local",
        ".s3.access-key-id": server.access_key,
        ".s3.secret-access-key": server.secret_key,
        ".s3.endpoint": server.endpoint,
        ".s3.path-style-access": "true",
        ".client.region": "us-east-1",
        ".io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
    }


def by_token(server: LiveServer, lake: Lake) -> dict[str, str]:
    """Return the settings of a client that has an OAuth credential and nothing for S3."""
    return {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".type": "rest",
        ".uri": f"{server.endpoint}/_iceberg",
        ".warehouse": lake.warehouse,
        ".credential": f"{server.access_key}:{server.secret_key}",
        ".oauth2-server-uri": f"{server.endpoint}/_iceberg/v1/oauth/tokens",
        ".scope": "catalog",
        ".header.X-Iceberg-Access-Delegation": "vended-credentials",
        ".io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
    }


@pytest.fixture(scope="module")
def spark(cache: Path, live_server: LiveServer, lake: Lake) -> Iterator[Any]:
    """One session with both catalogs."""
    catalogs = {SIGNED: signed(live_server, lake), TOKEN: by_token(live_server, lake)}
    more = {f"spark.sql.catalog.{name}{key}": value for name, found in catalogs.items() for key, value in found.items()}
    with session_for(live_server, cache, more, lake.warehouse) as session:
        yield session


@pytest.fixture(params=[SIGNED, TOKEN])
def space(request: pytest.FixtureRequest, spark: Any, bucket_names: Callable[[str], str]) -> str:
    """A namespace that no other test has, in each catalog in turn."""
    name = f"{request.param}.{bucket_names('space').replace('-', '_')}"
    spark.sql(f"CREATE NAMESPACE {name}")
    return name


def rows(spark: Any, text: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in spark.sql(text).collect()]


def test_tables_live(spark: Any, space: str):
    """A table is created, filled, merged into, deleted from, evolved, travelled, maintained, renamed and dropped."""
    table = f"{space}.people"
    spark.sql(f"CREATE TABLE {table} (id BIGINT, name STRING) USING iceberg PARTITIONED BY (bucket(4, id))")
    spark.sql(f"INSERT INTO {table} SELECT id, concat('n', id) FROM range(100)")
    first = rows(spark, f"SELECT snapshot_id FROM {table}.snapshots")[0][0]
    spark.range(95, 105).selectExpr("id", "'merged' AS name").createOrReplaceTempView("news")
    spark.sql(
        f"MERGE INTO {table} t USING news n ON t.id = n.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    spark.sql(f"DELETE FROM {table} WHERE id < 10")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN age INT")
    spark.sql(f"UPDATE {table} SET age = 1 WHERE id = 50")
    assert rows(spark, f"SELECT count(*), max(age) FROM {table}") == [(95, 1)]
    assert rows(spark, f"SELECT count(*) FROM {table} VERSION AS OF {first}") == [(100,)]
    catalog, _, rest = table.partition(".")
    spark.sql(f"CALL {catalog}.system.rewrite_data_files(table => '{rest}', options => map('rewrite-all', 'true'))")
    spark.sql(f"CALL {catalog}.system.rollback_to_snapshot('{rest}', {first})")
    assert rows(spark, f"SELECT count(*) FROM {table}") == [(100,)]
    spark.sql(f"CALL {catalog}.system.expire_snapshots(table => '{rest}', older_than => now(), retain_last => 1)")
    spark.sql(f"ALTER TABLE {table} RENAME TO {space.partition('.')[2]}.persons")
    assert rows(spark, f"SHOW TABLES IN {space}")[0][1] == "persons"
    spark.sql(f"DROP TABLE {space}.persons PURGE")
    assert rows(spark, f"SHOW TABLES IN {space}") == []


def test_names_may_be_any(spark: Any, space: str):
    """Names with blanks, slashes, pluses and umlauts, below other names, are those of tables as all others are."""
    inner = f"{space}.`ä b`"
    spark.sql(f"CREATE NAMESPACE {inner}")
    for name in ("a b", "a+b", "a/b ö", "50 %"):
        table = f"{inner}.`{name}`"
        spark.sql(f"CREATE TABLE {table} USING iceberg AS SELECT id FROM range(3)")
        spark.sql(f"INSERT INTO {table} VALUES (7)")
        assert rows(spark, f"SELECT count(*) FROM {table}") == [(4,)]


def test_version_3_has_deletion_vectors(spark: Any, space: str):
    """A table of format version 3 is deleted from by vectors, keeps the ids of its rows, and is read as it is."""
    table = f"{space}.vectors"
    spark.sql(
        f"CREATE TABLE {table} (id BIGINT) USING iceberg TBLPROPERTIES "
        "('format-version'='3', 'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read')"
    )
    spark.range(100).coalesce(1).writeTo(table).append()
    spark.sql(f"DELETE FROM {table} WHERE id % 10 = 0")
    assert rows(spark, f"SELECT count(*) FROM {table}") == [(90,)]
    assert rows(spark, f"SELECT DISTINCT file_format FROM {table}.delete_files") == [("PUFFIN",)]
    assert rows(spark, f"SELECT count(DISTINCT _row_id) FROM {table}") == [(90,)]


def test_tables_are_created_from_queries(spark: Any, space: str):
    """CTAS stages its table and commits it with its rows; RTAS replaces it, and keeps what it was."""
    spark.sql(f"CREATE TABLE {space}.made USING iceberg AS SELECT id FROM range(10)")
    spark.sql(f"CREATE OR REPLACE TABLE {space}.made USING iceberg AS SELECT id, 'x' AS more FROM range(5)")
    assert rows(spark, f"SELECT count(*), count(more) FROM {space}.made") == [(5, 5)]
    assert rows(spark, f"SELECT count(*) FROM {space}.made.history") == [(2,)]


def test_views_are_made_and_read(spark: Any, space: str, lake: Lake):
    """A view is created, replaced, read and dropped."""
    spark.sql(f"CREATE TABLE {space}.base USING iceberg AS SELECT id FROM range(10)")
    spark.sql(f"CREATE VIEW {space}.small AS SELECT id FROM {space}.base WHERE id < 3")
    assert rows(spark, f"SELECT count(*) FROM {space}.small") == [(3,)]
    spark.sql(f"CREATE OR REPLACE VIEW {space}.small AS SELECT id FROM {space}.base WHERE id < 5")
    assert rows(spark, f"SELECT count(*) FROM {space}.small") == [(5,)]
    spark.sql(f"DROP VIEW {space}.small")
    assert not [row for row in rows(spark, f"SHOW VIEWS IN {space}") if row[1] == "small"]
