"""Both file layers of PyIceberg against a live server."""

import pytest
from pyiceberg.io import FileIO, load_file_io

from tests.live import LiveServer

LAYERS = ("pyiceberg.io.pyarrow.PyArrowFileIO", "pyiceberg.io.fsspec.FsspecFileIO")


@pytest.fixture(params=LAYERS)
def io(request: pytest.FixtureRequest, live_server: LiveServer) -> FileIO:
    return load_file_io(
        {
            "py-io-impl": request.param,
            "s3.endpoint": live_server.endpoint,
            "s3.access-key-id": live_server.access_key,
            "s3.secret-access-key": live_server.secret_key,
            "s3.region": "us-east-1",
        }
    )


def test_files_are_created_read_and_deleted(io: FileIO, bucket: str):
    """A file is written once, found, read whole and by range, and deleted."""
    where = f"s3://{bucket}/wh/metadata/00000-a b.metadata.json"
    assert not io.new_input(where).exists()
    with io.new_output(where).create() as sink:
        sink.write(b"0123456789")
    found = io.new_input(where)
    assert found.exists()
    assert len(found) == 10
    with found.open() as source:
        source.seek(7)
        assert source.read(2) == b"78"
    with pytest.raises((FileExistsError, OSError)):
        io.new_output(where).create()
    with io.new_output(where).create(overwrite=True) as sink:
        sink.write(b"new")
    with io.new_input(where).open() as source:
        assert source.read() == b"new"
    io.delete(where)
    assert not io.new_input(where).exists()


def test_an_absent_file_is_missing(io: FileIO, bucket: str):
    """Opening a file that is not there fails as a missing file does."""
    with pytest.raises(FileNotFoundError):
        io.new_input(f"s3://{bucket}/absent").open()
