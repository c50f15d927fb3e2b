"""Ingest: files in, one commit of a table out; read, look, write."""

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lakeshare.pipeline.errors import Conflict, NoSource, SchemaMismatch, TooManyRejected
from lakeshare.pipeline.faults import translated
from lakeshare.pipeline.places import Source, Target, quoted
from lakeshare.pipeline.progress import SILENT, Told, watching
from lakeshare.pipeline.reading import Rows, Shape, read
from lakeshare.pipeline.rejects import Shelf
from lakeshare.pipeline.report import IngestReport
from lakeshare.pipeline.writing import APPEND, table_of


@dataclass(frozen=True, slots=True)
class Ingest:
    """What is to be ingested, into what, and how."""

    source: Source
    target: Target
    mode: str = APPEND
    shape: Shape = field(default_factory=Shape)
    partition_by: Sequence[str] = ()
    shelf: Shelf = field(default_factory=Shelf)
    max_rejected: int | None = None


def ingest(session: Any, job: Ingest, told: Told = SILENT) -> IngestReport:
    """Read the source, keep bad rows aside, and commit the others to the table."""
    started, run = time.monotonic(), secrets.token_hex(8)
    with translated(job.source.text, job.target.text), watching(session.sparkContext, told):
        table = table_of(session, job.target)
        existing = table.schema()
        told.step(f"reading {job.source.text}")
        rows = read(session, job.source, job.shape, existing if job.mode == APPEND else None)
        count = _counted(rows)
        if not count.all:
            raise NoSource(f"{job.source.text} has no rows", "Nothing was written. Look at the files, and --no-header.")
        kept = job.shelf.keep(session, rows, f"{job.target.name}-{run}") if count.bad else ""
        _permit(job, count, kept)
        _divisible(job, rows.good)
        told.step(f"writing {job.target.text}")
        table.write(_aligned(rows.good, job, existing), job.mode, job.partition_by, run)
        written = table.written(run)
    if written.rows != count.all - count.bad:
        raise Conflict(
            f"{count.all - count.bad} rows were to be written to {job.target.text}, and {written.rows} were: "
            f"{job.source.text} changed while it was read",
            "Replace the table from a source that stays as it is: --mode overwrite",
        )
    return IngestReport(
        job.source.text, job.target.text, job.target.format, job.mode, existing is None,
        count.all, count.bad, kept or None, written, _ddl(rows.good.schema), time.monotonic() - started,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Count:
    """How many rows a source has, and how many of them are bad."""

    all: int
    bad: int


def _counted(rows: Rows) -> Count:
    from pyspark.sql import functions  # noqa: PLC0415 - pyspark is an extra

    one = functions.lit(1)
    found = rows.tally.agg(functions.count(one), functions.count_if("bad"), functions.max("seen")).first()
    return Count(found[0], found[1])


def _permit(job: Ingest, count: Count, kept: str) -> None:
    """Stop, before anything is committed, where more rows are bad than may be."""
    allowed = count.all - 1 if job.max_rejected is None else job.max_rejected
    if count.bad > allowed:
        raise TooManyRejected(count.bad, count.all, allowed, kept)


def _divisible(job: Ingest, frame: Any) -> None:
    """Stop where the table is to be partitioned by a column that is not there."""
    known = {name.lower() for name in frame.columns}
    if absent := [name for name in job.partition_by if name.lower() not in known]:
        raise SchemaMismatch(
            f"there is no column {', '.join(absent)} to partition by; there are {', '.join(frame.columns)}",
            "Name columns of the rows: --partition-by COLUMN,...",
        )


def _aligned(frame: Any, job: Ingest, existing: Any | None) -> Any:
    """Give rows that are appended all columns of the table, with nulls where the files have none."""
    from pyspark.sql import functions  # noqa: PLC0415 - pyspark is an extra

    if existing is None or job.mode != APPEND:
        return frame
    known = {name.lower(): name for name in frame.columns}
    if strange := [name for name in frame.columns if name.lower() not in {one.name.lower() for one in existing.fields}]:
        raise SchemaMismatch(
            f"{job.target.text} has no column {', '.join(strange)}; it has {', '.join(existing.fieldNames())}",
            "Give the columns that the table has, or replace the table: --mode overwrite",
        )
    return frame.select(
        *[
            functions.col(quoted(known[one.name.lower()])).alias(one.name)
            if one.name.lower() in known
            else functions.lit(None).cast(one.dataType).alias(one.name)
            for one in existing.fields
        ]
    )


def _ddl(schema: Any) -> str:
    return ", ".join(f"{one.name} {one.dataType.simpleString().upper()}" for one in schema.fields)
