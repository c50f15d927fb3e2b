"""What is large: many snapshots, many updates, long names, and the ends of all of them."""

import orjson
import pytest

from lakeshare.formats.iceberg import documents, draft, view_draft
from lakeshare.formats.iceberg.errors import MAX_MESSAGE, InvalidMetadata
from lakeshare.formats.iceberg.table import encode_table, parse_table
from lakeshare.formats.iceberg.updates import MAX_ADDED, parse_updates
from lakeshare.formats.iceberg.view_creating import new_view, parse_create_view
from lakeshare.formats.iceberg.view_updates import apply_view_updates, parse_view_updates
from tests.formats.iceberg.made import (
    LOCATION,
    SCHEMA,
    UUID,
    add,
    changed,
    created,
    field,
    log_of,
    ref,
    schema,
    snapshot,
)

MANY = 10_000


@pytest.fixture(scope="module")
def large():
    """Make a table with many snapshots, all of which were current."""
    document = orjson.loads(encode_table(created()))
    document["snapshots"] = [snapshot(number, parent=number - 1) for number in range(1, MANY + 1)]
    document["snapshot-log"] = [
        {"snapshot-id": number, "timestamp-ms": 1_000 + number} for number in range(1, MANY + 1)
    ]
    changes = {"last-sequence-number": MANY, "current-snapshot-id": MANY, "last-updated-ms": 1_000 + MANY}
    return parse_table(orjson.dumps({**document, **changes}))


def test_a_commit_shares_what_it_does_not_change(large):
    """A commit on a table with many snapshots makes no new ones but its own."""
    new = changed(large, add(MANY + 1, parent=MANY), ref(MANY + 1), now_ms=20_000)
    assert len(new.snapshots) == MANY + 1
    assert all(before is after for before, after in zip(large.snapshots, new.snapshots, strict=False))
    assert new.current_snapshot_id == MANY + 1
    assert parse_table(encode_table(new)) == new


def test_many_snapshots_expire_one_by_one(large):
    """Old clients send an update for each snapshot that they expire, and the log is cut once."""
    updates = [{"action": "remove-snapshots", "snapshot-ids": [number]} for number in range(1, MANY)]
    new = changed(large, *updates, now_ms=20_000)
    assert [item.id for item in new.snapshots] == [MANY]
    assert log_of(new) == [(1_000 + MANY, MANY)]


def test_a_long_tail_of_slashes_goes_at_once():
    """Slashes behind a location are taken off in one step, however many there are; those of a scheme stay."""
    found = changed(created(), {"action": "set-location", "location": "s3://b/t" + "/" * 8_000_000})
    assert found.location == "s3://b/t"
    assert changed(created(), {"action": "set-location", "location": "s3://" + "/" * 5}).location == "s3://"
    with pytest.raises(InvalidMetadata, match="location must not be empty"):
        changed(created(), {"action": "set-location", "location": "/" * 5})


def test_a_long_name_is_not_repeated_without_end():
    """A name stands before that of each field within it, so that all of them together are bounded."""
    inside = [field(number, f"c{number}") for number in range(2, 1_002)]
    around = field(1, "n" * 100_000, {"type": "struct", "fields": inside})
    with pytest.raises(InvalidMetadata, match="its names have more than"):
        changed(created(), {"action": "add-schema", "schema": schema(around)})


def test_a_commit_adds_a_bounded_number_of_schemas():
    """Schemas, specs and orders are compared with all others, so that a commit may add only so many."""
    update = {"action": "add-schema", "schema": SCHEMA}
    assert len(parse_updates([update] * MAX_ADDED)) == MAX_ADDED
    with pytest.raises(InvalidMetadata, match=f"add-schema may come {MAX_ADDED} times in one commit"):
        parse_updates([update] * (MAX_ADDED + 1))


def test_many_different_schemas_are_told_apart():
    """Schemas with the same names and other types are different, and each is found again."""
    kinds = ["long", "int", "string", "double", "date"]
    updates = [{"action": "add-schema", "schema": schema(field(1, "a", kind))} for kind in kinds]
    table = changed(created(), *updates, *updates)
    assert len(table.schemas) == 1 + len(kinds)
    again = [*updates[1:2], {"action": "set-current-schema", "schema-id": -1}]
    assert changed(table, *again).current_schema.document["fields"][0]["type"] == "int"


def test_an_id_may_be_given_again():
    """A schema that is added after one was removed is itself, even where it gets the same id."""
    first, second = schema(field(1, "a")), schema(field(1, "a", "string"))
    table = changed(
        created(),
        {"action": "add-schema", "schema": first},
        {"action": "add-schema", "schema": first},
        {"action": "remove-schemas", "schema-ids": [1]},
        {"action": "add-schema", "schema": second},
        {"action": "add-schema", "schema": second},
        {"action": "set-current-schema", "schema-id": -1},
    )
    assert [item.id for item in table.schemas] == [0, 1]
    assert table.current_schema.document["fields"] == second["fields"]


def test_a_table_never_outgrows_its_reader(monkeypatch):
    """A commit that would make a table too large to be read again is refused."""
    monkeypatch.setattr(draft, "MAX_KINDS", 1)
    with pytest.raises(InvalidMetadata, match="a table may have 1 schemas, not 2: remove some first"):
        changed(created(), {"action": "add-schema", "schema": schema(field(1, "a"))})
    table = created()
    monkeypatch.setattr(documents, "MAX_JSON_BYTES", 100)
    with pytest.raises(InvalidMetadata, match="more than 100: expire snapshots first"):
        encode_table(table)


def test_a_view_never_outgrows_its_reader(monkeypatch):
    """A view that is switched to and fro keeps a log of bounded length."""
    monkeypatch.setattr(view_draft, "MAX_VERSIONS", 4)
    version = {
        "version-id": 1, "timestamp-ms": 1, "schema-id": 0, "summary": {}, "default-namespace": [],
        "representations": [{"type": "sql", "sql": "select 1", "dialect": "spark"}],
    }  # fmt: skip
    request = parse_create_view({"name": "v", "schema": SCHEMA, "view-version": version})
    view = new_view(request, uuid=UUID, location=LOCATION, now_ms=1)
    other = {**version, "summary": {"other": "yes"}}
    updates = [{"action": "add-view-version", "view-version": other}]
    for number in range(9):
        updates.append({"action": "set-current-view-version", "view-version-id": 2 - number % 2})
        view = apply_view_updates(view, parse_view_updates(updates), now_ms=number)
        updates.clear()
    assert len(view.version_log) == 4
    wide = [{"action": "add-schema", "schema": schema(field(number, "a"))} for number in range(5)]
    with pytest.raises(InvalidMetadata, match="a view may have 4 versions and schemas"):
        apply_view_updates(view, parse_view_updates(wide), now_ms=1)


def test_errors_have_a_length():
    """An error repeats what a request chose, and not all of it."""
    with pytest.raises(InvalidMetadata) as refused:
        changed(created(), {"action": "add-schema", "schema": schema(field(1, "x" * 100_000, "variant"))})
    assert len(refused.value.message) == MAX_MESSAGE
