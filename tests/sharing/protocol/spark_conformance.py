"""What comes of each table that Spark writes, for `docs/delta-conformance.md`."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import delta_sharing

from tests.sharing.protocol.golden import EVERY, upload
from tests.sharing.protocol.provider import Provider, Recipient, lines_of
from tests.sharing.protocol.spark_process import SparkProcess, spark_process, write_changes, write_snapshot
from tests.sharing.protocol.spark_tables import TABLES, rows_of

COLUMNS = ("table", "features", "Spark, of what the share says", "Python, delta", "Python, parquet", "change feed")
SAME, DIFFERS = "same rows", "**differs**"


@dataclass(frozen=True)
class Row:
    """One table."""

    table: str
    cells: tuple[str, ...]

    @property
    def good(self) -> bool:
        """Whether nobody read other rows."""
        return DIFFERS not in self.cells


def examine_spark(provider: Provider, work: Path, cache: Path, java: Path, root: Path) -> list[Row]:
    """Write the tables, share them, and read each in every way."""
    folder = work / "spark" / "tables"
    folder.mkdir(parents=True)
    with spark_process(folder, cache, java, root) as spark:
        told = spark.ask("write")
        for name in TABLES:
            upload(provider, folder / name, f"spark/{name}")
        provider.share("spark", **{name: f"spark/{name}" for name in TABLES})
        reader = provider.token("spark")
        profile = work / "spark.share"
        profile.write_text(json.dumps(reader.profile))
        return [_row(spark, reader, str(profile), name, told[name], work) for name in TABLES]


def page(rows: list[Row]) -> list[str]:
    """Write the rows as a part of the page."""
    lines = [
        "",
        "## Tables that Spark writes",
        "",
        "Spark 4.1 with Delta 4.4 writes each, and its own reading is what the others are held against: Spark again,",
        "of a log made of the share's answer as the JVM connector makes one; the Python client in both formats; and",
        "the change feed, by both of them.",
        "",
        "| " + " | ".join(COLUMNS) + " |",
        "|---" * len(COLUMNS) + "|",
    ]
    return lines + ["| " + " | ".join((f"`{each.table}`", *each.cells)) + " |" for each in rows]


def _row(spark: SparkProcess, reader: Recipient, profile: str, name: str, told: dict[str, Any], work: Path) -> Row:
    url = f"{profile}#{reader.share}.default.{name}"

    def by_spark() -> list[str]:
        lines = lines_of(reader.query(name, EVERY))
        return list(spark.ask("rows", folder=write_snapshot(lines, work / "logs" / name)))

    def by_python(*, delta: bool) -> list[str]:
        return rows_of(delta_sharing.load_as_pandas(url, use_delta_format=delta).to_dict("records"))

    cells = [
        _features(reader, name),
        _verdict(by_spark, told["rows"]),
        _verdict(lambda: by_python(delta=True), told["rows"]),
        _verdict(lambda: by_python(delta=False), told["rows"]),
        "" if told["changes"] is None else _changes(spark, reader, url, name, told["changes"], work),
    ]
    return Row(name, tuple(cells))


def _changes(spark: SparkProcess, reader: Recipient, url: str, name: str, expected: list[str], work: Path) -> str:
    newest = int(reader.get(reader.of(name, "version")).headers["delta-table-version"])

    def by_spark() -> list[str]:
        lines = lines_of(reader.get(reader.of(name, "changes"), EVERY, startingVersion=1))
        log = write_changes(lines, work / "logs" / f"{name}-changes", 1, newest)
        return list(spark.ask("changes", folder=log, start=1))

    def by_python() -> list[str]:
        found = delta_sharing.load_table_changes_as_pandas(url, starting_version=1, use_delta_format=True)
        return rows_of(found.drop(columns="_commit_timestamp").to_dict("records"))

    return f"Spark: {_verdict(by_spark, expected)}; Python: {_verdict(by_python, expected)}"


def _features(reader: Recipient, name: str) -> str:
    answer = reader.get(reader.of(name, "metadata"), EVERY)
    said = lines_of(answer)[0]["protocol"]["deltaProtocol"]
    return ", ".join(sorted(said.get("readerFeatures", [])))


def _verdict(read: Callable[[], list[str]], expected: list[str]) -> str:
    try:
        return SAME if read() == expected else DIFFERS
    except Exception as reason:  # noqa: BLE001 - clients raise many things
        return _reason(str(reason))


def _reason(text: str) -> str:
    """Say why a table was refused, without what differs from one run to the next."""
    for sign in ("did not say it can read: ", "Unsupported Delta Table Properties: "):
        flat = " ".join(text.replace("'", "").split())
        if sign in flat:
            return "refused: " + flat.split(sign)[1].split(";")[0].split(" cannot be")[0]
    if "names a file outside of its folder" in text:
        return "refused: its files are another table's"
    return "fails: " + " ".join(text.split())[:100].replace("|", "/")
