"""iceberg-go's command against the catalog of a live server: signed with SigV4, and with a token."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog

from tests.live import LiveServer, clean_environment
from tests.tables.lake import Lake

MODULE = "github.com/apache/iceberg-go/cmd/iceberg@v0.7.0"
COLUMNS = [
    {"id": 1, "name": "id", "type": "long", "required": True},
    {"id": 2, "name": "day", "type": "date", "required": False},
]
ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64())})


@dataclass(frozen=True, slots=True)
class Iceberg:
    """Runs the command."""

    options: Sequence[str]
    environment: dict[str, str]

    def __call__(self, *arguments: str) -> Any:
        """Run it, and return what it prints as JSON."""
        done = self._run(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    def refused(self, *arguments: str) -> str:
        """Run what must fail, and return what is said."""
        done = self._run(*arguments)
        assert done.returncode != 0, done.stdout
        return done.stdout + done.stderr

    def _run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        line = [*self.options, *arguments]
        return subprocess.run(line, env=self.environment, capture_output=True, text=True, check=False, timeout=120)


def find_iceberg(cache: Path) -> str | None:
    """Find the command where LAKESHARE_ICEBERG_GO says, in the cache, or on the PATH, where it may be another's."""
    for candidate in (os.environ.get("LAKESHARE_ICEBERG_GO"), str(cache / "bin/iceberg"), shutil.which("iceberg")):
        if not candidate or not Path(candidate).exists():
            continue
        said = subprocess.run([candidate, "--version"], capture_output=True, text=True, check=False)
        if said.stdout.startswith("iceberg v"):
            return candidate
    return None


@pytest.fixture(scope="module")
def command(cache: Path) -> str:
    """Where the command is."""
    if (found := find_iceberg(cache)) is None:
        pytest.skip(f"needs iceberg-go's command: put it on the PATH, or `go install {MODULE}`")
    return found


@pytest.fixture(scope="module")
def lake(live_server: LiveServer, command: str) -> Lake:
    """A warehouse for the tests of this file."""
    del command
    return Lake.made(live_server, "gopher")


@pytest.fixture(scope="module")
def iceberg(command: str, live_server: LiveServer, lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Iceberg:
    """The command with a catalog that signs; the keys are where any client of AWS finds them."""
    settings = tmp_path_factory.mktemp("gopher") / "iceberg.yaml"
    signing = {"sigv4-enabled": True, "signing-name": "s3tables", "signing-region": "us-east-1"}
    catalog = {"type": "rest", "uri": f"{live_server.endpoint}/_iceberg", "warehouse": lake.warehouse, "rest": signing}
    settings.write_text(json.dumps({"catalog": {"default": catalog}}))
    keys = {"AWS_ACCESS_KEY_ID": live_server.access_key, "AWS_SECRET_ACCESS_KEY": live_server.secret_key}
    return Iceberg([command, "--config", str(settings), "--output", "json"], clean_environment(**keys))


@pytest.fixture(scope="module")
def append(live_server: LiveServer, lake: Lake) -> Callable[[str, str], None]:
    """Add rows to a table by PyIceberg, and make it first if it is not there."""
    catalog = load_catalog(
        "lakeshare",
        **{
            "uri": f"{live_server.endpoint}/_iceberg",
            "warehouse": lake.warehouse,
            "credential": f"{live_server.access_key}:{live_server.secret_key}",
            "oauth2-server-uri": f"{live_server.endpoint}/_iceberg/v1/oauth/tokens",
        },
    )
    return lambda namespace, name: catalog.create_table_if_not_exists((namespace, name), ROWS.schema).append(ROWS)


def test_namespaces_come_and_go(iceberg: Iceberg, lake: Lake):
    """A namespace is made, listed, described, given properties and dropped, as is one below it."""
    iceberg("create", "namespace", "burrow", "--description", "holes")
    iceberg("create", "namespace", "burrow.deep")
    assert ["burrow"] in iceberg("list")["identifiers"]
    assert iceberg("describe", "burrow")["comment"] == "holes"
    iceberg("properties", "set", "namespace", "burrow", "owner", "gopher")
    assert iceberg("properties", "get", "namespace", "burrow", "owner") == {"data": "gopher"}
    iceberg("properties", "remove", "namespace", "burrow", "owner")
    assert "owner" not in iceberg("properties", "get", "namespace", "burrow")
    assert "NamespaceNotEmptyException" in iceberg.refused("drop", "namespace", "burrow")
    iceberg("drop", "namespace", "burrow.deep")
    iceberg("drop", "namespace", "burrow")
    assert lake.call("HEAD", "/{w}/namespaces/burrow").status == 404


def test_a_table_is_made_described_and_dropped(iceberg: Iceberg, lake: Lake):
    """A table is made with partitions, an order and properties; each part of it is shown; it is renamed and dropped."""
    lake.namespace("shop")
    made = ("create", "table", "shop.orders", "--schema", json.dumps(COLUMNS))
    iceberg(*made, "--partition-spec", "day", "--sort-order", "id:desc", "--properties", "a=b,c=d")
    assert iceberg("list", "shop") == {"identifiers": [["shop", "orders"]]}
    known = lake.ok("GET", "/{w}/namespaces/shop/tables/orders")
    assert iceberg("uuid", "shop.orders") == {"uuid": known["metadata"]["table-uuid"]}
    assert iceberg("location", "shop.orders") == {"data": known["metadata"]["location"]}
    assert iceberg("schema", "shop.orders")["fields"] == COLUMNS
    assert iceberg("spec", "shop.orders")["fields"][0]["name"] == "day"
    described = iceberg("describe", "shop.orders")
    assert described["metadata-location"] == known["metadata-location"]
    assert described["sort-order"]["fields"][0]["direction"] == "desc"
    assert iceberg("info", "shop.orders")["schema_field_count"] == 2
    iceberg("rename", "shop.orders", "shop.sold")
    assert iceberg("list", "shop") == {"identifiers": [["shop", "sold"]]}
    assert "NoSuchTableException" in iceberg.refused("describe", "table", "shop.orders")
    iceberg("drop", "table", "shop.sold")
    assert not iceberg("list", "shop")["identifiers"]


def test_a_table_is_committed_to(iceberg: Iceberg, lake: Lake):
    """Properties are set and removed, which sends no requirements, and the format is upgraded."""
    lake.table(lake.namespace("changed"), "t")
    iceberg("properties", "set", "table", "changed.t", "owner", "gopher")
    assert iceberg("properties", "get", "table", "changed.t", "owner") == {"data": "gopher"}
    iceberg("properties", "remove", "table", "changed.t", "owner")
    assert "owner" not in iceberg("properties", "get", "table", "changed.t")
    iceberg("upgrade", "--yes", "changed.t", "3")
    assert iceberg("info", "changed.t")["format_version"] == 3


def test_snapshots_are_tagged_rewritten_and_expired(iceberg: Iceberg, lake: Lake, append: Callable[[str, str], None]):
    """What PyIceberg wrote is listed, tagged, branched off, tidied with files of its own, rolled back and purged."""
    lake.namespace("past")
    for _ in range(3):
        append("past", "t")
    taken = [one["snapshot_id"] for one in iceberg("snapshots", "past.t")["snapshots"]]
    assert len(taken) == 3
    assert iceberg("files", "past.t")["snapshot"]["summary"]["total-records"] == "9"
    iceberg("tag", "create", "--yes", "past.t", "v1")
    iceberg("branch", "create", "--yes", "past.t", "dev")
    assert {one["name"] for one in iceberg("refs", "past.t")["refs"]} == {"main", "v1", "dev"}
    iceberg("tag", "delete", "--yes", "past.t", "v1")
    iceberg("branch", "delete", "--yes", "past.t", "dev")
    iceberg("rollback", "--yes", "--snapshot-id", str(taken[1]), "past.t")
    assert iceberg("files", "past.t")["snapshot"]["summary"]["total-records"] == "6"
    assert "Rewrote" in iceberg("rewrite-manifests", "past.t")["data"]
    assert iceberg("expire-snapshots", "--yes", "--older-than", "1ms", "--retain-last", "1", "past.t")
    assert len(iceberg("snapshots", "past.t")["snapshots"]) == 1
    assert iceberg("clean-orphan-files", "--dry-run", "past.t")["dry_run"] is True
    iceberg("drop", "table", "--purge", "past.t")
    assert lake.call("HEAD", "/{w}/namespaces/past/tables/t").status == 404


def test_a_token_serves_too(command: str, live_server: LiveServer, lake: Lake):
    """With a credential in place of a signature it asks for a token; a wrong secret is told."""
    lake.namespace("tokens")
    place = [command, "--uri", f"{live_server.endpoint}/_iceberg", "--warehouse", lake.warehouse, "--output", "json"]
    good = Iceberg([*place, "--credential", f"{live_server.access_key}:{live_server.secret_key}"], clean_environment())
    assert ["tokens"] in good("list")["identifiers"]
    bad = Iceberg([*place, "--credential", f"{live_server.access_key}:wrong"], clean_environment())
    assert "invalid_client" in bad.refused("list")
