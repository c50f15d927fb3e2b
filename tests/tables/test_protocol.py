"""The catalog on the wire, against a live server with two workers: what clients rely on besides what the kit asks."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from lakeshare.tables.wire.routes import ENDPOINTS
from tests.admin.client import Client
from tests.live import LiveServer
from tests.tables.lake import SCHEMA, Lake, namespace_path, set_property, warehouse_name


@pytest.fixture(scope="module")
def lake(live_server: LiveServer) -> Lake:
    """A warehouse for the tests of this file."""
    return Lake.made(live_server)


@pytest.fixture
def where(lake: Lake, request: pytest.FixtureRequest) -> str:
    """The path of a namespace that no other test has."""
    return lake.namespace(request.node.name[:200])


def snapshot(number: int, sequence: int = 1, parent: int | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "snapshot-id": number,
        "sequence-number": sequence,
        "timestamp-ms": 1_700_000_000_000 + number,
        "manifest-list": f"s3://nowhere/{number}.avro",
        "summary": {"operation": "append"},
        "schema-id": 0,
    }
    return found if parent is None else found | {"parent-snapshot-id": parent}


def append(number: int, sequence: int = 1, parent: int | None = None) -> dict[str, Any]:
    """Make the body of a commit that adds a snapshot to main, as clients do."""
    ref = {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": number}
    return {
        "requirements": [{"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": parent}],
        "updates": [{"action": "add-snapshot", "snapshot": snapshot(number, sequence, parent)}, ref],
    }


class TestWarehouses:
    def test_they_are_made_found_listed_and_removed(self, live_server: LiveServer):
        """A warehouse is a bucket: made with it, listed in pages, and removed when empty, while the bucket stays."""
        lake = Lake.made(live_server, "house")
        found = lake.ok("GET", "/warehouses/{w}")
        assert (found["name"], found["bucket"], found["upgraded"]) == (lake.warehouse, lake.warehouse, False)
        assert found in lake.ok("GET", "/warehouses")["warehouses"]
        page = lake.ok("GET", "/warehouses?pageSize=1")
        assert len(page["warehouses"]) == 1
        assert lake.refused("POST", "/warehouses", {"name": lake.warehouse})[:2] == (409, "AlreadyExistsException")
        lake.namespace("a")
        assert lake.refused("DELETE", "/warehouses/{w}")[:2] == (409, "WarehouseNotEmptyException")
        lake.ok("DELETE", "/{w}/namespaces/a")
        lake.ok("DELETE", "/warehouses/{w}")
        assert lake.refused("GET", "/warehouses/{w}")[:2] == (404, "NoSuchWarehouseException")
        assert lake.client.raw("HEAD", f"/{lake.warehouse}").status == 200
        lake.ok("POST", "/warehouses", {"name": lake.warehouse})

    def test_a_bucket_with_objects_is_upgraded(self, live_server: LiveServer):
        """A bucket with objects becomes a warehouse only when asked for, and takes ordinary objects still."""
        lake = Lake(Client.root(live_server), warehouse_name("upgraded"))
        assert lake.client.raw("PUT", f"/{lake.warehouse}").status == 200
        assert lake.client.raw("PUT", f"/{lake.warehouse}/old", b"x").status == 200
        assert lake.refused("POST", "/warehouses", {"name": lake.warehouse})[0] == 409
        assert lake.ok("POST", "/warehouses", {"name": lake.warehouse, "upgrade-existing": True})["upgraded"] is True
        made = lake.client.ok("POST", "/users", {"name": warehouse_name("user"), "policies": ["readwrite"]})
        writer = Client(live_server, made["name"], made["secret_key"])
        assert writer.raw("PUT", f"/{lake.warehouse}/new", b"x").status == 200
        where = lake.table(lake.namespace("ns"), "t")["metadata"]["location"].removeprefix("s3:/")
        assert writer.raw("PUT", f"{where}/data/a", b"x").status == 403

    def test_a_purge_needs_to_be_meant(self, live_server: LiveServer):
        """A purge without force is refused; with it the warehouse is gone at once."""
        lake = Lake.made(live_server, "purged")
        lake.table(lake.namespace("ns"), "t")
        assert lake.refused("DELETE", "/warehouses/{w}?purge=true")[0] == 400
        assert lake.call("GET", "/warehouses/{w}").status == 200
        lake.ok("DELETE", "/warehouses/{w}?purge=true&force=true")
        assert lake.refused("GET", "/{w}/namespaces/ns/tables/t")[:2] == (404, "NoSuchWarehouseException")

    @pytest.mark.parametrize("name", ["A", "x", "a.b", "config", "warehouses", "-ab", "a_b", "x" * 64])
    def test_names_are_buckets_names(self, lake: Lake, name: str):
        """A name that no bucket can have, or that a path of the server has, is refused."""
        assert lake.refused("POST", "/warehouses", {"name": name})[:2] == (400, "BadRequestException")


class TestConfig:
    @pytest.mark.parametrize("form", ["{}", "s3://{}", "s3://{}/", "arn:aws:s3tables:us-east-1:1:bucket/{}"])
    def test_a_warehouse_has_four_names(self, lake: Lake, live_server: LiveServer, form: str):
        """Clients name a warehouse in four ways, and are told its prefix, every endpoint and where S3 is."""
        found = lake.ok("GET", "/config?warehouse=" + form.format(lake.warehouse))
        assert found["overrides"] == {"prefix": lake.warehouse}
        assert found["endpoints"] == list(ENDPOINTS)
        assert found["defaults"]["s3.endpoint"] == live_server.endpoint
        assert found["idempotency-key-lifetime"] == "PT30M"

    def test_a_warehouse_that_is_not_there(self, lake: Lake):
        """The configuration of nothing is a 404 with the specification's type."""
        assert lake.refused("GET", "/config?warehouse=nothing-here")[:2] == (404, "NoSuchWarehouseException")


class TestNamespaces:
    def test_pages_go_on_after_the_last_name(self, lake: Lake, where: str):
        """A listing in pages shows every name once, whatever comes and goes between, and no token serves another."""
        parent = where.rpartition("/")[2]
        for name in "abcde":
            lake.namespace(parent, name)
        first = lake.ok("GET", f"/{{w}}/namespaces?parent={parent}&pageSize=2")
        assert [each[-1] for each in first["namespaces"]] == ["a", "b"]
        lake.ok("DELETE", namespace_path(parent, "b"))
        lake.namespace(parent, "aa")
        token = first["next-page-token"]
        rest = lake.ok("GET", f"/{{w}}/namespaces?parent={parent}&pageSize=2&pageToken={token}")
        assert [each[-1] for each in rest["namespaces"]] == ["c", "d"]
        token = rest["next-page-token"]
        last = lake.ok("GET", f"/{{w}}/namespaces?parent={parent}&pageToken={token}")
        assert ([each[-1] for each in last["namespaces"]], last["next-page-token"]) == (["e"], None)
        assert lake.refused("GET", f"/{{w}}/namespaces?pageToken={token}")[0] == 400
        assert len(lake.ok("GET", f"/{{w}}/namespaces?parent={parent}&pageToken=")["namespaces"]) == 5

    @pytest.mark.parametrize(
        "body",
        [
            {},
            {"namespace": []},
            {"namespace": [""]},
            {"namespace": ["a\x1fb"]},
            {"namespace": "a"},
            {"namespace": [1]},
            {"namespace": ["x" * 256]},
            {"namespace": ["a"] * 17},
            {"namespace": ["a"], "properties": {"a": 1}},
            {"namespace": ["a"], "properties": {"location": "s3://elsewhere/a"}},
            [],
            "a",
        ],
    )
    def test_bad_namespaces_are_refused(self, lake: Lake, body: Any):
        """A namespace that cannot be is a 400, and nothing is made."""
        assert lake.refused("POST", "/{w}/namespaces", body)[0] == 400

    def test_a_parent_must_be_there(self, lake: Lake):
        """A namespace is made below one that is there."""
        assert lake.refused("POST", "/{w}/namespaces", {"namespace": ["no-parent", "a"]})[:2] == (
            404,
            "NoSuchNamespaceException",
        )

    def test_properties_are_set_or_removed_not_both(self, lake: Lake, where: str):
        """A property that is set and removed at once is a 422."""
        body = {"updates": {"a": "b"}, "removals": ["a"]}
        assert lake.refused("POST", f"{where}/properties", body)[:2] == (422, "UnprocessableEntityException")


class TestTables:
    def test_names_may_be_anything_printable(self, lake: Lake, where: str):
        """A name with a space, a plus, a slash, a dot or letters of any script is a name."""
        from urllib.parse import quote, quote_plus

        for name in ("a b", "a+b", "a/b", "a.b", "größe", "表", "%20", "a%2Fb"):
            lake.table(where, name)
            for spelled in (quote(name, safe=""), quote_plus(name)):
                assert lake.call("HEAD", f"{where}/tables/{spelled}").status == 204
        assert len(lake.ok("GET", f"{where}/tables")["identifiers"]) == 8

    def test_locations_hold_a_uuid_and_stay(self, lake: Lake, where: str):
        """A table made again under a name, and one that is renamed, share no location with another."""
        first = lake.table(where, "t")
        lake.ok("DELETE", f"{where}/tables/t")
        second = lake.table(where, "t")
        assert first["metadata"]["location"] != second["metadata"]["location"]
        assert second["metadata"]["table-uuid"].replace("-", "") in second["metadata"]["location"]

    def test_locations_lie_apart_and_inside(self, lake: Lake, where: str):
        """A location that is asked for must lie in the warehouse, and neither in another table's nor around it."""
        base = f"s3://{lake.warehouse}/chosen"
        made = lake.table(where, "a", location=f"{base}/a/")
        assert made["metadata"]["location"] == f"{base}/a"
        for wrong in (
            f"{base}/a",
            f"{base}/a/b",
            base,
            "s3://elsewhere/a",
            "file:/tmp/a",
            f"{base}/../a",
            f"{base}//a",
        ):
            status, kind, _ = lake.refused(
                "POST", f"{where}/tables", {"name": "b", "schema": SCHEMA, "location": wrong}
            )
            assert (status, kind) == (400, "BadRequestException")
        assert lake.table(where, "b", location=f"{base}/ab")["metadata"]["location"] == f"{base}/ab"

    def test_a_load_is_answered_by_304(self, lake: Lake, where: str):
        """An ETag holds until the table changes, for one mode of loading and one way of delegation."""
        lake.table(where, "t")
        first = lake.call("GET", f"{where}/tables/t")
        again = lake.call("GET", f"{where}/tables/t", if_none_match=f'"x", {first.headers["etag"]}')
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", first.headers["etag"])
        refs = lake.call("GET", f"{where}/tables/t?snapshots=refs")
        vended = lake.call("GET", f"{where}/tables/t", x_iceberg_access_delegation="vended-credentials")
        assert len({each.headers["etag"] for each in (first, refs, vended)}) == 3
        committed = lake.call("POST", f"{where}/tables/t", set_property("a", "b"))
        assert committed.headers["etag"] != first.headers["etag"]
        assert lake.call("GET", f"{where}/tables/t", if_none_match=first.headers["etag"]).status == 200
        assert lake.call("GET", f"{where}/tables/t", if_none_match=committed.headers["etag"]).status == 304
        lake.ok("POST", "/{w}/tables/rename", renamed(where, "t", "u"))
        assert lake.call("GET", f"{where}/tables/u", if_none_match=committed.headers["etag"]).status == 304

    def test_only_referenced_snapshots_are_loaded(self, lake: Lake, where: str):
        """With snapshots=refs only the heads of branches and tags are answered, and all else as it is."""
        lake.table(where, "t")
        lake.ok("POST", f"{where}/tables/t", append(1))
        lake.ok("POST", f"{where}/tables/t", append(2, 2, 1))
        whole = lake.ok("GET", f"{where}/tables/t?snapshots=all")["metadata"]
        refs = lake.ok("GET", f"{where}/tables/t?snapshots=refs")["metadata"]
        assert [each["snapshot-id"] for each in whole["snapshots"]] == [1, 2]
        assert [each["snapshot-id"] for each in refs["snapshots"]] == [2]
        assert whole | {"snapshots": []} == refs | {"snapshots": []}
        assert lake.refused("GET", f"{where}/tables/t?snapshots=none")[0] == 400

    def test_every_version_has_its_line(self, lake: Lake, where: str):
        """The version log is dense from 0 on, has a line for what readers see, and is shown newest first in pages."""
        lake.table(where, "t")
        lake.ok("POST", f"{where}/tables/t", append(1))
        lake.ok("POST", f"{where}/tables/t", set_property("a", "b"))
        lake.ok("POST", f"{where}/tables/t", set_property("a", "b"))
        tag = {"action": "set-snapshot-ref", "ref-name": "v1", "type": "tag", "snapshot-id": 1}
        lake.ok("POST", f"{where}/tables/t", {"requirements": [], "updates": [tag]})
        lake.ok("POST", f"{where}/tables/t", append(2, 2, 1))
        back = {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": 1}
        lake.ok("POST", f"{where}/tables/t", {"requirements": [], "updates": [back]})
        found = lake.ok("GET", f"{where}/tables/t/history")["versions"]
        assert [each["version"] for each in found] == [4, 3, 2, 1, 0]
        assert [each["snapshot-id"] for each in found] == [1, 2, 1, 1, None]
        times = [each["timestamp-ms"] for each in found]
        assert times == sorted(set(times), reverse=True)
        page = lake.ok("GET", f"{where}/tables/t/history?pageSize=2")
        rest = lake.ok("GET", f"{where}/tables/t/history?pageToken={page['next-page-token']}")
        assert page["versions"] + rest["versions"] == found

    def test_a_commit_that_lags_is_a_409(self, lake: Lake, where: str):
        """A requirement that fails, and a sequence number that is stale, are 409 and change nothing; others are 400."""
        lake.table(where, "t")
        lake.ok("POST", f"{where}/tables/t", append(1))
        status, kind, message = lake.refused("POST", f"{where}/tables/t", append(2, 2))
        assert (status, kind) == (409, "CommitFailedException")
        assert message == "Requirement failed: branch main was created concurrently"
        status, kind, message = lake.refused("POST", f"{where}/tables/t", append(2, 1, 1))
        assert (status, kind) == (409, "CommitFailedException")
        assert message.startswith("Validation failed, please retry")
        for updates in ([{"action": "no-such"}], [{"action": "set-current-schema", "schema-id": 9}], [{}], [1]):
            assert lake.refused("POST", f"{where}/tables/t", {"requirements": [], "updates": updates})[0] == 400
        wrong = {"requirements": [{"type": "no-such"}], "updates": []}
        assert lake.refused("POST", f"{where}/tables/t", wrong)[0] == 400
        version = {"requirements": [], "updates": [{"action": "upgrade-format-version", "format-version": 4}]}
        assert lake.refused("POST", f"{where}/tables/t", version)[0] == 400
        assert lake.ok("GET", f"{where}/tables/t")["metadata"]["current-snapshot-id"] == 1

    def test_what_is_missing_is_said(self, lake: Lake, where: str):
        """Each thing that is not there is a 404 with its own type; a view is no table."""
        assert lake.refused("GET", f"{where}/tables/no")[:2] == (404, "NoSuchTableException")
        assert lake.refused("GET", "/{w}/namespaces/no/tables/t")[:2] == (404, "NoSuchTableException")
        assert lake.refused("GET", f"{where}/views/no")[:2] == (404, "NoSuchViewException")
        assert lake.refused("POST", "/{w}/namespaces/no/tables", {"name": "t", "schema": SCHEMA})[:2] == (
            404,
            "NoSuchNamespaceException",
        )
        body = {"name": "t", "metadata-location": f"s3://{lake.warehouse}/no.metadata.json"}
        status, kind, message = lake.refused("POST", f"{where}/register", body)
        assert (status, kind) == (404, "NotFoundException")
        assert message.startswith("Failed to open input stream for file: ")
        assert lake.call("HEAD", f"{where}/tables/no").body == b""
        assert lake.refused("GET", "/nothing/at/all")[0] == 404
        assert lake.refused("PATCH", f"{where}/tables/no")[0] == 405

    def test_a_metadata_file_is_what_was_committed(self, lake: Lake, where: str, live_server: LiveServer):
        """A registered table is loaded only while its metadata file is there, with the bytes that were registered."""
        lake.table(where, "t")
        found = lake.ok("GET", f"{where}/tables/t")
        lake.ok("DELETE", f"{where}/tables/t")
        lake.ok("POST", f"{where}/register", {"name": "t", "metadata-location": found["metadata-location"]})
        assert lake.ok("GET", f"{where}/tables/t")["metadata"] == found["metadata"]
        assert lake.refused(
            "POST", f"{where}/register", {"name": "u", "metadata-location": found["metadata-location"]}
        )[:2] == (409, "AlreadyExistsException")

    def test_reports_are_kept_and_shown(self, lake: Lake, where: str):
        """A report is taken, and shown as it came."""
        lake.table(where, "t")
        report = {"report-type": "scan-report", "table-name": "t", "metrics": {"x": 1}}
        lake.ok("POST", f"{where}/tables/t/metrics", report)
        (kept,) = lake.ok("GET", f"{where}/tables/t/metrics")["reports"]
        assert kept["report"] == report
        assert lake.refused("POST", f"{where}/tables/t/metrics", {"report-type": "x"})[0] == 400


def renamed(where: str, old: str, new: str) -> dict[str, Any]:
    levels = where.rpartition("/")[2].split("%1F")
    return {"source": {"namespace": levels, "name": old}, "destination": {"namespace": levels, "name": new}}


class TestTransactions:
    @pytest.fixture
    def pair(self, lake: Lake, where: str) -> Iterator[str]:
        """Two tables."""
        lake.table(where, "a")
        lake.table(where, "b")
        return where

    def change(self, where: str, name: str, body: dict[str, Any]) -> dict[str, Any]:
        return body | {"identifier": {"namespace": [where.rpartition("/")[2]], "name": name}}

    def test_all_tables_change_or_none(self, lake: Lake, pair: str):
        """A commit of several tables changes all of them, or nothing when one requirement fails."""
        changes = [self.change(pair, "a", append(1)), self.change(pair, "b", append(1))]
        assert lake.call("POST", "/{w}/transactions/commit", {"table-changes": changes}).status == 204
        changes = [self.change(pair, "a", append(2, 2, 1)), self.change(pair, "b", append(2, 2, 7))]
        assert lake.refused("POST", "/{w}/transactions/commit", {"table-changes": changes})[0] == 409
        for name in "ab":
            found = lake.ok("GET", f"{pair}/tables/{name}")
            assert found["metadata"]["current-snapshot-id"] == 1
            folder = found["metadata"]["location"].removeprefix(f"s3://{lake.warehouse}/")
            listed = lake.client.raw("GET", f"/{lake.warehouse}?list-type=2&prefix={folder}").body.decode()
            assert (listed.count("00001-"), listed.count("00002-")) == (1, 0)

    def test_a_table_may_be_made_in_it(self, lake: Lake, pair: str):
        """A table is made and another changed in one transaction; a table twice in it is refused."""
        schema = {"action": "add-schema", "schema": SCHEMA | {"schema-id": 0}}
        create = {
            "requirements": [{"type": "assert-create"}],
            "updates": [
                schema,
                {"action": "set-current-schema", "schema-id": -1},
                {"action": "add-spec", "spec": {"spec-id": 0, "fields": []}},
                {"action": "set-default-spec", "spec-id": -1},
                {"action": "add-sort-order", "sort-order": {"order-id": 0, "fields": []}},
                {"action": "set-default-sort-order", "sort-order-id": -1},
            ],
        }
        changes = [self.change(pair, "c", create), self.change(pair, "a", set_property("x", "y"))]
        assert lake.call("POST", "/{w}/transactions/commit", {"table-changes": changes}).status == 204
        assert lake.call("HEAD", f"{pair}/tables/c").status == 204
        again = lake.refused("POST", "/{w}/transactions/commit", {"table-changes": changes})
        assert again[::2] == (409, "Requirement failed: table already exists")
        twice = [self.change(pair, "a", set_property("x", "y"))] * 2
        for wrong in (twice, []):
            assert lake.refused("POST", "/{w}/transactions/commit", {"table-changes": wrong})[0] == 400


class TestIdempotency:
    def test_a_key_has_its_effect_once(self, lake: Lake, where: str):
        """A request that is sent again with its key is answered again, and done once; its key serves no other."""
        key = str(uuid.uuid4())
        body = {"name": "t", "schema": SCHEMA}
        first = lake.ok("POST", f"{where}/tables", body, idempotency_key=key)
        again = lake.ok("POST", f"{where}/tables", body, idempotency_key=key)
        assert again["metadata"] == first["metadata"]
        other = lake.refused("POST", f"{where}/tables", body | {"name": "u"}, idempotency_key=key)
        assert other[:2] == (400, "BadRequestException")
        key = str(uuid.uuid4())
        for _ in range(2):
            lake.ok("POST", f"{where}/tables/t", append(1), idempotency_key=key)
        key = str(uuid.uuid4())
        for _ in range(2):
            lake.ok("DELETE", f"{where}/tables/t", idempotency_key=key)
        assert lake.refused("DELETE", f"{where}/tables/t")[0] == 404
        assert lake.refused("POST", f"{where}/tables", body, idempotency_key="no-uuid")[0] == 400

    def test_namespaces_too(self, lake: Lake, where: str):
        """Namespaces are made, described and dropped once for each key."""
        body = {"namespace": ["once"], "properties": {"a": "b"}}
        keys = [str(uuid.uuid4()) for _ in range(3)]
        for _ in range(2):
            assert lake.ok("POST", "/{w}/namespaces", body, idempotency_key=keys[0])["properties"]["a"] == "b"
        for _ in range(2):
            lake.ok("POST", "/{w}/namespaces/once/properties", {"updates": {"c": "d"}}, idempotency_key=keys[1])
        for _ in range(2):
            lake.ok("DELETE", "/{w}/namespaces/once", idempotency_key=keys[2])
        assert lake.refused("DELETE", "/{w}/namespaces/once")[0] == 404
