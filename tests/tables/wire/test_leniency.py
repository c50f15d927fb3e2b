"""What clients send that is not as the specification has it, and is taken."""

import pytest

from tests.live import LiveServer
from tests.tables.lake import Lake

SET = {"action": "set-properties", "updates": {"a": "1"}}
VERSION = {
    "version-id": 1,
    "timestamp-ms": 1,
    "schema-id": 0,
    "summary": {},
    "default-namespace": ["ns"],
    "representations": [{"type": "sql", "sql": "SELECT 1 id", "dialect": "spark"}],
}


@pytest.fixture(scope="module")
def lake(live_server: LiveServer) -> Lake:
    """A warehouse with a table and a view."""
    found = Lake.made(live_server, "commits")
    where = found.namespace("ns")
    schema = {**found.table(where, "t")["metadata"]["schemas"][0], "schema-id": 0}
    found.ok("POST", f"{where}/views", {"name": "v", "schema": schema, "view-version": VERSION, "properties": {}})
    return found


@pytest.mark.parametrize("path", ["tables/t", "views/v"])
def test_null_is_no_requirement(lake: Lake, path: str):
    """Requirements that are null, as iceberg-go sends none, are none; of another type they are refused."""
    where = f"/{{w}}/namespaces/ns/{path}"
    assert lake.ok("POST", where, {"requirements": None, "updates": [SET]})["metadata"]["properties"]["a"] == "1"
    for wrong in (False, 0, "", {}):
        assert lake.refused("POST", where, {"requirements": wrong, "updates": [SET]})[0] == 400


def test_a_page_size_of_nothing_is_the_servers_own(lake: Lake):
    """A pageSize of 0, as warp and iceberg-go send it, leaves the size to the server."""
    for path in ("tables", "views"):
        found = lake.ok("GET", f"/{{w}}/namespaces/ns/{path}?pageSize=0")
        assert [each["name"] for each in found["identifiers"]] == [path[0]]
    assert lake.refused("GET", "/{w}/namespaces/ns/tables?pageSize=-1")[0] == 400
