"""Sharing from the command line, as the documents type it."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.admin.client import Client
from tests.admin.tables import make_table
from tests.cli.conftest import Cli, Typed
from tests.live import LiveServer, lakeshare, running


@pytest.fixture
def names(bucket_names: Callable[[str], str]) -> Callable[[str], str]:
    """Make names that no other test has."""
    return bucket_names


@pytest.fixture
def tables(live_server: LiveServer, bucket: str) -> str:
    """A bucket with the tables `employees` and `tpch/orders`, by its name."""
    name = bucket.partition("/")[2]
    for path in ("employees", "tpch/orders", "tpch/items"):
        make_table(Client.root(live_server), name, path)
    return name


@pytest.fixture
def share(quick: Typed, tables: str, names: Callable[[str], str]) -> str:
    """A share, as it is typed."""
    place = f"lake/{names('cli-share')}"
    quick("table", "share", "create", place, "HR", f"employees:delta:{tables}:employees/")
    return place


def test_the_quickstart_is_typed_up_to_the_profile(lake: Cli, tables: str, names: Callable[[str], str]):
    """The commands of the quickstart make a share, and a profile that a client can read."""
    name = names("cli-analytics-share")
    made = lake(
        *("table", "share", "create", f"lake/{name}", "HR"),
        f"employees:delta:{tables}:employees/",
        *("--description", "Analytics for current employees"),
    )
    assert made.lines[0] == f"Share '{name}' created successfully."
    piped = subprocess.run(
        f"{lakeshare()} table share token create lake/{name} --expires 90d "
        "--description 'Access to analytics share for HR-associated tables' "
        "--json | jq -r '.profile' > profile.share",
        shell=True,
        cwd=lake.home,
        env=lake.env,
        capture_output=True,
        check=False,
    )
    if b"jq" in piped.stderr and b"not found" in piped.stderr:
        pytest.skip("needs jq")
    profile = json.loads((lake.home / "profile.share").read_text())
    assert profile["shareCredentialsVersion"] == 1
    assert profile["endpoint"].endswith("/_delta-sharing/v1")
    assert re.fullmatch(r"dapi[0-9a-f]{64}", profile["bearerToken"])
    assert b"delta_sharing_endpoint is not set" in piped.stderr


def test_a_share_is_drawn_as_a_tree(quick: Typed, tables: str, names: Callable[[str], str]):
    """The tree of a share has its schemas and tables, in the order in which they were shared."""
    name = names("cli-test")
    quick("table", "share", "create", f"lake/{name}", "tpch", f"orders:delta:{tables}:tpch/orders")
    quick("table", "share", "update", f"lake/{name}", "--add", f"tpch:items:delta:{tables}:tpch/items/")
    quick("table", "share", "update", f"lake/{name}", "--add", f"a:all:delta:{tables}:employees", "--no-history")
    lines = quick("table", "share", "info", f"lake/{name}").lines
    assert lines[0] == f"Share: {name}"
    assert re.fullmatch(r"ID: [0-9a-f-]{36}", lines[1])
    assert re.fullmatch(r"Created: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", lines[2])
    assert lines[3].startswith("Updated: ")
    assert lines[4:] == [
        "",
        "Schemas:",
        "  ├─ a (1 table)",
        "  │   └─ all [Delta]",
        f"  │       Bucket: {tables}",
        "  │       Location: employees",
        "  │       History: not shared",
        "  └─ tpch (2 tables)",
        "      ├─ orders [Delta]",
        f"      │   Bucket: {tables}",
        "      │   Location: tpch/orders",
        "      └─ items [Delta]",
        f"          Bucket: {tables}",
        "          Location: tpch/items",
    ]


def test_a_token_is_shown_once_as_the_walkthrough_prints_it(quick: Typed, share: str):
    """The text of a new token is that of the walkthrough; a list shows everything but the secret."""
    told = quick("table", "share", "token", "create", share, "--expires", "30d", "--description", "test token")
    name = share.partition("/")[2]
    lines = told.lines
    assert lines[0] == f"Token created successfully for share '{name}'."
    assert lines[1] == ""
    assert re.fullmatch(r"Token ID:    [0-9a-f-]{36}", lines[2])
    assert re.fullmatch(r"Token:       dapi[0-9a-f]{64}", lines[3])
    assert re.fullmatch(r"Expires:     \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d", lines[4])
    assert lines[5] == "Description: test token"
    assert lines[6:] == ["", "\u26a0\ufe0f  Save this token securely. It won't be shown again."]
    listed = quick("table", "share", "token", "list", share)
    assert lines[2].split()[-1] in listed.out
    assert lines[3].split()[-1] not in listed.out
    assert "never" in quick("table", "share", "token", "create", share).out


def test_tokens_are_rotated_and_removed(quick: Typed, share: str):
    """A token is made in place of another, and both are removed by their ids."""
    old = quick("table", "share", "token", "create", share, "--json").record
    new = quick("table", "share", "token", "rotate", "lake", old["tokenId"], "--overlap", "1h", "--json").record
    assert new["token"] == new["profile"]["bearerToken"] != old["token"]
    removed = quick("table", "share", "token", "remove", "lake", old["tokenId"], new["tokenId"])
    assert len(removed.lines) == 2
    assert quick("table", "share", "token", "list", share).out == ""
    refused = quick("table", "share", "token", "remove", "lake", old["tokenId"], code=3)
    assert "does not exist" in refused.err


def test_shares_are_listed_updated_and_removed(quick: Typed, share: str, tables: str):
    """A share is listed by its alias or by its name, described, emptied of a table, renamed, and removed."""
    name = share.partition("/")[2]
    assert name in quick("table", "share", "list", "lake").out
    assert [record["name"] for record in quick("table", "share", "list", share, "--json").records] == [name]
    changed = quick(
        *("table", "share", "update", share, "--add", f"HR:orders:delta:{tables}:tpch/orders"),
        *("--remove", "HR/employees", "--description", "new", "--json"),
    ).record
    assert [table["name"] for table in changed["schemas"][0]["tables"]] == ["orders"]
    assert changed["description"] == "new"
    quick("table", "share", "schema", "rename", share, "HR", "people")
    assert "people (1 table)" in quick("table", "share", "info", share).out
    quick("table", "share", "token", "create", share)
    assert quick("table", "share", "remove", share).out == f"Share '{name}' removed successfully. 1 token ended.\n"
    assert quick("table", "share", "info", share, code=3).out == ""


def test_a_whole_folder_is_shared(quick: Typed, tables: str, names: Callable[[str], str]):
    """With * for the name everything in a folder is shared, and the tree says so."""
    place = f"lake/{names('cli-whole')}"
    quick("table", "share", "create", place, "tpch", f"*:delta:{tables}:tpch/")
    assert f"└─ every table of delta:{tables}:tpch" in quick("table", "share", "info", place).out
    quick("table", "share", "update", place, "--remove", "tpch/*")
    assert "every table" not in quick("table", "share", "info", place).out


@pytest.mark.parametrize(
    ("typed", "code", "text"),
    [
        (("create", "lake/x", "HR", "employees"), 1, "NAME:delta:BUCKET:PATH"),
        (("create", "lake/x", "HR", "e:delta:no-such-bucket-here:p"), 1, "no Delta table"),
        (("create", "lake/x", "HR", "e:uniform:w:n:t"), 1, "cannot be shared by this release"),
        (("create", "lake", "HR", "e:delta:b:p"), 2, "names no share"),
        (("update", "lake/x"), 2, "nothing to change"),
        (("update", "lake/x", "--add", "HR"), 2, "SCHEMA:NAME:delta:BUCKET:PATH"),
        (("update", "lake/x", "--remove", "HR"), 2, "SCHEMA/TABLE"),
        (("info", "lake/no-such-share"), 3, "does not exist"),
        (("token", "create", "lake/no-such-share"), 3, "does not exist"),
    ],
)
def test_mistakes_are_explained(quick: Typed, typed: tuple[str, ...], code: int, text: str):
    """What is typed wrongly, or is not there, is said so with the way to write it."""
    assert text in quick("table", "share", *typed, code=code).err


def test_a_recipient_has_a_life(quick: Typed, share: str, names: Callable[[str], str]):
    """A recipient is made, granted a share, given a token and a link, suspended, and removed."""
    acme, name = names("cli-acme"), share.partition("/")[2]
    quick("recipient", "add", "lake", acme, "--ip", "192.0.2.0/24", "--description", "theirs")
    quick("recipient", "grant", "lake", acme, name)
    made = quick("recipient", "token", "lake", acme, "--expires", "24h", "--json").record
    assert made["recipient"] == acme
    client = quick("recipient", "token", "lake", acme, "--oauth")
    assert "Client ID:" in client.out
    link = quick("recipient", "link", "lake", acme).lines[-1]
    assert "/_delta-sharing/activate/" in link
    (waiting,) = quick("recipient", "links", "lake", acme, "--json").records
    assert link.rsplit("/", 1)[1] not in json.dumps(waiting)
    quick("recipient", "unlink", "lake", acme, waiting["id"])
    quick("recipient", "suspend", "lake", acme)
    assert "suspended" in quick("recipient", "info", "lake", acme).out
    quick("recipient", "resume", "lake", acme)
    quick("recipient", "update", "lake", acme, "--any-ip", "--oauth-only")
    listed = next(one for one in quick("recipient", "list", "lake", "--json").records if one["name"] == acme)
    assert (listed["shares"], listed["ip_list"], listed["oauth_only"], listed["tokens"]) == ([name], [], True, 2)
    assert len(quick("recipient", "tokens", "lake", acme, "--json").records) == 2
    quick("recipient", "revoke", "lake", acme, name)
    quick("recipient", "remove", "lake", acme)
    quick("recipient", "info", "lake", acme, code=3)


def test_a_source_is_named_without_showing_its_secret(quick: Typed, names: Callable[[str], str]):
    """A source is added, listed and removed, and its secret is never printed."""
    name = names("cli-source")
    added = quick("source", "add", "lake", name, "https://s3.example.net", "reader", "s3cret-of-theirs", "--json")
    shown = quick("source", "info", "lake", name)
    listed = quick("source", "list", "lake")
    assert "https://s3.example.net" in shown.out
    assert name in listed.out
    assert not any("s3cret" in told.out + told.err for told in (added, shown, listed))
    quick("source", "remove", "lake", name)


def test_usage_of_a_share_that_nobody_read_is_empty(quick: Typed, share: str):
    """What nobody read is not listed."""
    assert quick("table", "share", "usage", share).out == ""


def test_the_doctor_finds_what_a_recipient_would_meet(lake: Cli, live_server: LiveServer, share: str):
    """The endpoint that is not set, plain http and a table that is fine are told; another server is an error."""
    told = lake("doctor", "lake", "--json")
    found = {(record["check"], record["subject"]): record["level"] for record in told.records}
    name = share.partition("/")[2]
    assert found["endpoint", live_server.endpoint] == "warning"
    assert found["table", f"{name}.HR.employees"] == "ok"
    assert found["reach", live_server.endpoint] == "ok"
    assert found["tls", live_server.endpoint] == "warning"
    assert found["streaming", live_server.endpoint] == "ok"
    closed = lake("doctor", "lake", "--endpoint", "http://127.0.0.1:9", code=1)
    assert "reach" in closed.err
    assert "http://127.0.0.1:9" in closed.err


def test_the_doctor_checks_tls_and_the_endpoint_that_is_set(
    cli: Cli, tmp_path: Path, certificate: tuple[Path, Path, Path]
):
    """Over TLS with an endpoint that is set, everything is well; without the authority it is not reached."""
    with running(tmp_path / "data", tls=certificate) as server:
        cli.use(server)
        cli("admin", "settings", "set", "lake", "delta_sharing_endpoint", server.endpoint)
        told = cli("doctor", "lake", "--json", "--ca-cert", certificate[2])
        found = {record["check"]: record["level"] for record in told.records}
        assert found == {"endpoint": "ok", "retention": "ok", "reach": "ok", "tls": "ok", "streaming": "ok"}
        assert any("REQUESTS_CA_BUNDLE" in record["message"] for record in told.records)
