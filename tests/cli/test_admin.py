"""The admin commands, in mc's argument forms, against a live server."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, Done
from tests.live import LiveServer

Quick = Callable[..., Done]


@pytest.fixture
def name(bucket_names: Callable[[str], str]) -> str:
    """A name that no other test has, for users, groups and policies."""
    return bucket_names("cli")


@pytest.fixture
def policy_file(lake: Cli) -> Path:
    """A file with a policy that lets all buckets be read."""
    path = lake.home / "policy.json"
    statement = {"Effect": "Allow", "Action": ["s3:GetObject", "s3:ListBucket"], "Resource": "arn:aws:s3:::*"}
    path.write_text(json.dumps({"Version": "2012-10-17", "Statement": [statement]}))
    return path


@pytest.fixture
def user(quick: Quick, name: str) -> Iterator[str]:
    """A user."""
    quick("admin", "user", "add", "lake", name, "secret-of-hers")
    yield name
    quick("admin", "user", "rm", "lake", name)


def test_a_user_is_let_in_step_by_step(lake: Cli, live_server: LiveServer, bucket: str, name: str, policy_file: Path):
    """As typed: a user is made, has no right, is given one by a policy of the operator's, and loses it again."""
    made = lake("admin", "user", "add", "lake", name, "secret-of-hers")
    assert made.out == f"Added user `{name}` successfully.\n"
    lake("alias", "set", "hers", live_server.endpoint, name, "secret-of-hers")
    place = bucket.replace("lake/", "hers/")
    assert "admin whoami hers" in lake("ls", place, code=4).err
    lake("admin", "policy", "create", "lake", name, policy_file)
    lake("admin", "policy", "attach", "lake", name, "--user", name)
    lake("ls", place)
    assert name in lake("admin", "whoami", "hers").out
    lake("admin", "user", "disable", "lake", name)
    assert lake("ls", place, code=4).err
    lake("admin", "user", "enable", "lake", name)
    lake("ls", place)
    assert "detach it there first" in lake("admin", "policy", "rm", "lake", name, code=1).err
    lake("admin", "policy", "detach", "lake", name, "--user", name)
    lake("ls", place, code=4)
    lake("admin", "policy", "remove", "lake", name)
    lake("admin", "user", "remove", "lake", name)
    assert "does not know" in lake("alias", "set", "hers", live_server.endpoint, name, "secret-of-hers", code=4).err


def test_users(quick: Quick, lake: Cli, user: str):
    """Users are listed and shown; secrets are made, changed and shown once."""
    assert user in [item["name"] for item in quick("admin", "user", "list", "lake", "--json").records]
    assert user in quick("admin", "user", "ls", "lake").out
    assert quick("admin", "user", "info", "lake/", user, "--json").record["enabled"] is True
    assert "does not exist" in quick("admin", "user", "info", "lake", "nobody", code=3).err
    assert quick("admin", "user", "add", "lake", user, code=1).err
    made = quick("admin", "user", "add", "lake", f"{user}-2", "--policy", "readonly", "--json").record
    assert len(made["secret_key"]) >= 8
    assert made["policies"] == ["readonly"]
    assert "will not be shown again" in quick("admin", "user", "secret", "lake", f"{user}-2").out
    quick("admin", "user", "secret", "lake", f"{user}-2", "another-secret")
    quick("admin", "user", "revoke", "lake", f"{user}-2")
    quick("admin", "user", "rm", "lake", f"{user}-2")


def test_a_user_may_be_piped_in(lake: Cli, name: str):
    """A name and a secret on two lines of standard input make a user."""
    lake("admin", "user", "add", "lake", stdin=f"{name}\nsecret-of-hers\n")
    lake("admin", "user", "rm", "lake", name)


def test_groups(quick: Quick, user: str, name: str):
    """Users are put into a group and taken out; its policies count while it is enabled."""
    group = f"{name}-group"
    quick("admin", "group", "add", "lake", group, user)
    assert quick("admin", "group", "info", "lake", group, "--json").record["members"] == [user]
    quick("admin", "policy", "attach", "lake", "readonly", "diagnostics", "--group", group)
    assert group in quick("admin", "group", "list", "lake").out
    assert quick("admin", "group", "disable", "lake", group, "--json").record["enabled"] is False
    quick("admin", "group", "enable", "lake", group)
    assert "takes its members out" in quick("admin", "group", "rm", "lake", group, code=1).err
    quick("admin", "group", "rm", "lake", group, user)
    quick("admin", "policy", "detach", "lake", "readonly", "diagnostics", "--group", group)
    quick("admin", "group", "rm", "lake", group)
    quick("admin", "group", "info", "lake", group, code=3)


def test_policies(quick: Quick, lake: Cli, user: str, name: str, policy_file: Path):
    """Policies are made from files, shown, written back, and known by who has them."""
    quick("admin", "policy", "create", "lake", name, policy_file)
    assert {"readonly", name} <= {item["name"] for item in quick("admin", "policy", "list", "lake", "--json").records}
    quick("admin", "policy", "attach", "lake", name, "--user", user)
    quick("admin", "policy", "info", "lake", name, "--policy-file", lake.home / "back.json")
    assert json.loads((lake.home / "back.json").read_text()) == json.loads(policy_file.read_text())
    assert quick("admin", "policy", "entities", "lake", "--policy", name, "--json").record["users"] == [user]
    assert quick("admin", "policy", "entities", "lake", "--user", user, "--json").record["policies"] == [name]
    assert name in quick("admin", "policy", "entities", "lake").out
    quick("admin", "policy", "detach", "lake", name, "--user", user)
    quick("admin", "policy", "rm", "lake", name)
    assert "one user or one group" in quick("admin", "policy", "attach", "lake", name, code=2).err
    assert "no file" in quick("admin", "policy", "create", "lake", name, "none.json", code=3).err
    (lake.home / "bad.json").write_text("{")
    assert "not JSON" in quick("admin", "policy", "create", "lake", name, "bad.json", code=1).err
    (lake.home / "odd.json").write_text(policy_file.read_text().replace("s3:ListBucket", "s3:Lits"))
    assert "s3:Lits" in quick("admin", "policy", "create", "lake", name, "odd.json").err
    quick("admin", "policy", "rm", "lake", name)
    quick("admin", "policy", "rm", "lake", "readonly", code=1)


def test_access_keys(quick: Quick, live_server: LiveServer, user: str, policy_file: Path):
    """An access key is made for a user, works, is changed, kept out and removed."""
    made = quick(
        "admin", "accesskey", "create", "lake", user, "--name", "job", "--expiry-duration", "1h", "--json"
    ).record
    key, secret = made["access_key"], made["secret_key"]
    quick("alias", "set", "job", live_server.endpoint, key, secret)
    assert quick("admin", "whoami", "job", "--json").record["kind"] == "service account"
    assert "***" not in quick("admin", "accesskey", "info", "lake", key).out
    assert key in quick("admin", "accesskey", "list", "lake", user).out
    assert key in [item["access_key"] for item in quick("admin", "accesskey", "ls", "lake", "--all", "--json").records]
    quick("admin", "accesskey", "edit", "lake", key, "--policy", policy_file)
    assert "GetObject" in quick("admin", "accesskey", "info", "lake", key).out
    quick("admin", "whoami", "job", code=4)
    flags = ("--no-expiry", "--no-policy", "--description", "d")
    changed = quick("admin", "accesskey", "edit", "lake", key, *flags, "--json").record
    assert (changed["expires_at"], changed["policy"], changed["description"]) == (None, None, "d")
    quick("admin", "accesskey", "edit", "lake", key, "--expiry", "2099-01-31")
    assert "2099-01-31" in quick("admin", "accesskey", "info", "lake", key).out
    quick("admin", "accesskey", "disable", "lake", key)
    quick("admin", "whoami", "job", code=4)
    quick("admin", "accesskey", "enable", "lake", key)
    quick("admin", "whoami", "job")
    assert "nothing is to be changed" in quick("admin", "accesskey", "edit", "lake", key, code=2).err
    assert "is no time" in quick("admin", "accesskey", "edit", "lake", key, "--expiry", "soon", code=2).err
    quick("admin", "user", "svcacct", "rm", "lake", key)
    quick("admin", "accesskey", "info", "lake", key, code=3)


def test_a_chosen_access_key(quick: Quick, name: str):
    """Key and secret may be chosen, as mc's flags say."""
    told = quick("admin", "accesskey", "create", "lake", "--access-key", name, "--secret-key", "chosen-secret").out
    assert f"Access Key: {name}" in told
    quick("admin", "accesskey", "rm", "lake", name)


def test_info_and_settings(quick: Quick):
    """The server is shown, and a live setting is changed and taken back."""
    assert quick("admin", "info", "lake", "--json").record["workers"] == 2
    assert "Uptime" in quick("admin", "info", "lake/").out
    assert "log_level" in [item["name"] for item in quick("admin", "settings", "list", "lake", "--json").records]
    quick("admin", "settings", "set", "lake", "log-level", "warning")
    assert quick("admin", "settings", "get", "lake", "log_level", "--json").record["value"] == "warning"
    quick("admin", "config", "set", "lake", "log-level=info")
    quick("admin", "settings", "reset", "lake", "log-level")
    assert quick("admin", "settings", "get", "lake", "log-level", "--json").record["source"] != "state"
    assert "start the server again" in quick("admin", "settings", "set", "lake", "workers", "3", code=1).err
    assert "no value" in quick("admin", "settings", "set", "lake", "log-level", code=2).err


def test_audit_tail(lake: Cli, quick: Quick, bucket: str):
    """The newest events are printed, the newest last, and --follow goes on with those that come."""
    quick("ls", f"{bucket}-none", code=3)
    running = lake.start(
        "admin", "audit", "tail", "lake", "--follow", "--json", "--error", "NoSuchBucket", "-n", "1000"
    )
    with running:
        first = json.loads(running.stdout.readline())
        assert (first["status"], first["error"]) == (404, "NoSuchBucket")
        mark = f"{bucket}-later"
        quick("ls", mark, code=3)
        told = iter(running.stdout.readline, b"")
        assert any(mark.partition("/")[2].encode() in line for line in told)
        running.terminate()
        running.communicate()
    assert running.returncode == 130
    assert quick("admin", "audit", "tail", "lake", "-n", "1").out.count("\n") == 1


def test_state(quick: Quick, lake: Cli, user: str):
    """State is exported to a file that only its owner can read, verified, and put back."""
    quick("admin", "state", "export", "lake", lake.home / "state.jsonl")
    assert (lake.home / "state.jsonl").stat().st_mode & 0o77 == 0
    lines = (lake.home / "state.jsonl").read_text().splitlines()
    assert all(json.loads(line) for line in lines)
    assert quick("admin", "state", "export", "lake").out.splitlines()[1:]
    assert "sound" in quick("admin", "state", "verify", "lake").out
    assert "--replace" in quick("admin", "state", "import", "lake", lake.home / "state.jsonl", code=1).err
    assert quick("admin", "state", "import", "lake", lake.home / "state.jsonl", "--replace", "--json").record["records"]
    quick("admin", "user", "info", "lake", user)
    assert "no file" in quick("admin", "state", "import", "lake", "none", code=3).err


def test_the_admin_api_is_missed_by_name(quick: Quick, lake: Cli, live_server: LiveServer):
    """A key without rights is refused with the code for it."""
    quick("admin", "user", "add", "lake", "no-rights-at-all", "secret-of-hers")
    quick("alias", "set", "poor", live_server.endpoint, "no-rights-at-all", "secret-of-hers")
    assert quick("admin", "user", "list", "poor", code=4).err
    assert quick("admin", "info", "poor", code=4).err
    quick("admin", "user", "rm", "lake", "no-rights-at-all")


def test_a_policy_that_is_wrong_is_told_with_its_file_and_place(quick: Quick, lake: Cli, name: str):
    """An author finds the error: the file, the place in it, and where to read on."""
    path = lake.home / "wrong.json"
    path.write_text(
        json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Alow", "Action": "*", "Resource": "*"}]})
    )
    said = quick("admin", "policy", "create", "lake", name, path, code=1).err
    assert f"{path}: Statement[0].Effect: write Allow or Deny" in said
    assert "docs/identity.md" in said


def test_who_has_no_access_keys_is_told_where_others_are(quick: Quick, lake: Cli, live_server: LiveServer, user: str):
    """One's own keys are listed unless others are asked for; where there are none, that is said, to people alone."""
    lake("alias", "set", "hers", live_server.endpoint, user, "secret-of-hers")
    assert "--all" in quick("admin", "accesskey", "list", "hers").out
    assert quick("admin", "accesskey", "list", "hers", "--json").out == ""
