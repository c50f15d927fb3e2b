"""boto3 against a live server: the reference client, and the one whose upload and download run in parallel parts."""

import concurrent.futures
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import urllib3
from boto3.s3.transfer import TransferConfig
from botocore.exceptions import ClientError

from tests.boto import boto_client
from tests.live import LiveServer

MIB = 1024**2
PARTS = TransferConfig(multipart_threshold=5 * MIB, multipart_chunksize=5 * MIB, max_concurrency=8)


@pytest.fixture
def s3(live_server: LiveServer, connect: Callable[..., Any]) -> Any:
    return connect(live_server)


@pytest.fixture
def any_s3(any_server: LiveServer, connect: Callable[..., Any]) -> Any:
    return connect(any_server)


def refusal(attempt: Callable[..., Any], **arguments: Any) -> tuple[int, str]:
    """Return the status and the code that an attempt is refused with."""
    with pytest.raises(ClientError) as refused:
        attempt(**arguments)
    answer = refused.value.response
    return answer["ResponseMetadata"]["HTTPStatusCode"], answer["Error"]["Code"]


def test_what_was_put_is_got(any_s3: Any, any_bucket: str):
    """An object comes back with its bytes, its type, its metadata and the MD5 of its bytes as its ETag."""
    body = os.urandom(300_000)
    any_s3.put_object(Bucket=any_bucket, Key="a/b c+d.bin", Body=body, ContentType="x/y", Metadata={"colour": "blue"})
    got = any_s3.get_object(Bucket=any_bucket, Key="a/b c+d.bin")
    assert got["Body"].read() == body
    assert got["ContentType"] == "x/y"
    assert got["Metadata"] == {"colour": "blue"}
    assert got["ETag"] == f'"{hashlib.md5(body).hexdigest()}"'


@pytest.mark.parametrize("algorithm", ["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"])
def test_checksums_are_kept(any_s3: Any, any_bucket: str, algorithm: str):
    """The checksum that a client sent is the one that it can read back."""
    put = any_s3.put_object(Bucket=any_bucket, Key="sum", Body=b"x" * 1000, ChecksumAlgorithm=algorithm)
    head = any_s3.head_object(Bucket=any_bucket, Key="sum", ChecksumMode="ENABLED")
    assert head[f"Checksum{algorithm}"] == put[f"Checksum{algorithm}"]
    assert head["ChecksumType"] == "FULL_OBJECT"


def test_an_object_follows_an_empty_one(any_s3: Any, any_bucket: str):
    """Empty and other bodies take turns on one connection, and each has its own answer."""
    for body in (b"", b"{", b"", b"}"):
        any_s3.put_object(Bucket=any_bucket, Key="turns", Body=body)
        assert any_s3.get_object(Bucket=any_bucket, Key="turns")["Body"].read() == body
        any_s3.put_object(Bucket=any_bucket, Key="again", Body=body)


def test_large_files_go_up_and_down_in_parts(any_s3: Any, any_bucket: str, tmp_path: Path):
    """A file of 20 MB goes up as parts in parallel and comes down as ranges in parallel, unchanged."""
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(os.urandom(20 * MIB + 17))
    any_s3.upload_file(str(source), any_bucket, "large", Config=PARTS)
    any_s3.download_file(any_bucket, "large", str(target), Config=PARTS)
    assert target.read_bytes() == source.read_bytes()
    assert any_s3.head_object(Bucket=any_bucket, Key="large")["ETag"].endswith('-5"')


def test_copies_are_objects_of_their_own(s3: Any, bucket: str):
    """A copy keeps bytes and metadata when its source is gone."""
    s3.put_object(Bucket=bucket, Key="source", Body=b"bytes", Metadata={"a": "1"}, ContentType="x/y")
    s3.copy_object(Bucket=bucket, Key="kept", CopySource={"Bucket": bucket, "Key": "source"})
    s3.copy_object(
        Bucket=bucket,
        Key="changed",
        CopySource={"Bucket": bucket, "Key": "source"},
        MetadataDirective="REPLACE",
        Metadata={"b": "2"},
    )
    s3.delete_object(Bucket=bucket, Key="source")
    assert s3.get_object(Bucket=bucket, Key="kept")["Body"].read() == b"bytes"
    assert s3.head_object(Bucket=bucket, Key="kept")["Metadata"] == {"a": "1"}
    assert s3.head_object(Bucket=bucket, Key="changed")["Metadata"] == {"b": "2"}


def test_large_copies_go_by_parts(s3: Any, bucket: str):
    """A managed copy of a large object copies ranges as parts."""
    body = os.urandom(12 * MIB)
    s3.upload_fileobj(_stream(body), bucket, "source", Config=PARTS)
    s3.copy({"Bucket": bucket, "Key": "source"}, bucket, "target", Config=PARTS)
    assert s3.get_object(Bucket=bucket, Key="target")["Body"].read() == body


def _stream(body: bytes) -> Any:
    import io

    return io.BytesIO(body)


def test_listings_page_and_fold(any_s3: Any, any_bucket: str):
    """Both listings give every key once over pages, and fold what a delimiter folds."""
    keys = sorted(f"{folder}/{number:03}" for folder in ("a", "b", "ü") for number in range(40))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda key: any_s3.put_object(Bucket=any_bucket, Key=key, Body=b""), keys))
    for verb in ("list_objects_v2", "list_objects"):
        pages = list(any_s3.get_paginator(verb).paginate(Bucket=any_bucket, PaginationConfig={"PageSize": 7}))
        assert len(pages) == -(-len(keys) // 7)
        assert [item["Key"] for page in pages for item in page["Contents"]] == keys
    folded = any_s3.list_objects_v2(Bucket=any_bucket, Delimiter="/")
    assert [item["Prefix"] for item in folded["CommonPrefixes"]] == ["a/", "b/", "ü/"]
    assert "Contents" not in folded
    after = any_s3.list_objects_v2(Bucket=any_bucket, Prefix="b/", StartAfter="b/037")
    assert [item["Key"] for item in after["Contents"]] == ["b/038", "b/039"]


def test_versions_are_listed_as_null(s3: Any, bucket: str):
    """A bucket without versioning lists each object as its one null version."""
    s3.put_object(Bucket=bucket, Key="k", Body=b"1")
    s3.put_object(Bucket=bucket, Key="k", Body=b"2")
    listed = s3.list_object_versions(Bucket=bucket)["Versions"]
    assert [(item["Key"], item["VersionId"], item["IsLatest"]) for item in listed] == [("k", "null", True)]


def test_many_objects_are_deleted_at_once(any_s3: Any, any_bucket: str):
    """A bulk delete answers for each key, there or not, and what it names is gone."""
    for key in ("a", "b", "keep"):
        any_s3.put_object(Bucket=any_bucket, Key=key, Body=b"")
    answer = any_s3.delete_objects(Bucket=any_bucket, Delete={"Objects": [{"Key": k} for k in ("a", "b", "absent")]})
    assert sorted(item["Key"] for item in answer["Deleted"]) == ["a", "absent", "b"]
    assert [item["Key"] for item in any_s3.list_objects_v2(Bucket=any_bucket)["Contents"]] == ["keep"]


@pytest.mark.parametrize("version", ["s3v4", "s3"])
def test_presigned_urls_work_without_a_key(
    live_server: LiveServer, connect: Callable[..., Any], bucket: str, version: str
):
    """A presigned URL of either signature version lets anyone put, get and look, and nothing else."""
    signer = connect(live_server, signature_version=version)
    for verb, method, body in (("put_object", "PUT", b"signed"), ("get_object", "GET", None)):
        url = signer.generate_presigned_url(verb, Params={"Bucket": bucket, "Key": "dir/a b.txt"}, ExpiresIn=60)
        assert ("X-Amz-Signature" in url) == (version == "s3v4")
        answer = urllib3.request(method, url, body=body)
        assert (answer.status, answer.data) == (200, b"" if body else b"signed")
    assert urllib3.request("GET", url.replace("a%20b", "other")).status == 403


def test_a_presigned_get_serves_head_and_ranges(live_server: LiveServer, connect: Callable[..., Any], bucket: str):
    """A URL signed for GET also answers HEAD and ranges, as readers of shared tables need."""
    signer = connect(live_server, signature_version="s3v4")
    signer.put_object(Bucket=bucket, Key="data", Body=b"0123456789")
    url = signer.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": "data"}, ExpiresIn=60)
    assert urllib3.request("HEAD", url).headers["content-length"] == "10"
    part = urllib3.request("GET", url, headers={"Range": "bytes=2-4"})
    assert (part.status, part.data) == (206, b"234")


def test_tags_are_kept_for_objects_and_buckets(s3: Any, bucket: str):
    """Tags are set with an object, changed, read and removed; so are a bucket's."""
    s3.put_object(Bucket=bucket, Key="k", Body=b"", Tagging="a=1&b=two%20words")
    assert s3.get_object_tagging(Bucket=bucket, Key="k")["TagSet"] == [
        {"Key": "a", "Value": "1"},
        {"Key": "b", "Value": "two words"},
    ]
    s3.put_object_tagging(Bucket=bucket, Key="k", Tagging={"TagSet": [{"Key": "c", "Value": "3"}]})
    assert s3.get_object(Bucket=bucket, Key="k")["TagCount"] == 1
    s3.delete_object_tagging(Bucket=bucket, Key="k")
    assert s3.get_object_tagging(Bucket=bucket, Key="k")["TagSet"] == []
    assert refusal(s3.get_bucket_tagging, Bucket=bucket) == (404, "NoSuchTagSet")
    s3.put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": [{"Key": "team", "Value": "data"}]})
    assert s3.get_bucket_tagging(Bucket=bucket)["TagSet"] == [{"Key": "team", "Value": "data"}]


def test_conditions_of_reads_hold(s3: Any, bucket: str):
    """A read that depends on an ETag is served, refused with 412, or answered with 304."""
    etag = s3.put_object(Bucket=bucket, Key="k", Body=b"1")["ETag"]
    assert s3.get_object(Bucket=bucket, Key="k", IfMatch=etag)["Body"].read() == b"1"
    assert refusal(s3.get_object, Bucket=bucket, Key="k", IfMatch='"other"') == (412, "PreconditionFailed")
    assert refusal(s3.get_object, Bucket=bucket, Key="k", IfNoneMatch=etag)[0] == 304


def test_conditions_of_writes_hold(s3: Any, bucket: str):
    """A write that depends on what is there happens exactly if that is there."""
    etag = s3.put_object(Bucket=bucket, Key="k", Body=b"1", IfNoneMatch="*")["ETag"]
    assert refusal(s3.put_object, Bucket=bucket, Key="k", Body=b"2", IfNoneMatch="*") == (412, "PreconditionFailed")
    newer = s3.put_object(Bucket=bucket, Key="k", Body=b"3", IfMatch=etag)["ETag"]
    assert refusal(s3.put_object, Bucket=bucket, Key="k", Body=b"4", IfMatch=etag) == (412, "PreconditionFailed")
    assert refusal(s3.put_object, Bucket=bucket, Key="absent", Body=b"", IfMatch=etag) == (404, "NoSuchKey")
    assert refusal(s3.delete_object, Bucket=bucket, Key="k", IfMatch=etag) == (412, "PreconditionFailed")
    s3.delete_object(Bucket=bucket, Key="k", IfMatch=newer)
    assert refusal(s3.get_object, Bucket=bucket, Key="k") == (404, "NoSuchKey")


def test_one_of_many_creators_wins(live_server: LiveServer, connect: Callable[..., Any], bucket: str):
    """Of 16 clients that create the same key over two workers exactly one is told yes, and its bytes are there."""
    clients = [connect(live_server) for _ in range(16)]

    def create(number: int) -> bool:
        try:
            clients[number].put_object(Bucket=bucket, Key="k", Body=str(number).encode(), IfNoneMatch="*")
        except ClientError as refused:
            assert refused.response["ResponseMetadata"]["HTTPStatusCode"] in {409, 412}  # noqa: PT017
            return False
        return True

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        told = list(pool.map(create, range(16)))
    assert told.count(True) == 1
    stored = clients[0].get_object(Bucket=bucket, Key="k")["Body"].read()
    assert stored == str(told.index(True)).encode()


def test_uploads_are_completed_once_and_can_be_aborted(s3: Any, bucket: str):
    """An upload shows its parts, may be aborted, and is an object only when completed."""
    upload = s3.create_multipart_upload(Bucket=bucket, Key="k")["UploadId"]
    parts = [
        {
            "PartNumber": number,
            "ETag": s3.upload_part(Bucket=bucket, Key="k", UploadId=upload, PartNumber=number, Body=body)["ETag"],
        }
        for number, body in ((7, b"end"), (2, b"x" * 5 * MIB))
    ]
    listed = s3.list_parts(Bucket=bucket, Key="k", UploadId=upload)["Parts"]
    assert [(part["PartNumber"], part["Size"]) for part in listed] == [(2, 5 * MIB), (7, 3)]
    assert [item["UploadId"] for item in s3.list_multipart_uploads(Bucket=bucket)["Uploads"]] == [upload]
    assert refusal(s3.head_object, Bucket=bucket, Key="k")[0] == 404
    in_order = {"Parts": parts[::-1]}
    s3.complete_multipart_upload(Bucket=bucket, Key="k", UploadId=upload, MultipartUpload=in_order)
    assert s3.get_object(Bucket=bucket, Key="k", Range="bytes=-5")["Body"].read() == b"xxend"
    assert s3.get_object(Bucket=bucket, Key="k", PartNumber=2)["Body"].read() == b"end"
    other = s3.create_multipart_upload(Bucket=bucket, Key="other")["UploadId"]
    s3.abort_multipart_upload(Bucket=bucket, Key="other", UploadId=other)
    assert refusal(s3.list_parts, Bucket=bucket, Key="other", UploadId=other) == (404, "NoSuchUpload")


def test_buckets_are_made_and_removed(s3: Any, bucket: str):
    """A bucket is listed and found, refuses removal while it holds something, and is gone after it."""
    assert bucket in [item["Name"] for item in s3.list_buckets()["Buckets"]]
    assert s3.head_bucket(Bucket=bucket)["ResponseMetadata"]["HTTPStatusCode"] == 200
    s3.put_object(Bucket=bucket, Key="k", Body=b"")
    assert refusal(s3.delete_bucket, Bucket=bucket) == (409, "BucketNotEmpty")
    s3.delete_object(Bucket=bucket, Key="k")
    s3.delete_bucket(Bucket=bucket)
    assert refusal(s3.head_bucket, Bucket=bucket)[0] == 404


@pytest.mark.parametrize("name", ["delta-sharing", "metrics", "minio"])
def test_names_of_routes_are_no_bucket_names(s3: Any, name: str):
    """A bucket cannot have a name that a route of the server has."""
    assert refusal(s3.create_bucket, Bucket=name) == (400, "InvalidBucketName")


def test_a_wrong_secret_is_refused(live_server: LiveServer):
    """A key with another secret, and a key that nobody has, are refused by name."""
    for key, secret, code in (
        (live_server.access_key, "wrong", "SignatureDoesNotMatch"),
        ("nobody", live_server.secret_key, "InvalidAccessKeyId"),
    ):
        client = boto_client(live_server, key, secret)
        assert refusal(client.list_buckets) == (403, code)
        client.close()


@pytest.mark.parametrize("verb", ["get_bucket_policy", "get_bucket_cors", "get_bucket_lifecycle_configuration"])
def test_what_is_not_served_says_so(s3: Any, bucket: str, verb: str):
    """A feature that is not there answers with S3's own error, never with silence."""
    status, code = refusal(getattr(s3, verb), Bucket=bucket)
    assert (status, code) in {
        (501, "NotImplemented"),
        (404, "NoSuchBucketPolicy"),
        (404, "NoSuchCORSConfiguration"),
        (404, "NoSuchLifecycleConfiguration"),
    }
