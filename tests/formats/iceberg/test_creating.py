"""New tables: fresh ids, what is bound to them, defaults and versions."""

import pytest

from lakeshare.formats.iceberg.creating import new_table, parse_create_table
from lakeshare.formats.iceberg.errors import InvalidMetadata, Unsupported
from lakeshare.formats.iceberg.table import encode_table, parse_table, table_document
from tests.formats.iceberg.made import LOCATION, SCHEMA, UUID, created, field, schema

PERSON = {"type": "struct", "fields": [field(30, "first", "string"), field(31, "last", "string", required=True)]}
PEOPLE = {"type": "list", "element-id": 12, "element": PERSON, "element-required": False}
BY_NAME = {
    "type": "map", "key-id": 20, "key": "string", "value-id": 21, "value": PERSON, "value-required": True,
}  # fmt: skip
NESTED = schema(
    field(5, "people", PEOPLE), field(4, "owner", {**PERSON, "fields": [field(7, "id", required=True)]}, required=True)
)


def ids(kind):
    """Return names and ids of a type, nested ones too."""
    if isinstance(kind, str):
        return []
    if kind["type"] == "struct":
        return [(f["name"], f["id"], ids(f["type"])) for f in kind["fields"]]
    if kind["type"] == "list":
        return [("element", kind["element-id"], ids(kind["element"]))]
    return [("key", kind["key-id"], ids(kind["key"])), ("value", kind["value-id"], ids(kind["value"]))]


def test_ids_are_given_level_by_level():
    """The columns of each struct are numbered before what is nested in them."""
    table = created(columns=NESTED)
    assert ids(table.current_schema.document) == [
        ("people", 1, [("element", 3, [("first", 4, []), ("last", 5, [])])]),
        ("owner", 2, [("id", 6, [])]),
    ]
    assert table.last_column_id == 6
    assert table.current_schema_id == 0


def test_keys_are_numbered_before_values():
    """A map's key and value get their ids before what is nested in them."""
    table = created(columns=schema(field(9, "m", BY_NAME), field(8, "n")))
    assert ids(table.current_schema.document) == [
        ("m", 1, [("key", 3, []), ("value", 4, [("first", 5, []), ("last", 6, [])])]),
        ("n", 2, []),
    ]


def test_what_names_columns_is_bound_again():
    """Identifier, partition fields and sort fields follow their columns to the new ids."""
    table = created(
        columns=schema(field(30, "a"), field(10, "b", required=True), **{"identifier-field-ids": [10]}),
        **{
            "partition-spec": {
                "spec-id": 9,
                "fields": [{"source-id": 10, "field-id": 77, "transform": "bucket[4]", "name": "p", "future": 1}],
            },
            "write-order": {
                "order-id": 8,
                "fields": [{"source-id": 30, "transform": "identity", "direction": "asc", "null-order": "nulls-last"}],
            },
        },
    )
    assert table.current_schema.identifier_field_ids == (2,)
    assert (table.default_spec_id, table.last_partition_id) == (0, 1000)
    assert table.default_spec.document["fields"] == [
        {"source-id": 2, "field-id": 1000, "transform": "bucket[4]", "name": "p", "future": 1}
    ]
    assert table.default_sort_order_id == 1
    assert table.default_sort_order.fields[0].source_ids == (1,)


def test_a_plain_table_has_defaults():
    """A table that asks for nothing is v2, unpartitioned, unsorted, empty, and compressed with zstd."""
    table = new_table(
        parse_create_table({"name": "t", "schema": SCHEMA}), uuid=UUID, location=LOCATION + "/", now_ms=12
    )
    document = table_document(table)
    assert document["format-version"] == 2
    assert document["location"] == LOCATION
    assert document["last-updated-ms"] == 12
    assert document["current-snapshot-id"] == -1
    assert document["last-partition-id"] == 999
    assert document["partition-specs"] == [{"spec-id": 0, "fields": []}]
    assert document["sort-orders"] == [{"order-id": 0, "fields": []}]
    assert document["properties"] == {"write.parquet.compression-codec": "zstd"}
    empty = ["snapshots", "snapshot-log", "metadata-log", "statistics", "partition-statistics"]
    assert [document[key] for key in empty] == [[]] * 5
    assert document["refs"] == {}
    assert "next-row-id" not in document
    assert "encryption-keys" not in document


def test_the_request_says_more_than_the_metadata():
    """A request's name, wished place and staging are read, and its format version is no property."""
    request = parse_create_table(
        {
            "name": "orders",
            "schema": SCHEMA,
            "location": "s3://b/wish/",
            "stage-create": True,
            "properties": {"format-version": "3", "uuid": "x", "a": "1", "write.parquet.compression-codec": "gzip"},
        }
    )
    assert (request.name, request.location, request.stage_create) == ("orders", "s3://b/wish", True)
    table = new_table(request, uuid=UUID, location=request.location, now_ms=1)
    assert table.format_version == 3
    assert table.properties == {"a": "1", "write.parquet.compression-codec": "gzip"}


def test_version_3_counts_rows():
    """A v3 table starts at row id 0 and says null where it has no snapshot."""
    document = table_document(created(3))
    assert (document["next-row-id"], document["current-snapshot-id"]) == (0, None)


def test_version_1_repeats_its_schema_and_spec():
    """A v1 table has the schema and the spec also in the places where old readers look."""
    spec = {"fields": [{"source-id": 2, "transform": "day", "name": "d"}]}
    document = table_document(created(1, **{"partition-spec": spec}))
    assert document["schema"] == document["schemas"][0]
    assert document["partition-spec"] == document["partition-specs"][0]["fields"]
    assert "last-sequence-number" not in document


@pytest.mark.parametrize("version", [1, 2, 3])
def test_what_is_made_is_read(version):
    """A new table of each version is the same after writing and reading."""
    table = created(version, columns=NESTED)
    assert parse_table(encode_table(table)) == table


@pytest.mark.parametrize(
    ("version", "error", "message"),
    [
        ("4", Unsupported, r"Unsupported format version: v4 \(supported: v3\)"),
        ("0", InvalidMetadata, "Invalid format version: 0"),
        ("two", InvalidMetadata, "format-version must be a number"),
        ("٢", InvalidMetadata, "format-version must be a number"),
        ("9" * 40, InvalidMetadata, "format-version must be a number"),
    ],
)
def test_versions_that_are_not(version, error, message):
    """A format version that is not known is refused with those that are."""
    with pytest.raises(error, match=message):
        created(version)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"schema": None}, "schema must be a JSON object"),
        ({"name": None}, "name must be a string"),
        ({"stage-create": "yes"}, "stage-create must be true or false"),
        ({"properties": {"a": 1}}, "properties: a must be a string"),
        ({"location": ""}, "location must not be empty"),
        ({"partition-spec": {"fields": [{"source-id": 9, "transform": "day", "name": "d"}]}}, "Cannot find source"),
        ({"partition-spec": {"fields": [{"source-id": 3, "transform": "day", "name": "d"}]}}, "Invalid source type"),
        ({"partition-spec": {"fields": [4]}}, "must hold JSON objects"),
        ({"partition-spec": {}}, "fields must be a list"),
        ({"partition-spec": {"fields": [{"source-ids": [], "transform": "day", "name": "d"}]}}, "must not be empty"),
        ({"write-order": {"fields": [{"source-id": 9}]}}, "sort field: direction must be a string"),
        ({"write-order": {}}, "fields must be a list"),
        ({"schema": {**SCHEMA, "identifier-field-ids": [9]}}, "Cannot add fieldId 9 as an identifier field"),
    ],
)
def test_requests_that_are_not(more, message):
    """A request that breaks a rule is refused with that rule."""
    with pytest.raises(InvalidMetadata, match=message):
        new_table(parse_create_table({"name": "t", "schema": SCHEMA, **more}), uuid=UUID, location=LOCATION, now_ms=1)
