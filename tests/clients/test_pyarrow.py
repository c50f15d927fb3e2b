"""Arrow's own S3 file system against a live server."""

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from tests.live import LiveServer

ROWS = pa.table({"id": range(10_000), "part": [number % 3 for number in range(10_000)]})


@pytest.fixture
def files(any_server: LiveServer) -> fs.S3FileSystem:
    trust = {"tls_ca_file_path": str(any_server.ca_file)} if any_server.ca_file else {}
    return fs.S3FileSystem(
        access_key=any_server.access_key,
        secret_key=any_server.secret_key,
        endpoint_override=any_server.netloc,
        scheme="https" if any_server.ca_file else "http",
        region="us-east-1",
        allow_bucket_creation=True,
        allow_bucket_deletion=True,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=1),
        **trust,
    )


def test_a_dataset_is_written_and_read(files: fs.S3FileSystem, any_bucket: str):
    """A partitioned Parquet dataset comes back with its rows, and a filter finds its partition."""
    where = f"{any_bucket}/data"
    ds.write_dataset(ROWS, where, filesystem=files, format="parquet", partitioning=["part"])
    back = ds.dataset(where, filesystem=files, format="parquet", partitioning=["part"])
    assert back.count_rows() == ROWS.num_rows
    assert sorted(back.to_table(columns=["id"])["id"].to_pylist()) == list(range(10_000))
    assert back.count_rows(filter=ds.field("part") == 1) == 3333


def test_a_file_is_written_and_read_by_ranges(files: fs.S3FileSystem, any_bucket: str):
    """One Parquet file is read back whole and by column."""
    pq.write_table(ROWS, f"{any_bucket}/one.parquet", filesystem=files, row_group_size=1000)
    with files.open_input_file(f"{any_bucket}/one.parquet") as source:
        assert pq.ParquetFile(source).read_row_group(5, columns=["id"])["id"][0].as_py() == 5000
    assert pq.read_table(f"{any_bucket}/one.parquet", filesystem=files).equals(ROWS)


def test_folders_are_made_moved_and_removed(files: fs.S3FileSystem, any_bucket: str):
    """Folder markers, moves, copies and recursive removal leave what they should."""
    files.create_dir(f"{any_bucket}/dir/sub", recursive=True)
    with files.open_output_stream(f"{any_bucket}/dir/sub/file") as sink:
        sink.write(b"bytes")
    files.copy_file(f"{any_bucket}/dir/sub/file", f"{any_bucket}/dir/copy")
    files.move(f"{any_bucket}/dir/copy", f"{any_bucket}/dir/moved")
    found = files.get_file_info(fs.FileSelector(f"{any_bucket}/dir", recursive=True))
    assert sorted((item.base_name, item.type.name) for item in found) == [
        ("file", "File"),
        ("moved", "File"),
        ("sub", "Directory"),
    ]
    files.delete_dir(f"{any_bucket}/dir")
    assert files.get_file_info(f"{any_bucket}/dir").type == fs.FileType.NotFound


def test_an_empty_file_is_a_file(files: fs.S3FileSystem, any_bucket: str):
    """A file of no bytes is there, and is empty."""
    files.open_output_stream(f"{any_bucket}/empty").close()
    assert files.get_file_info(f"{any_bucket}/empty").size == 0


def test_buckets_are_made_and_removed(files: fs.S3FileSystem, any_bucket: str):
    """A bucket is a folder at the top, and goes with all that it holds."""
    files.create_dir(f"{any_bucket}-2")
    with files.open_output_stream(f"{any_bucket}-2/a/b") as sink:
        sink.write(b"bytes")
    assert any_bucket + "-2" in [item.path for item in files.get_file_info(fs.FileSelector(""))]
    files.delete_dir(f"{any_bucket}-2")
    assert files.get_file_info(f"{any_bucket}-2").type == fs.FileType.NotFound
