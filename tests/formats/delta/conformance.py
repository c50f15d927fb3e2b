"""Delta tables of many shapes, read by us and by delta-rs side by side. Run as a module it prints the outcomes.

The rows are read here with pyarrow from the files that our snapshot names, with its deletion vectors, its column
mapping and its partition values, and by delta-rs with its own engine.
"""

import json
import math
import struct
import sys
import tarfile
import tempfile
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, QueryBuilder
from pyroaring import BitMap

from lakeshare.columnar.folder import Folder
from lakeshare.errors import LakeshareError
from lakeshare.formats.delta.actions import CommitInfo
from lakeshare.formats.delta.decoding import decode_vector
from lakeshare.formats.delta.opening import Engine, commit_actions, list_log, open_snapshot
from lakeshare.formats.delta.partition import typed
from lakeshare.formats.delta.paths import locate
from lakeshare.formats.delta.protocol import features_of_data
from lakeshare.formats.delta.schema import Array, MappingMode, MapType, Primitive, Struct, mapping_mode
from lakeshare.formats.delta.segment import read_listing
from tests.vectors import DELTA_GOLDEN

MAX_ROWS = 200_000
"""Larger tables are compared by their number of rows."""
MAX_VERSIONS = 20
_VARIANT = "variant"


@dataclass(frozen=True)
class Outcome:
    """What came of one table: `refused` says why we do not serve it, `differs` in what we read it otherwise."""

    table: str
    version: int | None = None
    files: int | None = None
    rows: int | None = None
    features: tuple[str, ...] = ()
    refused: str = ""
    oracle: str = ""
    differs: tuple[str, ...] = ()


def unpack(folder: Path) -> Path:
    """Unpack the golden tables."""
    with tarfile.open(DELTA_GOLDEN) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python before 3.11.4 knows none
        archive.extractall(folder)
    return folder


def tables(folder: Path) -> list[str]:
    """Name the tables of a folder."""
    return sorted(str(log.parent.relative_to(folder)) for log in folder.rglob("_delta_log"))


def examine(folder: Path, table: str, cache: Path) -> Outcome:
    """Read one table both ways."""
    root = folder / table
    theirs, oracle = _theirs(root)
    files = Folder(root)
    try:
        snapshot = open_snapshot(Engine(cache), table, files, list_log(files))
    except LakeshareError as reason:
        differs = () if theirs is None else ("delta-rs reads it",)
        return Outcome(table, refused=str(reason), oracle=oracle, differs=differs)
    features = tuple(sorted(features_of_data(snapshot.state.protocol)))
    ours = {
        "version": snapshot.version,
        "files": _our_files(snapshot),
        "protocol": _our_protocol(snapshot),
        "schema": json.loads(snapshot.state.metadata.schema_string),
        "partition columns": list(snapshot.state.metadata.partition_columns),
        "id": snapshot.state.metadata.id,
        "times": _our_times(files, list_log(files)),
    }
    if theirs is None:
        return Outcome(table, snapshot.version, len(ours["files"]), None, features, oracle=oracle)
    differs = tuple(name for name, value in ours.items() if not _same(name, value, theirs))
    differs += tuple(_differing_versions(snapshot, files, root, cache))
    rows, note, wrong = _compare_rows(snapshot, root, theirs)
    return Outcome(table, snapshot.version, len(ours["files"]), rows, features, oracle=note, differs=differs + wrong)


def _theirs(root):
    try:
        return DeltaTable(str(root)), ""
    except Exception as reason:  # noqa: BLE001 - delta-rs raises many things, and all of them mean that it will not.
        return None, "delta-rs: " + str(reason).split("\n")[0][:120]


def _same(name, ours, theirs):
    return _times_agree(ours, theirs) if name == "times" else ours == _THEIRS[name](theirs)


def _times_agree(ours, theirs):
    reported = {item["version"]: item.get("timestamp") for item in theirs.history() if "version" in item}
    return all(reported[version] == at for version, at in ours.items() if version in reported and at is not None)


def _differing_versions(snapshot, files, root, cache):
    """Travel back to each version that delta-rs can still read, and name those whose files differ."""
    log = read_listing(files.list("_delta_log/"))
    for version in range(max(0, snapshot.version - MAX_VERSIONS), snapshot.version):
        try:
            theirs = DeltaTable(str(root), version=version)
        except Exception:  # noqa: BLE001 - as in _theirs.
            continue
        ours = open_snapshot(Engine(cache), str(root), files, log, version)
        if _our_files(ours) != _their_files(theirs):
            yield f"files of version {version}"


def _our_protocol(snapshot):
    protocol = snapshot.state.protocol
    features = protocol.reader_features
    return protocol.min_reader_version, sorted(features or ())


def _our_files(snapshot):
    columns = ["path", "size", "modification_time", "records"]
    batches = snapshot.files.everything().batches(columns)
    return sorted((tuple(row.values()) for batch in batches for row in batch.to_pylist()), key=str)


def _their_files(theirs):
    actions = pa.table(theirs.get_add_actions())
    names = ["path", "size_bytes", "modification_time", "num_records"]
    columns = [actions[name].to_pylist() if name in actions.column_names else [None] * len(actions) for name in names]
    return sorted(zip(*columns, strict=True), key=str)


_THEIRS = {
    "version": lambda theirs: theirs.version(),
    "files": _their_files,
    "protocol": lambda theirs: (theirs.protocol().min_reader_version, sorted(theirs.protocol().reader_features or ())),
    "schema": lambda theirs: json.loads(theirs.schema().to_json()),
    "partition columns": lambda theirs: theirs.metadata().partition_columns,
    "id": lambda theirs: str(theirs.metadata().id),
}


def _our_times(files, log):
    times = {}
    for version in log.commits:
        info = next((action for action in commit_actions(files, version) if isinstance(action, CommitInfo)), None)
        times[version] = None if info is None else info.timestamp
    return times


def _compare_rows(snapshot, root, theirs):
    """Return how many rows we read, why they could not be compared, and what differs."""
    try:
        count = _count_rows(snapshot, root)
        ours = [] if count > MAX_ROWS else list(_our_rows(snapshot, root))
    except FileNotFoundError as reason:
        return None, f"a data file is missing: {Path(str(reason)).name}", ()
    try:
        batches = QueryBuilder().register("t", theirs).execute("select * from t")
        found = pa.table(batches) if not isinstance(batches, pa.Table) else batches
    except Exception as reason:  # noqa: BLE001 - as above.
        return count, "delta-rs, rows: " + str(reason).split("\n")[0][:120], ()
    if count != found.num_rows:
        return count, "", (f"rows: {count} and {found.num_rows}",)
    if count > MAX_ROWS or any(_has_variant(item.type) for item in snapshot.schema().fields):
        return count, "compared by number of rows", ()
    mine = Counter(repr(_plain(row)) for row in ours)
    other = Counter(repr(_plain(row)) for row in found.to_pylist())
    return count, "", () if mine == other and len(ours) == count else ("values of rows",)


def _count_rows(snapshot, root):
    total = 0
    for batch in snapshot.files.everything().batches(["path", "dv_cardinality"]):
        for file in batch.to_pylist():
            total += pq.read_metadata(root / locate(file["path"]).key).num_rows - (file["dv_cardinality"] or 0)
    return total


def _has_variant(kind):
    return isinstance(kind, Primitive) and kind.name == _VARIANT


def _our_rows(snapshot, root):
    mode = mapping_mode(snapshot.state.protocol, snapshot.state.metadata)
    schema = snapshot.schema()
    partitions = {name.lower() for name in snapshot.state.metadata.partition_columns}
    columns = ["path", "tail", "dv_storage", "dv_text", "dv_offset", "dv_size", "dv_cardinality"]
    for batch in snapshot.files.everything().batches(columns):
        for file in batch.to_pylist():
            yield from _rows_of_file(file, root, schema, mode, partitions)


def _rows_of_file(file, root, schema, mode, partitions):
    table = pq.read_table(root / locate(file["path"]).key, partitioning=None, coerce_int96_timestamp_unit="us")
    deleted = _deleted(file, root)
    values = json.loads("{" + file["tail"] + "}")["partitionValues"]
    by_id = {item.metadata[b"PARQUET:field_id"].decode(): item.name for item in table.schema if item.metadata}
    for place, row in enumerate(table.to_pylist()):
        if place in deleted:
            continue
        yield {
            item.name: typed(values.get(item.physical_name(mode)), item.type)
            if item.name.lower() in partitions
            else _logical(_column(row, item, mode, by_id), item.type, mode)
            for item in schema.fields
        }


def _column(row, item, mode, by_id):
    if mode is MappingMode.ID:
        return row.get(by_id.get(str(item.column_id), ""))
    name = item.physical_name(mode)
    if name in row:
        return row[name]
    return next((value for key, value in row.items() if key.lower() == name.lower()), None)


def _logical(value, kind, mode):
    """Give nested fields the names of the schema; data files have physical ones."""
    if value is None:
        return None
    if isinstance(kind, Struct):
        return {item.name: _logical(value.get(item.physical_name(mode)), item.type, mode) for item in kind.fields}
    if isinstance(kind, Array):
        return [_logical(item, kind.element, mode) for item in value]
    if isinstance(kind, MapType):
        return [(_logical(key, kind.key, mode), _logical(item, kind.value, mode)) for key, item in value]
    return value


def _deleted(file, root):
    """Read a deletion vector: the rows that are not in the table any more."""
    if file["dv_storage"] is None:
        return frozenset()
    fields = {
        "storageType": file["dv_storage"],
        "pathOrInlineDv": file["dv_text"],
        "offset": file["dv_offset"],
        "sizeInBytes": file["dv_size"],
        "cardinality": file["dv_cardinality"],
    }
    vector = decode_vector(fields)
    if vector.path is None:
        data = vector.inline_bytes()
    else:
        whole = (root / vector.path).read_bytes()
        start = (vector.offset or 0) + 4
        data = whole[start : start + vector.size_bytes]
    rows = _bitmap(data)
    assert len(rows) == vector.cardinality
    return rows


def _bitmap(data):
    """Read the portable 64-bit Roaring format: a magic number, then 32-bit bitmaps under their upper halves."""
    (count,) = struct.unpack_from("<q", data, 4)
    rows, at = set(), 12
    for _ in range(count):
        (upper,) = struct.unpack_from("<I", data, at)
        bitmap = BitMap.deserialize(data[at + 4 :])
        at += 4 + len(bitmap.serialize())
        rows |= {(upper << 32) | lower for lower in bitmap}
    return rows


def _plain(value):
    """Write values that are equal alike: times without zones are UTC, maps are pairs, NaN is NaN."""
    if isinstance(value, dict):
        return [(name.lower(), _plain(item)) for name, item in sorted(value.items(), key=lambda pair: pair[0].lower())]
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC)
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def markdown(folder, cache):
    """Yield the outcomes as the lines of a table of Markdown."""
    yield "| table | version | files | rows | reader features | outcome |"
    yield "|---|---|---|---|---|---|"
    for table in tables(folder):
        found = examine(folder, table, cache)
        told = found.refused and f"refused: {found.refused}"
        told = told or ("differs: " + ", ".join(found.differs) if found.differs else "equal")
        told += f" ({found.oracle})" if found.oracle and not found.refused else ""
        cells = [found.table, found.version, found.files, found.rows, ", ".join(found.features), told]
        yield "| " + " | ".join("" if cell is None else str(cell) for cell in cells) + " |"


def main():
    with tempfile.TemporaryDirectory() as scratch:
        folder = unpack(Path(scratch) / "golden")
        for line in markdown(folder, Path(scratch) / "cache"):
            sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
