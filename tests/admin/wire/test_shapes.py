"""Shapes read what their schemas describe, and nothing else."""

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeshare.admin.errors import BadField
from lakeshare.admin.wire.call import read_query
from lakeshare.admin.wire.routes import ROUTES
from lakeshare.admin.wire.shapes import Choice, Document, Field, Flag, Many, Maybe, Real, Record, Shape, Text, Whole

SHAPE = Record(
    (
        Field("name", Text(8, 2, r"[a-z]+", "letters"), required=True),
        Field("count", Whole(-1, 10)),
        Field("ratio", Real()),
        Field("on", Flag()),
        Field("kind", Choice(("a", "b"))),
        Field("end", Maybe(Whole(0, 5))),
        Field("list", Many(Text(3), 2)),
        Field("any", Document("Anything")),
    )
)
SCHEMA = jsonschema_rs.validator_for(SHAPE.schema())
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 12) | st.floats(allow_nan=False) | st.text("abc1", max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=3),
    max_leaves=4,
)
BODIES = st.dictionaries(st.sampled_from([*(field.name for field in SHAPE.fields), "other"]), JSON, max_size=4)


def reads(shape: Shape, value: Any) -> bool:
    try:
        shape.read(value, "")
    except BadField:
        return False
    return True


@given(JSON | BODIES | BODIES.map(lambda body: body | {"name": "abc"}))
def test_a_shape_reads_what_its_schema_allows(value: Any):
    """For any JSON, the reader and the schema agree; but a whole number written with a point is not taken."""
    if not _has_whole_float(value):
        assert reads(SHAPE, value) == SCHEMA.is_valid(value)


def _has_whole_float(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_has_whole_float(each) for each in value.values())
    return isinstance(value, float) and value.is_integer()


def test_a_body_is_read_into_its_fields():
    """What is given is returned, lists as tuples; what is not given is not there."""
    assert SHAPE.read({"name": "ab", "list": ["x"], "end": None}, "") == {"name": "ab", "list": ("x",), "end": None}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": "ab", "other": 1}, "other"),
        ({"name": "AB"}, "name"),
        ({"name": "ab", "list": ["x", 1]}, "list[1]"),
        ({"name": "ab", "count": True}, "count"),
    ],
)
def test_what_is_wrong_is_named(body: dict[str, Any], field: str):
    """The error says which field is at fault."""
    with pytest.raises(BadField) as refused:
        SHAPE.read(body, "")
    assert refused.value.field == field


def test_a_query_is_read_by_its_shapes():
    """Numbers and flags stand as text in a query; names and values are percent-encoded."""
    fields = (Field("limit", Whole(1, 9)), Field("all", Flag()), Field("after", Text(20)))
    assert read_query(fields, "limit=3&all=true&after=a%2Bb+c") == {"limit": 3, "all": True, "after": "a+b c"}
    for bad in ("limit=0", "limit=x", "limit=3&limit=4", "all=yes", "none=1", "after=%ff", "&".join(["after=a"] * 99)):
        with pytest.raises(BadField):
            read_query(fields, bad)


def test_answers_have_the_shapes_of_the_document():
    """Each route's answer is a record, so that a reader knows every field; a profile alone has a format of its own."""
    others = {route.name for route in ROUTES if route.answer is not None and not isinstance(route.answer, Record)}
    assert others == {"GetTokenProfile"}
