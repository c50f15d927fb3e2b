"""Maintenance of a live server, with tables that PyIceberg writes."""

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog

from tests.admin.client import Answer, Client
from tests.live import LiveServer
from tests.patience import until
from tests.tables.lake import Lake

ROOT = "/_iceberg/v1/warehouses"
SNAPSHOTS, UNREFERENCED = "icebergSnapshotManagement", "icebergUnreferencedFileRemoval"
ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64())})


@pytest.fixture
def warehouse(live_server: LiveServer, bucket_names: Callable[[str], str]) -> str:
    """A warehouse of its own."""
    name = bucket_names("maintained")
    made = ask(live_server, "POST", "", {"name": name})
    assert made.status == 200, made.body
    return name


@pytest.fixture
def catalog(live_server: LiveServer, warehouse: str) -> Catalog:
    """The warehouse as PyIceberg has it, with a namespace."""
    found = Lake(Client.root(live_server), warehouse).by_oauth()
    found.create_namespace("ns")
    return found


def ask(server: LiveServer, method: str, path: str, body: Any = None) -> Answer:
    """Ask as root."""
    return Client.root(server).raw(method, ROOT + path, b"" if body is None else json.dumps(body).encode())


def objects(server: LiveServer, warehouse: str) -> int:
    """Count the objects of a warehouse's bucket."""
    answer = Client.root(server).raw("GET", f"/{warehouse}?list-type=2")
    return answer.body.count(b"<Key>") if answer.status == 200 else -1


def test_snapshots_of_a_real_table_expire(live_server: LiveServer, warehouse: str, catalog: Catalog):
    """A run that is asked for is done by the server, and the table reads as before."""
    table = catalog.create_table("ns.t", ROWS.schema, properties={"history.expire.max-snapshot-age-ms": "1"})
    table.append(ROWS)
    for _ in range(2):
        table.overwrite(ROWS)
    place = f"/{warehouse}/namespaces/ns/tables/t/maintenance"
    before = objects(live_server, warehouse)
    snapshots = len(catalog.load_table("ns.t").metadata.snapshots)
    assert snapshots > 3
    said = ask(live_server, "POST", f"{place}/{SNAPSHOTS}/run", {"dry-run": True}).json
    assert len(said["snapshot-ids"]) == snapshots - 1
    assert said["removed"]["data_files"] == 2
    assert objects(live_server, warehouse) == before
    assert ask(live_server, "POST", f"{place}/{SNAPSHOTS}/run", {}).status == 202
    until(lambda: ask(live_server, "GET", f"{place}/status").json["status"][SNAPSHOTS]["status"] == "Successful")
    ended = ask(live_server, "GET", f"{place}/status").json["status"][SNAPSHOTS]
    assert ended["removed"] == said["removed"]
    assert objects(live_server, warehouse) == before - len(said["files"]) + 1  # the commit wrote a metadata file
    after = catalog.load_table("ns.t")
    assert len(after.metadata.snapshots) == 1
    assert after.scan().to_arrow().sort_by("id").equals(ROWS)


def test_a_dropped_table_is_purged(live_server: LiveServer, warehouse: str, catalog: Catalog):
    """After a drop with purge its files go by themselves."""
    catalog.create_table("ns.t", ROWS.schema).append(ROWS)
    assert objects(live_server, warehouse) > 3
    catalog.purge_table("ns.t")
    until(lambda: objects(live_server, warehouse) == 0)


def test_a_warehouse_is_purged(live_server: LiveServer, warehouse: str, catalog: Catalog):
    """A warehouse that is removed with purge takes its bucket along."""
    catalog.create_table("ns.t", ROWS.schema).append(ROWS)
    assert ask(live_server, "DELETE", f"/{warehouse}?purge=true&force=true").status == 204
    until(lambda: objects(live_server, warehouse) == -1)


def test_choices_are_inherited(live_server: LiveServer, warehouse: str, catalog: Catalog):
    """What is chosen for a warehouse counts for its tables, until something nearer is chosen."""
    catalog.create_table("ns.t", ROWS.schema)
    table, space = f"/{warehouse}/namespaces/ns/tables/t/maintenance", f"/{warehouse}/namespaces/ns/maintenance"

    def choose(path: str, status: str | None, **settings: int) -> Answer:
        value = {"status": status, "settings": {SNAPSHOTS: settings}}
        return ask(live_server, "PUT", f"{path}/{SNAPSHOTS}", {"value": value})

    def told(path: str, query: str = "") -> Any:
        return ask(live_server, "GET", path + query).json["configuration"][SNAPSHOTS]

    assert told(table)["status"] == "disabled"
    assert choose(f"/{warehouse}/maintenance", "enabled", maxSnapshotAgeHours=48).status == 204
    assert choose(space, None, minSnapshotsToKeep=7).status == 204
    found = told(table)
    assert found["status"] == "enabled"
    assert found["settings"][SNAPSHOTS] == {
        "maxSnapshotAgeHours": 48,
        "minSnapshotsToKeep": 7,
        "intervalMinutes": 1440,
    }
    assert found["sources"] == {
        "status": f"warehouse {warehouse}",
        "maxSnapshotAgeHours": f"warehouse {warehouse}",
        "minSnapshotsToKeep": "namespace ns",
        "intervalMinutes": "default",
    }
    assert told(table, "?own=true") == {"status": None, "settings": {SNAPSHOTS: {}}, "sources": {}}
    assert choose(table, "disabled").status == 204
    assert told(table)["status"] == "disabled"
    assert ask(live_server, "DELETE", f"{table}/{SNAPSHOTS}").status == 204
    assert told(table)["status"] == "enabled"


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        ("icebergCompaction", {}, "pipeline"),
        ("dusting", {}, "there is no maintenance of type"),
        (SNAPSHOTS, {"value": {"status": "on"}}, "enabled or disabled"),
        (SNAPSHOTS, {"value": {"settings": {SNAPSHOTS: {"maxSnapshotAgeHours": 0}}}}, "from 1 to"),
        (SNAPSHOTS, {"value": {"settings": {SNAPSHOTS: {"colour": 1}}}}, "no setting"),
        (SNAPSHOTS, {"value": []}, "must be an object"),
        (UNREFERENCED, {"value": {"settings": {UNREFERENCED: {"nonCurrentDays": 3}}}}, "nonCurrentDays"),
    ],
)
def test_choices_that_cannot_be_are_refused(live_server: LiveServer, warehouse: str, path: str, body: Any, says: str):
    """Each refusal says what is wrong, and what there is instead."""
    answer = ask(live_server, "PUT", f"/{warehouse}/maintenance/{path}", body)
    assert answer.status == 400
    assert says in answer.json["error"]["message"]


def test_a_table_says_what_it_needs(live_server: LiveServer, warehouse: str, catalog: Catalog):
    """The report counts small files, and one for a table that is not there is refused."""
    table = catalog.create_table("ns.t", ROWS.schema)
    for _ in range(5):
        table.append(ROWS)
    found = ask(live_server, "GET", f"/{warehouse}/namespaces/ns/tables/t/maintenance/report").json
    assert (found["data-files"], found["small-files"], found["records"]) == (5, 5, 15)
    assert found["advice"] == ["rewrite data files: 5 of 5 are small"]
    missing = ask(live_server, "GET", f"/{warehouse}/namespaces/ns/tables/other/maintenance/report")
    assert missing.status == 404
    assert missing.json["error"]["type"] == "NoSuchTableException"


def test_nobody_maintains_without_the_right(live_server: LiveServer, warehouse: str, catalog: Catalog):
    """A request that nobody signed is refused, whatever it asks for."""
    catalog.create_table("ns.t", ROWS.schema)
    place = f"{ROOT}/{warehouse}/namespaces/ns/tables/t/maintenance"
    for method, path in (("GET", place), ("POST", f"{place}/{SNAPSHOTS}/run"), ("GET", f"{place}/report")):
        assert Client(live_server).raw(method, path).status in (401, 403)
