"""Rows of a table from the lines of a query: files read as far as needed, with vectors, mapped names and partitions."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lakeshare.cli.errors import Corrupted
from lakeshare.cli.preview.bitmap import deleted_rows, inline_vector, stored_vector
from lakeshare.cli.preview.recipient import Recipient

ROWS_AT_ONCE = 1_024
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its name, the name that files know it by, and whether it is a partition's."""

    name: str
    physical: str
    kind: Any
    partition: bool


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns of a table, as its metadata says."""

    columns: tuple[Column, ...]

    @classmethod
    def of(cls, metadata: Json) -> "Shape":
        """Read a metadata line of the delta format."""
        said = metadata["metaData"]["deltaMetadata"]
        partitions = set(said.get("partitionColumns") or ())
        fields = json.loads(said["schemaString"])["fields"]
        return cls(
            tuple(
                Column(each["name"], physical_name(each), each["type"], each["name"] in partitions) for each in fields
            )
        )


def physical_name(field: Mapping[str, Any]) -> str:
    """Return the name that files know a field by."""
    return str(field.get("metadata", {}).get("delta.columnMapping.physicalName", field["name"]))


def rows_of_file(recipient: Recipient, shape: Shape, file: Json) -> Iterator[Json]:
    """Yield the rows of one file that are in the table. Raises Corrupted."""
    add = file["deltaSingleAction"]["add"]
    gone = _vector(recipient, add.get("deletionVector"))
    partitions = {
        each.name: _partition(add["partitionValues"].get(each.physical), each.kind)
        for each in shape.columns
        if each.partition
    }
    stored = [each for each in shape.columns if not each.partition]
    try:
        with pa.PythonFile(recipient.file(add["path"], add["size"]), mode="r") as source:
            parquet = pq.ParquetFile(source)
            present = [each.physical for each in stored if each.physical in parquet.schema_arrow.names]
            at = 0
            for batch in parquet.iter_batches(ROWS_AT_ONCE, columns=present):
                for number, row in enumerate(_logical(batch, stored, batch.num_rows)):
                    if at + number not in gone:
                        yield {each.name: (partitions | row)[each.name] for each in shape.columns}
                at += batch.num_rows
    except pa.ArrowException as reason:
        raise Corrupted(f"a file of the table cannot be read: {reason}") from None


def plain(value: Any) -> Any:  # noqa: PLR0911 - one for each sort of value
    """Return a value as JSON can say it."""
    match value:
        case dict():
            return {str(name): plain(each) for name, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
        case bytes():
            return value.hex()
        case datetime() | date():
            return value.isoformat()
        case Decimal():
            return str(value)
        case float() if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124 - NaN alone differs from itself
            return str(value)
    return value


def _logical(batch: pa.RecordBatch, columns: list[Column], count: int) -> Iterator[Json]:
    """Name the columns of a batch as the table does; a column that the file lacks is null."""
    held = {name: batch.column(place).to_pylist() for place, name in enumerate(batch.schema.names)}
    empty: list[Any] = [None] * count
    values = [[_named(item, each.kind) for item in held.get(each.physical, empty)] for each in columns]
    for place in range(count):
        yield {each.name: values[number][place] for number, each in enumerate(columns)}


def _named(value: Any, kind: Any) -> Any:
    """Name the fields inside a value as the table does."""
    if value is None or not isinstance(kind, dict):
        return value
    match kind["type"]:
        case "struct":
            return {each["name"]: _named(value.get(physical_name(each)), each["type"]) for each in kind["fields"]}
        case "array":
            return [_named(each, kind["elementType"]) for each in value]
        case "map":
            return {_named(key, kind["keyType"]): _named(each, kind["valueType"]) for key, each in value}
    return value


def _partition(text: str | None, kind: Any) -> Any:
    """Read the value of a partition: numbers and truth as such, all else as it is written."""
    if not text:
        return None
    if kind in {"byte", "short", "integer", "long"}:
        return int(text)
    if kind in {"float", "double"}:
        return float(text)
    return text == "true" if kind == "boolean" else text


def _vector(recipient: Recipient, vector: Json | None) -> frozenset[int]:
    if vector is None:
        return frozenset()
    size = int(vector["sizeInBytes"])
    if vector["storageType"] == "i":
        data = inline_vector(vector["pathOrInlineDv"], size)
    elif urlsplit(vector["pathOrInlineDv"]).scheme in {"http", "https"}:
        data = stored_vector(recipient.stretch(vector["pathOrInlineDv"], int(vector.get("offset", 1)), size + 8))
    else:
        raise Corrupted("a deletion vector has no link")
    rows = deleted_rows(data)
    if len(np.unique(rows)) != vector["cardinality"]:
        raise Corrupted("a deletion vector takes away another number of rows than it says")
    return frozenset(rows.tolist())
