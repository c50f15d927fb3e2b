"""PyIceberg as a second opinion: it reads what is made here, and folds as here, except where its fold falls short."""

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadataUtil, new_table_metadata
from pyiceberg.table.sorting import SortOrder
from pyiceberg.table.update import TableUpdate, update_table_metadata
from pyiceberg.view.metadata import ViewMetadata

from lakeshare.formats.iceberg.creating import new_table, parse_create_table
from lakeshare.formats.iceberg.table import encode_table, parse_table, table_document
from lakeshare.formats.iceberg.updates import apply_updates, parse_updates
from lakeshare.formats.iceberg.view import encode_view
from lakeshare.formats.iceberg.view_creating import new_view, parse_create_view
from tests.formats.iceberg.made import (
    LOCATION,
    PREVIOUS,
    SCHEMA,
    UUID,
    add,
    created,
    field,
    ref,
    schema,
    with_snapshots,
)

THEIR_UPDATES = TypeAdapter(list[TableUpdate])
CLOCKS = {"last-updated-ms"}
"""PyIceberg asks its own clock, and takes a snapshot's time for the table's."""


def theirs(table):
    """Read with PyIceberg what is written here."""
    return TableMetadataUtil.parse_raw(encode_table(table).decode())


def their_fold(base, updates):
    parsed = THEIR_UPDATES.validate_json(orjson.dumps(updates))
    return update_table_metadata(theirs(base), tuple(parsed), metadata_location=PREVIOUS)


def our_fold(base, updates):
    return apply_updates(base, parse_updates(updates), now_ms=5_000, previous_location=PREVIOUS)


def compare(ours, their, *, but=CLOCKS):
    mine = theirs(ours).model_dump()
    other = their.model_dump()
    assert {key: value for key, value in mine.items() if key not in but} == {
        key: value for key, value in other.items() if key not in but
    }


WIDER = {**schema(*SCHEMA["fields"], field(4, "more", "string")), "schema-id": 1}
DAY = {"spec-id": 1, "fields": [{"source-id": 2, "field-id": 1000, "transform": "day", "name": "d"}]}
BY_NAME = {
    "order-id": 1,
    "fields": [{"source-id": 3, "transform": "identity", "direction": "asc", "null-order": "nulls-first"}],
}
FILE = {
    "snapshot-id": 1, "statistics-path": "s3://s", "file-size-in-bytes": 9, "file-footer-size-in-bytes": 3,
    "blob-metadata": [{"type": "apache-datasketches-theta-v1", "snapshot-id": 1, "sequence-number": 1, "fields": [1]}],
}  # fmt: skip
PARTITIONS = {"snapshot-id": 1, "statistics-path": "s3://p", "file-size-in-bytes": 9}

AGREED = {
    "assign-uuid": [{"action": "assign-uuid", "uuid": UUID}],
    "upgrade-format-version": [{"action": "upgrade-format-version", "format-version": 2}],
    "schema": [
        {"action": "add-schema", "schema": WIDER, "last-column-id": 4},
        {"action": "set-current-schema", "schema-id": -1},
    ],
    "spec": [{"action": "add-spec", "spec": DAY}, {"action": "set-default-spec", "spec-id": -1}],
    "order": [
        {"action": "add-sort-order", "sort-order": BY_NAME},
        {"action": "set-default-sort-order", "sort-order-id": -1},
    ],
    "append": [add(3, parent=2), ref(3)],
    "branch": [add(3, parent=1), ref(3, "b", **{"min-snapshots-to-keep": 2})],
    "tag": [ref(1, "t", "tag", **{"max-ref-age-ms": 5})],
    "remove-ref": [{"action": "remove-snapshot-ref", "ref-name": "main"}],
    "remove-oldest": [{"action": "remove-snapshots", "snapshot-ids": [1]}],
    "location": [{"action": "set-location", "location": "s3://b/other"}],
    "properties": [
        {"action": "set-properties", "updates": {"a": "1", "b": "2"}},
        {"action": "remove-properties", "removals": ["a"]},
    ],
    "statistics": [
        {"action": "set-statistics", "statistics": FILE},
        {"action": "set-partition-statistics", "partition-statistics": PARTITIONS},
    ],
    "statistics-removed": [
        {"action": "set-statistics", "statistics": FILE},
        {"action": "remove-statistics", "snapshot-id": 1},
        {"action": "set-partition-statistics", "partition-statistics": PARTITIONS},
    ],
    "partition-statistics-removed": [
        {"action": "set-statistics", "statistics": FILE},
        {"action": "set-partition-statistics", "partition-statistics": PARTITIONS},
        {"action": "remove-partition-statistics", "snapshot-id": 1},
    ],
    "old-schema": [
        {"action": "add-schema", "schema": WIDER},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "remove-schemas", "schema-ids": [0]},
    ],
    "old-spec": [
        {"action": "add-spec", "spec": DAY},
        {"action": "set-default-spec", "spec-id": -1},
        {"action": "remove-partition-specs", "spec-ids": [0]},
    ],
}
OF_A_PARENT = {"remove-oldest"}
"""PyIceberg takes the parent from snapshots whose parent is removed; here a snapshot stays as it was written."""


@pytest.mark.parametrize("name", AGREED)
def test_both_folds_agree(name):
    """PyIceberg makes of a v2 table and a commit what is made here."""
    base = with_snapshots(1, 2)
    compare(our_fold(base, AGREED[name]), their_fold(base, AGREED[name]), but=CLOCKS | _but(name))


def _but(name):
    return {"snapshots"} if name in OF_A_PARENT else set()


@pytest.mark.parametrize("name", ["schema", "spec", "order", "tag", "properties", "location"])
def test_both_folds_agree_on_version_1(name):
    """PyIceberg makes of a v1 table and a commit what is made here."""
    base = with_snapshots(1, 2, version=1)
    repeated = {"schema", "partition-spec"}
    compare(our_fold(base, AGREED[name]), their_fold(base, AGREED[name]), but=CLOCKS | repeated)


def test_both_folds_agree_on_row_lineage():
    """PyIceberg counts the row ids of a v3 table as they are counted here."""
    base = with_snapshots(1, version=3)
    updates = [add(2, parent=1, **{"first-row-id": 10, "added-rows": 7}), ref(2)]
    compare(our_fold(base, updates), their_fold(base, updates))


KINDS = st.recursive(
    st.sampled_from(["long", "string", "decimal(9,2)", "timestamptz", "fixed[4]", "uuid"]),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda kinds: ("struct", kinds)),
        inner.map(lambda kind: ("list", [kind])),
        st.tuples(inner, inner).map(lambda kinds: ("map", list(kinds))),
    ),
    max_leaves=8,
)


def spelled(kind, ids):
    """Return a type's document, with ids in no sensible order."""
    if isinstance(kind, str):
        return kind
    name, inner = kind
    if name == "struct":
        fields = [field(next(ids), f"f{n}", spelled(one, ids), required=n % 2 == 0) for n, one in enumerate(inner)]
        return {"type": "struct", "fields": fields}
    if name == "list":
        return {"type": "list", "element-id": next(ids), "element": spelled(inner[0], ids), "element-required": True}
    return {
        "type": "map", "key-id": next(ids), "key": spelled(inner[0], ids), "value-id": next(ids),
        "value": spelled(inner[1], ids), "value-required": False,
    }  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(KINDS, min_size=1, max_size=4), st.integers(1, 2))
def test_both_number_columns_alike(kinds, version):
    """PyIceberg gives the columns of a new table, and what is nested in them, the ids that are given here."""
    columns = spelled(("struct", ["long", *kinds]), iter(range(1_000, 0, -1)))
    first = columns["fields"][0]["id"]
    part = {"source-id": first, "field-id": 1000, "transform": "bucket[4]", "name": "p"}
    spec = {"spec-id": 0, "fields": [part]}
    order = {**BY_NAME, "fields": [{**BY_NAME["fields"][0], "source-id": first}]}
    request = {"name": "t", "schema": columns, "partition-spec": spec, "write-order": order}
    properties = {"format-version": str(version), "write.parquet.compression-codec": "zstd"}
    ours = new_table(parse_create_table({**request, "properties": properties}), uuid=UUID, location=LOCATION, now_ms=1)
    their = new_table_metadata(
        Schema.model_validate(columns),
        PartitionSpec.model_validate(spec),
        SortOrder.model_validate(order),
        LOCATION,
        properties,
        UUID,
    )
    compare(ours, their)


@pytest.mark.parametrize("version", [1, 2])
def test_what_they_write_is_read(version):
    """What PyIceberg writes of a table (v3 it does not write) is read as the table that it was."""
    table = with_snapshots(1, 2, version=version)
    again = parse_table(theirs(table).model_dump_json(by_alias=True).encode())
    assert theirs(again) == theirs(table)


def test_they_read_views():
    """PyIceberg reads the views that are made here."""
    version = {
        "version-id": 1, "timestamp-ms": 1, "schema-id": 0, "summary": {}, "default-namespace": ["ns"],
        "representations": [{"type": "sql", "sql": "select 1", "dialect": "spark"}],
    }  # fmt: skip
    request = parse_create_view({"name": "v", "schema": SCHEMA, "view-version": version, "properties": {}})
    view = new_view(request, uuid=UUID, location=LOCATION, now_ms=1)
    found = ViewMetadata.model_validate_json(encode_view(view))
    assert found.current_version_id == 1


def test_they_add_a_schema_twice():
    """PyIceberg adds an equal schema again, under the id that the client sent; here it is one schema."""
    base = created()
    updates = [{"action": "add-schema", "schema": {**SCHEMA, "schema-id": 0}}]
    assert [item.schema_id for item in their_fold(base, updates).schemas] == [0, 0]
    assert our_fold(base, updates) is base


def test_they_leave_gaps_in_the_log():
    """PyIceberg takes a removed snapshot out of the middle of the log, so that time travel finds a wrong one."""
    base = with_snapshots(1, 2, 3)
    updates = [{"action": "remove-snapshots", "snapshot-ids": [2]}]
    assert [item.snapshot_id for item in their_fold(base, updates).snapshot_log] == [1, 3]
    assert [item.snapshot_id for item in our_fold(base, updates).snapshot_log] == [3]


def test_they_log_intermediate_snapshots():
    """PyIceberg logs snapshots that were never current to anyone."""
    base = with_snapshots(1)
    updates = [add(2, parent=1), ref(2), add(3, parent=2), ref(3)]
    assert [item.snapshot_id for item in their_fold(base, updates).snapshot_log] == [1, 2, 3]
    assert [item.snapshot_id for item in our_fold(base, updates).snapshot_log] == [1, 3]


def test_they_lose_what_they_do_not_know():
    """PyIceberg drops the fields of a newer writer; here they are kept."""
    document = {**table_document(created()), "x-future": 1}
    table = parse_table(orjson.dumps(document))
    assert "x-future" not in their_fold(table, AGREED["properties"]).model_dump_json(by_alias=True)
    assert our_fold(table, AGREED["properties"]).extra == {"x-future": 1}


def test_they_do_not_take_every_update():
    """PyIceberg has no updates of encryption keys; here they are stored."""
    updates = [{"action": "add-encryption-key", "encryption-key": {"key-id": "k", "encrypted-key-metadata": ""}}]
    with pytest.raises(ValueError, match="add-encryption-key"):
        their_fold(created(3), updates)
    assert len(our_fold(created(3), updates).encryption_keys) == 1
