"""Predicates as JSON trees."""

import json

import pytest

from lakeshare.columnar.predicate import (
    And,
    Compare,
    Comparison,
    Constant,
    Holds,
    IsNull,
    Literal,
    Not,
    Unknown,
    ValueKind,
)
from lakeshare.formats.delta.json_hints import MAX_DEPTH, MAX_LETTERS, parse_json_hints


def column(name="a", kind="long"):
    return {"op": "column", "name": name, "valueType": kind}


def literal(value, kind="long"):
    return {"op": "literal", "value": value, "valueType": kind}


def tree(op, *children):
    return {"op": op, "children": list(children)}


def read(node):
    return parse_json_hints(json.dumps(node))


def test_the_protocols_example():
    """The tree that the protocol shows becomes a conjunction of its two parts."""
    text = (
        '{"op":"and","children":[{"op":"not","children":[{"op":"isNull","children":[{"op":"column","name":"date",'
        '"valueType":"date"}]}]},{"op":"equal","children":[{"op":"column","name":"date","valueType":"date"},'
        '{"op":"literal","value":"2024-01-02","valueType":"date"}]}]}'
    )
    day = Literal(19724, ValueKind.DAY)
    assert parse_json_hints(text) == And((Not(IsNull("date")), Compare(Comparison.EQUAL, "date", day)))


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("bool", "true", Literal(value=True, kind=ValueKind.TRUTH)),
        ("long", "-5", Literal(-5, ValueKind.WHOLE)),
        ("string", "x", Literal("x", ValueKind.TEXT)),
        ("double", "1e3", Literal(1000.0, ValueKind.REAL)),
        ("timestamp", "1970-01-01T01:00:00.000001+01:00", Literal(1, ValueKind.INSTANT)),
    ],
)
def test_literals_have_their_types(kind, text, expected):
    """A literal's text is read by its value type."""
    assert read(tree("lessThan", column(kind=kind), literal(text, kind))) == Compare(Comparison.LESS, "a", expected)


def test_narrow_casts_are_marked():
    """A cast to int or float may lose what a wider column holds."""
    assert read(tree("equal", column(kind="int"), literal("1", "int"))).narrow
    assert not read(tree("equal", column(), literal("1"))).narrow


def test_sides_may_change_places():
    """A literal on the left turns the comparison round."""
    assert read(tree("lessThan", literal("1"), column())) == read(tree("greaterThan", column(), literal("1")))


def test_what_cannot_be_judged_is_unknown():
    """Two columns, two types, and NaN are legal, and say nothing about a file."""
    assert read(tree("equal", column("a"), column("b"))) == Unknown()
    assert read(tree("equal", column(kind="int"), literal("1", "long"))) == Unknown()
    assert read(tree("equal", column(kind="double"), literal("NaN", "double"))) == Unknown()


def test_a_column_may_stand_alone():
    """A boolean column is a predicate of its own, and a comparison with null is null."""
    assert read(column("flag", "bool")) == Holds("flag")
    assert read(tree("equal", column(), {"op": "literal", "value": None, "valueType": "long"})) == Constant(None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "7",
        '{"op":"wonder","children":[]}',
        json.dumps(tree("and", column(kind="bool"))),
        json.dumps(tree("equal", column())),
        json.dumps(tree("equal", column(kind="long"), literal("x"))),
        json.dumps(tree("equal", column(kind="int"), literal("3000000000", "int"))),
        json.dumps(tree("equal", tree("not", column()), literal("1"))),
        json.dumps(tree("isNull", tree("not", column()))),
        json.dumps(tree("equal", column(kind="blob"), literal("x", "blob"))),
        json.dumps(tree("equal", column(kind="timestamp"), literal("2024-01-01T00:00:00", "timestamp"))),
        " " * (MAX_LETTERS + 1),
    ],
)
def test_a_broken_hint_filters_nothing(text):
    """Whatever is wrong with a hint, it is no error: there is just no filter."""
    assert parse_json_hints(text) is None


def test_a_bottomless_tree_filters_nothing():
    """A tree deeper than the bound is not followed."""
    node = column(kind="bool")
    for _ in range(MAX_DEPTH + 2):
        node = tree("not", node)
    assert read(node) is None
