"""s3fs, the file system of pandas and Dask, against a live server."""

import os

import pandas as pd
import pytest
import s3fs

from tests.live import LiveServer

MIB = 1024**2


@pytest.fixture
def files(live_server: LiveServer) -> s3fs.S3FileSystem:
    return s3fs.S3FileSystem(
        key=live_server.access_key,
        secret=live_server.secret_key,
        endpoint_url=live_server.endpoint,
        client_kwargs={"region_name": "us-east-1"},
        skip_instance_cache=True,
        use_listings_cache=False,
    )


def test_files_are_written_read_found_and_removed(files: s3fs.S3FileSystem, bucket: str):
    """Small and large files are written, read, walked, copied, moved and removed."""
    body = os.urandom(12 * MIB)
    files.pipe(f"{bucket}/dir/small", b"small")
    with files.open(f"{bucket}/dir/large", "wb", block_size=5 * MIB) as sink:
        sink.write(body)
    assert files.cat(f"{bucket}/dir/large") == body
    with files.open(f"{bucket}/dir/large", "rb") as source:
        source.seek(6 * MIB)
        assert source.read(10) == body[6 * MIB : 6 * MIB + 10]
    assert files.find(bucket) == [f"{bucket}/dir/large", f"{bucket}/dir/small"]
    assert files.glob(f"{bucket}/*/s*") == [f"{bucket}/dir/small"]
    files.copy(f"{bucket}/dir/small", f"{bucket}/copy")
    files.mv(f"{bucket}/copy", f"{bucket}/moved")
    assert files.cat(f"{bucket}/moved") == b"small"
    assert not files.exists(f"{bucket}/copy")
    files.rm(bucket, recursive=True)
    assert not files.exists(bucket)


def test_pandas_reads_what_it_wrote(live_server: LiveServer, bucket: str):
    """A frame goes to Parquet and to CSV on the store and comes back."""
    options = {
        "key": live_server.access_key,
        "secret": live_server.secret_key,
        "endpoint_url": live_server.endpoint,
    }
    frame = pd.DataFrame({"id": [1, 2, 3], "name": ["a", "b", "c"]})
    frame.to_csv(f"s3://{bucket}/t.csv", index=False, storage_options=options)
    assert pd.read_csv(f"s3://{bucket}/t.csv", storage_options=options)["id"].tolist() == [1, 2, 3]
    frame.to_parquet(f"s3://{bucket}/t.parquet", storage_options=options)
    assert pd.read_parquet(f"s3://{bucket}/t.parquet", storage_options=options)["name"].tolist() == ["a", "b", "c"]
