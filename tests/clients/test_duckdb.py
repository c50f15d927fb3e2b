"""DuckDB with its httpfs extension against a live server."""

from collections.abc import Iterator
from importlib.resources import files

import duckdb
import pytest

from tests.live import LiveServer


@pytest.fixture
def db(live_server: LiveServer) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as connection:
        extension = files("duckdb_extension_httpfs") / f"extensions/v{duckdb.__version__}/httpfs.duckdb_extension"
        connection.load_extension(str(extension))
        connection.execute(
            f"""CREATE SECRET (TYPE s3, KEY_ID '{live_server.access_key}', SECRET '{live_server.secret_key}',
                ENDPOINT '{live_server.netloc}', URL_STYLE 'path', USE_SSL false, REGION 'us-east-1')"""
        )
        yield connection


def test_parquet_is_written_and_read_by_glob(db: duckdb.DuckDBPyConnection, bucket: str):
    """Partitioned Parquet is written, and globs and filters over it give the rows back."""
    db.execute(
        f"""COPY (SELECT range AS id, range % 4 AS part FROM range(20000))
            TO 's3://{bucket}/t' (FORMAT parquet, PARTITION_BY (part))"""
    )
    assert db.sql(f"SELECT count(*), sum(id) FROM 's3://{bucket}/t/*/*.parquet'").fetchone() == (20000, 199990000)
    one = db.sql(f"SELECT count(*) FROM read_parquet('s3://{bucket}/t/**', hive_partitioning=true) WHERE part = 2")
    assert one.fetchone() == (5000,)
    files = db.sql(f"SELECT count(*) FROM glob('s3://{bucket}/t/part=[12]/*.parquet')").fetchone()
    assert files == (2,)


def test_large_files_go_up_in_parts(db: duckdb.DuckDBPyConnection, bucket: str):
    """A file larger than one part of the client's is whole."""
    db.execute("SET s3_uploader_max_filesize = '50GB'")  # Parts are a ten-thousandth of it, and at least 5 MiB.
    db.execute(
        f"""COPY (SELECT range AS id, sha256(range::VARCHAR) AS text FROM range(300000))
            TO 's3://{bucket}/large.csv' (FORMAT csv)"""
    )
    assert db.sql(f"SELECT count(DISTINCT text) FROM 's3://{bucket}/large.csv'").fetchone() == (300000,)
