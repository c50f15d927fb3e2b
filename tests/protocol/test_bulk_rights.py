"""A bulk delete of keys that the caller may not all delete: S3 removes the others, and so do we."""

import hashlib
import json
from base64 import b64encode

import pytest

from tests.raw import RawClient

NAME, SECRET = "bulk-deleter", "bulk-deleter-secret"
DENIED = "<Code>AccessDenied</Code>"


@pytest.fixture
def deleter(live_server, raw, bucket):
    """A user that may delete what lies under `mine/`, and nothing else."""
    body = json.dumps({"name": NAME, "secret_key": SECRET}).encode()
    assert raw.send("POST", "/_admin/v1/users", body, {"content-type": "application/json"}).status in (201, 409)
    statement = {
        "Effect": "Allow",
        "Principal": {"AWS": [NAME]},
        "Action": "s3:DeleteObject",
        "Resource": f"arn:aws:s3:::{bucket}/mine/*",
    }
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]}).encode()
    assert raw.send("PUT", f"/{bucket}?policy", policy).status == 204
    client = RawClient.of(live_server, NAME, SECRET)
    yield client
    client.close()


def delete(client, bucket, *keys, quiet=False):
    objects = "".join(f"<Object><Key>{key}</Key></Object>" for key in keys)
    body = f"<Delete>{'<Quiet>true</Quiet>' if quiet else ''}{objects}</Delete>".encode()
    md5 = b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode()
    return client.send("POST", f"/{bucket}?delete", body, {"content-md5": md5})


@pytest.mark.parametrize("quiet", [False, True])
def test_what_is_allowed_goes_and_the_rest_is_told(raw, bucket, deleter, quiet):
    """Each key is decided on its own: those that are denied stay, in the order of the request, and are named."""
    for key in ("mine/a", "theirs/b", "mine/c"):
        raw.send("PUT", f"/{bucket}/{key}", b"x")
    answer = delete(deleter, bucket, "mine/a", "theirs/b", "mine/c", quiet=quiet)
    text = answer.body.decode()
    assert answer.status == 200
    assert text.count(DENIED) == 1
    assert "theirs/b</Key>" in text.partition("<Error>")[2]
    assert text.count("<Deleted>") == (0 if quiet else 2)
    assert raw.send("HEAD", f"/{bucket}/theirs/b").status == 200
    assert raw.send("HEAD", f"/{bucket}/mine/a").status == raw.send("HEAD", f"/{bucket}/mine/c").status == 404


def test_a_caller_that_may_delete_none_is_refused_whole(raw, bucket, deleter):
    """Where no key may be deleted the request itself is denied."""
    raw.send("PUT", f"/{bucket}/theirs/b", b"x")
    answer = delete(deleter, bucket, "theirs/b", "theirs/c")
    assert (answer.status, answer.code) == (403, "AccessDenied")
    assert raw.send("HEAD", f"/{bucket}/theirs/b").status == 200
