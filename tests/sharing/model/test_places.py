"""Places of tables."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeshare.sharing.errors import BadPlace
from lakeshare.sharing.model.places import DeltaPlace, UniformPlace
from lakeshare.sharing.model.shares import Schema, SharedTable, table_at
from lakeshare.state.codec import decode, encode


@given(st.text("abc", min_size=1), st.integers(0, 3), st.integers(0, 3))
def test_slashes_at_the_ends_do_not_count(path: str, before: int, after: int):
    """A path means the same with and without slashes around it."""
    assert DeltaPlace("b", "/" * before + path + "/" * after) == DeltaPlace("b", path)


def test_a_bucket_may_be_a_table():
    """With an empty path the bucket itself is meant."""
    assert DeltaPlace("b", "").prefix == ""
    assert DeltaPlace("b", "a/b").prefix == "a/b/"
    assert DeltaPlace("b", "").below("t") == DeltaPlace("b", "t")


@pytest.mark.parametrize(
    ("bucket", "path"), [("", "a"), ("a/b", "c"), ("b", "a//b"), ("b", "a/../b"), ("b", "x" * 901)]
)
def test_other_places_are_refused(bucket: str, path: str):
    """A place without a bucket, or with a path that no key has, is refused."""
    with pytest.raises(BadPlace):
        DeltaPlace(bucket, path)


def test_a_table_lies_in_one_place():
    """A shared table is a Delta table or an Iceberg table, and not both or neither."""
    with pytest.raises(BadPlace):
        SharedTable("t", "id")
    with pytest.raises(BadPlace):
        SharedTable("t", "id", DeltaPlace("b", "p"), UniformPlace("w", ("n",), "t"))


def test_a_table_that_is_found_keeps_its_id():
    """A table found in a place that is shared whole has the same id every time, and another than its neighbours."""
    schema = Schema("HR", "share-id", whole_delta=(DeltaPlace("b", "hr"),))
    first = schema.discovered("staff", DeltaPlace("b", "hr/staff"))
    assert first == schema.discovered("staff", DeltaPlace("b", "hr/staff"))
    assert first.id != schema.discovered("pay", DeltaPlace("b", "hr/pay")).id


def test_schemas_are_stored_whole():
    """What is stored of a schema is read again as it was."""
    tables = (table_at("a", "1", DeltaPlace("b", "a", "src")), table_at("b", "2", UniformPlace("w", ("n", "m"), "t")))
    schema = Schema("HR", "s", "i", "text", tables, (DeltaPlace("b", "x"),), (UniformPlace("w", ("n",)),), 7)
    assert decode(Schema, encode(schema)) == schema
