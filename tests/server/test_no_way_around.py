"""No operation of any protocol is reached around the check: whoever has no right is refused everywhere."""

import ast
import hashlib
import json
import time
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from lakeshare.admin.wire import metrics
from lakeshare.admin.wire.routes import PREFIX
from lakeshare.admin.wire.routes import ROUTES as ADMIN_ROUTES
from lakeshare.identity.policy.builtin import own_account
from lakeshare.identity.wire.sts import ROUTES as STS_ROUTES
from lakeshare.objects.wire.routes import COPY
from lakeshare.objects.wire.routes import ROUTES as S3_ROUTES
from tests.admin.client import Answer, Client
from tests.admin.names import NAMES
from tests.live import LiveServer, running

TAGS = b"<Tagging><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tagging>"
POLICY = {"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}}
BUCKET_POLICY = POLICY | {
    "Statement": {"Effect": "Allow", "Principal": "*", "Action": "s3:*", "Resource": "arn:aws:s3:::private/*"}
}
S3_BODIES = {
    "DeleteObjects": b"<Delete><Object><Key>k</Key></Object></Delete>",
    "PutBucketTagging": TAGS,
    "PutObjectTagging": TAGS,
    "CompleteMultipartUpload": b"<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>e</ETag></Part>"
    b"</CompleteMultipartUpload>",
    "PutBucketPolicy": json.dumps(BUCKET_POLICY).encode(),
    "PutObject": b"x",
    "UploadPart": b"x",
}
S3_HEADERS = {
    "GetObjectAttributes": {"x-amz-object-attributes": "ETag"},
    "PutBucketAcl": {"x-amz-acl": "private"},
    "PutObjectAcl": {"x-amz-acl": "private"},
    "DeleteObjects": {"content-md5": b64encode(hashlib.md5(S3_BODIES["DeleteObjects"]).digest()).decode()},
}
S3_PATHS = {"service": "/", "bucket": "/private", "key": "/private/key"}
SOURCE = {"endpoint": "http://192.0.2.1:9000", "access_key": "theirs", "secret_key": "their-secret"}
ADMIN_BODIES: dict[str, dict[str, Any]] = {
    "CreateUser": {"name": "intruder"},
    "PutPolicy": POLICY,
    "PutSetting": {"value": "eu-1"},
    "CreateShare": {"name": "sales"},
    "CreateRecipient": {"name": "acme"},
    "CreateSource": SOURCE | {"name": "elsewhere"},
    "PutSource": SOURCE,
}
FORM = {"content-type": "application/x-www-form-urlencoded"}


@dataclass(frozen=True, slots=True)
class Attempt:
    """A request that is right in every way but the caller's rights."""

    name: str
    action: str
    method: str
    path: str
    body: bytes = b""
    service: str = "s3"
    headers: dict[str, str] = field(default_factory=dict)

    def made_by(self, client: Client) -> Answer:
        return client.raw(self.method, self.path, self.body, service=self.service, headers=self.headers)


def s3_attempts() -> Iterator[Attempt]:
    for route in S3_ROUTES:
        marker = route.marker.removesuffix(COPY)
        params = {marker: "2" if marker == "list-type" else "x"} if marker else {}
        params |= {"partNumber": "1"} if route.name.startswith("UploadPart") else {}
        headers = {"x-amz-copy-source": "private/source"} if route.marker.endswith(COPY) else {}
        headers |= S3_HEADERS.get(route.name, {})
        query = f"?{urlencode(params)}" if params else ""
        path = S3_PATHS[route.scope] + query
        yield Attempt(route.name, route.action, route.method, path, S3_BODIES.get(route.name, b""), headers=headers)


def admin_attempts(of: str) -> Iterator[Attempt]:
    names = NAMES | {"user": of, "access_key": "LSAKOFROOT"}
    for route in ADMIN_ROUTES:
        body = json.dumps(ADMIN_BODIES.get(route.name, {})).encode() if route.body else b""
        path = PREFIX + route.path.format(**names)
        if route.name == "CreateAccessKey":
            body = json.dumps({"user": of}).encode()
        if route.name == "ListAccessKeys":
            path += f"?user={of}"
        yield Attempt(route.name, route.action, route.method, path, body)
    yield Attempt(metrics.NAME, metrics.ACTION, "GET", metrics.PATH)


def sts_attempts() -> Iterator[Attempt]:
    for route in STS_ROUTES.values():
        body = urlencode({"Action": route.name, "Version": "2011-06-15"}).encode()
        yield Attempt(route.name, route.action, "POST", "/", body, "sts", FORM)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server with a private bucket and identities to reach for."""
    with running(tmp_path_factory.mktemp("walls") / "data") as live:
        root = Client.root(live)
        assert root.raw("PUT", "/private").status == 200
        for key in ("key", "source", "k"):
            assert root.raw("PUT", f"/private/{key}", b"secret").status == 200
        root.ok("POST", "/access-keys", {"access_key": "LSAKOFROOT"})
        root.ok("PUT", "/groups/team")
        root.ok("PUT", "/policies/reader", POLICY)
        yield live


@pytest.fixture(scope="module")
def stranger(server: LiveServer) -> Client:
    """A user without any policy."""
    made = Client.root(server).ok("POST", "/users", {"name": "stranger"})
    return Client(server, made["name"], made["secret_key"])


def refused_everywhere(client: Client, attempts: list[Attempt]) -> None:
    open_doors = [
        f"{each.name}: {answer.status}" for each in attempts if (answer := each.made_by(client)).status != 403
    ]
    assert open_doors == []
    root = Client.root(client.server)
    time.sleep(0.5)  # another worker's events wait a moment to be written
    events = root.ok("GET", f"/audit?status=403&limit={len(attempts)}")["events"]
    told = [(event["action"], event["access_key"], event["decision"]) for event in events]
    assert sorted(told) == sorted((each.name, client.access_key, "deny") for each in attempts)


def test_nobody_gets_in(server: LiveServer):
    """Every operation of every protocol refuses a request that nobody signed, and the audit log says so."""
    everything = [*s3_attempts(), *sts_attempts(), *admin_attempts(server.access_key)]
    refused_everywhere(Client(server), everything)


def test_a_user_without_policies_gets_nowhere(server: LiveServer, stranger: Client):
    """A user that nothing was granted is refused everything that is not its own account."""
    everything = [*s3_attempts(), *admin_attempts(server.access_key)]
    refused_everywhere(stranger, [each for each in everything if each.name != "GetAccount"])


def test_what_is_ones_own_is_what_the_policy_of_ones_own_account_says(stranger: Client):
    """A user without policies may say who it is and have a session: the policy that every user has allows that."""
    assert stranger.call("GET", "/account").status == 200
    for attempt in sts_attempts():
        assert attempt.made_by(stranger).status == 200
        assert own_account().decisive(attempt.action, "arn:aws:iam:::user/stranger", _Facts()) is not None


class _Facts:
    def values(self, key: str) -> tuple[str, ...]:
        return ("stranger",) if key == "aws:username" else ()


def test_nothing_was_changed(server: LiveServer, stranger: Client):
    """After all those attempts everything is as it was."""
    root = Client.root(server)
    assert stranger.access_key == "stranger"
    assert root.raw("GET", "/private/key").body == b"secret"
    assert [user["name"] for user in root.ok("GET", "/users")["users"]] == ["stranger"]
    assert root.ok("GET", "/settings/region")["source"] == "default"
    assert root.ok("GET", "/access-keys/LSAKOFROOT")["enabled"] is True


def calls_of(name: str, tree: ast.AST) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name
    ]


def test_one_place_performs_and_it_asks_first(repository: Path):
    """In all of the source one line performs operations, in the dispatcher, right after what is needed was allowed."""
    source = repository / "src" / "lakeshare"
    places = {
        path.relative_to(source).as_posix(): len(found)
        for path in sorted(source.rglob("*.py"))
        if (found := calls_of("perform", ast.parse(path.read_text())))
    }
    assert places == {"server/dispatch.py": 1}
    tree = ast.parse((source / "server/dispatch.py").read_text())
    found = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef)}
    serve, allow = found["_serve"], found["_authorised"]
    asked = [position for position, step in enumerate(serve.body) if "await _authorised(" in ast.unparse(step)]
    done = [position for position, step in enumerate(serve.body) if calls_of("perform", step)]
    assert asked
    assert done
    assert asked[0] < done[0]
    assert not any(isinstance(step, ast.If | ast.Try | ast.Return) for step in serve.body[asked[0] : done[0]])
    (allow,) = [
        node for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef) and node.name == "_authorised"
    ]
    assert ast.unparse(allow.body[1]).startswith(
        "try:\n    await gate.authorise(admission, needs)\nexcept AccessDenied"
    )
    assert isinstance(allow.body[2], ast.Return)
