"""Manifest lists and manifests, as the specification lays them out and as a real writer writes them."""

from pathlib import Path

import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestEntry, ManifestEntryStatus
from pyiceberg.manifest import write_manifest as pyiceberg_manifest
from pyiceberg.manifest import write_manifest_list as pyiceberg_list
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, NestedField, StringType

from lakeshare.columnar.source import Blob, Unreadable
from lakeshare.formats.iceberg_files.manifests import (
    CONTENT,
    PARTITION,
    PATH,
    RECORDS,
    REFERENCED,
    SIZE,
    STATUS,
    FileContent,
    ManifestContent,
    Status,
    entries,
    read_manifest_list,
)
from tests.formats.iceberg_files.manifests import entry, field, listed, manifest, manifest_list

COLUMNS = (STATUS, CONTENT, PATH, RECORDS, SIZE, REFERENCED, PARTITION)


def rows(data: bytes, listing: object = None) -> list[dict[str, object]]:
    """Read a manifest."""
    return [each for batch in entries(Blob("m", data=data), COLUMNS, listing) for each in batch.to_pylist()]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_manifest_of_every_format_version_is_read(version: int):
    """Version 1 knows data files only; later ones say what a file holds."""
    found = rows(manifest([entry("s3://w/t/data/a.parquet"), entry("s3://w/t/data/b.parquet", status=2)], version))
    assert [each["path"] for each in found] == ["s3://w/t/data/a.parquet", "s3://w/t/data/b.parquet"]
    assert [Status(each["status"]) for each in found] == [Status.ADDED, Status.DELETED]
    assert [each["content"] for each in found] == ([None, None] if version == 1 else [0, 0])
    assert found[0]["records"] == 10
    assert found[0]["size"] == 1_000


def test_partition_values_come_as_they_are_stored():
    """A date is a number of days; the specification of the partition says what it means."""
    day = field("day", {"type": "int", "logicalType": "date"}, 1000, optional=True)
    found = rows(manifest([entry("a", partition={"day": 18_000}), entry("b", partition={"day": None})], 2, [day]))
    assert [each["partition"] for each in found] == [{"day": 18_000}, {"day": None}]


def test_a_deletion_vector_names_its_data_file():
    """Version 3 keeps vectors in Puffin files, many in one."""
    vector = entry("s3://w/t/data/v.puffin", content=1, file_format="PUFFIN", referenced_data_file="s3://w/t/data/a")
    (found,) = rows(manifest([vector], 3, content="deletes"))
    assert FileContent(found["content"]) is FileContent.POSITION_DELETES
    assert found["referenced"] == "s3://w/t/data/a"


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_manifest_list_of_every_format_version_is_read(version: int):
    """Version 1 has no delete manifests, and may leave counts out."""
    lines = [listed("s3://w/m1.avro", b"12345"), listed("s3://w/m2.avro", b"", content=1, added_files_count=3)]
    found = read_manifest_list(Blob("l", data=manifest_list(lines, version)))
    assert [each.path for each in found] == ["s3://w/m1.avro", "s3://w/m2.avro"]
    assert found[0].length == 5
    assert found[1].content is (ManifestContent.DATA if version == 1 else ManifestContent.DELETES)
    assert found[1].live_files == 3


def test_counts_under_the_names_of_old_writers_are_found_by_id():
    """Writers before 1.0 called the count of added files otherwise, under the same id."""
    data = manifest_list([listed("m", b"", added_files_count=4)], 2)
    renamed = data.replace(b"added_files_count", b"added_filez_count")
    assert read_manifest_list(Blob("l", data=renamed))[0].added_files == 4


def test_a_manifest_that_has_less_than_its_list_says_is_refused():
    """A manifest that was cut between two blocks would name too few files."""
    data = manifest([entry("a")])
    short = read_manifest_list(Blob("l", data=manifest_list([listed("m", data, added_files_count=2)])))[0]
    with pytest.raises(Unreadable, match="1 entries, and its manifest list says 2"):
        rows(data, short)
    long = read_manifest_list(Blob("l", data=manifest_list([listed("m", data + b"x")])))[0]
    with pytest.raises(Unreadable, match="bytes"):
        rows(data, long)


def test_what_pyiceberg_writes_is_read(tmp_path: Path):
    """A real writer's manifest and manifest list say the same to us."""
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "s", StringType()))
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "s"))
    io = PyArrowFileIO()
    file = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path="s3://w/t/data/a.parquet",
        file_format=FileFormat.PARQUET,
        partition=Record("x"),
        record_count=3,
        file_size_in_bytes=77,
        lower_bounds={1: b"a"},
        upper_bounds={1: b"b"},
    )
    with pyiceberg_manifest(2, spec, schema, io.new_output(str(tmp_path / "m.avro")), 5, "deflate") as writer:
        writer.add(ManifestEntry.from_args(status=ManifestEntryStatus.ADDED, snapshot_id=5, data_file=file))
    made = writer.to_manifest_file()
    with pyiceberg_list(2, io.new_output(str(tmp_path / "l.avro")), 5, None, 1, "deflate") as lists:
        lists.add_manifests([made])
    (line,) = read_manifest_list(Blob("l", path=str(tmp_path / "l.avro")))
    assert line.path == made.manifest_path
    (found,) = rows((tmp_path / "m.avro").read_bytes(), line)
    assert found["path"] == "s3://w/t/data/a.parquet"
    assert found["partition"] == {"s": "x"}
