"""DuckDB's iceberg extension against the catalog of a live server: with OAuth and vended credentials, and signed."""

from collections.abc import Iterator
from importlib.resources import files

import duckdb
import pytest

from tests.live import LiveServer
from tests.tables.lake import Lake

EXTENSIONS = ("avro", "httpfs", "iceberg")


@pytest.fixture(scope="module")
def lake(live_server: LiveServer) -> Lake:
    """A warehouse for the tests of this file, with a namespace."""
    found = Lake.made(live_server, "duck")
    found.namespace("pond")
    return found


def connected() -> duckdb.DuckDBPyConnection:
    """Open DuckDB with the extensions that came with their wheels; nothing is fetched."""
    connection = duckdb.connect(config={"autoinstall_known_extensions": "false", "allow_unsigned_extensions": "true"})
    for name in EXTENSIONS:
        folder = files(f"duckdb_extension_{name}") / f"extensions/v{duckdb.__version__}"
        connection.load_extension(str(folder / f"{name}.duckdb_extension"))
    return connection


@pytest.fixture
def db(live_server: LiveServer, lake: Lake) -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB with the warehouse attached as `lake`."""
    with connected() as connection:
        connection.execute(
            f"""CREATE SECRET lakeshare (TYPE iceberg, CLIENT_ID '{live_server.access_key}',
                CLIENT_SECRET '{live_server.secret_key}',
                OAUTH2_SERVER_URI '{live_server.endpoint}/_iceberg/v1/oauth/tokens')"""
        )
        connection.execute(
            f"""ATTACH '{lake.warehouse}' AS lake (TYPE iceberg, SECRET lakeshare,
                ENDPOINT '{live_server.endpoint}/_iceberg')"""
        )
        yield connection


def test_tables_are_made_filled_and_changed(db: duckdb.DuckDBPyConnection, lake: Lake):
    """A table is created from a query, inserted into, updated, deleted from and read."""
    db.execute("CREATE TABLE lake.pond.ducks AS SELECT range AS id, 'duck ' || range AS name FROM range(100)")
    db.execute("INSERT INTO lake.pond.ducks VALUES (100, 'last')")
    db.execute("DELETE FROM lake.pond.ducks WHERE id < 10")
    db.execute("UPDATE lake.pond.ducks SET name = 'first' WHERE id = 10")
    assert db.sql("SELECT count(*), min(id), max(id) FROM lake.pond.ducks").fetchone() == (91, 10, 100)
    assert db.sql("SELECT name FROM lake.pond.ducks WHERE id = 10").fetchone() == ("first",)
    versions = lake.ok("GET", "/{w}/namespaces/pond/tables/ducks/history")["versions"]
    assert len(versions) >= 4


def test_several_tables_change_in_one_transaction(db: duckdb.DuckDBPyConnection, lake: Lake):
    """Two tables change together, by one commit of the catalog."""
    db.execute("CREATE TABLE lake.pond.one (id BIGINT)")
    db.execute("CREATE TABLE lake.pond.two (id BIGINT)")
    db.execute("BEGIN")
    db.execute("INSERT INTO lake.pond.one VALUES (1)")
    db.execute("INSERT INTO lake.pond.two VALUES (2)")
    db.execute("COMMIT")
    assert db.sql("SELECT (SELECT sum(id) FROM lake.pond.one), (SELECT sum(id) FROM lake.pond.two)").fetchone() == (
        1,
        2,
    )


def test_schemas_and_tables_come_and_go(db: duckdb.DuckDBPyConnection, lake: Lake):
    """A schema is created, shown with its table, and dropped when that is gone."""
    db.execute("CREATE SCHEMA lake.marsh")
    db.execute("CREATE TABLE lake.marsh.frogs (id BIGINT, name VARCHAR)")
    shown = db.sql("SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'lake'").fetchall()
    assert ("marsh", "frogs") in shown
    db.execute("DROP TABLE lake.marsh.frogs")
    db.execute("DROP SCHEMA lake.marsh")
    assert lake.call("HEAD", "/{w}/namespaces/marsh").status == 404


def test_what_others_wrote_is_read(db: duckdb.DuckDBPyConnection, lake: Lake):
    """A table of PyIceberg's is read, and one of DuckDB's is read by PyIceberg."""
    import pyarrow as pa

    catalog = lake.by_oauth()
    rows = pa.table({"id": pa.array([1, 2, 3], pa.int64())})
    catalog.create_table(("pond", "theirs"), rows.schema).append(rows)
    assert db.sql("SELECT sum(id) FROM lake.pond.theirs").fetchone() == (6,)
    db.execute("CREATE TABLE lake.pond.ours AS SELECT 42 AS answer")
    assert catalog.load_table(("pond", "ours")).scan().to_arrow()["answer"].to_pylist() == [42]
