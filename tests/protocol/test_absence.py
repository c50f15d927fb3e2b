"""Who may learn that a key is not there."""

import itertools
import json

import pytest

from tests.raw import RawClient

_numbers = itertools.count()


@pytest.fixture
def reader(live_server, raw, bucket):
    """A user that may read every object of the bucket, and perhaps list it."""
    made = []

    def make(*actions):
        name, secret = f"absence-{next(_numbers)}", "absence-secret-key"
        body = json.dumps({"name": name, "secret_key": secret}).encode()
        assert raw.send("POST", "/_admin/v1/users", body, {"content-type": "application/json"}).status == 201
        resources = [f"arn:aws:s3:::{bucket}", f"arn:aws:s3:::{bucket}/*"]
        statement = {"Effect": "Allow", "Principal": {"AWS": [name]}, "Action": list(actions), "Resource": resources}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]}).encode()
        assert raw.send("PUT", f"/{bucket}?policy", policy).status == 204
        made.append(RawClient.of(live_server, name, secret))
        return made[-1]

    yield make
    for client in made:
        client.close()


def test_only_who_may_list_learns_that_a_key_is_missing(raw, bucket, reader):
    """A reader without s3:ListBucket is denied a missing key, and gets one that is there."""
    raw.send("PUT", f"/{bucket}/there", b"x")
    client = reader("s3:GetObject")
    assert client.send("GET", f"/{bucket}/there").body == b"x"
    assert client.send("GET", f"/{bucket}/missing").status == client.send("HEAD", f"/{bucket}/missing").status == 403


def test_who_may_list_is_told(bucket, reader):
    """A reader with s3:ListBucket gets 404 for a missing key."""
    client = reader("s3:GetObject", "s3:ListBucket")
    assert client.send("GET", f"/{bucket}/missing").code == "NoSuchKey"


def test_no_other_way_of_asking_tells_more(bucket, reader):
    """Attributes, tags and copies of a missing key are denied like the key itself, or tell of it to who may list."""
    asked = (
        ("GET", "missing?attributes", {"x-amz-object-attributes": "ETag"}),
        ("GET", "missing?tagging", {}),
        ("PUT", "copy", {"x-amz-copy-source": f"{bucket}/missing"}),
    )
    rights = ("s3:GetObject", "s3:GetObjectTagging", "s3:PutObject")
    client = reader(*rights)
    for method, path, headers in asked:
        assert client.send(method, f"/{bucket}/{path}", headers=headers).code == "AccessDenied"
    lister = reader(*rights, "s3:ListBucket")
    for method, path, headers in asked:
        assert lister.send(method, f"/{bucket}/{path}", headers=headers).code == "NoSuchKey"
