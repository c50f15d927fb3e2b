"""Bad signatures and worse intentions, against every protocol: each gets a clear error and an audit line."""

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

import pytest

from lakeshare.identity.sigv4.keys import Credentials
from lakeshare.identity.sigv4.sign import Signer
from lakeshare.settings import Secret
from tests.admin.client import Answer, Client
from tests.live import LiveServer

FORM = {"content-type": "application/x-www-form-urlencoded"}
IDENTITY = urlencode({"Action": "GetCallerIdentity", "Version": "2011-06-15"}).encode()
SKEW_SECONDS = 16 * 60
ID_HEADERS = ("x-amz-request-id", "x-amzn-requestid", "x-request-id")
WAIT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Door:
    """One protocol: a harmless request to it, signed as it wants, and its words for what can be wrong."""

    name: str
    method: str
    path: str
    service: str
    other_service: str
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    skewed: tuple[int, str] = (0, "")
    mismatch: tuple[int, str] = (0, "")
    unknown: tuple[int, str] = (0, "")
    malformed: tuple[int, str] = (0, "")
    bad_token: tuple[int, str] = (0, "")

    def signed(self, client: Client, **how: Any) -> dict[str, str]:
        given = {"service": self.service, "headers": dict(self.headers)} | how
        return client.signed(self.method, self.path, self.body, **given)

    def send(self, client: Client, headers: dict[str, str], body: bytes | None = None) -> Answer:
        return client.send(self.method, self.path, self.body if body is None else body, headers)


S3 = Door(
    "s3",
    "GET",
    "/",
    "s3",
    "sts",
    skewed=(403, "RequestTimeTooSkewed"),
    mismatch=(403, "SignatureDoesNotMatch"),
    unknown=(403, "InvalidAccessKeyId"),
    malformed=(400, "AuthorizationHeaderMalformed"),
    bad_token=(400, "InvalidToken"),
)
STS = Door(
    "sts",
    "POST",
    "/",
    "sts",
    "s3",
    body=IDENTITY,
    headers=tuple(FORM.items()),
    skewed=(403, "SignatureDoesNotMatch"),
    mismatch=(403, "SignatureDoesNotMatch"),
    unknown=(403, "InvalidClientTokenId"),
    malformed=(400, "IncompleteSignature"),
    bad_token=(403, "InvalidClientTokenId"),
)
ADMIN = Door(
    "admin",
    "GET",
    "/_admin/v1/account",
    "s3",
    "sts",
    skewed=(401, "ClockSkewed"),
    mismatch=(401, "SignatureDoesNotMatch"),
    unknown=(401, "AccessKeyUnknown"),
    malformed=(401, "AuthorizationMalformed"),
    bad_token=(401, "TokenInvalid"),
)
METRICS = replace(ADMIN, name="metrics", path="/metrics")
DOORS = (S3, STS, ADMIN, METRICS)

Audited = Callable[[Answer], dict[str, Any]]


@pytest.fixture(params=DOORS, ids=lambda door: door.name)
def door(request: pytest.FixtureRequest) -> Door:
    """Each protocol in turn."""
    found: Door = request.param
    return found


@pytest.fixture
def root(live_server: LiveServer) -> Client:
    """Root, on the plain server."""
    return Client.root(live_server)


@pytest.fixture
def audited(root: Client) -> Audited:
    """Find the line that the audit log has for an answer."""

    def find(answer: Answer) -> dict[str, Any]:
        request_id = next(answer.headers[name] for name in ID_HEADERS if name in answer.headers)
        end = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < end:
            events = root.ok("GET", f"/audit?request_id={request_id}")["events"]
            if events:
                line: dict[str, Any] = events[0]
                return line
            time.sleep(0.05)
        raise AssertionError(f"no line for request {request_id}")

    return find


def said(answer: Answer) -> tuple[int, str]:
    """Return the status and the code of a refusal, in whichever dialect it is."""
    if answer.headers["content-type"] == "application/json":
        return answer.status, answer.code
    found = re.search(rb"<Code>(\w+)</Code><Message>([^<]+)</Message>", answer.body)
    assert found, answer.body
    assert len(found[2]) > 10
    return answer.status, found[1].decode()


def refused(answer: Answer, expected: tuple[int, str], audited: Audited) -> dict[str, Any]:
    """Expect a refusal, in the answer and in the audit log."""
    assert said(answer) == expected
    line = audited(answer)
    assert (line["status"], line["error"], line["decision"]) == (*expected, "none")
    assert line["peer"] == "127.0.0.1"
    return line


def test_the_door_opens_for_a_good_signature(door: Door, root: Client, audited: Audited):
    """The request that the attacks vary is a good one, from any region or none."""
    for region in ("us-east-1", "eu-west-3", ""):
        answer = door.send(root, door.signed(root, region=region))
        assert answer.status == 200
        line = audited(answer)
        assert (line["access_key"], line["decision"], line["error"]) == (root.access_key, "allow", "")


@pytest.mark.parametrize("shift", [-SKEW_SECONDS, SKEW_SECONDS], ids=["expired", "future"])
def test_signatures_of_another_time_are_refused(door: Door, root: Client, audited: Audited, shift: int):
    """A signature from more than a quarter of an hour ago, or ahead, does not count."""
    answer = door.send(root, door.signed(root, at=time.time() + shift))
    refused(answer, door.skewed, audited)


def test_a_replay_counts_within_the_allowed_skew_only(door: Door, root: Client, audited: Audited):
    """SigV4 has no number used once: a copy is taken while the original would be, and not after."""
    now = time.time()
    fresh, old = door.signed(root, at=now - 60), door.signed(root, at=now - SKEW_SECONDS)
    assert [door.send(root, fresh).status for _ in range(2)] == [200, 200]
    for _ in range(2):
        refused(door.send(root, old), door.skewed, audited)


def test_a_date_that_was_changed_is_refused(door: Door, root: Client, audited: Audited):
    """An old signature is not renewed by writing another time beside it."""
    headers = door.signed(root, at=time.time() - SKEW_SECONDS)
    headers["x-amz-date"] = door.signed(root)["x-amz-date"]
    refused(door.send(root, headers), door.mismatch, audited)


def test_truncated_signatures_are_refused(door: Door, root: Client, audited: Audited):
    """A signature that is cut, emptied, or whose header is cut, is refused, whichever way it reads."""
    headers = door.signed(root)
    whole = headers["authorization"]
    for cut in (whole[:-1], whole[:-64], whole[: whole.index("SignedHeaders")], whole[:20], "AWS4-HMAC-SHA256"):
        answer = door.send(root, headers | {"authorization": cut})
        line = audited(answer)
        assert said(answer) in {door.mismatch, door.malformed}
        assert (line["decision"], line["error"]) == ("none", said(answer)[1])


def test_signatures_for_another_service_are_refused(door: Door, root: Client, audited: Audited):
    """What is signed for one protocol opens no other."""
    answer = door.send(root, door.signed(root, service=door.other_service))
    line = refused(answer, door.malformed, audited)
    assert line["access_key"] == ""


def test_signatures_for_another_region_do_not_carry_over(door: Door, root: Client, audited: Audited):
    """Any region may be signed for, but the one that is named must be the one that was signed."""
    headers = door.signed(root, region="eu-west-3")
    headers["authorization"] = headers["authorization"].replace("/eu-west-3/", "/us-east-1/")
    refused(door.send(root, headers), door.mismatch, audited)


def test_unknown_keys_and_wrong_secrets_are_refused(door: Door, root: Client, audited: Audited):
    """The audit log names the key that was claimed."""
    stranger = replace(root, access_key="NOSUCHKEY")
    line = refused(door.send(root, door.signed(stranger)), door.unknown, audited)
    assert line["access_key"] == "NOSUCHKEY"
    guesser = replace(root, secret_key="a-guess-at-it")
    line = refused(door.send(root, door.signed(guesser)), door.mismatch, audited)
    assert line["access_key"] == root.access_key


def test_a_signature_holds_for_its_own_request_only(door: Door, root: Client, audited: Audited):
    """Another method, path, query or header than was signed is refused."""
    headers = door.signed(root, headers=dict(door.headers) | {"x-amz-meta-a": "1"})
    refused(door.send(root, headers | {"x-amz-meta-a": "2"}), door.mismatch, audited)
    elsewhere = replace(door, path=door.path + "?x=y")
    answer = elsewhere.send(root, door.signed(root))
    assert audited(answer)["decision"] == "none"
    assert answer.status in {400, 401, 403, 501}


@pytest.fixture
def session(root: Client) -> Client:
    """A session of root's."""
    body = urlencode({"Action": "AssumeRole", "Version": "2011-06-15", "RoleSessionName": "s1"}).encode()
    answer = root.raw("POST", "/", body, service="sts", headers=FORM)
    found = [
        re.search(rf"<{tag}>([^<]+)</{tag}>".encode(), answer.body)
        for tag in ("AccessKeyId", "SecretAccessKey", "SessionToken")
    ]
    return Client(root.server, *(each[1].decode() for each in found if each))


def test_a_stolen_token_is_worthless_beside_another_key(door: Door, root: Client, session: Client, audited: Audited):
    """A session token opens only with the key and the secret that it was made with."""
    assert door.send(root, door.signed(session)).status == 200
    refused(door.send(root, door.signed(replace(root, session_token=session.session_token))), door.bad_token, audited)
    refused(door.send(root, door.signed(replace(session, session_token=""))), door.bad_token, audited)
    last = "A" if session.session_token[-10] != "A" else "B"
    forged = session.session_token[:-10] + last + session.session_token[-9:]
    refused(door.send(root, door.signed(replace(session, session_token=forged))), door.bad_token, audited)
    refused(door.send(root, door.signed(replace(session, access_key="LSTSANOTHERSESSION"))), door.bad_token, audited)
    refused(door.send(root, door.signed(replace(session, secret_key=root.secret_key))), door.mismatch, audited)


def test_revoked_sessions_end_at_once(root: Client):
    """After a user's sessions are revoked they open nothing, on any worker; its key still does."""
    made = root.ok("POST", "/users", {"name": f"revoked-{time.time_ns()}"})
    user = Client(root.server, made["name"], made["secret_key"])
    body = urlencode({"Action": "AssumeRole", "Version": "2011-06-15"}).encode()
    answer = user.raw("POST", "/", body, service="sts", headers=FORM)
    parts = [
        re.search(rf"<{tag}>([^<]+)</{tag}>".encode(), answer.body)
        for tag in ("AccessKeyId", "SecretAccessKey", "SessionToken")
    ]
    of_user = Client(root.server, *(each[1].decode() for each in parts if each))
    assert of_user.call("GET", "/account").status == 200
    assert user.call("DELETE", f"/users/{user.access_key}/sessions").status == 204
    assert {of_user.call("GET", "/account").code for _ in range(8)} == {"TokenInvalid"}
    assert user.call("GET", "/account").status == 200


def test_bodies_are_what_was_signed(root: Client, audited: Audited):
    """A form or a JSON body other than the one signed, or one that is not signed at all, changes nothing."""
    name = f"smuggled-{time.time_ns()}"
    body, other = (json.dumps({"name": each}).encode() for each in ("harmless", name))
    path = "/_admin/v1/users"
    answer = root.send("POST", path, other.ljust(len(body)), root.signed("POST", path, body))
    assert audited(answer)["error"] == said(answer)[1]
    assert said(answer)[0] == 400
    unsigned = {"x-amz-content-sha256": "UNSIGNED-PAYLOAD"}
    credentials = Credentials(root.access_key, Secret(root.secret_key))
    url = root.server.endpoint + path
    headers = Signer(credentials).headers("POST", url, time.time(), {}, "UNSIGNED-PAYLOAD")
    assert said(root.send("POST", path, other, headers | unsigned)) == (400, "BodyNotSigned")
    assert root.call("GET", f"/users/{name}").code == "NoSuchUser"
    form = STS.signed(root)
    answer = root.send("POST", "/", IDENTITY.replace(b"GetCallerIdentity", b"AssumeRole"), form)
    assert audited(answer)["decision"] == "none"


def test_presigned_urls_open_no_door_of_administration(root: Client, audited: Audited):
    """A link cannot be made to change identities, to read the metrics, or to give credentials."""
    credentials = Credentials(root.access_key, Secret(root.secret_key))
    for method, path, service, headers in (
        ("GET", "/_admin/v1/users", "s3", {}),
        ("GET", "/metrics", "s3", {}),
        ("POST", "/?Action=AssumeRole&Version=2011-06-15", "sts", FORM),
    ):
        url = Signer(credentials, service=service).presign(method, root.server.endpoint + path, time.time(), 300)
        answer = root.send(method, url.removeprefix(root.server.endpoint), headers=headers)
        assert answer.status == 400
        assert audited(answer)["decision"] == "none"


def test_oversized_policies_are_refused(root: Client, audited: Audited):
    """A policy over its bound is refused by name, wherever it is given."""
    statement = {
        "Effect": "Allow",
        "Action": "s3:GetObject",
        "Resource": [f"arn:aws:s3:::{n:0250}" for n in range(90)],
    }
    large = {"Version": "2012-10-17", "Statement": [statement]}
    for answer in (
        root.call("PUT", f"/policies/large-{time.time_ns()}", large),
        root.call("POST", "/access-keys", {"policy": large}),
    ):
        assert said(answer) == (413, "PolicyTooLarge")
        assert audited(answer)["error"] == "PolicyTooLarge"
    form = urlencode({"Action": "AssumeRole", "Version": "2011-06-15", "Policy": json.dumps(large)}).encode()
    answer = root.raw("POST", "/", form, service="sts", headers=FORM)
    assert said(answer) == (400, "PackedPolicyTooLarge")
    assert audited(answer)["error"] == "PackedPolicyTooLarge"
    answer = root.call("POST", "/users", {"name": "x" * 2**20})
    assert said(answer) == (413, "BodyTooLarge")


def test_a_forged_origin_is_not_believed(root: Client, audited: Audited):
    """X-Forwarded-For of a stranger changes neither the audit log nor what a policy says of addresses."""
    name = f"elsewhere-{time.time_ns()}"
    only = {"IpAddress": {"aws:SourceIp": "192.0.2.0/24"}}
    statement = {"Effect": "Allow", "Action": "admin:ServerInfo", "Resource": "*", "Condition": only}
    root.ok("PUT", f"/policies/{name}", {"Version": "2012-10-17", "Statement": [statement]})
    made = root.ok("POST", "/users", {"name": name, "policies": [name]})
    user = Client(root.server, name, made["secret_key"])
    for forged in ({"x-forwarded-for": "192.0.2.9"}, {"forwarded": "for=192.0.2.9"}, {"x-real-ip": "192.0.2.9"}):
        answer = user.call("GET", "/info", headers=forged)
        line = audited(answer)
        assert said(answer) == (403, "AccessDenied")
        assert (line["peer"], line["decision"], line["access_key"]) == ("127.0.0.1", "deny", name)


def test_no_secret_is_in_the_audit_log(root: Client, session: Client):
    """The files hold no secret, token or signature of what these tests sent."""
    session.call("GET", "/account")
    signature = root.signed("GET", "/")["authorization"].rpartition("=")[2]
    root.send("GET", "/?X-Amz-Signature=" + signature)
    root.ok("GET", "/audit")
    text = b"".join(file.read_bytes() for file in (root.server.data / "audit").glob("*.jsonl")).decode()
    assert root.access_key in text
    for secret in (root.secret_key, session.secret_key, session.session_token, signature, "Signature="):
        assert secret not in text
