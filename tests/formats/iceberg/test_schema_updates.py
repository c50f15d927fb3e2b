"""Schemas, partition specs and sort orders of a table that exists."""

import pytest

from lakeshare.formats.iceberg.errors import InvalidMetadata, Unsupported
from tests.formats.iceberg.made import SCHEMA, add, changed, created, field, schema

WIDER = schema(*SCHEMA["fields"], field(4, "more", "string"))


def add_schema(columns):
    return {"action": "add-schema", "schema": columns}


def set_schema(number):
    return {"action": "set-current-schema", "schema-id": number}


def spec(*fields):
    return {"action": "add-spec", "spec": {"spec-id": 7, "fields": list(fields)}}


def part(source, transform, name, **more):
    return {"source-id": source, "transform": transform, "name": name, **more}


def set_spec(number):
    return {"action": "set-default-spec", "spec-id": number}


def order(*fields):
    return {"action": "add-sort-order", "sort-order": {"order-id": 9, "fields": list(fields)}}


def by(source, transform="identity", direction="asc", nulls="nulls-first"):
    return {"source-id": source, "transform": transform, "direction": direction, "null-order": nulls}


def set_order(number):
    return {"action": "set-default-sort-order", "sort-order-id": number}


def test_a_schema_is_added_and_made_current():
    """A new schema gets the next id, -1 names it, and the last column id moves on."""
    table = changed(created(), add_schema({**WIDER, "schema-id": 99}), set_schema(-1))
    assert [item.id for item in table.schemas] == [0, 1]
    assert table.current_schema_id == 1
    assert table.current_schema.document["fields"] == WIDER["fields"]
    assert table.last_column_id == 4


def test_an_equal_schema_is_not_added_twice():
    """A schema with the same content takes the id of the one that is there, and -1 names that."""
    table = changed(created(), add_schema(WIDER), set_schema(-1))
    again = changed(table, add_schema({**SCHEMA, "schema-id": 5}), set_schema(-1))
    assert [item.id for item in again.schemas] == [0, 1]
    assert again.current_schema_id == 0
    assert changed(table, add_schema(WIDER), set_schema(-1)) is table


def test_equal_schemas_may_be_spelled_differently():
    """Null and absent, and blanks in a type's text, make no difference between schemas."""
    columns = schema(field(1, "d", "decimal(9,2)"), field(2, "g", "geometry"))
    table = created(3, columns=columns)
    spelled = schema(field(1, "d", "decimal( 9, 2 )", doc=None), field(2, "g", "geometry(OGC:CRS84)"))
    assert changed(table, add_schema(spelled), set_schema(-1)) is table


def test_a_schema_that_differs_in_what_is_unknown_is_another():
    """Fields that this version does not know count when schemas are compared, and are kept."""
    columns = schema(field(1, "id", required=True, future={"x": 1}), *SCHEMA["fields"][1:], later=True)
    table = changed(created(), add_schema(columns), set_schema(-1))
    assert table.current_schema_id == 1
    assert table.current_schema.document["later"] is True
    assert table.current_schema.document["fields"][0]["future"] == {"x": 1}


def test_the_last_column_id_never_sinks():
    """A narrower schema leaves the last column id where it was."""
    table = changed(created(), add_schema(WIDER), add_schema(schema(field(1, "id", required=True))), set_schema(-1))
    assert table.last_column_id == 4
    assert table.current_schema_id == 2


@pytest.mark.parametrize(
    ("updates", "message"),
    [
        ([set_schema(-1)], "Cannot set last added schema: no schema has been added"),
        ([set_schema(8)], "Cannot set current schema to unknown schema: 8"),
        ([set_spec(-1)], "Cannot set last added spec: no spec has been added"),
        ([set_spec(8)], "Cannot set default partition spec to unknown spec: 8"),
        ([set_order(-1)], "Cannot set last added sort order: no sort order has been added"),
        ([set_order(8)], "Cannot set default sort order to unknown sort order: 8"),
        ([{"action": "remove-schemas", "schema-ids": [0]}], "Cannot remove the current schema"),
        ([{"action": "remove-partition-specs", "spec-ids": [0]}], "Cannot remove the default partition spec"),
        ([spec(part(9, "identity", "x"))], "Cannot find source column for partition field: 1000: x: identity"),
        ([spec(part(3, "hour", "x"))], "Invalid source type string for transform: hour"),
        ([spec(part(2, "truncate[4]", "x"))], "Invalid source type timestamptz for transform: truncate"),
        ([spec(part(2, "bucket[0]", "x"))], "the width of a transform must be from 1"),
        ([spec(part(2, "day", "x"), part(3, "identity", "x"))], "Cannot use partition name more than once: 'x'"),
        ([spec(part(2, "day", "id"))], "Cannot create partition from name that exists in schema: 'id'"),
        ([spec(part(2, "identity", "id"))], "Cannot create identity partition sourced from different field"),
        ([spec(part(2, "day", ""))], "Cannot use empty partition name"),
        (
            [spec(part(2, "day", "d", **{"field-id": 1000}), part(3, "identity", "n", **{"field-id": 1000}))],
            "two fields have one field-id",
        ),
        ([order(by(9))], "Cannot find source column for sort field"),
        ([order(by(3, "day"))], "Invalid source type string for transform: day"),
        ([order(by(3, direction="up"))], "direction must be asc or desc"),
        ([order(by(3, nulls="last"))], "null-order must be nulls-first or nulls-last"),
        ([add_schema(schema(field(1, "a"), field(1, "b")))], "multiple fields for id 1"),
        ([add_schema(schema(field(1, "a"), field(2, "a")))], "multiple fields for name 'a': 1 and 2"),
        ([add_schema(schema(field(2_147_483_540, "a")))], "is reserved for metadata columns"),
        ([add_schema({"type": "struct"})], "fields must be a list"),
        ([{"action": "add-spec", "spec": {}}], "fields must be a list"),
    ],
)
def test_what_schemas_and_layouts_may_not_be(updates, message):
    """A schema, spec or order that breaks a rule is refused with that rule."""
    with pytest.raises(InvalidMetadata, match=message):
        changed(created(), *updates)


def test_schemas_are_removed():
    """Schemas that are not current can be removed; unknown ids are passed over."""
    table = changed(created(), add_schema(WIDER), set_schema(-1))
    table = changed(table, {"action": "remove-schemas", "schema-ids": [0, 44]})
    assert [item.id for item in table.schemas] == [1]


def test_a_schema_that_a_snapshot_needs_stays():
    """A schema goes with the snapshots that were written with it, or not at all: its id may be another's afterwards."""
    table = changed(created(), add(1, **{"schema-id": 0}), add_schema(WIDER), set_schema(-1))
    gone = {"action": "remove-schemas", "schema-ids": [0]}
    narrow = add_schema(schema(field(1, "id", required=True)))
    for updates in ([gone], [gone, narrow], [gone, add(2, **{"schema-id": 0})]):
        with pytest.raises(InvalidMetadata, match=r"Cannot remove schema 0: snapshot [12] needs it"):
            changed(table, *updates)
    expired = {"action": "remove-snapshots", "snapshot-ids": [1]}
    for updates in ([expired, gone], [gone, expired]):
        assert [item.id for item in changed(table, *updates).schemas] == [1]
    table = changed(created(), add_schema(WIDER))
    table = changed(table, {"action": "remove-schemas", "schema-ids": [1]}, narrow, add(3, **{"schema-id": 1}))
    assert table.snapshots[0].schema_id == 1


def test_a_spec_is_added_and_made_default():
    """A new spec gets the next id, its fields get ids, and the last partition id moves on."""
    table = changed(created(), spec(part(2, "day", "at_day"), part(1, "bucket[8]", "id_bucket")), set_spec(-1))
    assert table.default_spec_id == 1
    assert [(item.name, item.field_id) for item in table.default_spec.fields] == [("at_day", 1000), ("id_bucket", 1001)]
    assert table.last_partition_id == 1001


def test_the_same_partition_field_keeps_its_id():
    """A field that another spec has with the same source and transform keeps its id; others get new ones."""
    table = changed(created(), spec(part(2, "day", "d")), set_spec(-1))
    table = changed(table, spec(part(3, "identity", "name"), part(2, "day", "d2")), set_spec(-1))
    assert [item.field_id for item in table.default_spec.fields] == [1001, 1000]
    assert table.last_partition_id == 1001


def test_an_equal_spec_is_not_added_twice():
    """A spec with the same fields takes the id of the one that is there, and -1 names that."""
    table = changed(created(), spec(part(2, "day", "d")), set_spec(-1))
    assert changed(table, spec(part(2, "DAY", "d")), set_spec(-1)) is table
    back = changed(table, spec(), set_spec(-1))
    assert back.default_spec_id == 0
    assert back.last_partition_id == 1000


def test_specs_are_removed():
    """Specs that are not the default can be removed."""
    table = changed(created(), spec(part(2, "day", "d")), set_spec(-1))
    table = changed(table, {"action": "remove-partition-specs", "spec-ids": [0, 44]})
    assert [item.id for item in table.partition_specs] == [1]


def test_version_1_numbers_partition_fields_by_place():
    """The fields of a v1 spec are numbered from 1000 without gaps, and void fields take part."""
    table = changed(created(1), spec(part(2, "day", "d")), set_spec(-1))
    table = changed(table, spec(part(2, "void", "d"), part(3, "identity", "name")), set_spec(-1))
    assert [item.field_id for item in table.default_spec.fields] == [1000, 1001]
    with pytest.raises(InvalidMetadata, match="Spec does not use sequential IDs that are required in v1"):
        changed(table, spec(part(2, "month", "m", **{"field-id": 1003})))


def test_a_column_of_the_default_spec_cannot_go():
    """A current schema must have the columns of the default spec and sort order, except of void fields."""
    table = changed(created(), spec(part(2, "day", "d")), set_spec(-1))
    narrow = schema(SCHEMA["fields"][0], SCHEMA["fields"][2])
    with pytest.raises(InvalidMetadata, match="Cannot find source column for partition field: 1000: d: day"):
        changed(table, add_schema(narrow), set_schema(-1))
    void = changed(table, spec(part(2, "void", "d")), set_spec(-1))
    assert changed(void, add_schema(narrow), set_schema(-1)).current_schema_id == 1
    sorted_table = changed(created(), order(by(2)), set_order(-1))
    with pytest.raises(InvalidMetadata, match="Cannot find source column for sort field"):
        changed(sorted_table, add_schema(narrow), set_schema(-1))


def test_a_void_field_may_have_the_name_of_a_later_column():
    """A void field whose column is gone keeps its name, even where a new column has it."""
    table = changed(created(1), spec(part(3, "identity", "name")), set_spec(-1))
    table = changed(table, spec(part(3, "void", "name")), set_spec(-1))
    renewed = schema(*SCHEMA["fields"][:2], field(4, "name", "string"))
    table = changed(table, add_schema(renewed), set_schema(-1))
    table = changed(table, spec(part(3, "void", "name"), part(2, "day", "d")), set_spec(-1))
    assert [str(item) for item in table.default_spec.fields] == ["1000: name: void(3)", "1001: d: day(2)"]


def test_unknown_transforms_need_version_3():
    """A transform that is not known is kept in a v3 table, and refused in older ones."""
    zorder = spec(part(2, "zorder[3]", "z"))
    with pytest.raises(Unsupported, match=r"the transform zorder\[3\] is not known"):
        changed(created(2), zorder)
    assert str(changed(created(3), zorder).partition_specs[1].fields[0].transform) == "zorder[3]"


def test_a_transform_of_several_columns_is_kept():
    """A v3 spec may name several source columns."""
    many = {"source-ids": [1, 3], "transform": "bucket[4]", "name": "both"}
    table = changed(created(3), spec(many), set_spec(-1))
    assert table.default_spec.fields[0].source_ids == (1, 3)
    assert table.default_spec.document["fields"][0]["source-ids"] == [1, 3]


def test_partitions_are_made_of_plain_columns():
    """A struct, a variant or a list's element is no source of a partition, a struct's field is."""
    inner = {"type": "struct", "fields": [field(2, "x")]}
    elements = {"type": "list", "element-id": 4, "element": "long", "element-required": True}
    columns = schema(field(1, "s", inner), field(3, "l", elements), field(5, "v", "variant"))
    table = created(3, columns=columns)
    ids = {node["name"]: node["id"] for node in table.current_schema.document["fields"]}
    for source, message in ((ids["s"], "non-primitive"), (ids["v"], "non-primitive"), (5, "Invalid partition field")):
        with pytest.raises(InvalidMetadata, match=message):
            changed(table, spec(part(source, "identity", "p")))
    assert changed(table, spec(part(4, "identity", "p"))).partition_specs[1].fields[0].source_ids == (4,)


def test_a_sort_order_is_added_and_made_default():
    """A new sort order gets the next id from 1 on, and -1 names it."""
    table = changed(created(), order(by(3), by(2, "day", "desc", "nulls-last")), set_order(-1))
    assert table.default_sort_order_id == 1
    assert [str(item) for item in table.default_sort_order.fields] == [
        "identity(3) asc nulls-first",
        "day(2) desc nulls-last",
    ]


def test_an_equal_sort_order_is_not_added_twice():
    """An order with the same fields takes the id of the one that is there; unsorted is always 0."""
    table = changed(created(), order(by(3)), set_order(-1))
    assert changed(table, order(by(3)), set_order(-1)) is table
    assert changed(table, order(), set_order(-1)).default_sort_order_id == 0
    assert changed(table, order(by(2)), set_order(-1)).default_sort_order_id == 2
