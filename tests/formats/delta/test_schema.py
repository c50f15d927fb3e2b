"""Schemas and column mapping."""

import json

import pytest

from lakeshare.formats.delta.actions import Metadata, Protocol
from lakeshare.formats.delta.errors import BrokenLog, UnsupportedTable
from lakeshare.formats.delta.schema import (
    Array,
    Decimal,
    MappingMode,
    MapType,
    Primitive,
    Struct,
    leaves,
    mapping_mode,
    parse_schema,
)


def field(name, kind, nullable=True, **metadata):
    return {"name": name, "type": kind, "nullable": nullable, "metadata": metadata}


def schema(*fields):
    return json.dumps({"type": "struct", "fields": list(fields)})


def test_types_are_parsed():
    """Primitive, decimal, nested, and variant types all become values."""
    parsed = parse_schema(
        schema(
            field("a", "decimal(10,2)", nullable=False),
            field("b", {"type": "array", "elementType": "variant", "containsNull": False}),
            field("c", {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True}),
            field("d", {"type": "struct", "fields": [field("e", "timestamp_ntz")]}),
        )
    )
    assert [item.type for item in parsed.fields[:3]] == [
        Decimal(10, 2),
        Array(Primitive("variant"), contains_null=False),
        MapType(Primitive("string"), Primitive("long"), value_contains_null=True),
    ]
    assert isinstance(parsed.fields[3].type, Struct)
    assert not parsed.fields[0].nullable


def test_field_metadata_is_kept():
    """Defaults, generation expressions and identities stay as they stand."""
    extra = {"delta.generationExpression": "a + 1", "CURRENT_DEFAULT": "3", "delta.identity.start": 1}
    parsed = parse_schema(schema({"name": "a", "type": "long", "nullable": True, "metadata": extra}))
    assert dict(parsed.fields[0].metadata) == extra


def test_mapped_columns_have_physical_names():
    """Under column mapping each level of a nested column has its physical name."""
    inner = field("x", "long", **{"delta.columnMapping.physicalName": "col-2", "delta.columnMapping.id": 2})
    outer = field("s", {"type": "struct", "fields": [inner]}, **{"delta.columnMapping.physicalName": "col-1"})
    found = list(leaves(parse_schema(schema(outer)), MappingMode.NAME))
    assert [(leaf.name, leaf.physical, leaf.field.column_id) for leaf in found] == [(("s", "x"), ("col-1", "col-2"), 2)]
    assert next(leaves(parse_schema(schema(outer)), MappingMode.NONE)).physical == ("s", "x")


def test_a_mapped_column_without_a_physical_name_is_broken():
    """Column mapping cannot be followed for a column that has no physical name."""
    with pytest.raises(BrokenLog, match="physical name"):
        list(leaves(parse_schema(schema(field("a", "long"))), MappingMode.ID))


@pytest.mark.parametrize(
    ("protocol", "mode", "expected"),
    [
        (Protocol(1, 2), "name", MappingMode.NONE),
        (Protocol(2, 5), "name", MappingMode.NAME),
        (Protocol(2, 5), "id", MappingMode.ID),
        (Protocol(3, 7, ("deletionVectors",), ()), "id", MappingMode.NONE),
        (Protocol(3, 7, ("columnMapping",), ()), "none", MappingMode.NONE),
    ],
)
def test_the_mapping_counts_only_where_the_protocol_has_it(protocol, mode, expected):
    """The table property alone does not map columns."""
    metadata = Metadata("i", schema(), configuration={"delta.columnMapping.mode": mode})
    assert mapping_mode(protocol, metadata) is expected


def test_an_unknown_mapping_is_refused():
    """A mapping mode that is not known is not guessed at."""
    with pytest.raises(UnsupportedTable, match="sideways"):
        mapping_mode(Protocol(2, 5), Metadata("i", schema(), configuration={"delta.columnMapping.mode": "sideways"}))


@pytest.mark.parametrize(
    "text", ["", "{", '"long"', '{"type":"struct"}', '{"type":"struct","fields":[{"type":"long"}]}']
)
def test_broken_schemas_are_refused(text):
    """What is no schema is a broken log."""
    with pytest.raises(BrokenLog):
        parse_schema(text)


def test_a_bottomless_schema_is_refused():
    """A schema that nests without end is refused before the stack is."""
    kind = "long"
    for _ in range(200):
        kind = {"type": "array", "elementType": kind, "containsNull": True}
    with pytest.raises(BrokenLog, match="deeper"):
        parse_schema(schema(field("a", kind)))
