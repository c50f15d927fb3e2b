"""polars against a live server."""

import polars as pl
import pytest

from tests.live import LiveServer


@pytest.fixture
def options(live_server: LiveServer) -> dict[str, str]:
    return {
        "aws_access_key_id": live_server.access_key,
        "aws_secret_access_key": live_server.secret_key,
        "aws_endpoint_url": live_server.endpoint,
        "aws_region": "us-east-1",
        "aws_allow_http": "true",
    }


def test_parquet_is_written_and_scanned(options: dict[str, str], bucket: str):
    """A frame is written as Parquet, and a lazy scan over a glob filters it at the source."""
    frame = pl.DataFrame({"id": range(50_000), "name": [f"n{number % 10}" for number in range(50_000)]})
    for number in range(2):
        frame.write_parquet(f"s3://{bucket}/t/{number}.parquet", storage_options=options)
    scan = pl.scan_parquet(f"s3://{bucket}/t/*.parquet", storage_options=options)
    assert scan.filter(pl.col("name") == "n3").select(pl.len()).collect().item() == 10_000
    assert scan.select(pl.col("id").sum()).collect().item() == 2 * sum(range(50_000))


def test_csv_is_sunk_and_read(options: dict[str, str], bucket: str):
    """A streamed CSV file comes back as it was."""
    frame = pl.DataFrame({"id": range(1000)})
    frame.lazy().sink_csv(f"s3://{bucket}/t.csv", storage_options=options)
    assert pl.read_csv(f"s3://{bucket}/t.csv", storage_options=options).equals(frame)
