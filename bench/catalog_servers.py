"""The servers of bench/catalog, and the tables that both are filled with."""

import importlib.machinery
import importlib.util
import shutil
import sqlite3
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import catalog_requests as ask
from catalog_requests import AGED, AGED_HISTORY, HISTORY, LONG, SMALL, WAREHOUSE, WORK, Speaker
from catalog_scripts import TABLES_OF_ONE_COMMIT
from running import ACCESS_KEY, ROOT, SECRET, free_port, say
from sharing_peers import Lakeshare, Server

WRITERS = 16
GROUPS = 8
AGED_TABLES = 64
_OF_ONE_TRANSACTION = 100
_OF_ONE_COMMIT = 1_000
_HANDS = 4
_HEAP = "-Xmx1g"
_LENGTHY = "long"


class Ours(Lakeshare):
    """Lakeshare with two workers."""

    label = "Lakeshare"
    place: str | None = None
    """Where the tables that warp makes lie: in a warehouse that it makes."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "data", 2)
        self.speaker = Speaker(self.port, ACCESS_KEY, SECRET)

    def fill(self, small: int, long: int, history: int) -> None:
        """Make the tables, many in one transaction."""
        speaker, began = self.speaker, time.monotonic()
        speaker.ask("POST", "/_iceberg/v1/warehouses", {"name": WAREHOUSE})
        make_namespaces(speaker)
        self._make(SMALL, numbered(small), HISTORY)
        self._make(LONG, numbered(long), 0)
        self._make(AGED, numbered(AGED_TABLES), AGED_HISTORY)
        self._make(WORK, work_tables(), HISTORY)
        self._make(WORK, [_LENGTHY], 1)
        lengthen(speaker, history)
        say(f"Lakeshare has its tables after {time.monotonic() - began:.0f} s")

    def _make(self, namespace: str, names: list[str], history: int) -> None:
        runs = [names[start : start + _OF_ONE_TRANSACTION] for start in range(0, len(names), _OF_ONE_TRANSACTION)]
        with ThreadPoolExecutor(_HANDS) as hands:
            list(hands.map(lambda run: self._appear(namespace, run, history), runs))

    def _appear(self, namespace: str, names: list[str], history: int) -> None:
        changes = []
        at_ms = int(time.time() * 1000)
        for name in names:
            more = ask.snapshots(1, history, f"s3://{WAREHOUSE}/{namespace}/{name}", at_ms) if history else []
            more += [ask.moved_to(history)] if history else []
            changes.append(ask.appearance(namespace, name, str(uuid.uuid4()), more))
        self.speaker.ask("POST", self.speaker.catalog("/transactions/commit"), {"table-changes": changes})


class Fixture(Server):
    """Iceberg's REST fixture: its servlet over a SQLite file and metadata files on disk."""

    label = "fixture"
    ready_path = "/v1/config"

    def __init__(self, folder: Path) -> None:
        port = free_port()
        self._database = folder / "fixture.db"
        warehouse = folder / "fixture"
        warehouse.mkdir()
        source = Path(__file__).with_name("catalog_fixture.java")
        command = ["java", _HEAP, "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", class_path()]
        self.place: str | None = f"file:{warehouse}"
        command += [str(source), str(port), str(self._database), self.place]
        super().__init__(command, port, folder / "fixture.log", {})
        self.speaker = Speaker(port)

    def fill(self, small: int, long: int, history: int) -> None:
        """Make tables that are committed to by the server, and the many others as rows that lead to one file."""
        speaker, began = self.speaker, time.monotonic()
        make_namespaces(speaker)
        for name in (*work_tables(), "seed"):
            self._make(name, HISTORY)
        self._make("old", AGED_HISTORY)
        self._make(_LENGTHY, 1)
        lengthen(speaker, history)
        self._copy_row("seed", SMALL, small)
        self._copy_row("seed", LONG, long)
        self._copy_row("old", AGED, AGED_TABLES)
        say(f"the fixture has its tables after {time.monotonic() - began:.0f} s")

    def _copy_row(self, seed: str, namespace: str, count: int) -> None:
        location = self.speaker.ask("GET", self.speaker.table(WORK, seed))["metadata-location"]
        database = sqlite3.connect(self._database)
        with database:
            rows = [("rest_backend", namespace, name, location, "TABLE") for name in numbered(count)]
            database.executemany(_INSERT, rows)
        database.close()

    def _make(self, name: str, history: int) -> None:
        speaker = self.speaker
        made = speaker.ask("POST", speaker.catalog(f"/namespaces/{WORK}/tables"), ask.creation(name))["metadata"]
        added = ask.snapshots(1, history, made["location"], int(time.time() * 1000))
        speaker.ask("POST", speaker.table(WORK, name), {"requirements": [], "updates": [*added, ask.moved_to(history)]})


_INSERT = (
    "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location, iceberg_type) "
    "VALUES (?, ?, ?, ?, ?)"
)


def make_namespaces(speaker: Speaker) -> None:
    """Make the namespaces."""
    for namespace in (SMALL, LONG, AGED, WORK):
        speaker.ask("POST", speaker.catalog("/namespaces"), {"namespace": [namespace]})


def numbered(count: int) -> list[str]:
    """Name the tables of a namespace that is listed."""
    return [f"t{place:05}" for place in range(count)]


def work_tables() -> list[str]:
    """Name the tables that are committed to."""
    alone = [f"{kind}{place}" for kind in "ca" for place in range(WRITERS)]
    return [*alone, "one", *(f"m{place}-{each}" for place in range(GROUPS) for each in range(TABLES_OF_ONE_COMMIT))]


def lengthen(speaker: Speaker, history: int) -> None:
    """Give a table a long history."""
    path = speaker.table(WORK, _LENGTHY)
    metadata = speaker.ask("GET", path)["metadata"]
    at_ms = int(time.time() * 1000)
    number: int = metadata["last-sequence-number"]
    while number < history:
        count = min(_OF_ONE_COMMIT, history - number)
        added = ask.snapshots(number + 1, count, metadata["location"], at_ms + number)
        number += count
        speaker.ask("POST", path, {"requirements": [], "updates": [*added, ask.moved_to(number)]})


def fixture_missing() -> str:
    """Say why the fixture cannot run, if it cannot."""
    absent = [tool for tool in ("java", "javac", "mvn") if shutil.which(tool) is None]
    return f"{' and '.join(absent)} not installed" if absent else ""


def class_path() -> str:
    """Return the fixture's class path, as scripts/rck fetches it."""
    loader = importlib.machinery.SourceFileLoader("rck", str(ROOT / "scripts" / "rck"))
    spec = importlib.util.spec_from_loader("rck", loader)
    if spec is None:
        raise SystemExit("scripts/rck cannot be read")
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    found: str = module.class_path()
    return found
