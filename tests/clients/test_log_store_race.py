"""Two drivers that check and then write the same Delta versions, as Spark's default log store does on S3."""

import multiprocessing
from collections.abc import Callable
from multiprocessing.synchronize import Barrier
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.live import LiveServer

VERSIONS = 150
LOCK_STEP_SECONDS = 60


def key_of(version: int) -> str:
    return f"table/_delta_log/{version:020}.json"


def drive(
    connection: dict[str, str], bucket: str, name: str, barrier: Barrier, answers: "multiprocessing.Queue[Any]"
) -> None:
    """Commit every version: look, and write if nothing is there, each step at the same time as the other driver."""
    client = boto3.client("s3", region_name="us-east-1", config=Config(retries={"total_max_attempts": 1}), **connection)
    told_yes, messages = [], []
    for version in range(VERSIONS):
        barrier.wait(LOCK_STEP_SECONDS)
        try:
            client.head_object(Bucket=bucket, Key=key_of(version))
            absent = False
        except ClientError as missing:
            absent = missing.response["ResponseMetadata"]["HTTPStatusCode"] == 404
        barrier.wait(LOCK_STEP_SECONDS)
        try:
            assert absent, f"version {version} was there before anybody wrote it"
            client.put_object(Bucket=bucket, Key=key_of(version), Body=f"{name} {version}".encode())
            told_yes.append(version)
        except ClientError as refused:
            status = refused.response["ResponseMetadata"]["HTTPStatusCode"]
            messages.append((status, refused.response["Error"]["Message"]))
    answers.put((name, told_yes, messages))
    client.close()


def test_no_commit_of_two_drivers_is_lost(live_server: LiveServer, bucket: str, connect: Callable[..., Any]):
    """Of two unconditional writers of each version exactly one is told yes, and its bytes stay."""
    spawn = multiprocessing.get_context("spawn")
    barrier, answers = spawn.Barrier(2), spawn.Queue()
    connection = {
        "endpoint_url": live_server.endpoint,
        "aws_access_key_id": live_server.access_key,
        "aws_secret_access_key": live_server.secret_key,
    }
    drivers = [
        spawn.Process(target=drive, args=(connection, bucket, name, barrier, answers)) for name in ("one", "two")
    ]
    for driver in drivers:
        driver.start()
    told = {name: (yes, no) for name, yes, no in (answers.get(timeout=120) for _ in drivers)}
    for driver in drivers:
        driver.join(30)
        assert driver.exitcode == 0

    (one, refused_one), (two, refused_two) = told["one"], told["two"]
    assert sorted(one + two) == list(range(VERSIONS))
    refusals = refused_one + refused_two
    assert {status for status, _ in refusals} == {412}
    assert all("412 Precondition Failed" in message for _, message in refusals)
    client = connect(live_server)
    for name, versions in (("one", one), ("two", two)):
        for version in versions:
            stored = client.get_object(Bucket=bucket, Key=key_of(version))["Body"].read()
            assert stored == f"{name} {version}".encode()


def test_a_retry_of_the_same_bytes_is_told_yes(live_server: LiveServer, bucket: str, connect: Callable[..., Any]):
    """A driver that lost the answer and sends its commit again does not meet its own refusal."""
    client = connect(live_server)
    for _ in range(2):
        client.put_object(Bucket=bucket, Key=key_of(0), Body=b"same")
    with pytest.raises(ClientError) as refused:
        client.put_object(Bucket=bucket, Key=key_of(0), Body=b"other")
    assert refused.value.response["Error"]["Code"] == "PreconditionFailed"
    client.delete_object(Bucket=bucket, Key=key_of(0))
    client.put_object(Bucket=bucket, Key=key_of(0), Body=b"other")


@pytest.mark.parametrize(
    "key",
    [
        "table/_delta_log/_last_checkpoint",
        "table/_delta_log/00000000000000000010.checkpoint.parquet",
        "table/_delta_log/0000000000000000001.json",
        "table/_delta_log/sub/00000000000000000001.json",
        "table/log/00000000000000000001.json",
    ],
)
def test_what_is_no_commit_may_be_overwritten(
    live_server: LiveServer, bucket: str, connect: Callable[..., Any], key: str
):
    """Checkpoints and other files beside commits are ordinary objects."""
    client = connect(live_server)
    for body in (b"first", b"second"):
        client.put_object(Bucket=bucket, Key=key, Body=body)
    assert client.get_object(Bucket=bucket, Key=key)["Body"].read() == b"second"


def test_copies_and_uploads_over_a_commit_are_refused(
    live_server: LiveServer, bucket: str, connect: Callable[..., Any]
):
    """A copy and a multipart upload cannot overwrite a commit either."""
    client = connect(live_server)
    client.put_object(Bucket=bucket, Key=key_of(0), Body=b"commit")
    client.put_object(Bucket=bucket, Key="other", Body=b"other")
    with pytest.raises(ClientError) as copied:
        client.copy_object(Bucket=bucket, Key=key_of(0), CopySource={"Bucket": bucket, "Key": "other"})
    upload = client.create_multipart_upload(Bucket=bucket, Key=key_of(0))["UploadId"]
    part = client.upload_part(Bucket=bucket, Key=key_of(0), UploadId=upload, PartNumber=1, Body=b"other")
    with pytest.raises(ClientError) as completed:
        client.complete_multipart_upload(
            Bucket=bucket,
            Key=key_of(0),
            UploadId=upload,
            MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]},
        )
    for refused in (copied, completed):
        assert refused.value.response["Error"]["Code"] == "PreconditionFailed"
    assert client.get_object(Bucket=bucket, Key=key_of(0))["Body"].read() == b"commit"
