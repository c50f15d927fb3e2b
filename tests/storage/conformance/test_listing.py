"""Every store lists the same way: by bytes, under a prefix, rolled up at a delimiter, page after page."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakeshare.storage.keys import common_prefix, start_of, successor
from lakeshare.storage.memory import MemoryStore
from lakeshare.storage.port import Facts, Listing, Put, Upload, UploadListing


async def test_keys_are_ordered_by_their_bytes(world):
    """Keys come in the order of their UTF-8 bytes, whatever their script."""
    keys = ["z", "é", "a", "Z", "\ud7ff", "\ue000", "\U00010000", "\uffff", "a b", "a-b", "a/b", "a0"]
    for key in keys:
        await world.put(key, b"")
    assert (await world.keys())[0] == sorted(keys, key=str.encode)


async def test_a_delimiter_rolls_up(world):
    """Keys with a delimiter after the prefix become one common prefix, which counts as one item."""
    for key in ("a", "b/1", "b/2", "b/c/3", "c", "d/", "e//f"):
        await world.put(key, b"")
    assert await world.keys(delimiter="/") == (["a", "c"], ["b/", "d/", "e/"], None)
    assert await world.keys(delimiter="/", prefix="b/") == (["b/1", "b/2"], ["b/c/"], None)
    assert await world.keys(delimiter="/", prefix="b") == ([], ["b/"], None)
    assert await world.keys(delimiter="/", limit=2) == (["a"], ["b/"], "b/")
    assert await world.keys(delimiter="/", limit=2, after="b/") == (["c"], ["d/"], "d/")
    assert await world.keys(delimiter="/", after="d/") == ([], ["e/"], None)
    assert await world.keys(delimiter="/", after="b/1") == (["c"], ["b/", "d/", "e/"], None)
    assert await world.keys(delimiter="//") == (["a", "b/1", "b/2", "b/c/3", "c", "d/"], ["e//"], None)
    assert await world.keys(prefix="nothing") == ([], [], None)


async def test_a_full_page_knows_whether_more_follows(world):
    """A page that happens to hold everything says that nothing follows, even when its last prefix is long."""
    for number in range(20):
        await world.put(f"p/{number:02}", b"")
    assert await world.keys(delimiter="/", limit=1) == ([], ["p/"], None)
    await world.put("q", b"")
    assert await world.keys(delimiter="/", limit=1) == ([], ["p/"], "p/")
    assert await world.keys(limit=21, prefix="") == ([*(f"p/{n:02}" for n in range(20)), "q"], [], None)
    assert (await world.keys(limit=20))[2] == "p/19"
    assert await world.keys(limit=0) == ([], [], None)


async def test_an_entry_is_the_object_in_short(world):
    """An entry of a listing agrees with the object's head."""
    info = await world.put("k", b"abc")
    (entry,) = (await world.store.list(Listing("b"))).objects
    assert (entry.key, entry.size, entry.etag, entry.modified_at_ns) == (
        info.key,
        info.size,
        info.etag,
        info.modified_at_ns,
    )


async def test_uploads_are_listed_by_key_and_then_by_id(world):
    """Uploads come by key and id, rolled up, and page after page; finished ones are left out."""
    made = [await world.begin(key) for key in ("b/1", "a", "b/2", "a", "c")]
    await world.store.abort(made[4])
    done = await world.begin("a")
    await world.complete(done, [await world.part(done, 1, b"x")])
    by_key = sorted((one.key, one.id) for one in made[:4])
    page = await world.store.list_uploads(UploadListing("b"))
    assert [(one.key, one.id) for one in page.uploads] == by_key
    assert page.next_after is None
    page = await world.store.list_uploads(UploadListing("b", limit=1))
    assert page.next_after == by_key[0]
    page = await world.store.list_uploads(UploadListing("b", after_key=by_key[0][0], after_id=by_key[0][1]))
    assert [(one.key, one.id) for one in page.uploads] == by_key[1:]
    page = await world.store.list_uploads(UploadListing("b", after_key="a"))
    assert [one.key for one in page.uploads] == ["b/1", "b/2"]
    page = await world.store.list_uploads(UploadListing("b", delimiter="/", limit=3))
    assert ([one.key for one in page.uploads], page.prefixes, page.next_after) == (["a", "a"], ["b/"], None)
    page = await world.store.list_uploads(UploadListing("b", prefix="b/"))
    assert [one.key for one in page.uploads] == ["b/1", "b/2"]


ALPHABET = st.text(st.sampled_from("ab/\u00e9\U0010ffff"), max_size=6)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    keys=st.lists(ALPHABET.filter(bool), max_size=40, unique=True),
    prefix=ALPHABET,
    delimiter=st.sampled_from(["", "/", "a", "ab", "//"]),
    limit=st.integers(1, 7),
)
async def test_pages_equal_the_unpaged_listing(keys, prefix, delimiter, limit):
    """Pages of any size, put together, are the listing that a dictionary gives, with nothing twice."""
    store = MemoryStore()
    await store.create_bucket("b")
    for key in keys:
        async with store.stage(frozenset()) as staging:
            await store.put(Put("b", key), staging)
    assert await _all_pages(store, prefix, delimiter, limit) == _expected(keys, prefix, delimiter)


async def test_pages_of_a_real_index_equal_the_unpaged_listing(local):
    """The index gives the listing that a dictionary gives, for many prefixes, delimiters and page sizes."""
    keys = sorted(
        {f"{a}{b}{c}" for a in ("", "a", "a/", "b//", "é") for b in ("x", "/", "y/z") for c in ("", "/", "1")}
    )
    keys += [f"long/{number:03}" for number in range(40)]
    for key in keys:
        await local.put(key, b"")
    for prefix in ("", "a", "a/", "long", "long/", "é", "zz", "b//"):
        for delimiter in ("", "/", "//", "x", "/z"):
            for limit in (1, 2, 3, 1000):
                found = await _all_pages(local.store, prefix, delimiter, limit)
                assert found == _expected(keys, prefix, delimiter), (prefix, delimiter, limit)


async def _all_pages(store, prefix, delimiter, limit):
    keys, prefixes, after = [], [], ""
    for _ in range(500):
        page = await store.list(Listing("b", prefix, delimiter, after, limit))
        assert len(page.objects) + len(page.prefixes) <= limit
        keys += [one.key for one in page.objects]
        prefixes += page.prefixes
        if page.next_after is None:
            return keys, prefixes
        assert len(page.objects) + len(page.prefixes) == limit
        after = page.next_after
    pytest.fail("the listing does not end")


def _expected(keys, prefix, delimiter):
    under = sorted((key for key in keys if key.startswith(prefix)), key=str.encode)
    rolled = [common_prefix(key, prefix, delimiter) for key in under]
    alone = [key for key, into in zip(under, rolled, strict=True) if into is None]
    return alone, sorted({into for into in rolled if into is not None}, key=str.encode)


@given(ALPHABET, ALPHABET)
def test_the_successor_bounds_a_prefix(prefix, rest):
    """Every string under a prefix is below its successor, which no string under it is."""
    bound = successor(prefix)
    if bound is None:
        assert set(prefix) <= {"\U0010ffff"}
        return
    assert (prefix + rest).encode() < bound.encode()
    assert not bound.startswith(prefix) or not prefix


def test_the_successor_steps_over_surrogates():
    """No successor holds a code point that UTF-8 cannot write."""
    assert successor("a\ud7ff") == "a\ue000"


def test_nothing_follows_the_last_prefix():
    """A page after a prefix of the highest code points alone has no start."""
    assert start_of("", "\U0010ffff", "\U0010ffff") is None


def test_upload_is_a_value():
    """Two uploads of the same facts are equal."""
    assert Upload("b", "k", "i", Facts(), 1) == Upload("b", "k", "i", Facts(), 1)
