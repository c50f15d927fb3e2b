"""Snapshots, branches and tags."""

import pytest

from lakeshare.formats.iceberg.errors import InvalidMetadata, Stale
from lakeshare.formats.iceberg.table import encode_table, only_referenced_snapshots, parse_table
from lakeshare.formats.iceberg.updates import create_from_updates, parse_updates
from tests.formats.iceberg.made import (
    LOCATION,
    UUID,
    add,
    changed,
    created,
    log_of,
    ref,
    snapshot,
    with_snapshots,
)


def test_an_added_snapshot_is_not_current():
    """A snapshot that no reference is set to is kept, and does not become current."""
    table = changed(created(), add(1))
    assert [item.id for item in table.snapshots] == [1]
    assert table.current_snapshot_id is None
    assert table.current_snapshot is None
    assert log_of(table) == []
    assert table.last_sequence_number == 1


def test_main_makes_a_snapshot_current():
    """Setting main to a new snapshot makes it current, from the snapshot's own time on."""
    table = changed(created(), add(1, at=4_321), ref(1))
    assert table.current_snapshot_id == 1
    assert table.current_snapshot == table.snapshot(1)
    assert log_of(table) == [(4_321, 1)]
    assert table.last_updated_ms == 5_000


def test_a_snapshot_is_read_through_names():
    """A snapshot says its parent, its manifest list, its operation and its schema."""
    table = changed(with_snapshots(1), add(2, parent=1, **{"schema-id": 0, "key-id": "k"}), ref(2))
    found = table.snapshot(2)
    assert (found.parent_id, found.operation, found.schema_id, found.key_id) == (1, "append", 0, "k")
    assert found.manifest_list == f"{LOCATION}/metadata/snap-2.avro"
    assert found.manifests == ()
    assert table.snapshot(77) is None


def test_a_rollback_is_logged_with_the_time_of_the_commit():
    """Setting main back to an old snapshot is logged with the time of the commit."""
    table = changed(with_snapshots(1, 2), ref(1), now_ms=9_000)
    assert table.current_snapshot_id == 1
    assert log_of(table) == [(1_001, 1), (1_002, 2), (9_000, 1)]


def test_the_log_never_steps_back():
    """A snapshot of a slow clock is logged no earlier than the entry before it."""
    table = changed(with_snapshots(50), add(60, parent=50, at=7), ref(60))
    assert log_of(table) == [(1_050, 50), (1_050, 60)]


def test_a_writer_of_a_fast_clock_is_refused():
    """A snapshot of more than a minute in the future would spoil the log, and is refused."""
    assert changed(created(), add(1, at=64_000), ref(1)).current_snapshot_id == 1
    with pytest.raises(InvalidMetadata, match="Invalid update timestamp 5000: before last snapshot log entry at 65001"):
        changed(created(), add(1, at=65_001), ref(1))


def test_intermediate_snapshots_are_not_logged():
    """Of several snapshots that one commit adds to main only the last is logged."""
    table = changed(with_snapshots(1), add(2, parent=1), ref(2), add(3, parent=2), ref(3))
    assert log_of(table) == [(1_001, 1), (1_003, 3)]
    assert [item.id for item in table.snapshots] == [1, 2, 3]


def test_removing_a_snapshot_cuts_the_log_before_it():
    """Removing a snapshot drops its log entries and all older ones."""
    table = changed(with_snapshots(1, 2, 3), {"action": "remove-snapshots", "snapshot-ids": [2]})
    assert [item.id for item in table.snapshots] == [1, 3]
    assert log_of(table) == [(1_003, 3)]
    assert table.current_snapshot_id == 3


def test_removing_a_snapshot_removes_what_hangs_on_it():
    """References and statistics of a removed snapshot go with it, and main's head leaves no current snapshot."""
    file = {"snapshot-id": 2, "statistics-path": "s3://s", "file-size-in-bytes": 1}
    full = {**file, "file-footer-size-in-bytes": 1, "blob-metadata": []}
    table = changed(
        with_snapshots(1, 2),
        ref(2, "kept", "tag"),
        ref(1, "other", "tag"),
        {"action": "set-statistics", "statistics": full},
        {"action": "set-partition-statistics", "partition-statistics": file},
    )
    table = changed(table, {"action": "remove-snapshots", "snapshot-ids": [2, 99]})
    assert list(table.refs) == ["other"]
    assert table.current_snapshot_id is None
    assert table.statistics == table.partition_statistics == ()
    assert log_of(table) == []


def test_removing_unknown_snapshots_changes_nothing():
    """Removing snapshots that are not there returns the same table."""
    table = with_snapshots(1)
    assert changed(table, {"action": "remove-snapshots", "snapshot-ids": [5]}) is table


def test_removing_main_keeps_the_log():
    """Removing main leaves no current snapshot, and the log as it was."""
    table = changed(with_snapshots(1, 2), {"action": "remove-snapshot-ref", "ref-name": "main"})
    assert table.current_snapshot_id is None
    assert "main" not in table.refs
    assert log_of(table) == [(1_001, 1), (1_002, 2)]
    assert parse_table(encode_table(table)) == table


def test_removing_a_missing_reference_changes_nothing():
    """Removing a branch or tag that is not there returns the same table."""
    table = with_snapshots(1)
    assert changed(table, {"action": "remove-snapshot-ref", "ref-name": "nothing"}) is table


def test_an_identical_reference_changes_nothing():
    """Setting a reference to what it is returns the same table, null or absent retention alike."""
    table = with_snapshots(1)
    assert changed(table, ref(1)) is table
    assert changed(table, ref(1, **{"max-ref-age-ms": None})) is table
    assert changed(table, ref(1, **{"max-ref-age-ms": 5})) is not table


def test_a_branch_has_its_retention():
    """A branch keeps how long it and its snapshots live."""
    kept = {"max-ref-age-ms": 1, "max-snapshot-age-ms": 2, "min-snapshots-to-keep": 3}
    found = changed(with_snapshots(1), ref(1, "b", **kept)).refs["b"]
    assert (found.is_branch, found.snapshot_id) == (True, 1)
    assert (found.max_ref_age_ms, found.max_snapshot_age_ms, found.min_snapshots_to_keep) == (1, 2, 3)


@pytest.mark.parametrize(
    ("update", "message"),
    [
        (ref(9), "Cannot set main to unknown snapshot: 9"),
        (ref(1, "main", "tag"), "Cannot set main to a tag, it must be a branch"),
        (ref(1, "t", "tag", **{"min-snapshots-to-keep": 1}), "Tags do not support setting minSnapshotsToKeep"),
        (ref(1, "t", "tag", **{"max-snapshot-age-ms": 1}), "Tags do not support setting maxSnapshotAgeMs"),
        (ref(1, "b", **{"min-snapshots-to-keep": 0}), "Min snapshots to keep must be greater than 0"),
        (ref(1, "b", **{"max-snapshot-age-ms": 0}), "Max snapshot age must be greater than 0 ms"),
        (ref(1, "b", **{"max-ref-age-ms": -1}), "Max reference age must be greater than 0"),
        (ref(1, "b", "twig"), "type must be branch or tag"),
        (add(1), "Snapshot already exists for id: 1"),
        ({"action": "add-snapshot", "snapshot": {}}, "snapshot-id must be an integer"),
        ({"action": "add-snapshot", "snapshot": snapshot(2, summary={})}, "operation must be a string"),
        (add(2, summary={"operation": "upsert"}), "operation must be one of"),
        (add(2, summary={"operation": "append", "n": 1}), "summary: n must be a string"),
        (add(2, **{"manifest-list": None}), "manifest-list must be a string"),
        (add(2, **{"manifest-list": None, "manifests": ["s3://m"]}), "manifest-list must be a string"),
        (add(2**63), "snapshot-id must be from"),
        (add(-1), "snapshot-id must not be -1, which stands for no snapshot"),
        (add(2, **{"parent-snapshot-id": 2**63}), "parent-snapshot-id must be from"),
        (add(2, **{"schema-id": 2**31}), "schema-id must be from"),
        (add(2, **{"added-rows": -1}), "added-rows must be from 0"),
    ],
)
def test_what_a_snapshot_or_reference_may_not_be(update, message):
    """A snapshot or reference that breaks a rule is refused with that rule."""
    with pytest.raises(InvalidMetadata, match=message):
        changed(with_snapshots(1), update)


def test_a_stale_sequence_number_is_to_be_retried():
    """A snapshot with a parent whose sequence number is not newer than the table's is stale, not wrong."""
    with pytest.raises(Stale) as refused:
        changed(with_snapshots(1, 2), add(3, sequence=2, parent=1))
    assert refused.value.message == (
        "Validation failed, please retry: Cannot add snapshot with sequence number 2 older than last sequence number 2"
    )


def test_a_snapshot_without_a_parent_may_repeat_a_sequence_number():
    """Replacing a table starts a new history, and never lowers the table's sequence number."""
    table = changed(with_snapshots(1, 2), add(3, sequence=1), ref(3))
    assert table.last_sequence_number == 2
    assert parse_table(encode_table(table)) == table


def test_version_1_has_no_sequence_numbers():
    """A snapshot of a v1 table has sequence number 0, and may list its manifests itself."""
    manifests = {"manifest-list": None, "manifests": ["s3://m"]}
    table = changed(created(1), add(1, sequence=0, **manifests), add(2, sequence=0, parent=1), ref(2))
    assert table.last_sequence_number == 0
    assert table.snapshot(1).manifests == ("s3://m",)
    with pytest.raises(InvalidMetadata, match="Sequence number must be 0 in v1: 3"):
        changed(created(1), add(3))


def test_rows_of_version_3_get_ids():
    """A snapshot of a v3 table takes the next row ids, and moves them on."""
    table = with_snapshots(1, 2, version=3)
    assert table.next_row_id == 20
    assert (table.snapshot(2).first_row_id, table.snapshot(2).added_rows) == (10, 10)
    ahead = changed(table, add(3, parent=2, **{"first-row-id": 100, "added-rows": 7}))
    assert ahead.next_row_id == 107


def test_row_ids_that_are_taken_are_to_be_retried():
    """A snapshot whose first row id is behind the table's next is stale, not wrong."""
    with pytest.raises(Stale) as refused:
        changed(with_snapshots(1, version=3), add(2, parent=1, **{"first-row-id": 9, "added-rows": 1}))
    assert refused.value.message == (
        "Validation failed, please retry: Cannot add a snapshot, first-row-id is behind table next-row-id: 9 < 10"
    )


@pytest.mark.parametrize(
    ("lineage", "message"),
    [
        ({}, "Cannot add a snapshot: first-row-id is null"),
        ({"first-row-id": 10}, "Cannot add a snapshot: added-rows is null"),
        ({"first-row-id": 2**63 - 1, "added-rows": 1}, "row ids end at"),
    ],
)
def test_version_3_needs_row_lineage(lineage, message):
    """A snapshot of a v3 table says its first row id and how many it takes."""
    with pytest.raises(InvalidMetadata, match=message):
        changed(with_snapshots(1, version=3), add(2, parent=1, **lineage))


def test_a_snapshot_needs_schema_spec_and_order():
    """A table that is being created takes no snapshot before its schema, spec and sort order."""
    columns = {"action": "add-schema", "schema": {"type": "struct", "schema-id": 0, "fields": []}}
    spec = {"action": "add-spec", "spec": {"fields": []}}
    for updates, missing in (([], "schema"), ([columns], "partition spec"), ([columns, spec], "sort order")):
        with pytest.raises(InvalidMetadata, match=f"Attempting to add a snapshot before a {missing} is added"):
            create_from_updates(parse_updates([*updates, add(1)]), location=LOCATION, uuid=UUID, now_ms=1)


def test_only_referenced_snapshots_are_kept():
    """For `snapshots=refs` the snapshots that no reference points to are left out, and nothing else."""
    table = changed(with_snapshots(1, 2, 3), ref(1, "t", "tag"))
    found = only_referenced_snapshots(table)
    assert [item.id for item in found.snapshots] == [1, 3]
    assert found.snapshot_log == table.snapshot_log
    assert found.refs == table.refs
