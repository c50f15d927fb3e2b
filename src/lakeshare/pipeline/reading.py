"""From files to frames: CSV and Parquet with a schema that is given, the table's, or inferred; bad rows apart.

A row is bad if its line has more or fewer fields than the schema, if a field is not of its column's type, or if its
quotes do not end. It is kept as it stood in the file, so that it can be mended and ingested again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lakeshare.pipeline.errors import Misused, NoSource, SchemaMismatch
from lakeshare.pipeline.faults import gist
from lakeshare.pipeline.places import CSV, Source, quoted

CORRUPT = "_lakeshare_corrupt"
"""The column that holds a bad row's text."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How the files are to be read: options of CSV, and a schema as SQL's DDL (`id BIGINT, name STRING`)."""

    schema: str = ""
    header: bool = True
    delimiter: str = ","
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rows:
    """A source as frames: which rows are bad, the good ones, the bad ones as lines, and what heads those lines."""

    tally: Any
    good: Any
    rejected: Any
    heading: str | None
    suffix: str


def read(session: Any, source: Source, shape: Shape, existing: Any | None) -> Rows:
    """Return the rows of a source. `existing` is the schema of the table that they are appended to, if there is one."""
    if source.format == CSV:
        return _read_csv(session, source, shape, existing)
    return _read_parquet(session, source, shape, existing)


def given_schema(session: Any, text: str) -> Any:
    """Read a schema written as SQL's DDL."""
    from pyspark.errors import PySparkException  # noqa: PLC0415 - pyspark is an extra

    hint = "Write it as SQL does: --schema 'id BIGINT, name STRING, paid DECIMAL(15,2), day DATE'"
    try:
        return session.createDataFrame([], text).schema
    except PySparkException as reason:
        raise Misused(f"the schema {text!r} cannot be read: {gist(str(reason))}", hint) from None


def _read_csv(session: Any, source: Source, shape: Shape, existing: Any | None) -> Rows:
    from pyspark.sql import functions  # noqa: PLC0415 - pyspark is an extra
    from pyspark.sql.types import StringType, StructType  # noqa: PLC0415

    names = _names(session, source, shape)
    if not names:
        raise NoSource(f"{source.text} has no lines", "Nothing was written. Look at the files.")
    schema = _csv_schema(session, source, shape, existing, names)
    if CORRUPT in schema.fieldNames():
        raise SchemaMismatch(f"a column is named {CORRUPT}, which bad rows are kept under", "Rename the column.")
    asked = StructType([*schema.fields]).add(CORRUPT, StringType())
    # With enforceSchema off, the first line of every file must name the schema's columns in their order.
    kept_apart = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT, "enforceSchema": "false"}
    frame = session.read.options(**_csv_options(shape), **kept_apart).schema(asked).csv(source.url)
    columns = [functions.col(quoted(name)) for name in schema.fieldNames()]
    is_bad = functions.col(CORRUPT).isNotNull()
    # Spark parses, and so judges, only columns that are asked for: a digest asks for all of them.
    seen = functions.xxhash64(*columns)
    text = functions.concat(functions.col(CORRUPT), functions.substring(seen.cast("string"), 1, 0))
    heading = shape.delimiter.join(_field(name, shape.delimiter) for name in names) if shape.header else None
    tally = frame.select(is_bad.alias("bad"), seen.alias("seen"))
    good, rejected = frame.where(~is_bad).select(*columns), frame.where(is_bad).select(text.alias("value"))
    return Rows(tally, good, rejected, heading, "csv")


def _csv_options(shape: Shape) -> dict[str, str]:
    ours = {"header": str(shape.header).lower(), "sep": shape.delimiter, "escape": '"', "multiLine": "false"}
    return ours | dict(shape.options)


def _names(session: Any, source: Source, shape: Shape) -> list[str]:
    """Return the columns that the files name in their first lines, or the numbers that stand for them."""
    found: list[str] = session.read.options(**_csv_options(shape)).csv(source.url).schema.fieldNames()
    return found


def _csv_schema(session: Any, source: Source, shape: Shape, existing: Any | None, names: Sequence[str]) -> Any:
    """Return the schema of the lines: that which was given, the table's by name, or what the values look like."""
    if shape.schema:
        given = given_schema(session, shape.schema)
        if shape.header and [name.lower() for name in names] != [name.lower() for name in given.fieldNames()]:
            raise SchemaMismatch(
                f"the files' first line has the columns {', '.join(names)}; the schema has "
                f"{', '.join(given.fieldNames())}",
                "Name them in --schema as the files do, in their order, or say --no-header if there is no such line.",
            )
        return given
    if existing is not None:
        return _of_table(existing, names, by_name=shape.header)
    inferred = {"inferSchema": "true", "samplingRatio": "1.0", "preferDate": "true"}
    return session.read.options(**_csv_options(shape), **inferred).csv(source.url).schema


def _of_table(existing: Any, names: Sequence[str], *, by_name: bool) -> Any:
    """Give the columns of files the types that a table has for them."""
    from pyspark.sql.types import StructField, StructType  # noqa: PLC0415 - pyspark is an extra

    if not by_name:
        if len(names) != len(existing.fields):
            raise SchemaMismatch(
                f"the files have {len(names)} columns, the table {len(existing.fields)}",
                "Say which columns the files have: --schema 'name TYPE, ...'",
            )
        return existing
    known = {one.name.lower(): one for one in existing.fields}
    strange = [name for name in names if name.lower() not in known]
    if strange:
        raise SchemaMismatch(
            f"the table has no column {', '.join(strange)}; it has {', '.join(existing.fieldNames())}",
            "Rename the columns in the files, add them to the table, or replace the table: --mode overwrite",
        )
    return StructType([StructField(known[name.lower()].name, known[name.lower()].dataType) for name in names])


def _field(name: str, delimiter: str) -> str:
    """Write a name as a field of CSV."""
    if any(char in name for char in (delimiter, '"', "\n", "\r")):
        return '"' + name.replace('"', '""') + '"'
    return name


def _read_parquet(session: Any, source: Source, shape: Shape, existing: Any | None) -> Rows:
    """Read Parquet; with a schema, a row is bad if one of its values cannot become what the schema asks for."""
    from pyspark.sql import functions  # noqa: PLC0415 - pyspark is an extra

    frame = session.read.parquet(source.url)
    schema = _parquet_schema(session, shape, existing, frame)
    known = {name.lower(): name for name in frame.columns}
    cast = [(functions.col(quoted(known[one.name.lower()])), one) for one in schema.fields]
    is_bad = functions.expr("false")
    for column, one in cast:
        if frame.schema[known[one.name.lower()]].dataType != one.dataType:
            is_bad |= column.isNotNull() & column.try_cast(one.dataType).isNull()
    tally = frame.select(is_bad.alias("bad"), functions.lit(0).alias("seen"))
    good = frame.where(~is_bad).select(*[column.try_cast(one.dataType).alias(one.name) for column, one in cast])
    rejected = frame.where(is_bad).select(functions.to_json(functions.struct("*")).alias("value"))
    return Rows(tally, good, rejected, None, "ndjson")


def _parquet_schema(session: Any, shape: Shape, existing: Any | None, frame: Any) -> Any:
    """Return the schema of the rows: that which was given, the table's by name, or the files' own."""
    if not shape.schema:
        return frame.schema if existing is None else _of_table(existing, frame.columns, by_name=True)
    given = given_schema(session, shape.schema)
    known = {name.lower() for name in frame.columns}
    if absent := [name for name in given.fieldNames() if name.lower() not in known]:
        raise SchemaMismatch(
            f"the files have no column {', '.join(absent)}; they have {', '.join(frame.columns)}",
            "Name the columns in --schema as the files do.",
        )
    return given
