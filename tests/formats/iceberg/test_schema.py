"""Types, names, ids, identifiers, and what each format version allows."""

import pytest

from lakeshare.formats.iceberg.documents import as_document
from lakeshare.formats.iceberg.errors import InvalidMetadata
from lakeshare.formats.iceberg.schema import Schema, checked, parse_schema, read
from lakeshare.formats.iceberg.types import MAX_TYPE_DEPTH, Primitive, parse_primitive
from tests.formats.iceberg.made import field, schema


def of(*fields, **more):
    return parse_schema(as_document(schema(*fields, **more), "schema"), default_id=0)


def struct(*fields):
    return {"type": "struct", "fields": list(fields)}


def list_of(number, kind, *, required=False):
    return {"type": "list", "element-id": number, "element": kind, "element-required": required}


def map_of(key_id, key, value_id, value):
    return {"type": "map", "key-id": key_id, "key": key, "value-id": value_id, "value": value, "value-required": False}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("boolean", Primitive("boolean")),
        ("timestamp_ns", Primitive("timestamp_ns")),
        ("variant", Primitive("variant")),
        ("decimal(38, 10)", Primitive("decimal", (38, 10))),
        ("decimal(9,2)", Primitive("decimal", (9, 2))),
        ("fixed[16]", Primitive("fixed", (16,))),
        ("geometry", Primitive("geometry")),
        ("geometry(OGC:CRS84)", Primitive("geometry")),
        ("geometry( srid:4326 )", Primitive("geometry", ("srid:4326",))),
        ("geography(srid:4326, Karney)", Primitive("geography", ("srid:4326", "karney"))),
        ("geography(OGC:CRS84, spherical)", Primitive("geography")),
    ],
)
def test_types_are_read(text, kind):
    """The text of each type is read, and written again in one spelling."""
    assert parse_primitive(text) == kind
    assert parse_primitive(str(kind)) == kind


@pytest.mark.parametrize(
    "text",
    [
        "bigint", "LONG", "", "decimal", "decimal(39,1)", "decimal(0,0)", "decimal(4,5)", "decimal(-1,0)", "fixed",
        "fixed[99999999999]", "fixed[x]", "geometry()", "geometry(a,b)", "geography(a, flat)", "list", "long ",
        "decimal(9,2) ", "geometry(" + "x" * 2_000 + ")", "decimal(٣,2)", "geometry(  )",
    ],
)  # fmt: skip
def test_what_is_no_type(text):
    """Text that names no type is refused."""
    with pytest.raises(InvalidMetadata):
        parse_primitive(text)


def test_fields_are_found_by_id_and_name():
    """Nested fields have the names of their parents before their own."""
    index = read(
        of(
            field(1, "a", struct(field(2, "b"))),
            field(3, "l", list_of(4, struct(field(5, "x")))),
            field(6, "m", map_of(7, "string", 8, struct(field(9, "y")))),
        )
    )
    assert {name: node.id for name, node in index.by_name.items()} == {
        "a": 1, "a.b": 2, "l": 3, "l.element": 4, "l.element.x": 5,
        "m": 6, "m.key": 7, "m.value": 8, "m.value.y": 9,
    }  # fmt: skip
    assert index.highest_id == 9
    assert read(of()).highest_id == 0


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (of(field(1, "a.b"), field(2, "a", struct(field(3, "b")))), "multiple fields for name 'a.b'"),
        (of(field(1, "a"), field(2, "l", list_of(1, "long"))), "multiple fields for id 1"),
        (of(field(1, "u", "unknown", required=True)), "Cannot create required field with unknown type: 'u'"),
        (of(field(1, "l", list_of(2, "unknown", required=True))), "required field with unknown type: 'element'"),
        (of(field(1, "m", map_of(2, "unknown", 3, "long"))), "required field with unknown type: 'key'"),
        (of(field(-1, "a")), "id must be from 0"),
        (of(field(2**31, "a")), "id must be from 0"),
        (of(field(1, None)), "name must be a string"),
        (of(field(1, "a", required="yes")), "required must be true or false"),
        (of(field(1, "a", {"type": "tuple"})), "'tuple' is no type of Iceberg"),
        (of(field(1, "a", {"type": ["struct"]})), "is no type of Iceberg"),
        (of(field(1, "a", 7)), "type must be a JSON object"),
        (of(field(1, "a", {"type": "struct"})), "fields must be a list"),
        (of(field(1, "a", {"type": "list"})), "element-required must be true or false"),
        (of(field(1, "a", doc=3)), "doc must be a string"),
        (Schema({"schema-id": 0, "type": "list", "fields": []}), "type must be struct"),
        (Schema({"schema-id": 0, "fields": []}), "type must be struct, not null or absent"),
    ],
)
def test_schemas_that_are_not(columns, message):
    """A schema that breaks a rule is refused with that rule."""
    with pytest.raises(InvalidMetadata, match=message):
        read(columns)


def test_types_nest_within_bounds():
    """A type may nest deep, and not without end."""
    kind: object = "long"
    for number in range(MAX_TYPE_DEPTH - 1):
        kind = list_of(number + 2, kind)
    read(of(field(1, "deep", kind)))
    for number in range(10):
        kind = list_of(number + 1_000, kind)
    with pytest.raises(InvalidMetadata, match="nest deeper than"):
        read(of(field(1, "deep", kind)))


def test_identifiers_are_required_primitives():
    """Identifier fields may be nested in required structs, and are themselves required and comparable."""
    read(of(field(1, "s", struct(field(2, "id", required=True)), required=True), **{"identifier-field-ids": [2]}))


@pytest.mark.parametrize(
    ("columns", "identifier", "message"),
    [
        ([field(1, "a")], 9, "Cannot add fieldId 9 as an identifier field: field does not exist"),
        ([field(1, "a")], 1, "Cannot add field a as an identifier field: not a required field"),
        ([field(1, "a", "float", required=True)], 1, "must not be float or double field"),
        ([field(1, "a", "double", required=True)], 1, "must not be float or double field"),
        ([field(1, "a", "variant", required=True)], 1, "not a primitive type field"),
        ([field(1, "a", struct(field(2, "b")), required=True)], 1, "not a primitive type field"),
        ([field(1, "a", struct(field(2, "b", required=True)))], 2, "must not be nested in an optional field a"),
        ([field(1, "a", list_of(2, "long", required=True), required=True)], 2, "must not be nested in a"),
    ],
)
def test_what_is_no_identifier(columns, identifier, message):
    """A field that cannot identify rows is refused with the reason."""
    with pytest.raises(InvalidMetadata, match=message):
        read(of(*columns, **{"identifier-field-ids": [identifier]}))


@pytest.mark.parametrize(
    "kind",
    ["timestamp_ns", "timestamptz_ns", "variant", "unknown", "geometry", "geography(srid:4326, karney)"],
)
def test_types_of_version_3(kind):
    """The types of v3 are refused in older tables, nested ones too, and taken in v3."""
    columns = of(field(1, "s", struct(field(2, "x", list_of(3, kind)))))
    checked(columns, 3)
    for version in (1, 2):
        with pytest.raises(InvalidMetadata, match=f"Invalid schema for v{version}:\n- Invalid type for s.x.element"):
            checked(columns, version)


def test_the_words_for_a_variant():
    """The error for a variant has the words that clients look for."""
    with pytest.raises(InvalidMetadata, match="Invalid type for v: variant is not supported until v3"):
        checked(of(field(1, "v", "variant")), 2)


def test_defaults_need_version_3():
    """Defaults other than null are refused in older tables."""
    columns = of(field(1, "a", "string", **{"initial-default": "x"}), field(2, "b", **{"write-default": 1}))
    with pytest.raises(InvalidMetadata) as refused:
        checked(columns, 2)
    assert refused.value.message == (
        "Invalid schema for v2:\n"
        "- Invalid initial default for a: non-null default ('x') is not supported until v3\n"
        "- Invalid write default for b: non-null default (1) is not supported until v3"
    )
    checked(columns, 3)
    checked(of(field(1, "a", **{"initial-default": None})), 1)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("boolean", False),
        ("int", -(2**31)),
        ("long", 2**63 - 1),
        ("float", 1),
        ("double", 0.5),
        ("decimal(9,2)", "14.20"),
        ("decimal(9,2)", "-0.01"),
        ("decimal(3,0)", "200"),
        ("date", "2007-12-03"),
        ("date", "-0044-02-29"),
        ("time", "22:31:08.123456"),
        ("time", "22:31"),
        ("timestamp", "2007-12-03T10:15:30.123456"),
        ("timestamptz", "2007-12-03T10:15:30.123456+00:00"),
        ("timestamp_ns", "2007-12-03T10:15:30.123456789"),
        ("timestamptz_ns", "2007-12-03T10:15:30Z"),
        ("string", ""),
        ("uuid", "eb26bdb1-a1d8-4aa6-990e-da940875492c"),
        ("fixed[3]", "78797A"),
        ("binary", ""),
        (struct(field(9, "x")), {}),
    ],
)
def test_values_that_are_defaults(kind, value):
    """A default in the form of its type is taken."""
    checked(of(field(1, "a", kind, **{"initial-default": value, "write-default": value})), 3)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("boolean", 0),
        ("int", 2**31),
        ("int", True),
        ("int", "1"),
        ("long", 1.5),
        ("long", 2**63),
        ("float", True),
        ("float", "1"),
        ("decimal(9,2)", "14.2"),
        ("decimal(9,2)", "12345678.00"),
        ("decimal(9,2)", 14.20),
        ("decimal(9,2)", "1e2"),
        ("decimal(9,2)", "NaN"),
        ("date", "2007-02-29"),
        ("date", "2007-13-01"),
        ("date", 12),
        ("time", "25:00:00"),
        ("time", "10:00.5"),
        ("time", "10:00:00.1234567"),
        ("timestamp", "2007-12-03T10:15:30+00:00"),
        ("timestamp", "2007-12-03T10:15:30.123456789"),
        ("timestamp", "2007-12-03"),
        ("timestamptz", "2007-12-03T10:15:30"),
        ("timestamptz", "2007-12-03T10:15:30+01:00"),
        ("string", 1),
        ("uuid", "eb26bdb1"),
        ("fixed[3]", "7879"),
        ("fixed[3]", "78797g"),
        ("binary", "7"),
        ("variant", "x"),
        ("unknown", "x"),
        ("geometry", "POINT(1 1)"),
        (struct(field(9, "x")), {"9": 1}),
        (list_of(9, "long"), []),
        (map_of(8, "long", 9, "long"), {}),
    ],
)
def test_values_that_are_no_defaults(kind, value):
    """A default that is no value of its type is refused, and nested types have none."""
    for word in ("initial", "write"):
        with pytest.raises(InvalidMetadata, match=f"Invalid {word} default for a: .* is no default value of type"):
            checked(of(field(1, "a", kind, **{f"{word}-default": value})), 3)
