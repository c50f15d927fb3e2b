"""From frames to tables: Delta and Iceberg, each commit marked with the run that made it, and found again by that."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from lakeshare.pipeline.conf import CATALOG
from lakeshare.pipeline.errors import Conflict
from lakeshare.pipeline.places import DeltaTarget, IcebergTarget, Target, quoted
from lakeshare.pipeline.report import Written

APPEND = "append"
OVERWRITE = "overwrite"
COMMITS_LOOKED_AT = 100
"""Newest commits among which a run looks for its own."""
ENTRIES_LOOKED_AT = 100
"""Entries of a log among which its first commit is looked for; more are taken for a log."""
_RUN = "lakeshare-run"
_COMMIT = re.compile(r"\d{20}\.")


class Table(Protocol):
    """A table that may not be there yet."""

    def schema(self) -> Any | None:
        """Return its schema; None where there is no table."""

    def write(self, frame: Any, mode: str, partition_by: Sequence[str], run: str) -> None:
        """Append to it, or replace all of it, in one commit."""

    def written(self, run: str) -> Written:
        """Return what a run committed."""


def table_of(session: Any, target: Target) -> Table:
    """Return the table that a target names."""
    match target:
        case DeltaTarget():
            return DeltaTable(session, target)
        case IcebergTarget():
            return IcebergTable(session, target)


@dataclass(frozen=True, slots=True)
class DeltaTable:
    """A Delta table at a path."""

    session: Any
    target: DeltaTarget

    def schema(self) -> Any | None:
        """Return its schema; None where there is no table."""
        log = self.session._jvm.org.apache.hadoop.fs.Path(self.target.url + "/_delta_log")  # noqa: SLF001 - no other way
        system = log.getFileSystem(self.session._jsc.hadoopConfiguration())  # noqa: SLF001
        if not system.exists(log) or not _has_commit(system.listStatusIterator(log)):
            return None
        return self.session.read.format("delta").load(self.target.url).schema

    def write(self, frame: Any, mode: str, partition_by: Sequence[str], run: str) -> None:
        """Append to it, or replace all of it, in one commit."""
        writer = frame.write.format("delta").mode(mode).option("userMetadata", f"{_RUN}={run}")
        if mode == OVERWRITE:
            writer = writer.option("overwriteSchema", "true")
        if partition_by:
            writer = writer.partitionBy(*partition_by)
        writer.save(self.target.url)

    def written(self, run: str) -> Written:
        """Return what a run committed, as the table's history says."""
        history = self.session.sql(f"DESCRIBE HISTORY {self.target.sql} LIMIT {COMMITS_LOOKED_AT}")
        for row in history.select("version", "userMetadata", "operationMetrics").collect():
            if row["userMetadata"] == f"{_RUN}={run}":
                said = row["operationMetrics"]
                return Written(
                    int(said["numOutputRows"]), int(said["numFiles"]), int(said["numOutputBytes"]), row["version"]
                )
        raise _not_found(self.target.text)


def _has_commit(entries: Any) -> bool:
    """Say whether a log holds a commit or a checkpoint, which sort first; one that was begun and left has none."""
    for _ in range(ENTRIES_LOOKED_AT):
        if not entries.hasNext():
            return False
        if _COMMIT.match(entries.next().getPath().getName()):
            return True
    return True


@dataclass(frozen=True, slots=True)
class IcebergTable:
    """A table of the server's Iceberg catalog."""

    session: Any
    target: IcebergTarget

    @property
    def sql(self) -> str:
        """The table in Spark's SQL."""
        return ".".join(map(quoted, [CATALOG, *self.target.namespace, self.target.name]))

    def schema(self) -> Any | None:
        """Return its schema; None where there is no table."""
        if not self.session.catalog.tableExists(self.sql):
            return None
        return self.session.table(self.sql).schema

    def write(self, frame: Any, mode: str, partition_by: Sequence[str], run: str) -> None:
        """Append to it, or replace all of it, in one commit."""
        from pyspark.sql import functions  # noqa: PLC0415 - pyspark is an extra

        exists = self.session.catalog.tableExists(self.sql)
        writer = frame.writeTo(self.sql).option(f"snapshot-property.{_RUN}", run)
        if exists and mode == APPEND:
            writer.append()
            return
        if partition_by:
            writer = writer.partitionedBy(*[functions.col(quoted(name)) for name in partition_by])
        if exists:
            writer.createOrReplace()
            return
        namespace = ".".join(map(quoted, [CATALOG, *self.target.namespace]))
        self.session.sql(f"CREATE NAMESPACE IF NOT EXISTS {namespace}")
        writer.create()

    def written(self, run: str) -> Written:
        """Return what a run committed, as the snapshot's summary says."""
        snapshots = self.session.sql(
            f"SELECT snapshot_id, summary FROM {self.sql}.snapshots "  # noqa: S608 - names are quoted
            f"ORDER BY committed_at DESC LIMIT {COMMITS_LOOKED_AT}"
        )
        for row in snapshots.collect():
            said = row["summary"]
            if said.get(_RUN) == run:
                count, files, size = (
                    int(said.get(name, 0)) for name in ("added-records", "added-data-files", "added-files-size")
                )
                return Written(count, files, size, snapshot_id=row["snapshot_id"])
        raise _not_found(self.target.text)


def _not_found(target: str) -> Conflict:
    return Conflict(
        f"the rows were written to {target}, but the commit that wrote them is not among its newest "
        f"{COMMITS_LOOKED_AT}: others commit faster than this can look",
        "The rows are there. Do not ingest them again.",
    )
