"""What `table config` prints works in the engine that it is for."""

from importlib.resources import files
from importlib.util import find_spec

import duckdb
import pyarrow as pa
import pytest

from lakeshare.cli.commands.table.engines import Access, spark_properties, trino
from tests.cli.conftest import Cli, Typed

ACCESS = Access("http://127.0.0.1:9000", "analytics", "key", "sec\\ret'", name="lake")
EXTENSIONS = ("httpfs", "avro", "iceberg")
ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64())})


def test_the_python_for_pyiceberg_runs(quick: Typed, warehouse: str):
    """What is printed is a program, and its catalog takes a table and rows."""
    scope: dict[str, object] = {}
    exec(quick("table", "config", "lake", warehouse, "--pyiceberg").out, scope)
    catalog = scope["catalog"]
    table = catalog.create_table("ns.t", ROWS.schema)  # type: ignore[attr-defined]
    table.append(ROWS)
    assert table.scan().to_arrow().num_rows == 3
    lines = quick("table", "show", f"lake/{warehouse}/ns/t").lines
    assert any(line.split()[:3] == ["Rows", ":", "3"] for line in lines)
    assert len(quick("table", "history", f"lake/{warehouse}/ns/t", "--json").records) == 2


@pytest.mark.skipif(
    any(find_spec(f"duckdb_extension_{name}") is None for name in EXTENSIONS),
    reason="DuckDB's extensions iceberg and avro are not installed",
)
def test_the_sql_for_duckdb_runs(quick: Typed, warehouse: str):
    """DuckDB attaches the warehouse by OAuth, and reads and writes with the credentials that come with a table."""
    printed = quick("table", "config", f"lake/{warehouse}", "--duckdb", "--name", "wh").lines
    with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as db:
        for name in EXTENSIONS:
            path = files(f"duckdb_extension_{name}") / f"extensions/v{duckdb.__version__}/{name}.duckdb_extension"
            db.load_extension(str(path))
        db.execute("\n".join(line for line in printed if not line.startswith("INSTALL")))
        db.execute("CREATE TABLE wh.ns.t AS SELECT range AS id FROM range(5)")
        db.execute("INSERT INTO wh.ns.t VALUES (9)")
        assert db.sql("SELECT count(*), max(id) FROM wh.ns.t").fetchone() == (6, 9)
    assert quick("table", "list", f"lake/{warehouse}/ns").lines == ["t"]


@pytest.mark.parametrize(("flags", "reason"), [((), "no engine"), (("--spark", "--trino"), "more than one engine")])
def test_one_engine_is_named(quick: Typed, warehouse: str, flags: tuple[str, ...], reason: str):
    """A configuration is for one engine: neither none nor the last of several is taken for it."""
    assert reason in quick("table", "config", "lake", warehouse, *flags, code=2).err


def test_spark_is_told_what_fits_together(quick: Typed, warehouse: str):
    """The settings are a file of properties, with jars of the Spark that is named, and no catalog-impl beside type."""
    found = quick("table", "config", "lake", warehouse, "--spark", "--json").record
    told = found["properties"]
    assert told["spark.sql.catalog.lakeshare.type"] == "rest"
    assert "spark.sql.catalog.lakeshare.catalog-impl" not in told
    assert "iceberg-spark-runtime-4.1_2.13:1.12.0" in told["spark.jars.packages"]
    assert "hadoop-aws:3.4.2" in told["spark.jars.packages"]
    lines = [line for line in found["config"].splitlines() if not line.startswith("#")]
    assert dict(line.split(" ", 1) for line in lines) == told
    older = quick("table", "config", "lake", warehouse, "--spark", "--engine-version", "3.5").out
    assert "iceberg-spark-runtime-3.5_2.12:" in older
    assert "hadoop-aws:3.3.4" in older
    assert (
        "There are 4.1" in quick("table", "config", "lake", warehouse, "--spark", "--engine-version", "2.4", code=2).err
    )


def test_temporary_credentials_are_told_to_spark_whole():
    """A session token goes to the catalog's signature, to its files and to S3A."""
    temporary = Access("https://lake.example.com", "w", "k", "s", "token")
    told = spark_properties(temporary)
    assert [key for key, value in told.items() if value == "token"] == [
        "spark.sql.catalog.lakeshare.rest.session-token",
        "spark.sql.catalog.lakeshare.s3.session-token",
        "spark.hadoop.fs.s3a.session.token",
    ]
    assert told["spark.hadoop.fs.s3a.connection.ssl.enabled"] == "true"


@pytest.mark.parametrize(
    ("version", "has", "has_not"),
    [
        (476, ["sigv4-enabled=true", "fs.native-s3.enabled=true"], ["security=SIGV4"]),
        (477, ["security=SIGV4", "fs.native-s3.enabled=true"], ["sigv4-enabled=true"]),
        (481, ["security=SIGV4", "fs.s3.enabled=true"], ["fs.native-s3.enabled=true", "fs.hadoop.enabled"]),
        (482, ["security=OAUTH2", "credential=key:sec\\\\ret'", "fs.s3.enabled=true"], ["SIGV4", "signing-name"]),
        (483, ["security=SIGV4", "signing-name=s3tables", "fs.s3.enabled=true"], ["OAUTH2"]),
    ],
)
def test_trino_is_told_as_its_version_spells_it(version: int, has: list[str], has_not: list[str]):
    """Each version refuses what the others call it, so that only its own words may stand there."""
    lines = [line for line in trino(ACCESS, version).splitlines() if not line.startswith("#")]
    names = [line.split("=", 1)[0] for line in lines]
    assert len(names) == len(set(names))
    for text in has:
        assert any(text in line for line in lines)
    for text in has_not:
        assert not any(text in line for line in lines)
    assert "s3.aws-secret-key=sec\\\\ret'" in lines


def test_a_trino_that_cannot_sign_is_refused(quick: Typed, warehouse: str):
    """A configuration that cannot work is not printed."""
    config = ("table", "config", "lake", warehouse, "--trino", "--engine-version")
    assert "471 or newer" in quick(*config, "470", code=2).err
    assert quick(*config, "471").out


def test_secrets_can_be_left_out(lake: Cli, quick: Typed, warehouse: str):
    """With --no-secrets neither the key nor its secret is printed."""
    del lake
    for engine in ("--spark", "--trino", "--pyiceberg", "--duckdb"):
        said = quick("table", "config", "lake", warehouse, engine, "--no-secrets").out
        assert "SECRET_KEY" in said
        assert "tests/secret" not in said


def test_a_warehouse_that_is_not_there_is_told(quick: Typed):
    """A configuration for nothing is not printed."""
    assert "warehouse list" in quick("table", "config", "lake", "no-such-warehouse", "--trino", code=3).err
