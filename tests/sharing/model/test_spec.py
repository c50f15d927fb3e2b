"""Table specifications."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeshare.sharing.errors import BadSpec
from lakeshare.sharing.model.places import DeltaPlace, UniformPlace
from lakeshare.sharing.model.spec import read_spec, write_spec

WORD = st.text("abcdefghijklmnopqrstuvwxyz0123456789-_", min_size=1, max_size=20)
PATH = st.lists(st.text("abc:=% é-", min_size=1, max_size=10), min_size=1, max_size=4).map("/".join)
DELTA = st.builds(DeltaPlace, WORD, PATH, st.just("") | WORD)
UNIFORM = st.builds(UniformPlace, WORD, st.lists(WORD, min_size=1, max_size=4).map(tuple), WORD)


@given(WORD, DELTA | UNIFORM)
def test_what_is_written_is_read_again(name: str, place: DeltaPlace | UniformPlace):
    """Writing a specification and reading it gives the same name and place, whatever stands in the path."""
    assert read_spec(write_spec(name, place)) == (name, place)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("employees:delta:analytics:employees/", ("employees", DeltaPlace("analytics", "employees"))),
        ("orders:delta:testdelta:tpch/orders", ("orders", DeltaPlace("testdelta", "tpch/orders"))),
        ("all:delta:bucket:", ("all", DeltaPlace("bucket", ""))),
        ("*:delta:analytics:hr/", ("*", DeltaPlace("analytics", "hr"))),
        ("old:remote:archive:bucket:a/b", ("old", DeltaPlace("bucket", "a/b", "archive"))),
        ("employees:uniform:analytics:hr:employees", ("employees", UniformPlace("analytics", ("hr",), "employees"))),
        (
            "revenue:uniform:wh:analytics.sales:revenue",
            ("revenue", UniformPlace("wh", ("analytics", "sales"), "revenue")),
        ),
        ("*:uniform:wh:analytics:*", ("*", UniformPlace("wh", ("analytics",)))),
    ],
)
def test_the_forms_of_the_documents_are_read(text: str, expected: tuple):
    """Each form that is documented means what it says."""
    assert read_spec(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "employees",
        "employees:delta:analytics",
        ":delta:analytics:employees",
        "e:parquet:a:b",
        "e:uniform:a:b",
        "e:uniform:a:b:c:d",
        "*:uniform:a:b:c",
        "e:remote:a:b",
        "e:delta:a/b:c",
        "e:delta:bucket:a//b",
        "e:delta:bucket:../b",
        "e:delta:bucket:" + "x" * 3000,
    ],
)
def test_anything_else_is_refused_with_the_forms(text: str):
    """What is no specification is refused, and the message shows how to write one."""
    with pytest.raises(BadSpec, match="NAME:delta:BUCKET:PATH"):
        read_spec(text)
