"""Views: creation, versions, dialects, history, requirements."""

import orjson
import pytest

from lakeshare.formats.iceberg.errors import InvalidMetadata, RequirementFailed, Unsupported
from lakeshare.formats.iceberg.view import encode_view, parse_view
from lakeshare.formats.iceberg.view_creating import new_view, parse_create_view
from lakeshare.formats.iceberg.view_updates import (
    VIEW_ACTIONS,
    apply_view_updates,
    check_view_requirements,
    parse_view_requirements,
    parse_view_updates,
)
from tests.formats.iceberg.made import LOCATION, OTHER_UUID, SCHEMA, UUID, field, schema


def sql(text, dialect="spark", **more):
    return {"type": "sql", "sql": text, "dialect": dialect, **more}


def version(*representations, schema_id=0, number=1, at=500, **more):
    return {
        "version-id": number,
        "timestamp-ms": at,
        "schema-id": schema_id,
        "summary": {"engine-name": "spark"},
        "default-namespace": ["ns"],
        "representations": list(representations),
        **more,
    }


def request(*representations, **more):
    document = {"name": "v", "schema": SCHEMA, "view-version": version(*representations, number=9, schema_id=-1)}
    return {**document, "properties": {}, **more}


def made(*representations, **more):
    wanted = request(*(representations or (sql("select 1"),)), **more)
    return new_view(parse_create_view(wanted), uuid=UUID, location=LOCATION, now_ms=1_000)


def changed(base, *updates, now_ms=5_000):
    return apply_view_updates(base, parse_view_updates(list(updates)), now_ms=now_ms)


def add(*representations, **more):
    return {"action": "add-view-version", "view-version": version(*representations, **more)}


CURRENT = {"action": "set-current-view-version", "view-version-id": -1}


def set_current(number):
    return {**CURRENT, "view-version-id": number}


def log_of(view):
    return [(entry.timestamp_ms, entry.version_id) for entry in view.version_log]


def test_every_update_of_the_specification_is_known():
    """A view takes all 8 updates of the REST specification."""
    assert len(VIEW_ACTIONS) == 8


def test_a_new_view_has_schema_0_and_version_1():
    """Whatever ids the client sends, a new view has schema 0 and version 1, current since now."""
    view = made(sql("select 1"), sql("select 1", "trino"), properties={"a": "1"}, location="s3://b/wish")
    assert (view.uuid, view.format_version, view.location) == (UUID, 1, LOCATION)
    assert (view.current_version_id, view.current_version.schema_id, view.current_schema.id) == (1, 0, 0)
    assert view.current_version.dialects == ("spark", "trino")
    assert view.current_version.default_namespace == ("ns",)
    assert view.current_schema.document["fields"] == SCHEMA["fields"]
    assert log_of(view) == [(1_000, 1)]
    assert view.properties == {"a": "1"}
    assert parse_view(encode_view(view)) == view


@pytest.mark.parametrize(
    ("document", "error", "message"),
    [
        (request(), InvalidMetadata, "Cannot create view without specifying a query"),
        (request({"type": "graph"}), Unsupported, "Found unsupported view representations"),
        (
            request(sql("1", "trino"), sql("2", "TRINO")),
            InvalidMetadata,
            "Invalid view version: Cannot add multiple queries for dialect trino",
        ),
        (request({"type": "sql", "dialect": "x"}), InvalidMetadata, "sql must be a string"),
        (request(sql("1"), name=None), InvalidMetadata, "name must be a string"),
        (request(sql("1"), schema=schema(field(1, "a"), field(1, "b"))), InvalidMetadata, "multiple fields for id"),
        (request(**{"view-version": None}), InvalidMetadata, "view-version must be a JSON object"),
        (
            request(**{"view-version": {**version(sql("1")), "default-namespace": None}}),
            InvalidMetadata,
            "default-namespace must be a list",
        ),
    ],
)
def test_requests_that_are_not(document, error, message):
    """A request that breaks a rule is refused with that rule."""
    with pytest.raises(error, match=message):
        parse_create_view(document)


def test_a_view_is_replaced():
    """A new version gets the next id, and -1 names it and the schema that came with it."""
    wider = schema(*SCHEMA["fields"], field(4, "more"))
    view = changed(made(), {"action": "add-schema", "schema": wider}, add(sql("select 2"), schema_id=-1), CURRENT)
    assert view.current_version_id == 2
    assert view.current_version.schema_id == view.current_schema.id == 1
    assert log_of(view) == [(1_000, 1), (1_000, 2)]
    assert parse_view(encode_view(view)) == view


def test_a_later_version_is_logged_with_its_own_time():
    """A version that is added and set is current since its own time; one set again since the commit."""
    view = changed(made(), add(sql("select 2"), at=2_000), CURRENT)
    assert changed(view, set_current(1), now_ms=7_000).version_log[-1].timestamp_ms == 7_000
    assert log_of(view) == [(1_000, 1), (2_000, 2)]


def test_an_equal_version_is_not_added_twice():
    """A version that says the same takes the id of the one that is there, whatever its number and time."""
    view = made()
    assert changed(view, add(sql("select 1"), at=9, number=7), CURRENT) is view
    assert changed(view, {"action": "add-schema", "schema": SCHEMA}, add(sql("select 1"), schema_id=-1)) is view


def test_a_version_is_added_without_being_current():
    """A version that is added and not set stays beside the current one."""
    view = changed(made(), add(sql("select 2")))
    assert [item.id for item in view.versions] == [1, 2]
    assert view.current_version_id == 1
    assert log_of(view) == [(1_000, 1)]


def test_dialects_are_not_lost():
    """Replacing a view keeps its dialects, unless its property lets them go."""
    view = made(sql("1"), sql("1", "trino"))
    with pytest.raises(InvalidMetadata) as refused:
        changed(view, add(sql("2")), CURRENT)
    assert refused.value.message == (
        "Cannot replace view due to loss of view dialects (replace.drop-dialect.allowed=false):\n"
        "Previous dialects: [spark, trino]\nNew dialects: [spark]"
    )
    allowed = {"action": "set-properties", "updates": {"replace.drop-dialect.allowed": "true"}}
    assert changed(view, allowed, add(sql("2")), CURRENT).current_version.dialects == ("spark",)


@pytest.mark.parametrize(("limit", "kept"), [(None, 10), ("3", 3), ("1", 1)])
def test_history_has_a_limit(limit, kept):
    """Old versions go when there are more than the view's property says, and the log with them."""
    view = made(properties={} if limit is None else {"version.history.num-entries": limit})
    for number in range(2, 15):
        view = changed(view, add(sql(f"select {number}"), at=1_000 + number), CURRENT)
    assert [item.id for item in view.versions] == list(range(15 - kept, 15))
    assert [item.version_id for item in view.version_log] == list(range(15 - kept, 15))


def test_the_current_version_outlives_the_limit():
    """The current version and those that one commit adds are kept, however many."""
    view = made(properties={"version.history.num-entries": "1"})
    view = changed(view, add(sql("2")), add(sql("3")))
    assert [item.id for item in view.versions] == [1, 2, 3]
    view = changed(view, {"action": "set-properties", "updates": {"a": "1"}})
    assert [item.id for item in view.versions] == [1]


@pytest.mark.parametrize("limit", ["0", "-1", "many", "9" * 12])
def test_a_limit_is_positive(limit):
    """A history limit that is no positive number is refused."""
    update = {"action": "set-properties", "updates": {"version.history.num-entries": limit}}
    with pytest.raises(InvalidMetadata, match=r"version\.history\.num-entries must be positive"):
        changed(made(), update)


def test_properties_and_location():
    """Properties are set and removed, and a location loses its last slash."""
    view = changed(
        made(properties={"a": "1", "b": "2"}),
        {"action": "set-properties", "updates": {"c": "3"}},
        {"action": "remove-properties", "removals": ["a"]},
        {"action": "set-location", "location": "s3://b/x/"},
    )
    assert view.properties == {"b": "2", "c": "3"}
    assert view.location == "s3://b/x"


def test_what_changes_nothing():
    """A commit that says what is so already returns the same view."""
    view = made()
    same = [
        {"action": "assign-uuid", "uuid": UUID.upper()},
        {"action": "upgrade-format-version", "format-version": 1},
        set_current(1),
        {"action": "set-location", "location": LOCATION},
    ]
    assert changed(view, *same) is view


@pytest.mark.parametrize(
    ("update", "error", "message"),
    [
        ({"action": "assign-uuid", "uuid": OTHER_UUID}, InvalidMetadata, "Cannot reassign uuid"),
        ({"action": "upgrade-format-version", "format-version": 2}, Unsupported, "Unsupported format version: 2"),
        (set_current(7), InvalidMetadata, "Cannot set current version to unknown version: 7"),
        (CURRENT, InvalidMetadata, "Cannot set last version id: no current version id has been set"),
        (add(sql("2"), schema_id=7), InvalidMetadata, "Cannot add version with unknown schema: 7"),
        (add(sql("2"), schema_id=-1), InvalidMetadata, "Cannot set last added schema: no schema has been added"),
        (add(sql("2", "trino"), sql("3", "Trino")), InvalidMetadata, "Cannot add multiple queries for dialect trino"),
        ({"action": "add-snapshot"}, Unsupported, "is no update of a view"),
        ({"action": None}, Unsupported, "is no update of a view"),
    ],
)
def test_updates_that_are_not(update, error, message):
    """An update that breaks a rule is refused with that rule."""
    with pytest.raises(error, match=message):
        changed(made(), update)


def test_a_view_is_required_by_its_uuid():
    """A commit may require that the view is the one it was made for, and nothing else."""
    check_view_requirements(parse_view_requirements([{"type": "assert-view-uuid", "uuid": UUID.upper()}]), made())
    with pytest.raises(RequirementFailed) as refused:
        check_view_requirements(parse_view_requirements([{"type": "assert-view-uuid", "uuid": OTHER_UUID}]), made())
    assert refused.value.message == (f"Requirement failed: view UUID does not match: expected {UUID} != {OTHER_UUID}")
    with pytest.raises(Unsupported, match="is no requirement of a view"):
        parse_view_requirements([{"type": "assert-table-uuid", "uuid": UUID}])


def test_what_is_not_known_is_kept():
    """Fields of a newer writer and representations of another type stay, through reading, changing and writing."""
    document = orjson.loads(encode_view(made()))
    document["x-future"] = 1
    document["versions"][0]["x-future"] = 2
    document["versions"][0]["representations"].append({"type": "graph", "nodes": []})
    document["version-log"][0]["x-future"] = 3
    view = changed(parse_view(orjson.dumps(document)), {"action": "set-properties", "updates": {"a": "1"}})
    assert orjson.loads(encode_view(view)) == {**document, "properties": {"a": "1"}}


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"format-version": 2}, Unsupported, "Unsupported format version: 2"),
        ({"format-version": 0}, InvalidMetadata, "Invalid format version: 0"),
        ({"view-uuid": None}, InvalidMetadata, "view-uuid must be a string"),
        ({"current-version-id": 5}, InvalidMetadata, "Cannot find current version 5"),
        ({"schemas": []}, InvalidMetadata, "Cannot find current schema with id 0"),
        ({"versions": [1]}, InvalidMetadata, "must hold JSON objects"),
        ({"version-log": [{"version-id": 1}]}, InvalidMetadata, "timestamp-ms must be an integer"),
        ({"versions": [version(sql("1"))] * 2}, InvalidMetadata, "two versions or two schemas"),
        ({"versions": [version(representations=None)]}, InvalidMetadata, "representations must be a list"),
    ],
)
def test_files_that_are_not(changes, error, message):
    """A file that breaks a rule is refused with that rule."""
    with pytest.raises(error, match=message):
        parse_view(orjson.dumps({**orjson.loads(encode_view(made())), **changes}))
