"""MinIO's Python client against a live server."""

import io
import os
import urllib.request
from collections.abc import Iterator

import pytest
import urllib3
from minio import Minio
from minio.commonconfig import REPLACE, ComposeSource, CopySource, Tags
from minio.deleteobjects import DeleteObject
from minio.error import S3Error

from tests.live import LiveServer

MIB = 1024**2


@pytest.fixture
def client(any_server: LiveServer) -> Iterator[Minio]:
    trust = {"cert_reqs": "CERT_REQUIRED", "ca_certs": str(any_server.ca_file)} if any_server.ca_file else {}
    pool = urllib3.PoolManager(retries=False, **trust)
    yield Minio(
        any_server.netloc,
        access_key=any_server.access_key,
        secret_key=any_server.secret_key,
        secure=any_server.ca_file is not None,
        http_client=pool,
    )
    pool.clear()


def test_objects_come_and_go(client: Minio, any_bucket: str):
    """Objects are put, looked at, read, copied, listed and removed."""
    body = os.urandom(11 * MIB)
    client.put_object(any_bucket, "dir/small", io.BytesIO(b"small"), 5, content_type="x/y", metadata={"a": "1"})
    client.put_object(any_bucket, "dir/large", io.BytesIO(body), len(body), part_size=5 * MIB)
    client.put_object(any_bucket, "dir/unknown", io.BytesIO(body), -1, part_size=5 * MIB)
    assert client.stat_object(any_bucket, "dir/small").metadata["x-amz-meta-a"] == "1"
    for key in ("dir/large", "dir/unknown"):
        answer = client.get_object(any_bucket, key)
        assert answer.read() == body
        answer.release_conn()
    client.copy_object(any_bucket, "copy", CopySource(any_bucket, "dir/small"), metadata_directive=REPLACE)
    client.compose_object(
        any_bucket, "both", [ComposeSource(any_bucket, "dir/large"), ComposeSource(any_bucket, "dir/small")]
    )
    assert client.stat_object(any_bucket, "both").size == len(body) + 5
    names = [item.object_name for item in client.list_objects(any_bucket, recursive=True)]
    assert names == ["both", "copy", "dir/large", "dir/small", "dir/unknown"]
    assert [item.object_name for item in client.list_objects(any_bucket)] == ["both", "copy", "dir/"]
    assert list(client.remove_objects(any_bucket, [DeleteObject(name) for name in names])) == []
    client.remove_bucket(any_bucket)
    assert not client.bucket_exists(any_bucket)


def test_tags_are_kept(client: Minio, any_bucket: str):
    """Tags of an object are set, read and removed."""
    tags = Tags.new_object_tags()
    tags["team"] = "data"
    client.put_object(any_bucket, "k", io.BytesIO(b""), 0)
    client.set_object_tags(any_bucket, "k", tags)
    assert client.get_object_tags(any_bucket, "k") == {"team": "data"}
    client.delete_object_tags(any_bucket, "k")
    assert not client.get_object_tags(any_bucket, "k")


def test_an_absent_key_is_named(client: Minio, any_bucket: str):
    """The error for a key that is not there is NoSuchKey."""
    with pytest.raises(S3Error) as refused:
        client.get_object(any_bucket, "absent")
    assert refused.value.code == "NoSuchKey"


def test_presigned_urls_work(live_server: LiveServer, bucket: str):
    """A URL that the client signed is read without a key."""
    client = Minio(live_server.netloc, live_server.access_key, live_server.secret_key, secure=False)
    client.put_object(bucket, "k", io.BytesIO(b"bytes"), 5)
    with urllib.request.urlopen(client.presigned_get_object(bucket, "k")) as answer:
        assert answer.read() == b"bytes"
    client._http.clear()
