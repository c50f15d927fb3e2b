"""Delta tables with every feature, written by Spark in one go, and what Spark itself reads of them.

Run as a module this is a process with one Spark session: it takes a line of JSON at a time and answers with one. It is
a process of its own so that no other session of the tests is disturbed.
"""

import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lakeshare.pipeline.jars import jars
from tests.sharing.protocol.cells import cell
from tests.spark import QUICK

CHANGES = "'delta.enableChangeDataFeed' = 'true'"
VECTORS = "'delta.enableDeletionVectors' = 'true'"
ROWS = "SELECT id, concat('n', id) AS name, id % 3 AS part FROM range(0, 12, 1, 1)"
MERGE = (
    "MERGE INTO {t} t USING (SELECT id, 'merged' AS name, 0L AS part FROM range(9, 15, 1, 1)) n ON t.id = n.id "
    "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)
PLAIN = "CREATE TABLE {t} (id BIGINT, name STRING, part BIGINT) USING delta"
LIVES = (f"INSERT INTO {{t}} {ROWS}", "DELETE FROM {t} WHERE id IN (1, 5)")
"""What happens to most tables."""
CHANGED = (*LIVES, "UPDATE {t} SET name = 'changed' WHERE id = 2", MERGE)
"""What happens to those whose changes are read."""

TABLES: Mapping[str, tuple[str, ...]] = {
    "plain": (f"{PLAIN} PARTITIONED BY (part)", *LIVES, "INSERT INTO {t} VALUES (99, NULL, NULL)"),
    "changes": (f"{PLAIN} TBLPROPERTIES ({CHANGES})", *CHANGED),
    "vectors": (f"{PLAIN} TBLPROPERTIES ({VECTORS})", *LIVES),
    "vectors_changes": (f"{PLAIN} PARTITIONED BY (part) TBLPROPERTIES ({VECTORS}, {CHANGES})", *CHANGED),
    "vectors_checkpoints": (
        f"{PLAIN} TBLPROPERTIES ({VECTORS}, 'delta.checkpointInterval' = '2')", *LIVES, "DELETE FROM {t} WHERE id = 7",
    ),
    "names": (
        f"{PLAIN} TBLPROPERTIES ('delta.columnMapping.mode' = 'name', {VECTORS})", *LIVES,
        "ALTER TABLE {t} RENAME COLUMN name TO `the name`", "ALTER TABLE {t} DROP COLUMN part",
        "ALTER TABLE {t} ADD COLUMN (inner STRUCT<`a b`: INT, c: ARRAY<STRUCT<d: STRING>>>)",
        "INSERT INTO {t} VALUES (50, 'x', named_struct('a b', 1, 'c', array(named_struct('d', 'y'))))",
    ),
    "names_changes": (f"{PLAIN} TBLPROPERTIES ('delta.columnMapping.mode' = 'name', {VECTORS}, {CHANGES})", *CHANGED),
    "ids": (f"{PLAIN} PARTITIONED BY (part) TBLPROPERTIES ('delta.columnMapping.mode' = 'id', {CHANGES})", *LIVES),
    "widened": (
        ("CREATE TABLE {t} (a SMALLINT, b FLOAT, c DECIMAL(6, 2), d DATE) USING delta "
        "TBLPROPERTIES ('delta.enableTypeWidening' = 'true')"),
        "INSERT INTO {t} VALUES (1, 1.5, 10.25, DATE'2024-01-02')",
        "ALTER TABLE {t} ALTER COLUMN a TYPE BIGINT", "ALTER TABLE {t} ALTER COLUMN b TYPE DOUBLE",
        "ALTER TABLE {t} ALTER COLUMN c TYPE DECIMAL(16, 4)",
        "INSERT INTO {t} VALUES (5000000000, 2.25, 123456789.1234, DATE'2024-01-03')",
    ),
    "local_times": (
        ("CREATE TABLE {t} (id INT, at TIMESTAMP_NTZ, day TIMESTAMP_NTZ, utc TIMESTAMP) USING delta "
        "PARTITIONED BY (day)"),
        ("INSERT INTO {t} VALUES (1, TIMESTAMP_NTZ'2024-03-31 02:30:00.123456', TIMESTAMP_NTZ'2024-01-01 00:00:00', "
        "TIMESTAMP'2024-03-31 02:30:00 UTC'), (2, NULL, NULL, NULL)"),
    ),
    "variant": (
        "CREATE TABLE {t} (id INT, v VARIANT) USING delta",
        """INSERT INTO {t} SELECT 1, parse_json('{{"a": [1, "x", null]}}') UNION ALL SELECT 2, parse_json('7')""",
    ),
    "tracked": (f"{PLAIN} TBLPROPERTIES ('delta.enableRowTracking' = 'true', {VECTORS})", *LIVES),
    "clustered": (f"{PLAIN} CLUSTER BY (id, part) TBLPROPERTIES ({VECTORS})", *LIVES, "OPTIMIZE {t}"),
    "v2": (
        f"{PLAIN} TBLPROPERTIES ('delta.checkpointPolicy' = 'v2', 'delta.checkpointInterval' = '2', {VECTORS})", *LIVES,
    ),
    "v2_json": (
        "SET spark.databricks.delta.checkpointV2.topLevelFileFormat = json",
        f"{PLAIN} TBLPROPERTIES ('delta.checkpointPolicy' = 'v2', 'delta.checkpointInterval' = '2')", *LIVES,
        "RESET spark.databricks.delta.checkpointV2.topLevelFileFormat",
    ),
    "parts": (
        "SET spark.databricks.delta.checkpoint.partSize = 2",
        f"{PLAIN} PARTITIONED BY (part) TBLPROPERTIES ('delta.checkpointInterval' = '3')", *LIVES,
        "RESET spark.databricks.delta.checkpoint.partSize",
    ),
    "typed_stats": (
        (f"{PLAIN} TBLPROPERTIES ('delta.checkpoint.writeStatsAsJson' = 'false', "
        "'delta.checkpoint.writeStatsAsStruct' = 'true', 'delta.checkpointInterval' = '2')"), *LIVES,
    ),
    "times_inside": (f"{PLAIN} TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true', {CHANGES})", *LIVES),
    "times_later": (PLAIN, *LIVES, "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')",
                    "DELETE FROM {t} WHERE id = 2"),
    "guarded": (
        ("CREATE TABLE {t} (id BIGINT GENERATED ALWAYS AS IDENTITY, n INT NOT NULL, "
        "twice INT GENERATED ALWAYS AS (n * 2), w STRING DEFAULT 'w') USING delta "
        "TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')"),
        "ALTER TABLE {t} ADD CONSTRAINT positive CHECK (n > 0)", "INSERT INTO {t} (n) VALUES (3), (4)",
    ),
    "upgraded": (
        PLAIN, *LIVES, f"ALTER TABLE {{t}} SET TBLPROPERTIES ({VECTORS}, 'delta.columnMapping.mode' = 'name')",
        "DELETE FROM {t} WHERE id = 2", "ALTER TABLE {t} RENAME COLUMN name TO label", "REORG TABLE {t} APPLY (PURGE)",
    ),
    "everything": (
        ("CREATE TABLE {t} (id BIGINT, name STRING, part BIGINT, at TIMESTAMP_NTZ) USING delta CLUSTER BY (part) "
        f"TBLPROPERTIES ({VECTORS}, {CHANGES}, 'delta.columnMapping.mode' = 'name', "
        "'delta.enableRowTracking' = 'true', 'delta.enableInCommitTimestamps' = 'true', "
        "'delta.checkpointPolicy' = 'v2', 'delta.checkpointInterval' = '3')"),
        f"INSERT INTO {{t}} SELECT *, TIMESTAMP_NTZ'2024-01-01 00:00:00' FROM ({ROWS})",
        "DELETE FROM {t} WHERE id IN (1, 5)", "UPDATE {t} SET name = 'changed' WHERE id = 2", "OPTIMIZE {t}",
        "DELETE FROM {t} WHERE id = 8",
    ),
    "cloned": ("CREATE TABLE {t} SHALLOW CLONE {plain}",),
}  # fmt: skip


def rows_of(rows: Iterable[Any]) -> list[str]:
    """Write rows so that they can be compared, whichever way they were read: by name of column, in order."""
    told = (row.asDict(recursive=True) if hasattr(row, "asDict") else dict(row) for row in rows)
    return sorted(json.dumps(sorted((name, cell(value)) for name, value in each.items())) for each in told)


class Writer:
    """One Spark session, and a folder of tables."""

    def __init__(self, folder: Path, cache: Path) -> None:
        from pyspark.sql import SparkSession

        settings = {
            "spark.jars": ",".join(str(jar) for jar in jars(cache, Path(os.environ["JAVA_HOME"]))),
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.databricks.delta.snapshotPartitions": "1",
            "spark.sql.shuffle.partitions": "1",
            "spark.sql.session.timeZone": "UTC",
            "spark.ui.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "1g",
            # Tables of a dozen rows: to compile for them costs more than to run.
            **QUICK,
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            "spark.sql.adaptive.enabled": "false",
            "spark.default.parallelism": "1",
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
        }
        builder = SparkSession.builder.master("local[2]").appName("lakeshare-tables")
        for name, value in settings.items():
            builder = builder.config(name, value)
        self.spark = builder.getOrCreate()
        self.spark.sparkContext.setLogLevel("ERROR")
        self.folder = folder

    def write(self) -> dict[str, Any]:
        """Write all tables, and say what is in each."""
        return {name: self._written(name, steps) for name, steps in TABLES.items()}

    def rows(self, folder: str) -> list[str]:
        """Read a table that lies in a folder."""
        frame = self.spark.read.format("delta").load(folder)
        plain = [f"to_json(`{name}`) AS `{name}`" if kind == "variant" else f"`{name}`" for name, kind in frame.dtypes]
        return rows_of(frame.selectExpr(*plain).collect())

    def changes(self, folder: str, start: int) -> list[str]:
        """Read the change feed of a table that lies in a folder."""
        options = {"readChangeFeed": "true", "startingVersion": str(start)}
        frame = self.spark.read.format("delta").options(**options).load(folder).drop("_commit_timestamp")
        return rows_of(frame.collect())

    def _written(self, name: str, steps: Iterable[str]) -> dict[str, Any]:
        where = str(self.folder / name)
        names = {each: f"delta.`{self.folder / each}`" for each in TABLES}
        for step in steps:
            self.spark.sql(step.format(t=names[name], **names))
        has_changes = CHANGES in " ".join(steps)
        return {"rows": self.rows(where), "changes": self.changes(where, 1) if has_changes else None}


def main() -> None:
    """Answer lines until there are no more."""
    said, sys.stdout = sys.stdout, sys.stderr
    writer = Writer(Path(sys.argv[1]), Path(sys.argv[2]))
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            told = {"told": getattr(writer, asked.pop("do"))(**asked)}
        except Exception as reason:  # noqa: BLE001 - the process that asked must hear of it
            told = {"failed": f"{type(reason).__name__}: {str(reason)[:500]}"}
        said.write(json.dumps(told) + "\n")
        said.flush()
    writer.spark.stop()


if __name__ == "__main__":
    os.environ["TZ"] = "UTC"
    main()
