"""Avro files as columns."""

import contextlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakeshare.columnar.avro import Column, Step, avro_batches, plain_schema, read_header
from lakeshare.columnar.source import Blob, FileGone, Unreadable
from tests.columnar.avro_files import avro_file

SCHEMA = {
    "type": "record",
    "name": "row",
    "fields": [
        {"name": "number", "type": "long", "field-id": 1},
        {"name": "nothing", "type": {"type": "record", "name": "empty", "fields": []}, "field-id": 2},
        {
            "name": "inner",
            "type": {
                "type": "record",
                "name": "inside",
                "fields": [
                    {"name": "old name", "type": ["null", "string"], "default": None, "field-id": 4},
                    {"name": "day", "type": {"type": "int", "logicalType": "date"}, "field-id": 5},
                ],
            },
            "field-id": 3,
        },
    ],
}
COLUMNS = (
    Column("n", (Step(1, "number"),), "Int64"),
    Column("text", (Step(3, "inner"), Step(4, "new name")), "Utf8"),
    Column("day", (Step(3, "inner"), Step(5, "day")), "Int32"),
    Column("nothing", (Step(2, "nothing"),)),
    Column("absent", (Step(3, "inner"), Step(99, "absent")), "Int64"),
)


def row(number: int) -> dict[str, object]:
    """Make one row."""
    return {"number": number, "nothing": {}, "inner": {"old name": f"text {number}" if number % 2 else None, "day": 7}}


def rows_of(data: bytes) -> list[dict[str, object]]:
    """Read all rows of a file."""
    return [each for batch in avro_batches(Blob("f.avro", data=data), COLUMNS) for each in batch.to_pylist()]


@pytest.mark.parametrize("codec", ["null", "deflate", "zstandard", "snappy"])
@pytest.mark.parametrize("count", [0, 1, 2_500])
def test_rows_come_back_under_every_codec(codec: str, count: int):
    """Columns are found by field id under any name, absent ones are null, and empty records take no harm."""
    found = rows_of(avro_file(SCHEMA, map(row, range(count)), codec=codec))
    assert [each["n"] for each in found] == list(range(count))
    assert [each["text"] for each in found] == [f"text {at}" if at % 2 else None for at in range(count)]
    assert all(each["day"] == 7 and each["nothing"] is None and each["absent"] is None for each in found)


def test_a_file_on_disk_reads_as_one_in_memory(tmp_path):
    """A blob may be a path, and one that is not there is gone."""
    path = tmp_path / "some file"
    path.write_bytes(avro_file(SCHEMA, [row(1)]))
    found = [each for batch in avro_batches(Blob("f", path=str(path)), COLUMNS) for each in batch.to_pylist()]
    assert found[0]["n"] == 1
    with pytest.raises(FileGone):
        list(avro_batches(Blob("g", path=str(tmp_path / "other")), COLUMNS))


def test_fields_without_ids_are_found_by_name():
    """Some writers leave the ids out."""
    schema = {"type": "record", "name": "r", "fields": [{"name": "number", "type": "long"}]}
    batches = avro_batches(Blob("f", data=avro_file(schema, [{"number": 5}])), COLUMNS[:1])
    assert [each["n"] for batch in batches for each in batch.to_pylist()] == [5]


def test_the_header_is_read_with_its_metadata():
    """Iceberg keeps facts about a manifest beside the schema."""
    header = read_header(Blob("f", data=avro_file(SCHEMA, [row(1)], {"content": "deletes"})))
    assert header.metadata["content"] == b"deletes"
    assert header.codec == "deflate"


def test_a_plain_schema_has_no_logical_type_and_no_empty_record():
    """What takes no byte, and what only says how to read bytes, is left out."""
    plain = plain_schema(SCHEMA)
    assert [each["name"] for each in plain["fields"]] == ["number", "inner"]
    assert plain["fields"][1]["type"]["fields"][1] == {"name": "day", "type": "int"}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "no Avro file"),
        (b"PAR1 and so on", "no Avro file"),
        (b"Obj\x01", "too early"),
        (b"Obj\x01" + b"\xff" * 12, "no end"),
        (avro_file("long", []), "no records"),
        (avro_file(SCHEMA, [row(1)]).replace(b"deflate", b"deflote"), "codec"),
    ],
)
def test_what_is_no_avro_file_is_refused(data: bytes, reason: str):
    """Every refusal names the file, and says why."""
    with pytest.raises(Unreadable, match=reason):
        rows_of(data)


def test_a_file_that_lost_its_end_is_never_read_as_a_shorter_one():
    """Wherever a file is cut, other than after a whole block, it is unreadable."""
    whole = avro_file(SCHEMA, map(row, range(40)), block_rows=10)
    ends = {len(avro_file(SCHEMA, map(row, range(count)), block_rows=10)) for count in (0, 10, 20, 30)}
    for size in range(0, len(whole), 31):
        if size not in ends:
            with pytest.raises(Unreadable):
                rows_of(whole[:size])


@given(st.data())
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_damaged_file_is_unreadable_or_reads_some_rows(data: st.DataObject):
    """Whatever a byte becomes, the only error is Unreadable."""
    whole = bytearray(avro_file(SCHEMA, map(row, range(5)), codec="null"))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] = data.draw(st.integers(0, 255))
    with contextlib.suppress(Unreadable):
        rows_of(bytes(whole))
