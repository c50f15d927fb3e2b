"""Commits leave metadata that is whole, whatever they say; mangled documents are refused in our words."""

import copy

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakeshare.formats.iceberg.creating import new_table, parse_create_table
from lakeshare.formats.iceberg.errors import IcebergError
from lakeshare.formats.iceberg.requirements import check_requirements, is_create, parse_requirements
from lakeshare.formats.iceberg.table import encode_table, only_referenced_snapshots, parse_table
from lakeshare.formats.iceberg.updates import (
    apply_updates,
    create_from_updates,
    dropped_metadata_files,
    parse_updates,
)
from lakeshare.formats.iceberg.view import encode_view, parse_view
from lakeshare.formats.iceberg.view_creating import new_view, parse_create_view
from lakeshare.formats.iceberg.view_updates import (
    apply_view_updates,
    parse_view_requirements,
    parse_view_updates,
)
from tests.formats.iceberg.made import LOCATION, SCHEMA, UUID, created, field, schema, snapshot, with_snapshots

IDS = st.one_of(st.integers(1, 6), st.sampled_from([-2, -1, 0, 2**63 - 1]))
NUMBERS = st.integers(-1, 4)
NAMES = st.sampled_from(["main", "audit", "v1"])
GROWING = [
    "format_version", "last_sequence_number", "last_updated_ms", "last_column_id", "last_partition_id", "next_row_id",
]  # fmt: skip
FUTURE = st.sampled_from([{}, {"x-future": {"deep": [1, None]}}])
TRANSFORMS = st.sampled_from(["identity", "day", "bucket[4]", "truncate[2]", "void", "zorder"])


def update(action, **parts):
    def made(values):
        return {"action": action, **{key.replace("_", "-"): value for key, value in values.items()}}

    return st.fixed_dictionaries(parts).map(made)


def _columns():
    more = st.sampled_from([field(4, "n4"), field(5, "n5", "string"), field(6, "v", "variant"), field(3, "three")])
    return st.builds(
        lambda fields, future: {**schema(*fields), **future},
        st.lists(st.one_of(st.sampled_from(SCHEMA["fields"]), more), max_size=4),
        FUTURE,
    )


def _specs():
    part = st.builds(
        lambda source, transform, number: {
            "source-id": source,
            "transform": transform,
            "name": f"{transform}_{source}",
            **({} if number is None else {"field-id": number}),
        },
        st.integers(1, 5),
        TRANSFORMS,
        st.sampled_from([None, None, 1000, 1001, 1005]),
    )
    return st.builds(lambda fields, future: {"fields": fields, **future}, st.lists(part, max_size=3), FUTURE)


def _orders():
    key = st.builds(
        lambda source, transform: {
            "source-id": source, "transform": transform, "direction": "asc", "null-order": "nulls-first",
        },
        st.integers(1, 5),
        TRANSFORMS,
    )  # fmt: skip
    return st.builds(lambda fields: {"fields": fields}, st.lists(key, max_size=2))


def _snapshots():
    return st.builds(
        lambda number, sequence, parent, at, first, future: {
            **snapshot(number, sequence=sequence, parent=parent, at=at),
            "first-row-id": first,
            "added-rows": 3,
            **future,
        },
        IDS,
        st.integers(0, 12),
        st.one_of(st.none(), IDS),
        st.integers(0, 9_000),
        st.integers(0, 20),
        FUTURE,
    )


FILE = st.builds(
    lambda number: {
        "snapshot-id": number, "statistics-path": "s3://s", "file-size-in-bytes": 1, "file-footer-size-in-bytes": 1,
        "blob-metadata": [],
    },
    IDS,
)  # fmt: skip
KEY = st.builds(lambda name: {"key-id": name, "encrypted-key-metadata": "aa=="}, NAMES)
UPDATES = st.one_of(
    update("upgrade-format-version", format_version=st.integers(1, 3)),
    update("add-schema", schema=_columns()),
    update("set-current-schema", schema_id=NUMBERS),
    update("add-spec", spec=_specs()),
    update("set-default-spec", spec_id=NUMBERS),
    update("add-sort-order", sort_order=_orders()),
    update("set-default-sort-order", sort_order_id=NUMBERS),
    update("add-snapshot", snapshot=_snapshots()),
    update("add-snapshot", snapshot=_snapshots()),
    update("set-snapshot-ref", ref_name=NAMES, type=st.sampled_from(["branch", "tag"]), snapshot_id=IDS),
    update("set-snapshot-ref", ref_name=st.just("main"), type=st.just("branch"), snapshot_id=IDS),
    update("remove-snapshots", snapshot_ids=st.lists(IDS, max_size=2)),
    update("remove-snapshot-ref", ref_name=NAMES),
    update("set-location", location=st.sampled_from(["s3://b/1", "s3://b/2/"])),
    update("set-properties", updates=st.dictionaries(NAMES, NAMES, max_size=2)),
    update("remove-properties", removals=st.lists(NAMES, max_size=2)),
    update("set-statistics", statistics=FILE),
    update("remove-statistics", snapshot_id=IDS),
    update("set-partition-statistics", partition_statistics=FILE),
    update("remove-partition-statistics", snapshot_id=IDS),
    update("remove-partition-specs", spec_ids=st.lists(NUMBERS, max_size=2)),
    update("remove-schemas", schema_ids=st.lists(NUMBERS, max_size=2)),
    update("add-encryption-key", encryption_key=KEY),
    update("remove-encryption-key", key_id=NAMES),
)
COMMITS = st.lists(st.tuples(st.lists(UPDATES, min_size=1, max_size=3), st.integers(0, 9_000)), max_size=12)


def unique(items):
    ids = [item.id for item in items]
    return len(set(ids)) == len(ids)


def check_whole(table, before):
    """Hold what is true of every table after every commit."""
    assert parse_table(encode_table(table)) == table
    assert table.extra == before.extra
    for items in (table.schemas, table.partition_specs, table.sort_orders, table.snapshots, table.encryption_keys):
        assert unique(items)
    ids = {item.id for item in table.snapshots}
    assert {ref.snapshot_id for ref in table.refs.values()} <= ids
    main = table.refs.get("main")
    assert (None if main is None else main.snapshot_id) == table.current_snapshot_id
    times = [entry.timestamp_ms for entry in table.snapshot_log]
    assert times == sorted(times)
    if table.current_snapshot_id is not None:
        assert table.snapshot_log[-1].snapshot_id == table.current_snapshot_id
    assert {entry.snapshot_id for entry in table.snapshot_log} <= ids | {e.snapshot_id for e in before.snapshot_log}
    assert table.current_schema.id == table.current_schema_id
    assert table.default_spec.id == table.default_spec_id
    assert table.default_sort_order.id == table.default_sort_order_id
    check_forward(table, before)


def check_forward(table, before):
    """Hold what only ever grows."""
    assert table.uuid == before.uuid
    for name in GROWING:
        assert getattr(table, name) >= getattr(before, name)
    assert max((item.sequence_number for item in table.snapshots), default=0) <= table.last_sequence_number
    assert table.metadata_log[-1].timestamp_ms == before.last_updated_ms
    assert {item.document["snapshot-id"] for item in only_referenced_snapshots(table).snapshots} == {
        ref.snapshot_id for ref in table.refs.values()
    }


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 3), COMMITS)
def test_every_commit_leaves_a_whole_table(version, commits):
    """After any commits the file reads back as it was, every reference resolves, ids are unique, logs are ordered."""
    document = {**orjson.loads(encode_table(created(version, now_ms=0))), "x-future": {"kept": True}}
    table = parse_table(orjson.dumps(document))
    for number, (updates, now_ms) in enumerate(commits):
        raw = encode_table(table)
        try:
            new = apply_updates(table, parse_updates(updates), now_ms=now_ms, previous_location=f"s3://{number}")
        except IcebergError:
            assert encode_table(table) == raw
            continue
        assert encode_table(table) == raw
        if new is not table:
            assert new != table
            check_whole(new, table)
            assert dropped_metadata_files(table, new) == ()
        table = new


@settings(max_examples=100, deadline=None)
@given(COMMITS)
def test_one_commit_or_many(commits):
    """Updates that are split over commits lead to the same schemas, specs, orders, snapshots and references."""
    whole = [update for updates, _ in commits for update in updates]
    start = created(3, now_ms=0)
    try:
        at_once = apply_updates(start, parse_updates(whole), now_ms=9_000, previous_location=None)
        table = start
        for updates, _ in commits:
            table = apply_updates(table, parse_updates(updates), now_ms=9_000, previous_location=None)
    except IcebergError:
        return
    for name in ("schemas", "partition_specs", "sort_orders", "snapshots", "refs", "properties", "next_row_id"):
        assert getattr(table, name) == getattr(at_once, name)


JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=5), st.sampled_from(["struct", "list", "map", "long", "main", "tag", "sql", -1, 0, 1]),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=6,
)  # fmt: skip


def paths_of(value, path=()):
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from paths_of(item, (*path, key))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from paths_of(item, (*path, place))


@st.composite
def mangled(draw, document):
    """Return a document of which some parts are gone, doubled, swapped or something else."""
    found = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        paths = [path for path in paths_of(found) if path]
        if not paths:
            return found
        *above, last = draw(st.sampled_from(paths))
        parent = found
        for step in above:
            parent = parent[step]
        match draw(st.integers(0, 3)):
            case 0:
                del parent[last]
            case 1 if isinstance(parent, list):
                parent.append(copy.deepcopy(parent[last]))
            case 2:
                parent[last] = copy.deepcopy(draw(st.sampled_from([parent, *list(_values(parent))])))
            case _:
                parent[last] = draw(JSON)
    return found


def _values(parent):
    return parent.values() if isinstance(parent, dict) else parent


MAP = {"type": "map", "key-id": 9, "key": "string", "value-id": 10}


def full_table(version):
    """Return a document that has something of everything."""
    document = orjson.loads(encode_table(with_snapshots(1, 2, version=version)))
    document["schemas"][0]["fields"] += [
        field(4, "s", {"type": "struct", "fields": [field(5, "x", "decimal(9,2)")]}),
        field(6, "l", {"type": "list", "element-id": 7, "element": "string", "element-required": True}),
        field(8, "m", {**MAP, "value": "long", "value-required": False}),
    ]
    spec = {"spec-id": 1, "fields": [{"source-id": 2, "field-id": 1000, "transform": "day", "name": "d"}]}
    document["partition-specs"].append(spec)
    key = {"source-id": 1, "transform": "identity", "direction": "asc", "null-order": "nulls-first"}
    document["sort-orders"].append({"order-id": 1, "fields": [key]})
    file = {"snapshot-id": 1, "statistics-path": "s", "file-size-in-bytes": 1, "file-footer-size-in-bytes": 1}
    blob = {"type": "t", "snapshot-id": 1, "sequence-number": 1, "fields": [1], "properties": {"a": "b"}}
    document["statistics"] = [{**file, "blob-metadata": [blob]}]
    document["partition-statistics"] = [file]
    document["encryption-keys"] = [{"key-id": "k", "encrypted-key-metadata": "", "properties": {}}]
    return document


CHANGES = parse_updates(
    [
        {"action": "add-schema", "schema": schema(field(1, "id", required=True), field(2, "at", "timestamptz"))},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": {"fields": [{"source-id": 2, "transform": "month", "name": "m"}]}},
        {"action": "add-sort-order", "sort-order": {"fields": []}},
        {"action": "remove-snapshots", "snapshot-ids": [1]},
        {"action": "set-properties", "updates": {"a": "b"}},
    ]
)


@pytest.mark.parametrize("version", [1, 2, 3])
@settings(max_examples=100, deadline=None)
@given(st.data())
def test_mangled_files_are_refused_in_our_words(version, data):
    """A mangled metadata file is read and changed, or refused as such, and nothing else happens."""
    raw = orjson.dumps(data.draw(mangled(full_table(version))))
    try:
        table = parse_table(raw)
        assert parse_table(encode_table(table)) == table
        assert apply_updates(table, (), now_ms=1, previous_location=None) is table
        new = apply_updates(table, CHANGES, now_ms=9_000, previous_location="s3://p")
        assert parse_table(encode_table(new)) == new
    except IcebergError as refused:
        assert refused.message  # noqa: PT017 what is refused says why


ALL_UPDATES = [
    {"action": "assign-uuid", "uuid": UUID},
    {"action": "upgrade-format-version", "format-version": 3},
    {"action": "add-schema", "schema": full_table(2)["schemas"][0]},
    {"action": "set-current-schema", "schema-id": -1},
    {"action": "add-spec", "spec": {"fields": [{"source-id": 2, "transform": "bucket[4]", "name": "p"}]}},
    {"action": "set-default-spec", "spec-id": -1},
    {"action": "add-sort-order", "sort-order": full_table(2)["sort-orders"][1]},
    {"action": "set-default-sort-order", "sort-order-id": -1},
    {"action": "set-location", "location": LOCATION},
    {"action": "add-snapshot", "snapshot": {**snapshot(1), "first-row-id": 0, "added-rows": 1}},
    {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": 1, "max-ref-age-ms": 1},
    {"action": "set-properties", "updates": {"a": "b"}},
    {"action": "remove-properties", "removals": ["a"]},
    {"action": "set-statistics", "statistics": full_table(2)["statistics"][0]},
    {"action": "remove-statistics", "snapshot-id": 1},
    {"action": "set-partition-statistics", "partition-statistics": full_table(2)["partition-statistics"][0]},
    {"action": "remove-partition-statistics", "snapshot-id": 1},
    {"action": "remove-partition-specs", "spec-ids": [7]},
    {"action": "remove-schemas", "schema-ids": [7]},
    {"action": "add-encryption-key", "encryption-key": {"key-id": "k", "encrypted-key-metadata": ""}},
    {"action": "remove-encryption-key", "key-id": "k"},
    {"action": "remove-snapshot-ref", "ref-name": "b"},
    {"action": "remove-snapshots", "snapshot-ids": [9]},
]


@settings(max_examples=100, deadline=None)
@given(mangled(ALL_UPDATES))
def test_mangled_updates_are_refused_in_our_words(updates):
    """A mangled commit creates a table and changes one, or is refused as such, and nothing else happens."""
    for base in (None, with_snapshots(5)):
        try:
            parsed = parse_updates(updates)
            if base is None:
                new = create_from_updates(parsed, location=None, uuid=UUID, now_ms=5_000)
            else:
                new = apply_updates(base, parsed, now_ms=5_000, previous_location="s3://p")
            assert parse_table(encode_table(new)) == new
        except IcebergError as refused:
            assert refused.message  # noqa: PT017 what is refused says why


@settings(max_examples=100, deadline=None)
@given(
    mangled(
        {
            "name": "t",
            "schema": {**full_table(2)["schemas"][0], "identifier-field-ids": [1]},
            "partition-spec": full_table(2)["partition-specs"][1],
            "write-order": full_table(2)["sort-orders"][1],
            "properties": {"format-version": "2"},
            "stage-create": False,
        }
    )
)
def test_mangled_requests_are_refused_in_our_words(document):
    """A mangled request creates a table that reads back, or is refused as such, and nothing else happens."""
    try:
        table = new_table(parse_create_table(document), uuid=UUID, location=LOCATION, now_ms=1)
        assert parse_table(encode_table(table)) == table
    except IcebergError as refused:
        assert refused.message  # noqa: PT017 what is refused says why


REQUIREMENTS = [
    {"type": "assert-create"},
    {"type": "assert-table-uuid", "uuid": UUID},
    {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 1},
    {"type": "assert-current-schema-id", "current-schema-id": 0},
    {"type": "assert-view-uuid", "uuid": UUID},
]


@settings(max_examples=100, deadline=None)
@given(mangled(REQUIREMENTS))
def test_mangled_requirements_are_refused_in_our_words(documents):
    """Mangled requirements hold, fail, or are refused as such, and nothing else happens."""
    for document in documents if isinstance(documents, list) else [documents]:
        try:
            parsed = parse_requirements([document])
            is_create(parsed)
            check_requirements(parsed, with_snapshots(1))
        except IcebergError as refused:
            assert refused.message  # noqa: PT017 what is refused says why


VERSION = {
    "version-id": 1,
    "timestamp-ms": 1,
    "schema-id": 0,
    "summary": {"a": "b"},
    "default-namespace": ["ns"],
    "default-catalog": "c",
    "representations": [{"type": "sql", "sql": "select 1", "dialect": "spark"}],
}
CREATE_VIEW = {"name": "v", "schema": SCHEMA, "view-version": VERSION, "properties": {"a": "b"}}
VIEW_UPDATES = [
    {"action": "assign-uuid", "uuid": UUID},
    {"action": "upgrade-format-version", "format-version": 1},
    {"action": "add-schema", "schema": schema(field(1, "x"))},
    {"action": "add-view-version", "view-version": {**VERSION, "schema-id": -1}},
    {"action": "set-current-view-version", "view-version-id": -1},
    {"action": "set-location", "location": "s3://b/v"},
    {"action": "set-properties", "updates": {"version.history.num-entries": "2"}},
    {"action": "remove-properties", "removals": ["a"]},
]


@settings(max_examples=100, deadline=None)
@given(mangled({"create": CREATE_VIEW, "updates": VIEW_UPDATES, "requirements": REQUIREMENTS[-1:]}))
def test_mangled_views_are_refused_in_our_words(document):
    """Mangled requests and commits make a view that reads back, or are refused as such, and nothing else happens."""
    try:
        view = new_view(parse_create_view(document.get("create")), uuid=UUID, location=LOCATION, now_ms=1)
        parse_view_requirements(document.get("requirements"))
        new = apply_view_updates(view, parse_view_updates(document.get("updates")), now_ms=5)
        for item in (view, new):
            assert parse_view(encode_view(item)) == item
    except IcebergError as refused:
        assert refused.message  # noqa: PT017 what is refused says why


VIEW = orjson.loads(encode_view(new_view(parse_create_view(CREATE_VIEW), uuid=UUID, location=LOCATION, now_ms=1)))


@settings(max_examples=100, deadline=None)
@given(mangled(VIEW))
def test_mangled_view_files_are_refused_in_our_words(document):
    """A mangled metadata file of a view is read and changed, or refused as such, and nothing else happens."""
    try:
        view = parse_view(orjson.dumps(document))
        assert parse_view(encode_view(view)) == view
        new = apply_view_updates(view, parse_view_updates(VIEW_UPDATES[1:]), now_ms=5)
        assert parse_view(encode_view(new)) == new
    except IcebergError as refused:
        assert refused.message  # noqa: PT017 what is refused says why
