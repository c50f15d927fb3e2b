"""The server, its settings, its audit log and its state over the wire."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lakeshare import __version__
from lakeshare.settings import Settings
from tests.admin.client import PREFIX, Client
from tests.live import LiveServer, running
from tests.patience import until

ROUNDS = 8
"""Requests, each on a connection of its own, that reach both workers."""


@pytest.fixture(scope="module")
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server whose settings and state a test may change."""
    options = ("--audit-rotate", "64KiB")
    with running(
        tmp_path_factory.mktemp("own") / "data", *options, environment={"LAKESHARE_ALLOW_SIGV2": "false"}
    ) as server:
        yield server


@pytest.fixture
def own(own_server: LiveServer) -> Client:
    """Root, on the server that a test may change."""
    return Client.root(own_server)


def test_info_says_what_runs(own: Client):
    """Version, workers, deployment and disk are told."""
    info = own.ok("GET", "/info")
    assert (info["version"], info["workers"], info["region"]) == (__version__, 2, "us-east-1")
    assert len(info["deployment_id"]) == 36
    assert 0 <= info["uptime_seconds"] <= time.time() - info["started_at"] + 1
    assert 0 < info["storage"]["free_bytes"] <= info["storage"]["total_bytes"]
    assert info["storage"]["watermark_bytes"] == 1024**3


def test_usage_counts_objects_and_bytes(own: Client):
    """Each bucket is told with its objects and bytes, and their sums."""
    for name, sizes in (("usage-a", (1, 2)), ("usage-b", ())):
        assert own.raw("PUT", f"/{name}").status == 200
        for size in sizes:
            assert own.raw("PUT", f"/{name}/{size}", b"x" * size).status == 200
    usage = own.ok("GET", "/usage")
    found = {bucket["name"]: (bucket["objects"], bucket["bytes"]) for bucket in usage["buckets"]}
    assert found == {"usage-a": (2, 3), "usage-b": (0, 0)}
    assert (usage["objects"], usage["bytes"]) == (2, 3)


def test_settings_are_listed_with_their_source(own: Client):
    """Every setting is there, with where it comes from; a secret is never shown."""
    found = {each["name"]: each for each in own.ok("GET", "/settings")["settings"]}
    assert list(found) == list(Settings.__dataclass_fields__)
    assert (found["address"]["source"], found["allow_sigv2"]["source"]) == ("flag", "environment")
    assert (found["region"]["source"], found["region"]["live"]) == ("default", True)
    assert found["root_password"]["value"] == "***"
    assert found["allow_sigv2"]["value"] == "false"
    assert own.secret_key not in own.call("GET", "/settings").body.decode()
    assert own.ok("GET", "/settings/region") == found["region"]


def test_a_setting_changes_for_every_worker_in_its_next_request(own: Client):
    """After the answer to a change, each request on either worker has it, and so after it is taken back."""
    own.raw("PUT", "/located")
    for region in ("eu-central-9", "ap-south-9"):
        assert own.ok("PUT", "/settings/region", {"value": region})["source"] == "state"
        for _ in range(ROUNDS):
            assert own.raw("HEAD", "/located").headers["x-amz-bucket-region"] == region
    assert own.ok("DELETE", "/settings/region")["source"] == "default"
    for _ in range(ROUNDS):
        assert own.raw("HEAD", "/located").headers["x-amz-bucket-region"] == "us-east-1"


def test_a_changed_watermark_refuses_writes(own: Client):
    """A watermark above what is free refuses writes on either worker, and taken back lets them through."""
    own.raw("PUT", "/marked")
    own.ok("PUT", "/settings/free_space_watermark", {"value": "1000TiB"})
    time.sleep(1.1)  # free space is looked up once a second
    for _ in range(ROUNDS):
        assert own.raw("PUT", "/marked/x", b"x").status == 507
    own.ok("DELETE", "/settings/free_space_watermark")
    for _ in range(ROUNDS):
        assert own.raw("PUT", "/marked/x", b"x").status == 200


@pytest.mark.parametrize(
    ("setting", "value", "status", "code"),
    [
        ("workers", "4", 409, "SettingNotLive"),
        ("root_password", "open sesame", 409, "SettingNotLive"),
        ("allow_sigv2", "true", 409, "SettingPinned"),
        ("delta_commit_guard", "perhaps", 400, "BadSetting"),
        ("log_level", "loud", 400, "BadSetting"),
        ("nosuch", "1", 404, "NoSuchSetting"),
    ],
)
def test_what_cannot_change_is_refused(own: Client, setting: str, value: str, status: int, code: str):
    """A setting that needs a restart, is given from outside, or cannot have the value stays, and why is said."""
    refused = own.call("PUT", f"/settings/{setting}", {"value": value})
    assert (refused.status, refused.code) == (status, code)


def test_settings_outlive_a_restart(tmp_path: Path):
    """A setting that was changed is so after a restart, until a flag says otherwise."""
    with running(tmp_path / "data") as server:
        Client.root(server).ok("PUT", "/settings/region", {"value": "kept-1"})
    with running(tmp_path / "data") as server:
        assert Client.root(server).ok("GET", "/info")["region"] == "kept-1"
    with running(tmp_path / "data", "--region", "given-1") as server:
        root = Client.root(server)
        assert root.ok("GET", "/info")["region"] == "given-1"
        assert root.ok("GET", "/settings/region")["source"] == "flag"


def test_audit_is_read_over_all_workers(own: Client, fresh: Callable[[str], str]):
    """Events of both workers come newest first, and can be asked for by key, action, status, error and time."""
    name = fresh("reader")
    made = own.ok("POST", "/users", {"name": name})
    user = Client(own.server, name, made["secret_key"])
    ids = [user.call("GET", "/info").json["error"]["request_id"] for _ in range(ROUNDS)]
    time.sleep(0.5)  # another worker's events wait a moment to be written
    events = own.ok("GET", f"/audit?access_key={name}&action=GetInfo&status=403&error=AccessDenied")["events"]
    assert sorted(event["request_id"] for event in events) == sorted(ids)
    assert [event["time"] for event in events] == sorted((event["time"] for event in events), reverse=True)
    assert all(event["decision"] == "deny" and event["resources"] == ["*"] for event in events)
    assert [event["request_id"] for event in own.ok("GET", f"/audit?request_id={ids[0]}")["events"]] == [ids[0]]
    assert len(own.ok("GET", f"/audit?access_key={name}&limit=3")["events"]) == 3
    assert own.ok("GET", f"/audit?since={int(time.time()) + 60}")["events"] == []
    assert own.ok("GET", f"/audit?access_key={name}&until=1000")["events"] == []


def test_audit_reads_rotated_files_too(own: Client):
    """More events than a file holds are found, from files that were set aside."""
    for _ in range(400):
        own.call("GET", "/account")
    # What a worker has still to write, another does not find yet.
    until(lambda: len(own.ok("GET", "/audit?action=GetAccount&limit=1000")["events"]) >= 400)
    assert list((own.server.data / "audit").glob("worker-*.*.jsonl")), "no file was rotated"


def test_a_server_without_audit_log_says_so(tmp_path: Path):
    """Where there is no audit log, its tail is missing rather than empty."""
    with running(tmp_path / "data", "--audit-file", "-", workers=1) as server:
        refused = Client.root(server).call("GET", "/audit")
        assert (refused.status, refused.code) == (404, "NoAuditLog")


def test_an_import_of_an_export_is_the_identity(own: Client, fresh: Callable[[str], str]):
    """What was exported comes back: identities of then are there, those made since are gone, the export is the same."""
    kept, later = fresh("kept"), fresh("later")
    secret = own.ok("POST", "/users", {"name": kept})["secret_key"]
    export = own.call("GET", "/state/export")
    assert export.headers["content-type"] == "application/x-ndjson"
    own.ok("POST", "/users", {"name": later})
    refused = own.raw("POST", f"{PREFIX}/state/import", export.body)
    assert (refused.status, refused.code) == (409, "NotEmpty")
    done = own.raw("POST", f"{PREFIX}/state/import?replace=true", export.body)
    assert done.status == 200
    assert done.json["records"] == export.body.count(b"\n") - 2
    for _ in range(ROUNDS):
        assert own.call("GET", f"/users/{later}").code == "NoSuchUser"
        assert Client(own.server, kept, secret).call("GET", "/account").status == 200
    assert own.call("GET", "/state/export").body == export.body
    assert own.ok("GET", "/state/verify") == {"faults": []}


def test_a_bad_export_changes_nothing(own: Client, fresh: Callable[[str], str]):
    """An export that was cut or changed, or that is signed otherwise than sent, is refused whole."""
    own.ok("POST", "/users", {"name": fresh("user")})
    good = own.call("GET", "/state/export").body
    path = f"{PREFIX}/state/import?replace=true"
    cut, changed = good[: good.rindex(b"{")], good.replace(b'"enabled\\":true', b'"enabled\\":null', 1)
    assert [own.raw("POST", path, bad).code for bad in (cut, changed, b"", b"{}")] == ["BadExport"] * 4
    other = own.send("POST", path, good + b" ", own.signed("POST", path, good))
    assert (other.status, other.code) == (400, "BodyMismatch")
    assert own.call("GET", "/state/export").body == good


def test_an_export_sealed_elsewhere_is_refused(own: Client, tmp_path: Path):
    """An export whose secrets this server cannot open is refused, since nobody could sign in after it."""
    with running(tmp_path / "data", workers=1) as other:
        Client.root(other).ok("POST", "/users", {"name": "stranger"})
        export = Client.root(other).call("GET", "/state/export").body
    refused = own.raw("POST", f"{PREFIX}/state/import?replace=true", export)
    assert (refused.status, refused.code) == (409, "SealedOtherwise")
    assert own.call("GET", "/info").status == 200
