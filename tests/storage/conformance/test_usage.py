"""Every store counts what its buckets hold."""

from lakeshare.storage.port import BucketUsage


async def test_usage_counts_what_a_listing_shows(world):
    """Overwritten and deleted objects and unfinished uploads count for nothing; an empty bucket is there too."""
    empty = await world.store.create_bucket("a")
    await world.put("k", b"x" * 10)
    await world.put("k", b"x" * 100_000)
    await world.put("l", b"x" * 7)
    await world.put("gone", b"x")
    await world.delete("gone")
    await world.part(await world.begin("u"), 1, b"x" * 50)
    held = await world.store.bucket("b")
    assert list(await world.store.usage()) == [BucketUsage(empty, 0, 0), BucketUsage(held, 2, 100_007)]
