"""Names, places, properties, statistics and keys of a table; logs of its metadata files."""

import pytest

from lakeshare.errors import Kind
from lakeshare.formats.iceberg.errors import InvalidMetadata, Unsupported
from lakeshare.formats.iceberg.updates import (
    ACTIONS,
    MAX_UPDATES,
    create_from_updates,
    dropped_metadata_files,
    parse_updates,
)
from tests.formats.iceberg.made import (
    LOCATION,
    OTHER_UUID,
    PREVIOUS,
    SCHEMA,
    UUID,
    add,
    changed,
    created,
    ref,
    with_snapshots,
)


def set_properties(**properties):
    return {"action": "set-properties", "updates": {name.replace("_", "-"): text for name, text in properties.items()}}


def statistics(number, path="s3://stats"):
    blob = {"type": "ndv", "snapshot-id": number, "sequence-number": 1, "fields": [1], "properties": {"n": "1"}}
    return {
        "snapshot-id": number,
        "statistics-path": path,
        "file-size-in-bytes": 10,
        "file-footer-size-in-bytes": 4,
        "blob-metadata": [blob],
        "later": 1,
    }


def partition_statistics(number, path="s3://partitions"):
    return {"snapshot-id": number, "statistics-path": path, "file-size-in-bytes": 10}


KEY = {"key-id": "k", "encrypted-key-metadata": "a2V5", "encrypted-by-id": "kms", "properties": {"p": "q"}}


def test_every_update_of_the_specification_is_known():
    """A table takes all 23 updates of the REST specification."""
    assert len(ACTIONS) == 23


def test_a_uuid_is_never_changed():
    """The same UUID in any case changes nothing, and another is refused."""
    table = created()
    assert changed(table, {"action": "assign-uuid", "uuid": UUID.upper()}) is table
    with pytest.raises(InvalidMetadata, match="Cannot reassign uuid"):
        changed(table, {"action": "assign-uuid", "uuid": OTHER_UUID})
    with pytest.raises(InvalidMetadata, match="'x' is no UUID"):
        changed(table, {"action": "assign-uuid", "uuid": "x"})


def test_a_format_version_only_rises():
    """A table moves to a newer format version, stays at its own, and never goes back."""
    table = with_snapshots(1)
    newer = changed(table, {"action": "upgrade-format-version", "format-version": 3})
    assert (newer.format_version, newer.next_row_id) == (3, 0)
    assert changed(newer, {"action": "upgrade-format-version", "format-version": 3}) is newer
    with pytest.raises(InvalidMetadata, match="Cannot downgrade v3 table to v2"):
        changed(newer, {"action": "upgrade-format-version", "format-version": 2})


def test_version_4_is_refused_clearly():
    """Format version 4 is not supported, and the error says what is."""
    with pytest.raises(Unsupported, match=r"unsupported format version: v4 \(supported: v3\)") as refused:
        parse_updates([{"action": "upgrade-format-version", "format-version": 4}])
    assert refused.value.kind is Kind.UNSUPPORTED


def test_the_first_commit_of_version_3_numbers_all_rows():
    """After the upgrade the first snapshot takes row ids from 0, also for the rows that were there."""
    table = changed(with_snapshots(1), {"action": "upgrade-format-version", "format-version": 3})
    table = changed(table, add(2, parent=1, **{"first-row-id": 0, "added-rows": 25}), ref(2))
    assert table.next_row_id == 25


def test_a_location_loses_its_last_slash():
    """A location is stored without slashes at its end."""
    assert changed(created(), {"action": "set-location", "location": "s3://b/x//"}).location == "s3://b/x"
    table = created()
    assert changed(table, {"action": "set-location", "location": LOCATION + "/"}) is table
    with pytest.raises(InvalidMetadata, match="location must not be empty"):
        changed(table, {"action": "set-location", "location": ""})


def test_properties_are_set_and_removed():
    """Properties are set and removed, also under the keys that old clients send."""
    table = changed(created(), set_properties(a="1", b="2"))
    assert (table.properties["a"], table.properties["b"]) == ("1", "2")
    table = changed(table, {"action": "set-properties", "updated": {"c": "3"}}, now_ms=6_000)
    table = changed(table, {"action": "remove-properties", "removals": ["a", "nothing"]})
    table = changed(table, {"action": "remove-properties", "removed": ["b"]})
    assert {name: table.properties.get(name) for name in "abc"} == {"a": None, "b": None, "c": "3"}


def test_reserved_properties_are_never_stored():
    """Names that stand for a table's own fields are passed over."""
    table = created()
    assert changed(table, set_properties(format_version="3", uuid="x", current_schema="{}")) is table


def test_setting_what_is_set_changes_nothing():
    """A commit whose updates cancel out, or say what is so already, returns the same table."""
    table = changed(created(), set_properties(a="1"))
    assert changed(table, set_properties(a="1")) is table
    assert changed(table, set_properties(b="1"), {"action": "remove-properties", "removals": ["b"]}) is table
    assert changed(table) is table


@pytest.mark.parametrize("updates", [{"a": 1}, {"a": None}, [], None])
def test_properties_are_strings(updates):
    """A property that is no string is refused."""
    with pytest.raises(InvalidMetadata):
        parse_updates([{"action": "set-properties", "updates": updates}])


def test_statistics_are_set_by_snapshot():
    """Statistics of a snapshot replace those that it had, and unknown fields stay."""
    table = changed(with_snapshots(1, 2), {"action": "set-statistics", "statistics": statistics(1)})
    table = changed(table, {"action": "set-statistics", "statistics": statistics(2)})
    table = changed(table, {"action": "set-statistics", "snapshot-id": 1, "statistics": statistics(1, "s3://new")})
    assert sorted((item.snapshot_id, item.path) for item in table.statistics) == [(1, "s3://new"), (2, "s3://stats")]
    assert table.statistics[0].document["later"] == 1
    table = changed(table, {"action": "remove-statistics", "snapshot-id": 1})
    assert [item.snapshot_id for item in table.statistics] == [2]
    assert changed(table, {"action": "remove-statistics", "snapshot-id": 1}) is table


def test_statistics_may_not_contradict_themselves():
    """The deprecated snapshot id beside the file must be the file's."""
    with pytest.raises(InvalidMetadata, match="snapshot-id 2 is not that of the file, 1"):
        parse_updates([{"action": "set-statistics", "snapshot-id": 2, "statistics": statistics(1)}])


def test_partition_statistics_are_set_by_snapshot():
    """Partition statistics of a snapshot replace those that it had."""
    update = {"action": "set-partition-statistics", "partition-statistics": partition_statistics(1)}
    table = changed(with_snapshots(1), update)
    assert [(item.snapshot_id, item.path) for item in table.partition_statistics] == [(1, "s3://partitions")]
    assert changed(table, update) is table
    gone = changed(table, {"action": "remove-partition-statistics", "snapshot-id": 1})
    assert gone.partition_statistics == ()


def test_encryption_keys_are_kept():
    """A v3 table keeps encrypted keys; one of the same id stays as it is."""
    table = changed(created(3), {"action": "add-encryption-key", "encryption-key": KEY})
    assert [key.document for key in table.encryption_keys] == [KEY]
    other = {**KEY, "encrypted-key-metadata": "b3RoZXI="}
    assert changed(table, {"action": "add-encryption-key", "encryption-key": other}) is table
    assert changed(table, {"action": "remove-encryption-key", "key-id": "x"}) is table
    assert changed(table, {"action": "remove-encryption-key", "key-id": "k"}).encryption_keys == ()


def test_encryption_keys_need_version_3():
    """A v2 table takes no encryption keys, and a key that is no base64 is refused."""
    with pytest.raises(InvalidMetadata, match="encryption keys are not supported until v3"):
        changed(created(2), {"action": "add-encryption-key", "encryption-key": KEY})
    with pytest.raises(InvalidMetadata, match="must be base64"):
        parse_updates([{"action": "add-encryption-key", "encryption-key": {**KEY, "encrypted-key-metadata": "*"}}])


@pytest.mark.parametrize("action", ["add-view-version", "drop-everything", "", None, 7, ["x"]])
def test_an_unknown_update_is_refused(action):
    """An update of an unknown name is refused before anything is applied."""
    with pytest.raises(Unsupported, match="Cannot convert metadata update action"):
        parse_updates([set_properties(a="1"), {"action": action}])


@pytest.mark.parametrize("found", [None, {}, "x", [1], [None], [{"action": "set-location"}] * 2])
def test_updates_are_objects(found):
    """Updates that are no list of whole objects are refused."""
    with pytest.raises(InvalidMetadata):
        parse_updates(found)


def test_a_request_has_bounds():
    """Too many updates, or JSON that nests too deep, are refused."""
    with pytest.raises(InvalidMetadata, match="more than"):
        parse_updates([{"action": "remove-statistics", "snapshot-id": 1}] * (MAX_UPDATES + 1))
    deep: object = "x"
    for _ in range(300):
        deep = [deep]
    with pytest.raises(InvalidMetadata, match="nests deeper than"):
        parse_updates([{"action": "add-snapshot", "snapshot": {"x": deep}}])


def test_each_commit_logs_the_file_before_it():
    """The metadata log gets the previous file with its own time."""
    table = changed(created(), set_properties(a="1"), now_ms=5_000, previous="s3://0")
    table = changed(table, set_properties(a="2"), now_ms=6_000, previous="s3://1")
    assert [(entry.metadata_file, entry.timestamp_ms) for entry in table.metadata_log] == [
        ("s3://0", 1_000),
        ("s3://1", 5_000),
    ]
    assert changed(table, set_properties(a="3"), previous=None).metadata_log == table.metadata_log


def test_time_never_steps_back():
    """A table is never updated before it was, even where the server's clock steps back."""
    table = changed(created(now_ms=9_000), set_properties(a="1"), now_ms=1_000)
    assert table.last_updated_ms == 9_000


@pytest.mark.parametrize(("limit", "kept"), [(None, 100), ("3", 3), ("0", 1), ("many", 100), ("9" * 30, 100)])
def test_the_metadata_log_has_a_limit(limit, kept):
    """The log keeps as many files as the table's property says, 100 where it says nothing sensible, at least one."""
    table = created(properties={} if limit is None else {"write.metadata.previous-versions-max": limit})
    dropped = []
    for number in range(105):
        new = changed(table, set_properties(n=str(number)), previous=f"s3://{number}")
        dropped.extend(dropped_metadata_files(table, new))
        table = new
    assert [entry.metadata_file for entry in table.metadata_log] == [f"s3://{n}" for n in range(105 - kept, 105)]
    assert dropped == [f"s3://{n}" for n in range(105 - kept)]


def test_a_table_says_whether_dropped_files_are_deleted():
    """Metadata files that fall off the log are to be deleted where the table's property says so."""
    name = "write.metadata.delete-after-commit.enabled"
    assert not created().deletes_dropped_metadata_files
    assert created(properties={name: "TRUE"}).deletes_dropped_metadata_files


CREATE = [
    {"action": "assign-uuid", "uuid": OTHER_UUID},
    {"action": "upgrade-format-version", "format-version": 3},
    {"action": "add-schema", "schema": {**SCHEMA, "schema-id": 0}, "last-column-id": 3},
    {"action": "set-current-schema", "schema-id": -1},
    {"action": "add-spec", "spec": {"spec-id": 0, "fields": []}},
    {"action": "set-default-spec", "spec-id": -1},
    {"action": "add-sort-order", "sort-order": {"order-id": 0, "fields": []}},
    {"action": "set-default-sort-order", "sort-order-id": -1},
    {"action": "set-location", "location": "s3://b/staged/"},
    {"action": "set-properties", "updates": {"a": "1", "format-version": "3"}},
]


def test_a_staged_table_is_made_of_its_updates():
    """A commit with assert-create makes the whole table, snapshots and all, of its updates."""
    lineage = {"first-row-id": 0, "added-rows": 3}
    updates = parse_updates([*CREATE, add(1, **lineage), ref(1)])
    table = create_from_updates(updates, location=None, uuid=UUID, now_ms=5_000)
    assert (table.uuid, table.format_version, table.location) == (OTHER_UUID, 3, "s3://b/staged")
    assert (table.current_schema_id, table.default_spec_id, table.default_sort_order_id) == (0, 0, 0)
    assert (table.last_column_id, table.last_partition_id, table.next_row_id) == (3, 999, 3)
    assert table.properties == {"a": "1"}
    assert table.current_snapshot_id == 1
    assert table.metadata_log == ()


def test_a_created_table_has_defaults():
    """What the updates leave out is v2, unpartitioned and unsorted, at the given place under the given UUID."""
    updates = parse_updates([{"action": "add-schema", "schema": SCHEMA}])
    table = create_from_updates(updates, location=LOCATION + "/", uuid=UUID, now_ms=1)
    assert (table.uuid, table.format_version, table.location) == (UUID, 2, LOCATION)
    assert (table.default_spec.fields, table.default_sort_order.fields) == ((), ())


@pytest.mark.parametrize(
    ("updates", "message"),
    [
        ([], "without a location"),
        ([{"action": "set-location", "location": PREVIOUS}], "without a schema"),
        ([{"action": "add-spec", "spec": {"fields": []}}], "there is no schema yet"),
    ],
)
def test_a_table_needs_a_schema_and_a_location(updates, message):
    """A commit that creates a table without a schema or a location is refused."""
    with pytest.raises(InvalidMetadata, match=message):
        create_from_updates(parse_updates(updates), location=None, uuid=UUID, now_ms=1)
