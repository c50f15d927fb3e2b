"""What was to be done is done, whatever becomes of the server in between."""

import signal
from pathlib import Path

import pyarrow as pa

from tests.admin.client import Client
from tests.live import LiveServer, running
from tests.patience import until
from tests.tables.lake import Lake

ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64())})
RUN = "/_iceberg/v1/warehouses/kept/namespaces/ns/tables/{}/maintenance/icebergSnapshotManagement/run"


def loaded(server: LiveServer, table: str) -> dict[str, object]:
    """Load a table."""
    answer = Client.root(server).raw("GET", f"/_iceberg/v1/kept/namespaces/ns/tables/{table}")
    return answer.json["metadata"]


def keys(server: LiveServer) -> int:
    """Count the objects of the warehouse."""
    return Client.root(server).raw("GET", "/kept?list-type=2").body.count(b"<Key>")


def fill(server: LiveServer) -> None:
    """Make a table with old snapshots, and one that is dropped."""
    lake = Lake(Client.root(server), "kept")
    lake.ok("POST", "/warehouses", {"name": lake.warehouse})
    catalog = lake.by_oauth()
    catalog.create_namespace("ns")
    table = catalog.create_table("ns.old", ROWS.schema, properties={"history.expire.max-snapshot-age-ms": "1"})
    table.append(ROWS)
    table.overwrite(ROWS)
    catalog.create_table("ns.gone", ROWS.schema).append(ROWS)
    catalog.purge_table("ns.gone")


def test_a_killed_server_takes_up_what_it_had_to_do(tmp_path: Path):
    """A purge and a run that were asked for just before kill -9 are done after the next start."""
    data = tmp_path / "data"
    with running(data, ended_by_test=True) as server:
        fill(server)
        asked = Client.root(server).raw("POST", RUN.format("old"), b"{}")
        assert asked.status == 202
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
    with running(data) as server:
        until(lambda: len(loaded(server, "old")["snapshots"]) == 1)  # type: ignore[arg-type]
        # A metadata file for each of five commits; of the last snapshot its list, two manifests at most, one data file.
        until(lambda: keys(server) <= 5 + 4)
        assert loaded(server, "old")["snapshots"]
