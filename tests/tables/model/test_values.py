"""Names, places and pages: the values that a request is read into."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeshare.tables.errors import BadRequest
from lakeshare.tables.model import places
from lakeshare.tables.model.names import MAX_LEVELS, check_name, check_namespace, joined, split, warehouse_of
from lakeshare.tables.model.paging import Paging, token_for

LEVELS = st.lists(
    st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=20), min_size=1, max_size=MAX_LEVELS
)


@given(LEVELS)
def test_a_namespace_survives_its_path(levels: list[str]):
    """Whatever its levels are called, a namespace is read back from the text that joins them."""
    assert split(joined(tuple(levels))) == tuple(levels)


@pytest.mark.parametrize("levels", [(), ("",), ("a", ""), ("a\x1f",), ("a\n",), ("x" * 256,), ("é" * 128,)])
def test_a_namespace_that_cannot_be(levels: tuple[str, ...]):
    """Nothing, controls and names over their bound are refused."""
    with pytest.raises(BadRequest):
        check_namespace(levels)


@given(st.text(max_size=50), st.text(max_size=50))
def test_a_token_goes_on_where_it_was_made(context: str, last: str):
    """A token names the last item for its own listing, and is refused by another."""
    context, last = (each.encode("utf-8", "replace").decode() for each in (context, last))
    token = token_for(context, last)
    assert Paging(whole=False, token=token).after(context) == last
    with pytest.raises(BadRequest):
        Paging(whole=False, token=token).after(context + "x")


@given(st.text(max_size=40))
def test_no_text_is_a_token_by_chance(text: str):
    """A token that was not made here is refused, whatever it is."""
    if text:
        with pytest.raises(BadRequest):
            Paging(whole=False, token=text).after("context")


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "lake/a",
        "s3://lake",
        "s3://lake/",
        "s3://other/a",
        "https://lake/a",
        "file:/tmp/a",
        "s3://lake/a//b",
        "s3://lake/../b",
        "s3://lake/./b",
        "s3://lake/a\nb",
        "s3://lake/" + "a/" * 13,
        "s3://lake/" + "x" * 701,
    ],
)
def test_a_place_outside_or_odd_is_refused(uri: str):
    """A table lies inside its warehouse, in a folder that can be named, and not too deep."""
    with pytest.raises(BadRequest):
        places.table_place(uri, "lake")


def test_places_are_read_and_written():
    """A location is read in each of S3's schemes, a trailing slash does not count, and a name gives away its number."""
    for scheme in ("s3", "s3a", "s3n"):
        assert places.table_place(f"{scheme}://lake/a/b/", "lake").segments == ("a", "b")
    name = places.metadata_file("s3://lake/a", {}, 7, "u", "lake")
    assert name == "s3://lake/a/metadata/00007-u.metadata.json"
    assert places.version_of(name) == 7
    assert places.version_of("s3://lake/a/metadata/v12.metadata.json") == -1
    chosen = {"write.metadata.path": "s3://lake/elsewhere"}
    assert places.metadata_file("s3://lake/a", chosen, 0, "u", "lake").startswith("s3://lake/elsewhere/00000-")
    with pytest.raises(BadRequest):
        places.metadata_file("s3://lake/a", {"write.metadata.path": "s3://other/b"}, 0, "u", "lake")


@pytest.mark.parametrize("text", ["lake", "s3://lake", "s3://lake/", "arn:aws:s3tables:eu-1:42:bucket/lake", "lake/"])
def test_a_warehouse_by_any_name(text: str):
    """A warehouse is named in the ways that clients have."""
    assert warehouse_of(text) == "lake"


def test_names_are_bounded():
    """A name is not empty, and has at most 255 bytes."""
    assert check_name("a b/c.d")
    for wrong in ("", "a" * 256, "a\x00", "\ud800"):
        with pytest.raises(BadRequest):
            check_name(wrong)


@pytest.mark.parametrize(
    ("properties", "folders"),
    [
        ({}, ()),
        ({"write.data.path": "s3://lake/ns/t-1/data"}, ()),
        ({"write.data.path": "s3://lake/ns/t-1"}, ()),
        ({"write.data.path": "s3://lake/ns/t-10"}, ("ns/t-10",)),
        ({"write.data.path": "s3a://lake/data/", "write.metadata.path": "s3://lake/data/meta"}, ("data",)),
        ({"write.object-storage.path": "s3://lake/b", "write.folder-storage.path": "s3://lake/a"}, ("a", "b")),
        ({"write.data.path": "s3://other/data"}, ()),
        ({"write.data.path": "s3://lake"}, ()),
        ({"write.data.path": "s3://lake/a/../b"}, ()),
        ({"write.data.path": f"s3://lake/{'x' * 300}"}, ()),
        ({"write.data.path": "hdfs://lake/data"}, ()),
    ],
)
def test_folders_that_properties_choose(properties: dict[str, str], folders: tuple[str, ...]):
    """Folders count that lie in the warehouse and outside of the location, each once, and none that cannot be."""
    assert places.folders_beside("s3://lake/ns/t-1", properties, "lake") == folders


def test_no_location_is_longer_than_a_key():
    """A location that no key could have is refused, and quoted in part."""
    with pytest.raises(BadRequest) as refused:
        places.file_place("s3://lake/" + "x/" * 10_000_000, "lake")
    assert len(refused.value.message) < 1_000
