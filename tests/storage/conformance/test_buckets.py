"""Every store keeps the laws of buckets."""

import pytest

from lakeshare.storage.errors import BucketExists, BucketNotEmpty, NoSuchBucket, NoSuchDocument, NoSuchVersion
from lakeshare.storage.port import Listing, UploadListing, VersionListing, VersionRef


async def test_a_bucket_is_found_by_its_name(world):
    """A bucket that was made is returned with its region and its time."""
    made = await world.store.create_bucket("other", region="eu-west-1")
    assert await world.store.bucket("other") == made
    assert made.region == "eu-west-1"
    assert made.created_at_ns > 0


async def test_a_name_is_taken_once(world):
    """Making a bucket that exists is refused."""
    with pytest.raises(BucketExists):
        await world.store.create_bucket("b")


async def test_a_bucket_is_made_with_its_documents(world):
    """Documents given at the making are there with the bucket; those of a refused making change nothing."""
    await world.store.create_bucket("other", documents={"owner": b"una"})
    assert await world.store.document("other", "owner") == b"una"
    with pytest.raises(BucketExists):
        await world.store.create_bucket("other", documents={"owner": b"ivo"})
    assert await world.store.document("other", "owner") == b"una"


async def test_buckets_are_listed_in_order(world):
    """Buckets come by name, under a prefix, after a name, up to a limit."""
    for name in ("c2", "a", "c1", "c3"):
        await world.store.create_bucket(name)
    assert [one.name for one in await world.store.buckets()] == ["a", "b", "c1", "c2", "c3"]
    assert [one.name for one in await world.store.buckets(prefix="c")] == ["c1", "c2", "c3"]
    assert [one.name for one in await world.store.buckets(prefix="c", after="c1", limit=1)] == ["c2"]


async def test_a_bucket_with_keys_stays(world):
    """Only an empty bucket can be removed."""
    await world.put("k", b"x")
    with pytest.raises(BucketNotEmpty):
        await world.store.delete_bucket("b")
    await world.delete("k")
    await world.store.delete_bucket("b")
    with pytest.raises(NoSuchBucket):
        await world.store.bucket("b")


async def test_unfinished_uploads_go_with_their_bucket(world):
    """A bucket whose only content is an unfinished upload can be removed, and a new one of its name is empty."""
    upload = await world.begin("k")
    await world.part(upload, 1, b"x" * 100_000)
    await world.store.delete_bucket("b")
    await world.store.create_bucket("b")
    assert not (await world.store.list_uploads(UploadListing("b"))).uploads


async def test_nothing_of_a_removed_bucket_is_found_in_a_new_one(world):
    """A new bucket of an old name holds neither its keys nor its documents nor its pins."""
    info = await world.put("k", b"x")
    await world.store.set_document("b", "tagging", b"t")
    await world.delete("k")
    await world.store.delete_bucket("b")
    await world.store.create_bucket("b")
    assert await world.keys() == ([], [], None)
    with pytest.raises(NoSuchDocument):
        await world.store.document("b", "tagging")
    with pytest.raises(NoSuchVersion):
        await world.store.head("b", "k", VersionRef(pin=info.pin))


async def test_documents_are_set_replaced_and_removed(world):
    """A bucket's document is what was set last, and can be removed twice."""
    await world.store.set_document("b", "tagging", b"one")
    await world.store.set_document("b", "tagging", b"two")
    assert await world.store.document("b", "tagging") == b"two"
    await world.store.set_document("b", "tagging", None)
    await world.store.set_document("b", "tagging", None)
    with pytest.raises(NoSuchDocument):
        await world.store.document("b", "tagging")


@pytest.mark.parametrize(
    "call",
    [
        lambda store, world: store.bucket("none"),
        lambda store, world: store.delete_bucket("none"),
        lambda store, world: store.document("none", "tagging"),
        lambda store, world: store.set_document("none", "tagging", b""),
        lambda store, world: store.head("none", "k"),
        lambda store, world: store.open("none", "k"),
        lambda store, world: store.delete("none", []),
        lambda store, world: store.list(Listing("none")),
        lambda store, world: store.list_versions(VersionListing("none")),
        lambda store, world: store.list_uploads(UploadListing("none")),
        lambda store, world: store.upload("none", "k", "id"),
        lambda store, world: world.put("k", b"x", bucket="none"),
        lambda store, world: world.put("k", b"x" * 100_000, bucket="none"),
    ],
)
async def test_every_call_says_that_a_bucket_is_missing(world, call):
    """A call on a bucket that does not exist says so."""
    with pytest.raises(NoSuchBucket):
        await call(world.store, world)
