"""STS as boto3 and minio-py use it, against a live server."""

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError
from minio import Minio
from minio.credentials import AssumeRoleProvider

from tests.boto import boto_client
from tests.live import LiveServer

ROLE = "arn:aws:iam::000000000000:role/any"


def client(server: LiveServer, service: str, credentials: dict[str, str] | None = None) -> Any:
    given = credentials or {"AccessKeyId": server.access_key, "SecretAccessKey": server.secret_key}
    key, secret = given["AccessKeyId"], given["SecretAccessKey"]
    return boto_client(server, key, secret, given.get("SessionToken"), service=service)


def policy(*actions: str, resource: str = "arn:aws:s3:::*") -> str:
    statement = {"Effect": "Allow", "Action": list(actions), "Resource": resource}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def session(server: LiveServer, **given: Any) -> dict[str, str]:
    wanted = {"RoleArn": ROLE, "RoleSessionName": "nightly"} | given
    return client(server, "sts").assume_role(**wanted)["Credentials"]


def code(refused: pytest.ExceptionInfo[ClientError]) -> tuple[str, int]:
    return refused.value.response["Error"]["Code"], refused.value.response["ResponseMetadata"]["HTTPStatusCode"]


@pytest.fixture
def bucket(live_server: LiveServer, bucket_names: Callable[[str], str]) -> str:
    name = bucket_names("sts")
    s3 = client(live_server, "s3")
    s3.create_bucket(Bucket=name)
    s3.put_object(Bucket=name, Key="t1/a", Body=b"one")
    s3.put_object(Bucket=name, Key="t10/a", Body=b"ten")
    return name


def test_a_session_works_on_s3(live_server: LiveServer, bucket: str):
    """Credentials of AssumeRole read and write objects as their maker does."""
    s3 = client(live_server, "s3", session(live_server))
    s3.put_object(Bucket=bucket, Key="x", Body=b"y")
    assert s3.get_object(Bucket=bucket, Key="x")["Body"].read() == b"y"


def test_a_session_policy_binds_every_action(live_server: LiveServer, bucket: str):
    """A session that may read one prefix cannot read its neighbour, list, write, or ask for a wider session."""
    limited = session(live_server, Policy=policy("s3:GetObject", resource=f"arn:aws:s3:::{bucket}/t1/*"))
    s3 = client(live_server, "s3", limited)
    assert s3.get_object(Bucket=bucket, Key="t1/a")["Body"].read() == b"one"
    attempts: list[Callable[[], Any]] = [
        lambda: s3.get_object(Bucket=bucket, Key="t10/a"),
        lambda: s3.list_objects_v2(Bucket=bucket, Prefix="t1/"),
        lambda: s3.put_object(Bucket=bucket, Key="t1/b", Body=b""),
        lambda: s3.delete_object(Bucket=bucket, Key="t1/a"),
        s3.list_buckets,
        lambda: client(live_server, "sts", limited).assume_role(RoleArn=ROLE, RoleSessionName="wider"),
        lambda: client(live_server, "sts", limited).get_caller_identity(),
    ]
    for attempt in attempts:
        with pytest.raises(ClientError) as refused:
            attempt()
        assert code(refused) == ("AccessDenied", 403)


def test_a_session_says_who_it_is(live_server: LiveServer):
    """GetCallerIdentity names the user, and for a session the session as well."""
    found = client(live_server, "sts").get_caller_identity()
    assert found["Arn"] == f"arn:aws:iam:::user/{live_server.access_key}"
    assert found["UserId"] == live_server.access_key
    assert found["Account"] == "000000000000"
    of_session = client(live_server, "sts", session(live_server)).get_caller_identity()
    assert of_session["Arn"] == f"arn:aws:sts:::assumed-role/{live_server.access_key}/nightly"


def test_minio_py_assumes_a_role(live_server: LiveServer, bucket: str):
    """minio-py's own provider of sessions is served too."""
    provider = AssumeRoleProvider(
        sts_endpoint=live_server.endpoint,
        access_key=live_server.access_key,
        secret_key=live_server.secret_key,
        duration_seconds=900,
        policy=policy("s3:*"),
        region="us-east-1",
    )
    assert Minio(live_server.netloc, credentials=provider, secure=False).bucket_exists(bucket)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"DurationSeconds": 900, "Policy": "{"}, ("MalformedPolicyDocument", 400)),
        ({"Policy": policy("s3:*") + " " * 2048}, ("PackedPolicyTooLarge", 400)),
        ({"PolicyArns": [{"arn": "arn:aws:iam::aws:policy/ReadOnly"}]}, ("ValidationError", 400)),
        ({"Tags": [{"Key": "team", "Value": "blue"}]}, ("ValidationError", 400)),
        ({"DurationSeconds": 60_000}, ("ValidationError", 400)),
    ],
)
def test_what_cannot_be_served_is_refused(live_server: LiveServer, given: dict[str, Any], expected: tuple[str, int]):
    """A session that would be wider than asked for is refused in STS's words."""
    with pytest.raises(ClientError) as refused:
        session(live_server, **given)
    assert code(refused) == expected


def test_a_wrong_secret_is_refused(live_server: LiveServer):
    """A signature with another secret gets STS's error."""
    wrong = {"AccessKeyId": live_server.access_key, "SecretAccessKey": "wrong-secret"}
    with pytest.raises(ClientError) as refused:
        client(live_server, "sts", wrong).get_caller_identity()
    assert code(refused) == ("SignatureDoesNotMatch", 403)


def test_an_unknown_action_is_refused(live_server: LiveServer):
    """An action that STS has elsewhere is named in the refusal."""
    with pytest.raises(ClientError) as refused:
        client(live_server, "sts").get_session_token()
    assert code(refused) == ("InvalidAction", 400)
    assert "GetSessionToken" in refused.value.response["Error"]["Message"]


def post(server: LiveServer, form: dict[str, str], path: str = "/") -> tuple[int, str]:
    data = urllib.parse.urlencode(form).encode()
    request = urllib.request.Request(
        server.endpoint + path, data, {"Content-Type": "application/x-www-form-urlencoded"}
    )
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


def test_nobody_gets_no_session(live_server: LiveServer):
    """A form that nobody signed is refused, in the form of the answers to those that are signed."""
    status, text = post(live_server, {"Action": "AssumeRole", "Version": "2011-06-15"})
    assert status == 403
    assert '<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">' in text
    assert "<Code>AccessDenied</Code>" in text


def test_a_form_is_bounded(live_server: LiveServer):
    """A form larger than its bound is refused before it is looked at."""
    status, text = post(live_server, {"Action": "AssumeRole", "Version": "2011-06-15", "Policy": "x" * 70_000})
    assert (status, "<Code>RequestEntityTooLarge</Code>" in text) == (413, True)
