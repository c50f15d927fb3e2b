"""Files of a table made by tests: rows, their statistics, and the parts that come of them."""

import json
from datetime import UTC, datetime, timedelta

from lakeshare.columnar.bounds import BoundColumn, TableShape
from lakeshare.columnar.part import part_in_memory
from lakeshare.columnar.predicate import ValueKind
from lakeshare.columnar.rows import rows_of

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

SHAPE = TableShape(
    (
        BoundColumn(("p",), ("col-p",), ValueKind.TEXT, "string", partition=True),
        BoundColumn(("d",), ("d",), ValueKind.DAY, "date", partition=True),
        BoundColumn(("n",), ("n",), ValueKind.WHOLE, "long"),
        BoundColumn(("i",), ("i",), ValueKind.WHOLE, "integer"),
        BoundColumn(("x",), ("x",), ValueKind.REAL, "double"),
        BoundColumn(("f",), ("f",), ValueKind.REAL, "float"),
        BoundColumn(("s",), ("s",), ValueKind.TEXT, "string"),
        BoundColumn(("t",), ("t",), ValueKind.INSTANT, "timestamp"),
        BoundColumn(("b",), ("b",), ValueKind.TRUTH, "boolean"),
        BoundColumn(("o", "q"), ("o", "col-q"), ValueKind.WHOLE, "long"),
    )
)


def add(path, stats=None, partition=None, size=1, dv=None):
    found = {"path": path, "size": size, "partitionValues": partition or {}, "stats": stats}
    return found if dv is None else found | {"deletionVector": dv}


def part_of(*adds, shape=SHAPE):
    return part_in_memory([rows_of("test", adds)], shape)


def stats(records=None, low=None, high=None, nulls=None):
    found = {"numRecords": records, "minValues": low, "maxValues": high, "nullCount": nulls}
    return json.dumps({name: value for name, value in found.items() if value is not None})


def moment(micros):
    """Write a time as statistics do: cut down to milliseconds."""
    cut = EPOCH + timedelta(milliseconds=micros // 1000)
    return cut.isoformat(timespec="milliseconds").replace("+00:00", "Z")
