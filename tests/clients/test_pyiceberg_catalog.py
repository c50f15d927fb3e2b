"""PyIceberg against the catalog of a live server with two workers: signed, with OAuth, and with vended credentials."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import (
    ForbiddenError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    OAuthError,
    TableAlreadyExistsError,
    UnauthorizedError,
)
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform
from pyiceberg.types import IntegerType, LongType, NestedField

from tests.admin.client import Client
from tests.live import LiveServer
from tests.tables.lake import Lake

ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "name": ["a", "b", "c"]})
MORE = pa.table({"id": pa.array([4], pa.int64()), "name": ["d"]})


@pytest.fixture(scope="module")
def lake(live_server: LiveServer) -> Lake:
    """A warehouse for the tests of this file."""
    return Lake.made(live_server)


def signed(server: LiveServer, lake: Lake, service: str = "s3tables", **more: str) -> Catalog:
    """Connect as the page about the catalog says: signed, with keys of one's own for S3."""
    return load_catalog(
        "lakeshare",
        **{
            "uri": f"{server.endpoint}/_iceberg",
            "warehouse": lake.warehouse,
            "rest.sigv4-enabled": "true",
            "rest.signing-name": service,
            "rest.signing-region": "local",
            "s3.access-key-id": server.access_key,
            "s3.secret-access-key": server.secret_key,
            "s3.endpoint": server.endpoint,
        }
        | more,
    )


def by_oauth(server: LiveServer, lake: Lake, key: str = "", secret: str = "") -> Catalog:
    """Connect with an access key as OAuth's client, and no key for S3 at all: credentials are vended."""
    who = Client(server, key or server.access_key, secret or server.secret_key)
    return lake.seen_by(who).by_oauth()


CONNECTIONS: dict[str, Callable[..., Catalog]] = {
    "signed for s3tables": signed,
    "signed for s3": lambda server, lake: signed(server, lake, "s3"),
    "signed for execute-api": lambda server, lake: signed(server, lake, "execute-api"),
    "OAuth and vended credentials": by_oauth,
}


@pytest.fixture(params=list(CONNECTIONS))
def catalog(request: pytest.FixtureRequest, live_server: LiveServer, lake: Lake, monkeypatch: Any) -> Catalog:
    """Each way to connect, in turn; boto3 finds the keys that sign as anybody's."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", live_server.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", live_server.secret_key)
    found = CONNECTIONS[request.param](live_server, lake)
    if "OAuth" in request.param:
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    return found


@pytest.fixture
def space(catalog: Catalog, bucket_names: Callable[[str], str]) -> str:
    """A namespace that no other test has."""
    name = bucket_names("space")
    catalog.create_namespace(name)
    return name


def test_tables_live(catalog: Catalog, space: str):
    """A table is created, appended to, overwritten, deleted from, evolved, renamed and dropped, by every connection."""
    table = catalog.create_table((space, "people"), ROWS.schema)
    table.append(ROWS)
    table.append(MORE)
    assert table.scan().to_arrow().num_rows == 4
    table.delete("id = 2")
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 3, 4]
    table.overwrite(ROWS)
    with table.update_schema() as schema:
        schema.add_column("age", IntegerType())
        schema.rename_column("name", "called")
    with table.update_spec() as spec:
        spec.add_field("id", BucketTransform(4), "id_bucket")
    catalog.rename_table((space, "people"), (space, "persons"))
    again = catalog.load_table((space, "persons"))
    assert again.scan().to_arrow().column_names == ["id", "called", "age"]
    assert again.metadata.table_uuid == table.metadata.table_uuid
    assert again.location() == table.location()
    assert catalog.table_exists((space, "persons"))
    assert not catalog.table_exists((space, "people"))
    catalog.drop_table((space, "persons"))
    with pytest.raises(NoSuchTableError):
        catalog.load_table((space, "persons"))


def test_tables_are_staged(catalog: Catalog, space: str):
    """A create and its first rows are one commit: before it the table is not there, after it both are."""
    with catalog.create_table_transaction((space, "born"), ROWS.schema) as transaction:
        assert not catalog.table_exists((space, "born"))
        transaction.append(ROWS)
    assert catalog.load_table((space, "born")).scan().to_arrow().num_rows == 3


def test_partitions_and_old_snapshots_are_read(catalog: Catalog, space: str):
    """A partitioned table is pruned by its partitions, and read as it was."""
    schema = Schema(NestedField(1, "id", LongType(), required=False), NestedField(2, "part", LongType()))
    table = catalog.create_table((space, "parts"), schema, properties={"format-version": "2"})
    with table.update_spec() as spec:
        spec.add_identity("part")
    rows = pa.table({"id": pa.array(range(10), pa.int64()), "part": pa.array([n % 2 for n in range(10)], pa.int64())})
    table.append(rows)
    first = table.metadata.current_snapshot_id
    table.append(rows)
    assert table.scan("part = 1").to_arrow().num_rows == 10
    assert table.scan(snapshot_id=first).to_arrow().num_rows == 10
    with table.manage_snapshots() as snapshots:
        snapshots.create_tag(first, "first")
    assert table.scan().use_ref("first").to_arrow().num_rows == 10


def test_namespaces_nest(catalog: Catalog, space: str):
    """Namespaces have levels, properties that change at once, and stay for as long as they hold something."""
    catalog.create_namespace((space, "inner part"), {"owner": "data"})
    catalog.create_namespace((space, "inner part", "deep"))
    assert catalog.list_namespaces(space) == [(space, "inner part")]
    assert catalog.list_namespaces((space, "inner part")) == [(space, "inner part", "deep")]
    done = catalog.update_namespace_properties((space, "inner part"), {"none"}, {"owner": "others", "more": "x"})
    assert (done.removed, sorted(done.updated), done.missing) == ([], ["more", "owner"], ["none"])
    assert catalog.load_namespace_properties((space, "inner part"))["owner"] == "others"
    catalog.create_table((space, "inner part", "t"), ROWS.schema)
    assert catalog.list_tables((space, "inner part")) == [(space, "inner part", "t")]
    with pytest.raises(NamespaceNotEmptyError):
        catalog.drop_namespace((space, "inner part"))
    with pytest.raises(NamespaceAlreadyExistsError):
        catalog.create_namespace((space, "inner part"))
    with pytest.raises(NoSuchNamespaceError):
        catalog.list_tables((space, "nowhere"))


def test_what_is_there_is_not_made_again(catalog: Catalog, space: str):
    """A name that is taken is refused, and a commit on a table that has changed is made again by the client."""
    mine = catalog.create_table((space, "taken"), ROWS.schema)
    with pytest.raises(TableAlreadyExistsError):
        catalog.create_table((space, "taken"), ROWS.schema)
    other = catalog.load_table((space, "taken"))
    other.append(ROWS)
    mine.append(ROWS)
    assert catalog.load_table((space, "taken")).scan().to_arrow().num_rows == 6


def test_tables_are_registered_again(catalog: Catalog, space: str):
    """A table that was dropped with its files kept is registered from its metadata file, rows and all."""
    table = catalog.create_table((space, "kept"), ROWS.schema)
    table.append(ROWS)
    where = table.metadata_location
    catalog.drop_table((space, "kept"))
    again = catalog.register_table((space, "back"), where)
    assert again.metadata_location == where
    assert again.scan().to_arrow().num_rows == 3


def test_purged_tables_are_gone(catalog: Catalog, space: str):
    """A purge removes the table at once, whatever becomes of its files."""
    catalog.create_table((space, "gone"), ROWS.schema).append(ROWS)
    catalog.purge_table((space, "gone"))
    assert not catalog.table_exists((space, "gone"))


def test_views_are_listed_and_dropped(catalog: Catalog, space: str, lake: Lake):
    """A view that another client made is listed, found and dropped."""
    version = {
        "version-id": 1,
        "schema-id": 0,
        "timestamp-ms": 1,
        "summary": {},
        "default-namespace": [space],
        "representations": [
            {"type": "sql", "sql": "SELECT 1 AS one", "dialect": "spark"},
            {"type": "sql", "sql": "SELECT 1 one", "dialect": "trino"},
        ],
    }
    schema = {"type": "struct", "schema-id": 0, "fields": [{"id": 1, "name": "one", "type": "int", "required": False}]}
    body = {"name": "one", "schema": schema, "view-version": version, "properties": {}}
    lake.ok("POST", f"/{{w}}/namespaces/{space}/views", body)
    assert catalog.list_views(space) == [(space, "one")]
    assert catalog.view_exists((space, "one"))
    catalog.drop_view((space, "one"))
    assert catalog.list_views(space) == []


def test_wrong_keys_are_refused(live_server: LiveServer, lake: Lake, monkeypatch: Any):
    """A wrong secret gets neither a token nor an answer to a signed request."""
    with pytest.raises(OAuthError, match="invalid_client"):
        by_oauth(live_server, lake, secret="wrong-secret-key")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", live_server.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong-secret-key")
    with pytest.raises((UnauthorizedError, ForbiddenError)):
        signed(live_server, lake, **{"client.access-key-id": live_server.access_key})


def test_a_reader_reads_and_does_not_write(live_server: LiveServer, lake: Lake, bucket_names: Callable[[str], str]):
    """A user who may read tables loads and scans with vended credentials, and changes nothing."""
    name = bucket_names("reader")
    root = Client.root(live_server)
    made = root.ok("POST", "/users", {"name": name, "policies": ["tablesReadOnly"]})
    space = bucket_names("readable")
    owner = by_oauth(live_server, lake)
    owner.create_namespace(space)
    owner.create_table((space, "t"), ROWS.schema).append(ROWS)
    reader = by_oauth(live_server, lake, name, made["secret_key"])
    table = reader.load_table((space, "t"))
    assert table.scan().to_arrow().num_rows == 3
    with pytest.raises(ForbiddenError):
        table.update_schema().add_column("x", IntegerType()).commit()
    with pytest.raises(OSError, match=r"ACCESS_DENIED|AccessDenied|not allowed"):
        table.append(ROWS)
    with pytest.raises(ForbiddenError):
        reader.drop_table((space, "t"))
