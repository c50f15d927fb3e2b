"""Metadata files that are packed with gzip: registered, shown, committed to, and refused where they cannot be read."""

import gzip
import json
import uuid
import zlib

import pytest

from lakeshare.formats.iceberg.documents import MAX_JSON_BYTES
from tests.live import LiveServer
from tests.tables.lake import Lake, set_property


@pytest.fixture(scope="module")
def lake(live_server: LiveServer) -> Lake:
    """A warehouse for the tests of this file."""
    found = Lake.made(live_server, "packed")
    found.namespace("ns")
    return found


def written(lake: Lake, packed: bytes, name: str = "00003-x.gz.metadata.json") -> str:
    """Write a metadata file, and return its location."""
    key = f"/{lake.warehouse}/packed-{uuid.uuid4().hex}/metadata/{name}"
    assert lake.client.raw("PUT", key, packed).status == 200
    return f"s3:/{key}"


def metadata_of(lake: Lake, name: str) -> dict[str, object]:
    """Make the metadata of a table that lies elsewhere."""
    made = lake.table("/{w}/namespaces/ns", name)["metadata"]
    location = f"s3://{lake.warehouse}/packed-{uuid.uuid4().hex}"
    return made | {"table-uuid": str(uuid.uuid4()), "location": location, "future": {"kept": True}}


@pytest.mark.parametrize("name", ["00003-x.gz.metadata.json", "00003-x.metadata.json.gz", "00003-x.metadata.json"])
def test_a_packed_file_is_a_table(lake: Lake, name: str):
    """A packed file is registered under either of its names, shown unpacked and committed to; nothing is lost."""
    stem = f"t-{uuid.uuid4().hex}"
    metadata = metadata_of(lake, f"{stem}-0")
    location = written(lake, gzip.compress(json.dumps(metadata).encode()), name)
    body = {"name": stem, "metadata-location": location}
    assert lake.ok("POST", "/{w}/namespaces/ns/register", body)["metadata"]["future"] == {"kept": True}
    path = f"/{{w}}/namespaces/ns/tables/{stem}"
    for query in ("", "?snapshots=refs"):
        found = lake.ok("GET", path + query)
        assert (found["metadata-location"], found["metadata"]["table-uuid"]) == (location, metadata["table-uuid"])
    committed = lake.ok("POST", path, set_property("a", "b"))
    assert committed["metadata-location"].rpartition("/")[2].startswith("00004-")
    assert committed["metadata"]["metadata-log"][-1]["metadata-file"] == location
    assert committed["metadata"]["future"] == {"kept": True}


def bomb() -> bytes:
    """Pack a little more than a metadata file may have."""
    packer = zlib.compressobj(9, wbits=zlib.MAX_WBITS | 16)
    block = b" " * (1024 * 1024)
    return b"".join([packer.compress(block) for _ in range(MAX_JSON_BYTES // len(block) + 1)] + [packer.flush()])


def test_what_cannot_be_unpacked_is_refused(lake: Lake):
    """A file that is cut, that is no gzip behind its first bytes, or that is too large unpacked is a 400."""
    whole = gzip.compress(json.dumps(metadata_of(lake, "whole")).encode())
    for number, packed in enumerate((whole[:-100], b"\x1f\x8b" + b"x" * 100, gzip.compress(b"{}"), bomb())):
        body = {"name": f"bad-{number}", "metadata-location": written(lake, packed)}
        assert lake.refused("POST", "/{w}/namespaces/ns/register", body)[0] == 400
