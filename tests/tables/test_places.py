"""Where tables lie: nobody gains by choosing a place, no two tables share one, and credentials follow the choice."""

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from tests.admin.client import Client
from tests.live import LiveServer, running
from tests.tables.lake import SCHEMA, VIEW, Lake, set_property

VENDED = {"X-Iceberg-Access-Delegation": "vended-credentials"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server of two workers."""
    with running(tmp_path_factory.mktemp("places") / "data") as live:
        yield live


@pytest.fixture(scope="module")
def lake(server: LiveServer) -> Lake:
    return Lake.made(server, "places")


@pytest.fixture
def where(lake: Lake) -> str:
    """A namespace of a test's own."""
    return lake.namespace(f"ns-{uuid.uuid4().hex[:8]}")


def user(lake: Lake, *statements: dict[str, Any]) -> Lake:
    """Make a user that is allowed this, and see the warehouse as it does."""
    root, name = Client.root(lake.client.server), f"user-{uuid.uuid4().hex[:8]}"
    document = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow"} | each for each in statements]}
    root.ok("PUT", f"/policies/{name}", document)
    made = root.ok("POST", "/users", {"name": name, "policies": [name]})
    return lake.seen_by(Client(lake.client.server, made["name"], made["secret_key"]))


def moved(location: str) -> dict[str, Any]:
    return {"requirements": [], "updates": [{"action": "set-location", "location": location}]}


def creation(where: str, name: str, location: str) -> dict[str, Any]:
    """Make the change that creates a table at a place, as part of a transaction."""
    updates = [
        {"action": "assign-uuid", "uuid": str(uuid.uuid4())},
        {"action": "upgrade-format-version", "format-version": 2},
        {"action": "add-schema", "schema": SCHEMA},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": {"fields": []}},
        {"action": "set-default-spec", "spec-id": -1},
        {"action": "add-sort-order", "sort-order": {"order-id": 0, "fields": []}},
        {"action": "set-default-sort-order", "sort-order-id": -1},
        {"action": "set-location", "location": location},
    ]
    identifier = {"namespace": [where.rpartition("/")[2]], "name": name}
    return {"identifier": identifier, "requirements": [{"type": "assert-create"}], "updates": updates}


def as_client(server: LiveServer, config: dict[str, str]) -> Client:
    return Client(server, config["s3.access-key-id"], config["s3.secret-access-key"], config["s3.session-token"])


def left(lake: Lake, location: str, like: dict[str, Any], **more: Any) -> str:
    """Leave a metadata file at a location that says it is a table's there, and return where it is."""
    metadata = like["metadata"] | {"table-uuid": str(uuid.uuid4()), "location": location} | more
    key = f"{location.removeprefix('s3:/')}/metadata/00000-left.metadata.json"
    assert lake.client.raw("PUT", key, json.dumps(metadata).encode()).status == 200
    return f"s3:/{key}"


class TestOverlaps:
    def test_a_place_that_is_taken_is_refused_at_once(self, lake: Lake, where: str):
        """A table or view that is to move inside another's place, or around it, stays, and is no race to be run."""
        location = lake.table(where, "a")["metadata"]["location"]
        lake.table(where, "b")
        lake.ok("POST", f"{where}/views", VIEW)
        for place in (location, f"{location}/deeper", location.rpartition("/")[0]):
            assert lake.refused("POST", f"{where}/tables/b", moved(place))[:2] == (400, "BadRequestException")
            assert lake.refused("POST", f"{where}/views/v", moved(place))[:2] == (400, "BadRequestException")

    def test_one_transaction_gives_no_place_twice(self, lake: Lake, where: str):
        """Tables that one transaction would put inside each other are refused, all of them, and leave no files."""
        place = f"s3://{lake.warehouse}/crossing-{uuid.uuid4().hex}"
        for second in (place, f"{place}/inside"):
            changes = [creation(where, "x", place), creation(where, "y", second)]
            refused = lake.refused("POST", "/{w}/transactions/commit", {"table-changes": changes})
            assert refused[0] == 400
        listed = lake.client.raw("GET", f"/{lake.warehouse}?list-type=2&prefix=crossing-")
        assert b"<Key>" not in listed.body
        assert lake.ok("GET", f"{where}/tables")["identifiers"] == []

    def test_metadata_goes_into_no_other_table(self, lake: Lake, where: str):
        """A folder for metadata files that is another table's is refused, when a table is made and when it is set."""
        location = lake.table(where, "a")["metadata"]["location"]
        properties = {"write.metadata.path": f"{location}/metadata"}
        body = {"name": "b", "schema": SCHEMA, "properties": properties}
        assert lake.refused("POST", f"{where}/tables", body)[0] == 400
        lake.table(where, "c")
        commit = {"requirements": [], "updates": [{"action": "set-properties", "updates": properties}]}
        assert lake.refused("POST", f"{where}/tables/c", commit)[0] == 400
        free = f"s3://{lake.warehouse}/metadata-{uuid.uuid4().hex}"
        made = lake.table(where, "d", properties={"write.metadata.path": free})
        assert made["metadata-location"].startswith(f"{free}/00000-")

    def test_a_log_removes_no_other_tables_metadata(self, lake: Lake, where: str):
        """A metadata file that a pointer refers to stays, though another table's log has let it fall."""
        folder = f"s3://{lake.warehouse}/shared-{uuid.uuid4().hex}"
        other = lake.table(where, "other", properties={"write.metadata.path": folder})
        log = [{"metadata-file": other["metadata-location"], "timestamp-ms": other["metadata"]["last-updated-ms"]}]
        properties = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "1"}
        file = left(lake, folder, lake.table(where, "t"), properties=properties, **{"metadata-log": log})
        lake.ok("POST", f"{where}/register", {"name": "around", "metadata-location": file})
        lake.ok("POST", f"{where}/tables/around", set_property("a", "b"))
        lake.ok("POST", f"{where}/tables/around", set_property("a", "c"))
        assert lake.client.raw("HEAD", other["metadata-location"].removeprefix("s3:/")).status == 200
        assert lake.client.raw("HEAD", file.removeprefix("s3:/")).status == 404

    def test_a_registered_file_takes_no_place_of_another(self, lake: Lake, where: str):
        """A file that would put its table inside another's place is refused for that, where it replaces a table too."""
        location = lake.table(where, "a")["metadata"]["location"]
        made = lake.table(where, "b")
        for uid in (made["metadata"]["table-uuid"], str(uuid.uuid4())):
            file = left(lake, f"{location}/inside", made, **{"table-uuid": uid})
            body = {"name": "b", "metadata-location": file, "overwrite": True}
            assert lake.refused("POST", f"{where}/register", body)[:2] == (400, "BadRequestException")


class TestChoosing:
    """A user that may make and change tables, and nothing elsewhere in the warehouse."""

    @pytest.fixture
    def maker(self, lake: Lake) -> Lake:
        tables = ["CreateTable", "GetTable", "UpdateTableMetadataLocation", "RegisterTable", "CreateView"]
        actions = [f"s3tables:{each}" for each in tables]
        return user(lake, {"Action": actions, "Resource": "arn:aws:s3tables:::bucket/*"})

    def test_the_servers_choice_needs_nothing_more(self, lake: Lake, where: str, maker: Lake):
        """Whoever may make tables has them where the server puts them, and changes them there."""
        made = maker.table(where, "t")
        maker.ok("POST", f"{where}/tables/t", set_property("a", "b"))
        maker.ok("POST", f"{where}/tables/t", moved(made["metadata"]["location"]))

    def test_a_place_of_ones_own_needs_rights_there(self, lake: Lake, where: str, maker: Lake):
        """A location is chosen by who may write there by S3: otherwise it would open what others have left there."""
        place = f"s3://{lake.warehouse}/left-{uuid.uuid4().hex}"
        maker.table(where, "t")
        asked: list[tuple[str, Any]] = [
            (f"{where}/tables", {"name": "u", "schema": SCHEMA, "location": place}),
            (f"{where}/tables", {"name": "u", "schema": SCHEMA, "properties": {"write.metadata.path": place}}),
            (f"{where}/tables/t", moved(place)),
            ("/{w}/transactions/commit", {"table-changes": [creation(where, "u", place)]}),
            (f"{where}/views", VIEW | {"location": place}),
        ]
        assert [maker.refused("POST", *each)[0] for each in asked] == [403] * len(asked)
        staged = {"Action": ["s3tables:PutTableData", "s3tables:GetTableData"]}
        resource = {"Resource": f"arn:aws:s3tables:::bucket/{lake.warehouse}/table/staged"}
        trusted = user(lake, {"Action": "s3tables:CreateTable", "Resource": "*"}, staged | resource)
        trusted.ok("POST", *asked[0])

    def test_a_namespace_chooses_for_its_tables(self, lake: Lake, where: str):
        """The folder of a namespace's tables is chosen by who may write there, unless it is the server's own choice."""
        owner = user(lake, {"Action": ["s3tables:*Namespace*", "s3tables:CreateTable"], "Resource": "*"})
        elsewhere = {"location": f"s3://{lake.warehouse}/others-{uuid.uuid4().hex}"}
        own, name = {"location": lake.ok("GET", where)["properties"]["location"]}, f"ns-{uuid.uuid4().hex[:8]}"
        body = {"namespace": [name], "properties": elsewhere}
        assert owner.refused("POST", "/{w}/namespaces", body)[:2] == (403, "ForbiddenException")
        assert owner.refused("POST", f"{where}/properties", {"updates": elsewhere})[0] == 403
        assert owner.ok("POST", f"{where}/properties", {"updates": own})["updated"] == ["location"]
        lake.ok("POST", "/{w}/namespaces", body)
        assert lake.table(f"/{{w}}/namespaces/{name}", "t")["metadata"]["location"].startswith(elsewhere["location"])

    def test_a_file_cannot_choose_either(self, lake: Lake, where: str, maker: Lake):
        """A metadata file that is registered puts its table where whoever registers it has rights, or nowhere."""
        location = f"s3://{lake.warehouse}/others-{uuid.uuid4().hex}"
        body = {"name": "mine", "metadata-location": left(lake, location, lake.table(where, "t"))}
        assert maker.refused("POST", f"{where}/register", body)[:2] == (403, "ForbiddenException")
        reading = {"Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{lake.warehouse}/*"}
        reader = user(lake, {"Action": "s3tables:RegisterTable", "Resource": "*"}, reading)
        assert reader.refused("POST", f"{where}/register", body)[:2] == (403, "ForbiddenException")
        assert lake.ok("POST", f"{where}/register", body)["metadata"]["location"] == location

    def test_a_file_chooses_no_folder_for_metadata(self, lake: Lake, where: str):
        """A file has further metadata files written where whoever registers it has rights, or nowhere."""
        folder = f"s3://{lake.warehouse}/private-{uuid.uuid4().hex}"
        location = f"s3://{lake.warehouse}/mine-{uuid.uuid4().hex}"
        file = left(lake, location, lake.table(where, "t"), properties={"write.metadata.path": folder})
        staged = {"Action": ["s3tables:PutTableData", "s3tables:GetTableData"]} | {"Resource": "*"}
        theirs = {"Effect": "Deny", "Action": "s3:*", "Resource": f"arn:aws:s3:::{folder.removeprefix('s3://')}/*"}
        maker = user(lake, {"Action": "s3tables:*", "Resource": "*"}, staged, theirs)
        body = {"name": "mine", "metadata-location": file}
        assert maker.refused("POST", f"{where}/register", body)[:2] == (403, "ForbiddenException")
        lake.ok("POST", f"{where}/register", body)
        assert lake.ok("POST", f"{where}/tables/mine", set_property("a", "b"))["metadata-location"].startswith(folder)

    def test_a_file_is_read_for_who_may_read_it(self, lake: Lake, where: str, maker: Lake):
        """Who may register tables learns neither what lies in the warehouse nor what it says."""
        secret = f"/{lake.warehouse}/private-{uuid.uuid4().hex}/secret.json"
        assert lake.client.raw("PUT", secret, b'{"format-version": "secret"}').status == 200
        asked = [{"name": "t", "metadata-location": f"s3:/{each}"} for each in (secret, f"{secret}.not-there")]
        there, not_there = (maker.refused("POST", f"{where}/register", each) for each in asked)
        assert there == not_there == (403, "ForbiddenException", "not allowed: s3:GetObject")
        assert [lake.refused("POST", f"{where}/register", each)[0] for each in asked] == [400, 404]

    def test_ordinary_objects_stay_their_owners(self, server: LiveServer):
        """In a bucket that had objects before, no table is put around objects that its maker may not touch."""
        name = f"upgraded-{uuid.uuid4().hex[:8]}"
        root = Client.root(server)
        assert root.raw("PUT", f"/{name}").status == 200
        assert root.raw("PUT", f"/{name}/payroll/january.csv", b"secret").status == 200
        lake = Lake(root, name)
        lake.ok("POST", "/warehouses", {"name": name, "upgrade-existing": True})
        where = lake.namespace("ns")
        maker = user(lake, {"Action": "s3tables:*", "Resource": "*"})
        body = {"name": "t", "schema": SCHEMA, "location": f"s3://{name}/payroll"}
        assert maker.refused("POST", f"{where}/tables", body)[0] == 403
        maker.table(where, "t")
        assert root.raw("GET", f"/{name}/payroll/january.csv").body == b"secret"


class TestBuckets:
    """Warehouses that are made of buckets which are there already."""

    @pytest.fixture
    def bucket(self, server: LiveServer) -> str:
        name = f"taken-{uuid.uuid4().hex[:8]}"
        root = Client.root(server)
        assert root.raw("PUT", f"/{name}").status == 200
        assert root.raw("PUT", f"/{name}/payroll.csv", b"secret").status == 200
        return name

    def test_a_bucket_is_not_taken_from_its_owner(self, server: LiveServer, lake: Lake, bucket: str):
        """Who has every right over tables and none over a bucket makes no warehouse of it; with both it does."""
        tables = {"Action": "s3tables:*", "Resource": "*"}
        body = {"name": bucket, "upgrade-existing": True}
        assert user(lake, tables).refused("POST", "/warehouses", body)[0] == 403
        user(lake, tables).ok("POST", "/warehouses", {"name": f"{bucket}-new"})
        other = {"Action": "s3:*", "Resource": f"arn:aws:s3:::{bucket}/some/*"}
        assert user(lake, tables, other).refused("POST", "/warehouses", body)[0] == 403
        owner = user(lake, tables, {"Action": "s3:*", "Resource": f"arn:aws:s3:::{bucket}/*"})
        assert owner.ok("POST", "/warehouses", body)["upgraded"] is True

    def test_ordinary_objects_are_purged_by_who_may_delete_them(self, server: LiveServer, lake: Lake, bucket: str):
        """The purge of an upgraded bucket, which takes its objects along, needs rights over them as well."""
        lake.ok("POST", "/warehouses", {"name": bucket, "upgrade-existing": True})
        admin = user(lake, {"Action": "s3tables:*", "Resource": "*"})
        assert admin.refused("DELETE", f"/warehouses/{bucket}?purge=true&force=true")[0] == 403
        assert Client.root(server).raw("GET", f"/{bucket}/payroll.csv").body == b"secret"
        admin.ok("DELETE", f"/warehouses/{bucket}")
        assert Client.root(server).raw("GET", f"/{bucket}/payroll.csv").body == b"secret"


class TestFolders:
    def test_credentials_reach_the_folders_that_properties_choose(self, server: LiveServer, lake: Lake, where: str):
        """Vended credentials write to the folders of write.data.path and write.metadata.path, and nowhere else."""
        data, meta = (f"s3://{lake.warehouse}/{kind}-{uuid.uuid4().hex}" for kind in ("data", "meta"))
        properties = {"write.data.path": data, "write.metadata.path": meta}
        lake.table(where, "t", properties=properties)
        found = lake.call("GET", f"{where}/tables/t", **VENDED).json
        client = as_client(server, found["config"])
        assert [each["prefix"] for each in found["storage-credentials"]] == [f"s3://{lake.warehouse}/"]
        for folder in (data, meta, found["metadata"]["location"]):
            assert client.raw("PUT", f"{folder.removeprefix('s3:/')}/f.parquet", b"x").status == 200
            assert client.raw("PUT", f"{folder.removeprefix('s3:/')}0/f.parquet", b"x").status == 403
        assert client.raw("PUT", f"/{lake.warehouse}/elsewhere", b"x").status == 403

    def test_they_come_with_the_table(self, server: LiveServer, lake: Lake, where: str):
        """The folders are reached by a draft's credentials, by fresh ones, and from the commit on that sets them."""
        data = f"s3://{lake.warehouse}/data-{uuid.uuid4().hex}"
        body = {"name": "t", "schema": SCHEMA, "stage-create": True, "properties": {"write.data.path": data}}
        staged = lake.call("POST", f"{where}/tables", body, **VENDED).json
        lake.table(where, "u")
        first = lake.call("GET", f"{where}/tables/u", **VENDED).json
        lake.ok("POST", f"{where}/tables/u", set_property("write.data.path", data))
        fresh = lake.ok("GET", f"{where}/tables/u/credentials")["storage-credentials"][0]["config"]
        key = f"{data.removeprefix('s3:/')}/f.parquet"
        configs = (staged["config"], fresh, first["config"])
        assert [as_client(server, each).raw("PUT", key, b"x").status for each in configs] == [200, 200, 403]

    def test_no_property_opens_another_table(self, server: LiveServer, lake: Lake, where: str):
        """A folder inside another table's place, around it, or in another bucket is not reached, whoever names it."""
        other = lake.table(where, "other")["metadata"]["location"]
        bucket = f"bucket-{uuid.uuid4().hex[:8]}"
        assert lake.client.raw("PUT", f"/{bucket}").status == 200
        for number, folder in enumerate((other, f"{other}/data", other.rpartition("/")[0], f"s3://{bucket}/x")):
            lake.table(where, f"t{number}", properties={"write.data.path": folder})
            found = lake.call("GET", f"{where}/tables/t{number}", **VENDED).json
            client = as_client(server, found["config"])
            for place in (other, folder):
                assert client.raw("PUT", f"{place.removeprefix('s3:/')}/f.parquet", b"x").status == 403
                assert client.raw("GET", f"{place.removeprefix('s3:/')}/f.parquet").status == 403

    def test_they_give_nobody_more_than_it_has(self, server: LiveServer, lake: Lake, where: str):
        """Who may write one table and nothing else of a warehouse is not let into a folder by its property."""
        data = f"s3://{lake.warehouse}/data-{uuid.uuid4().hex}"
        made = lake.table(where, "t", properties={"write.data.path": data})["metadata"]
        table = f"arn:aws:s3tables:::bucket/{lake.warehouse}/table/{made['table-uuid']}"
        writer = user(lake, {"Action": "s3tables:*", "Resource": table})
        client = as_client(server, writer.call("GET", f"{where}/tables/t", **VENDED).json["config"])
        assert client.raw("PUT", f"{made['location'].removeprefix('s3:/')}/f.parquet", b"x").status == 200
        assert client.raw("PUT", f"{data.removeprefix('s3:/')}/f.parquet", b"x").status == 403
