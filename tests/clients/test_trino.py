"""Trino against the catalog of a live server, with the configuration as `lakeshare table config --trino` prints it.

Trino is too large to be fetched by every run of the tests (821 MB), so these run only where it is, and are skipped
aloud elsewhere, in continuous integration too. To run them, unpack Maven's `io.trino:trino-server:476:tar.gz`, say
where it lies, and with what Java (24 or newer for 476) it is to run, if that is not the one on the PATH:

    LAKESHARE_TRINO=…/trino-server-476 JAVA_HOME=…/jdk-25 scripts/test tests/clients/test_trino.py
"""

import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.live import LiveServer, clean_environment, free_port, lakeshare
from tests.tables.lake import Lake

pytestmark = pytest.mark.timeout(600)  # Trino takes a minute or two to start.

START_SECONDS, STOP_SECONDS = 300, 60
PLUGINS = ("iceberg", "tpch")
JVM = """-Xmx2G
-XX:+UseSerialGC
-Djdk.attach.allowAttachSelf=true
--add-modules=jdk.incubator.vector
"""


@dataclass(frozen=True, slots=True)
class Trino:
    """A coordinator that answers; the catalog `lake` is the warehouse."""

    port: int

    def rows(self, sql: str) -> list[list[Any]]:
        """Run one statement, and return its rows."""
        answer, found = self._ask("/v1/statement", sql.encode()), list[list[Any]]()
        while True:
            assert "error" not in answer, f"{sql}: {answer['error']['message']}"
            found += answer.get("data", [])
            if "nextUri" not in answer:
                return found
            answer = self._ask(answer["nextUri"].removeprefix(f"http://127.0.0.1:{self.port}"))

    def refused(self, sql: str) -> str:
        """Run a statement that must fail, and return what it says."""
        with pytest.raises(AssertionError) as failure:
            self.rows(sql)
        return str(failure.value)

    def starting(self) -> bool:
        """Say whether it does not answer yet."""
        try:
            return bool(self._ask("/v1/info")["starting"])
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return True

    def _ask(self, path: str, body: bytes | None = None) -> dict[str, Any]:
        url = f"http://127.0.0.1:{self.port}{path}"
        asked = urllib.request.Request(url, data=body, headers={"X-Trino-User": "tester"})
        with urllib.request.urlopen(asked, timeout=60) as answer:
            found: dict[str, Any] = json.load(answer)
            return found


def version_of(home: Path) -> str:
    """Read Trino's version from the name of its main jar."""
    jar = next((home / "lib").glob("io.trino_trino-main-*.jar"))
    return jar.stem.removeprefix("io.trino_trino-main-")


def printed(server: LiveServer, warehouse: str, version: str, folder: Path) -> str:
    """Return the catalog's file as the command prints it."""
    keys = (server.endpoint, server.access_key, server.secret_key)
    for line in (
        ("alias", "set", "lake", *keys),
        ("table", "config", "lake", warehouse, "--trino", "--engine-version", version, "--name", "lake"),
    ):
        done = subprocess.run(
            [lakeshare(), *line, "-C", str(folder)], env=clean_environment(), capture_output=True, text=True, check=True
        )
    return done.stdout


def configure(etc: Path, home: Path, port: int, catalog: str) -> None:
    """Write Trino's own settings: one node, the loopback address alone, two plugins, catalogs that may be added."""
    (etc / "catalog").mkdir(parents=True)
    (etc / "plugin").mkdir()
    for plugin in PLUGINS:
        (etc / "plugin" / plugin).symlink_to(home / "plugin" / plugin)
    here = f"http-server.http.port={port}\ndiscovery.uri=http://127.0.0.1:{port}\nplugin.dir={etc / 'plugin'}\n"
    alone = "coordinator=true\nnode-scheduler.include-coordinator=true\nquery.max-memory=512MB\n"
    (etc / "config.properties").write_text(f"{alone}catalog.management=dynamic\n{here}")
    bound = "node.internal-address=127.0.0.1\nnode.bind-ip=127.0.0.1\n"
    (etc / "node.properties").write_text(
        f"node.environment=test\nnode.id=one\nnode.data-dir={etc.parent / 'var'}\n{bound}"
    )
    (etc / "jvm.config").write_text(JVM)
    (etc / "catalog" / "lake.properties").write_text(catalog)
    (etc / "catalog" / "tpch.properties").write_text("connector.name=tpch\n")


@pytest.fixture(scope="module")
def home() -> Path:
    """Where Trino is unpacked."""
    if not (told := os.environ.get("LAKESHARE_TRINO")):
        pytest.skip("long form: needs Trino (821 MB); say where it is unpacked with LAKESHARE_TRINO")
    return Path(told)


@pytest.fixture(scope="module")
def lake(live_server: LiveServer) -> Lake:
    """A warehouse for the tests of this file."""
    return Lake.made(live_server, "trino")


@pytest.fixture(scope="module")
def trino(home: Path, live_server: LiveServer, lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trino]:
    """A coordinator that runs until the tests of this file are over."""
    folder, found = tmp_path_factory.mktemp("trino"), Trino(free_port())
    catalog = printed(live_server, lake.warehouse, version_of(home), folder)
    configure(folder / "etc", home, found.port, catalog)
    command = [str(home / "bin/launcher"), "run", f"--etc-dir={folder / 'etc'}"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=clean_environment(), stdout=log, stderr=log)
    try:
        give_up = time.monotonic() + START_SECONDS
        while found.starting():
            said = (folder / "log").read_text()[-5000:]
            assert process.poll() is None, said
            assert time.monotonic() < give_up, said
            time.sleep(0.5)
        yield found
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(STOP_SECONDS)


def test_tables_are_made_filled_and_changed(trino: Trino, lake: Lake):
    """INSERT, UPDATE, DELETE and MERGE leave the rows that they should, each by a commit of the catalog."""
    trino.rows("CREATE SCHEMA lake.sales")
    trino.rows(
        """CREATE TABLE lake.sales.orders (id bigint NOT NULL, name varchar, at timestamp(6) with time zone)
           WITH (partitioning = ARRAY['day(at)'])"""
    )
    trino.rows(
        """INSERT INTO lake.sales.orders SELECT n, 'order ' || CAST(n AS varchar), TIMESTAMP '2026-01-01 00:00:00 UTC'
           + n * INTERVAL '1' HOUR FROM UNNEST(sequence(1, 100)) AS t(n)"""
    )
    trino.rows("UPDATE lake.sales.orders SET name = 'first' WHERE id = 1")
    trino.rows("DELETE FROM lake.sales.orders WHERE id BETWEEN 2 AND 10")
    trino.rows(
        """MERGE INTO lake.sales.orders t USING (VALUES (1, 'merged'), (101, 'new')) AS s(id, name) ON t.id = s.id
           WHEN MATCHED THEN UPDATE SET name = s.name
           WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)"""
    )
    assert trino.rows("SELECT count(*), sum(id) FROM lake.sales.orders") == [[92, 5050 - 54 + 101]]
    assert trino.rows("SELECT name FROM lake.sales.orders WHERE id IN (1, 101) ORDER BY id") == [["merged"], ["new"]]
    history = lake.ok("GET", "/{w}/namespaces/sales/tables/orders/history")["versions"]
    assert len(history) >= 5


def test_a_table_is_made_from_a_query_and_evolves(trino: Trino):
    """CTAS copies rows; columns are added, renamed and dropped; the table is renamed, analysed, optimised, replaced."""
    trino.rows("CREATE SCHEMA lake.world")
    trino.rows("CREATE TABLE lake.world.nation AS SELECT * FROM tpch.tiny.nation")
    trino.rows("ALTER TABLE lake.world.nation ADD COLUMN note varchar")
    trino.rows("ALTER TABLE lake.world.nation RENAME COLUMN name TO label")
    trino.rows("ALTER TABLE lake.world.nation DROP COLUMN comment")
    trino.rows("ALTER TABLE lake.world.nation RENAME TO lake.world.countries")
    columns = [row[0] for row in trino.rows("DESCRIBE lake.world.countries")]
    assert columns == ["nationkey", "label", "regionkey", "note"]
    trino.rows("ANALYZE lake.world.countries")
    for task in ("optimize", "expire_snapshots", "remove_orphan_files"):
        trino.rows(f"ALTER TABLE lake.world.countries EXECUTE {task}")
    assert trino.rows("SELECT count(*), count(note) FROM lake.world.countries") == [[25, 0]]
    trino.rows("CREATE OR REPLACE TABLE lake.world.countries AS SELECT name FROM tpch.tiny.region")
    assert trino.rows("SELECT count(*) FROM lake.world.countries") == [[5]]


def test_views_come_and_go(trino: Trino):
    """A view is made, replaced, renamed, shown and dropped."""
    trino.rows("CREATE SCHEMA lake.seen")
    trino.rows("CREATE VIEW lake.seen.small AS SELECT name FROM tpch.tiny.region WHERE regionkey < 2")
    assert trino.rows("SELECT * FROM lake.seen.small ORDER BY 1") == [["AFRICA"], ["AMERICA"]]
    trino.rows("CREATE OR REPLACE VIEW lake.seen.small AS SELECT lower(name) n FROM tpch.tiny.region")
    trino.rows("ALTER VIEW lake.seen.small RENAME TO lake.seen.lower")
    assert trino.rows("SELECT min(n) FROM lake.seen.lower") == [["africa"]]
    assert trino.rows("SHOW TABLES FROM lake.seen") == [["lower"]]
    trino.rows("DROP VIEW lake.seen.lower")
    trino.rows("DROP SCHEMA lake.seen")
    assert ["seen"] not in trino.rows("SHOW SCHEMAS FROM lake")


def test_namespaces_with_levels_are_schemas(trino: Trino, lake: Lake):
    """A namespace below another is a schema with a dot in its name; one with tables is dropped only by CASCADE."""
    lake.namespace("deep")
    trino.rows('CREATE SCHEMA lake."deep.down"')
    trino.rows('CREATE TABLE lake."deep.down".well AS SELECT 1 a')
    assert lake.call("HEAD", "/{w}/namespaces/deep%1Fdown/tables/well").status == 204
    assert "non-empty" in trino.refused('DROP SCHEMA lake."deep.down"')
    trino.rows('DROP SCHEMA lake."deep.down" CASCADE')
    assert trino.rows("SHOW SCHEMAS FROM lake LIKE 'deep%'") == [["deep"]]


def test_what_others_wrote_is_read(trino: Trino, lake: Lake):
    """A table of PyIceberg's with nested columns is read and added to, and PyIceberg reads what was added."""
    import pyarrow as pa

    lake.namespace("snakes")
    catalog = lake.by_oauth()
    rows = pa.table({"id": pa.array([1, 2], pa.int64()), "tags": [["a"], ["b", "c"]], "at": [{"x": 1.5}, None]})
    catalog.create_table(("snakes", "python"), rows.schema).append(rows)
    assert trino.rows("SELECT id, tags, at.x FROM lake.snakes.python ORDER BY id") == [
        [1, ["a"], 1.5],
        [2, ["b", "c"], None],
    ]
    trino.rows("INSERT INTO lake.snakes.python VALUES (3, ARRAY[], ROW(3.5))")
    found = catalog.load_table(("snakes", "python")).scan(row_filter="id > 1").to_arrow().sort_by("id").to_pylist()
    assert found == [{"id": 2, "tags": ["b", "c"], "at": None}, {"id": 3, "tags": [], "at": {"x": 3.5}}]
    # From 483 on Trino writes deletes in an encoding that pyarrow cannot read, so that only Trino is asked after it.
    trino.rows("DELETE FROM lake.snakes.python WHERE id = 1")
    assert trino.rows("SELECT id FROM lake.snakes.python ORDER BY id") == [[2], [3]]


@pytest.fixture
def settings(home: Path, lake: Lake, live_server: LiveServer, tmp_path: Path) -> dict[str, str]:
    """The lines of the printed file."""
    file = printed(live_server, lake.warehouse, version_of(home), tmp_path)
    return dict(line.split("=", 1) for line in file.splitlines() if line and not line.startswith("#"))


def create_catalog(name: str, settings: dict[str, str]) -> str:
    """Write the statement that adds a catalog."""
    told = ", ".join(f"\"{key}\" = '{value}'" for key, value in settings.items() if key != "connector.name")
    return f"CREATE CATALOG {name} USING {settings['connector.name']} WITH ({told})"


def test_a_catalog_is_added_to_a_coordinator_that_runs(trino: Trino, settings: dict[str, str]):
    """The same settings serve CREATE CATALOG, as AIStor's page has it."""
    trino.rows(create_catalog("again", settings))
    trino.rows("CREATE SCHEMA again.added")
    trino.rows("CREATE TABLE again.added.t AS SELECT 42 a")
    assert trino.rows("SELECT a FROM lake.added.t") == [[42]]
    assert "already exists" in trino.refused("CREATE TABLE again.added.t (a int)")
    trino.rows("DROP CATALOG again")


def test_a_token_serves_too(trino: Trino, settings: dict[str, str], live_server: LiveServer):
    """In place of a signature it asks for a token, as 482 is told to, and is vended keys for the files."""
    secret = ("sigv4-enabled", "security", "signing-name")
    kept = {key: value for key, value in settings.items() if key.removeprefix("iceberg.rest-catalog.") not in secret}
    token = {
        "iceberg.rest-catalog.security": "OAUTH2",
        "iceberg.rest-catalog.oauth2.credential": f"{live_server.access_key}:{live_server.secret_key}",
        "iceberg.rest-catalog.oauth2.server-uri": f"{live_server.endpoint}/_iceberg/v1/oauth/tokens",
    }
    vended = {key: value for key, value in kept.items() if not key.startswith("s3.aws-")}
    trino.rows(create_catalog("tokens", vended | token))
    trino.rows("CREATE SCHEMA tokens.told")
    trino.rows("CREATE TABLE tokens.told.t AS SELECT 42 a")
    trino.rows("UPDATE tokens.told.t SET a = 43")
    assert trino.rows("SELECT a FROM lake.told.t") == [[43]]
    trino.rows("DROP CATALOG tokens")
