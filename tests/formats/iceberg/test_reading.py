"""Metadata files: the forms of each version, what is normal, what is refused, what is never lost."""

import orjson
import pytest

from lakeshare.formats.iceberg import documents
from lakeshare.formats.iceberg.errors import InvalidMetadata, Unsupported
from lakeshare.formats.iceberg.table import encode_table, parse_table, table_document
from tests.formats.iceberg.made import LOCATION, UUID, changed, created, field, with_snapshots

OLD = {
    "format-version": 1,
    "location": "s3://b/old/",
    "last-updated-ms": 1_000,
    "last-column-id": 2,
    "schema": {"type": "struct", "fields": [field(1, "a"), field(2, "d", "date")]},
    "partition-spec": [
        {"source-id": 2, "transform": "month", "name": "m"},
        {"source-id": 1, "transform": "identity", "name": "a"},
    ],
}


def read(document):
    return parse_table(orjson.dumps(document))


def mended(table, **changes):
    """Return a table's document with some fields changed; None takes one away."""
    document = {**orjson.loads(encode_table(table)), **{key.replace("_", "-"): value for key, value in changes.items()}}
    return {key: value for key, value in document.items() if value is not None}


def test_the_oldest_form_is_read():
    """A v1 file with one schema, one spec, no ids and no UUID gets what later versions have."""
    table = read(OLD)
    assert table.location == "s3://b/old"
    assert [item.id for item in table.schemas] == [table.current_schema_id] == [0]
    assert [item.id for item in table.partition_specs] == [table.default_spec_id] == [0]
    assert [item.field_id for item in table.default_spec.fields] == [1000, 1001]
    assert table.last_partition_id == 1001
    assert table.sort_orders[0].document == {"order-id": 0, "fields": []}
    assert (table.last_sequence_number, table.next_row_id, table.current_snapshot_id) == (0, 0, None)
    assert (table.snapshots, table.snapshot_log, table.metadata_log, table.refs) == ((), (), (), {})
    assert parse_table(encode_table(table)) == table


def test_a_missing_uuid_is_the_same_each_time():
    """A v1 table without a UUID has one that its location decides, until a commit stores it."""
    assert read(OLD).uuid == read(OLD).uuid != read({**OLD, "location": "s3://b/other"}).uuid


def test_a_spec_of_version_1_keeps_its_id():
    """The single spec of an old file has the default spec's id."""
    assert read({**OLD, "default-spec-id": 3}).default_spec.id == 3


def test_lists_go_before_the_single_forms():
    """Where a v1 file has both forms the lists count."""
    document = mended(created(1), schema={"type": "struct", "fields": []}, partition_spec=[1, 2])
    assert read(document) == created(1)


def test_an_old_table_can_be_upgraded():
    """A v1 table becomes v2 and v3 with its UUID, its snapshots and its sequence number 0."""
    table = with_snapshots(1, 2, version=1)
    for version in (2, 3):
        table = changed(table, {"action": "upgrade-format-version", "format-version": version})
        document = table_document(table)
        assert document["last-sequence-number"] == 0
        assert "schema" not in document
        assert parse_table(encode_table(table)) == table


@pytest.mark.parametrize("current", [-1, None])
@pytest.mark.parametrize("version", [1, 2, 3])
def test_no_snapshot_is_written_in_several_ways(version, current):
    """-1, null and absent all say that there is no current snapshot."""
    document = {**orjson.loads(encode_table(created(version))), "current-snapshot-id": current}
    assert read(document) == created(version)
    del document["current-snapshot-id"]
    assert read(document) == created(version)


def test_main_is_made_of_the_current_snapshot():
    """Where a file has no branch main, its current snapshot is the head of it."""
    table = with_snapshots(1)
    assert read(mended(table, refs=None)) == table
    assert read(mended(table, refs={})) == table


def test_missing_lists_are_empty():
    """Lists and maps that a writer left out are empty."""
    missing = ["snapshots", "snapshot_log", "metadata_log", "statistics", "partition_statistics", "properties", "refs"]
    table = read(mended(created(), **dict.fromkeys(missing)))
    assert (table.snapshots, table.refs, table.properties) == ((), {}, {})


def test_what_is_not_known_is_kept_at_every_level():
    """Fields of a newer writer stay where they are, through reading, changing and writing."""
    document = orjson.loads(encode_table(with_snapshots(1)))
    document["metadata-log"] = [{"metadata-file": "s3://m", "timestamp-ms": 5}]
    full = {"snapshot-id": 1, "statistics-path": "s", "file-size-in-bytes": 1, "file-footer-size-in-bytes": 1}
    document["statistics"] = [{**full, "blob-metadata": []}]
    document["partition-statistics"] = [dict(full)]
    document["encryption-keys"] = [{"key-id": "k", "encrypted-key-metadata": ""}]
    document["sort-orders"].append(
        {
            "order-id": 3,
            "fields": [{"source-id": 1, "transform": "identity", "direction": "asc", "null-order": "nulls-last"}],
        }
    )
    places = [
        document, document["schemas"][0], document["schemas"][0]["fields"][0], document["partition-specs"][0],
        document["sort-orders"][1], document["sort-orders"][1]["fields"][0], document["snapshots"][0],
        document["snapshots"][0]["summary"], document["refs"]["main"], document["snapshot-log"][0],
        document["metadata-log"][0], document["statistics"][0], document["partition-statistics"][0],
        document["encryption-keys"][0],
    ]  # fmt: skip
    for number, place in enumerate(places):
        place["x-future"] = f"kept {number}"
    table = read(document)
    new = changed(table, {"action": "set-properties", "updates": {"a": "b"}})
    found = orjson.loads(encode_table(new))
    expected = {**document, "properties": found["properties"], "metadata-log": found["metadata-log"]}
    assert found == {**expected, "last-updated-ms": 5_000}
    assert found["metadata-log"][0]["x-future"] == "kept 10"
    assert encode_table(new).count(b"x-future") == len(places)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format_version": 0}, "Invalid format version: 0"),
        ({"format_version": "2"}, "format-version must be an integer"),
        ({"table_uuid": None}, "UUID is required in format v2"),
        ({"table_uuid": "me"}, "'me' is no UUID"),
        ({"location": None}, "location must be a string"),
        ({"location": ""}, "location must not be empty"),
        ({"last_sequence_number": None}, "last-sequence-number must be an integer"),
        ({"last_updated_ms": None}, "last-updated-ms must be an integer"),
        ({"last_column_id": None}, "last-column-id must be an integer"),
        ({"schemas": None}, "schemas must exist in format v2"),
        ({"schemas": [{"type": "struct", "fields": []}]}, "schema-id must be an integer"),
        ({"current_schema_id": None}, "current-schema-id must exist in format v2"),
        ({"current_schema_id": 7}, r"Cannot find current-schema-id 7 among \[0\]"),
        ({"partition_specs": None}, "partition-specs must exist in format v2"),
        ({"default_spec_id": 7}, "Cannot find default-spec-id 7"),
        ({"last_partition_id": None}, "last-partition-id must exist in format v2"),
        ({"sort_orders": None}, "sort-orders must exist in format v2"),
        ({"sort_orders": [{"fields": []}]}, "order-id must be an integer"),
        ({"default_sort_order_id": 7}, "Cannot find default-sort-order-id 7"),
        ({"current_snapshot_id": 7}, "Cannot find the current snapshot 7"),
        ({"current_snapshot_id": 1}, r"Current snapshot ID does not match main branch \(1 != 2\)"),
        ({"current_snapshot_id": -1}, "Current snapshot is not set, but main branch exists"),
        ({"refs": {"b": {"snapshot-id": 9, "type": "tag"}}}, "Snapshot for reference 'b' does not exist"),
        ({"refs": {"b": 9}}, "must be a JSON object"),
        ({"last_sequence_number": 1}, "sequence number 2 greater than last sequence number 1"),
        ({"properties": {"a": 1}}, "properties: a must be a string"),
        ({"snapshots": [{"snapshot-id": True}]}, "snapshot-id must be an integer"),
        ({"snapshots": {}}, "snapshots must be a list"),
        ({"snapshot_log": [{"snapshot-id": 1}]}, "timestamp-ms must be an integer"),
        ({"last_updated_ms": -70_000}, "Invalid update timestamp -70000: before last snapshot log entry"),
        ({"metadata_log": [{"timestamp-ms": 1}]}, "metadata-file must be a string"),
    ],
)
def test_files_that_are_not(changes, message):
    """A file that breaks a rule is refused with that rule."""
    with pytest.raises(InvalidMetadata, match=message):
        read(mended(with_snapshots(1, 2), **changes))


def test_ids_are_unique():
    """Two snapshots, schemas, specs or orders of one id are refused."""
    document = mended(with_snapshots(1))
    for key in ("snapshots", "schemas", "partition-specs", "sort-orders"):
        with pytest.raises(InvalidMetadata, match="one id"):
            read({**document, key: document[key] * 2})


def test_logs_are_ordered_within_a_minute():
    """Log entries may step back by the difference of two clocks, and not by more."""
    table = with_snapshots(1, 2)
    log = [{"timestamp-ms": at, "snapshot-id": 1} for at in (100_000, 40_000)]
    assert len(read(mended(table, snapshot_log=log, last_updated_ms=100_000)).snapshot_log) == 2
    log[1]["timestamp-ms"] = 39_999
    with pytest.raises(InvalidMetadata, match="the snapshot log is not ordered by time"):
        read(mended(table, snapshot_log=log, last_updated_ms=100_000))


def test_version_3_counts_rows():
    """A v3 file must say its next row id."""
    assert read(mended(with_snapshots(1, version=3))).next_row_id == 10
    with pytest.raises(InvalidMetadata, match="next-row-id must be an integer"):
        read(mended(created(3), next_row_id=None))


def test_version_4_is_refused_clearly():
    """A file of format version 4 is refused with the versions that are supported."""
    with pytest.raises(Unsupported, match=r"Unsupported format version: v4 \(supported: v3\)"):
        read({**mended(created(3)), "format-version": 4})


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"null", b'"x"', b"\xff", b'{"format-version": NaN}'])
def test_what_is_no_json_object(raw):
    """Bytes that are no JSON object are refused."""
    with pytest.raises(InvalidMetadata):
        parse_table(raw)


def test_a_file_has_a_bound(monkeypatch):
    """A file that is too large is refused before it is read."""
    monkeypatch.setattr(documents, "MAX_JSON_BYTES", 100)
    with pytest.raises(InvalidMetadata, match="more than 100"):
        parse_table(encode_table(created()))


def test_what_cannot_be_written_is_refused():
    """A file whose unknown fields nest deeper than can be written is refused when it is written."""
    deep = b"[" * 400 + b"]" * 400
    raw = encode_table(created())[:-1] + b',"deep":' + deep + b"}"
    with pytest.raises(InvalidMetadata, match="cannot be written as JSON"):
        encode_table(parse_table(raw))


def test_old_schemas_are_kept_as_they_stand():
    """A schema that is not current is kept even where it could not be read."""
    document = mended(created())
    document["schemas"].append({"type": "struct", "schema-id": 1, "fields": [{"what": "ever"}]})
    table = read(document)
    assert orjson.loads(encode_table(table))["schemas"] == document["schemas"]
    with pytest.raises(InvalidMetadata, match="name must be a string"):
        changed(table, {"action": "set-current-schema", "schema-id": 1})
    document["schemas"][0]["fields"][0]["type"] = "bigint"
    with pytest.raises(InvalidMetadata, match="'bigint' is no type"):
        read(document)


def test_a_table_names_its_parts():
    """A table finds its current schema, spec and order."""
    table = created()
    assert (table.uuid, table.location) == (UUID, LOCATION)
    assert table.current_schema is table.schemas[0]
    assert table.default_spec is table.partition_specs[0]
    assert table.default_sort_order is table.sort_orders[0]
