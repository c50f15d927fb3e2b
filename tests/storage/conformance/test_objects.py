"""Every store keeps the laws of objects: bytes, facts, pins, conditions, copies, deletes."""

import asyncio
import base64
import hashlib
import os
import zlib

import pytest

from lakeshare.storage.errors import ConditionFailed, NoSuchBucket, NoSuchKey, NoSuchVersion, WriteOnce
from lakeshare.storage.port import (
    Checksum,
    ChecksumKind,
    Condition,
    Copy,
    Delete,
    Deleted,
    Facts,
    Put,
    VersionListing,
    VersionRef,
)

SIZES = [0, 1, 4096, 65_536, 65_537, 1_048_576, 3_500_001]
ABSENT = Condition(absent=True)


@pytest.mark.parametrize("size", SIZES)
async def test_bytes_come_back(world, size):
    """What was put is what is read, whole and in part, under its MD5."""
    data = os.urandom(size)
    info = await world.put("k", data)
    assert (info.size, info.etag) == (size, hashlib.md5(data).hexdigest())
    assert await world.read("k") == data
    assert await world.read_range("k", size // 3, size - size // 5) == data[size // 3 : size - size // 5]
    assert await world.store.head("b", "k") == info


async def test_facts_checksum_and_tags_come_back(world):
    """What a writer said of an object is returned as it was said."""
    facts = Facts("text/csv", {"cache-control": "no-store"}, {"owner": "müller", "n": "1"})
    checksum = Checksum("CRC32", "AAAAAA==")
    tags = (("team", "a b"), ("x", ""))
    put = await world.put("k", b"x", facts=facts, checksum=checksum, tags=tags)
    info = await world.store.head("b", "k")
    assert info == put
    assert (info.facts, info.checksum, info.tags) == (facts, checksum, tags)
    assert (info.version, info.latest, info.delete_marker, tuple(info.parts)) == ("null", True, False, ())


@pytest.mark.parametrize("size", [10, 65_536, 100_000, 2_500_000])
async def test_digests_are_of_all_bytes(world, size):
    """A staging gives the digests that were asked for, and MD5 and CRC64NVME unasked."""
    data = os.urandom(size)
    async with world.store.stage(frozenset({"CRC32", "CRC32C", "SHA1", "SHA256"})) as staging:
        for start in range(0, size, 70_000):
            await staging.write(data[start : start + 70_000])
        assert staging.size == size
        assert await staging.digest("MD5") == hashlib.md5(data).digest()
        assert await staging.digest("SHA1") == hashlib.sha1(data).digest()
        assert await staging.digest("SHA256") == hashlib.sha256(data).digest()
        assert await staging.digest("CRC32") == zlib.crc32(data).to_bytes(4, "big")
        assert len(await staging.digest("CRC32C")) == 4
        assert len(await staging.digest("CRC64NVME")) == 8


async def test_known_check_values(world):
    """The CRCs of `123456789` are those in the catalogues."""
    async with world.store.stage(frozenset({"CRC32", "CRC32C"})) as staging:
        await staging.write(b"123456789")
        assert (await staging.digest("CRC32")).hex() == "cbf43926"
        assert (await staging.digest("CRC32C")).hex() == "e3069283"
        assert (await staging.digest("CRC64NVME")).hex() == "ae8b14860a799888"


async def test_what_is_not_put_is_nowhere(world):
    """Staged bytes that were not published leave no key."""
    async with world.store.stage(frozenset()) as staging:
        await staging.write(b"x" * 3_000_000)
    assert await world.keys() == ([], [], None)


async def test_a_missing_key_is_said_to_be_missing(world):
    """Reading what is not there says which of bucket, key and version is missing."""
    with pytest.raises(NoSuchKey):
        await world.store.head("b", "k")
    with pytest.raises(NoSuchKey):
        await world.store.open("b", "k")
    await world.put("k", b"x")
    for ref in (VersionRef(version="v1"), VersionRef(pin="0" * 32), VersionRef(pin="no pin")):
        with pytest.raises(NoSuchVersion):
            await world.store.head("b", "k", ref)
        with pytest.raises(NoSuchVersion):
            await world.store.open("b", "k", ref)
    assert await world.read("k", VersionRef(version="null")) == b"x"


async def test_keys_never_become_paths(world):
    """Keys that look like paths, parents of others, or text of any script all live side by side."""
    keys = ["a", "a/b", "a//b", "a/b/", "/", "../x", "./", "..", "%2F", "ключ", "🦆", "a\nb", " ", "A", "a" * 1024]
    for key in keys:
        await world.put(key, key.encode())
    for key in keys:
        assert await world.read(key) == key.encode()
    assert (await world.keys())[0] == sorted(keys, key=str.encode)


@pytest.mark.parametrize("size", [3, 100_000])
async def test_a_pin_names_its_bytes_for_ever(world, size):
    """An overwritten and then deleted object is still read by the pin of its write, and only so."""
    old, new = os.urandom(size), os.urandom(size)
    first = await world.put("k", old)
    second = await world.put("k", new)
    assert first.pin != second.pin
    assert second.modified_at_ns > first.modified_at_ns
    assert await world.read("k") == new
    assert await world.read("k", VersionRef(pin=first.pin)) == old
    await world.delete("k")
    with pytest.raises(NoSuchKey):
        await world.read("k")
    assert await world.read("k", VersionRef(pin=first.pin)) == old
    assert await world.read("k", VersionRef(pin=second.pin)) == new
    retired = await world.store.head("b", "k", VersionRef(pin=first.pin))
    assert (retired.etag, retired.latest) == (first.etag, retired.latest)


async def test_a_pin_of_another_key_is_no_pin(world):
    """A pin is good for its own key alone."""
    one = await world.put("one", b"1")
    await world.put("two", b"2")
    with pytest.raises(NoSuchVersion):
        await world.read("two", VersionRef(pin=one.pin))


@pytest.mark.parametrize("size", [10, 100_000])
async def test_absent_has_one_winner(world, size):
    """Of many writers that ask for an absent key exactly one wins, and its bytes are there."""
    writes = [os.urandom(size) for _ in range(16)]
    done = await asyncio.gather(*(world.put("k", data, condition=ABSENT) for data in writes), return_exceptions=True)
    winners = [index for index, one in enumerate(done) if not isinstance(one, Exception)]
    assert len(winners) == 1
    assert all(isinstance(one, ConditionFailed) for index, one in enumerate(done) if index not in winners)
    assert await world.read("k") == writes[winners[0]]


async def test_an_etag_has_one_winner(world):
    """Of many writers that ask for the same ETag exactly one wins."""
    first = await world.put("k", b"start")
    condition = Condition(etag=first.etag)
    done = await asyncio.gather(
        *(world.put("k", b"%d" % index, condition=condition) for index in range(16)), return_exceptions=True
    )
    assert sum(not isinstance(one, Exception) for one in done) == 1


async def test_an_etag_is_asked_of_what_is_there(world):
    """A wrong ETag fails, any object satisfies `*`, and without an object there is nothing to match."""
    for etag in ("*", "0" * 32):
        with pytest.raises(NoSuchKey):
            await world.put("k", b"x", condition=Condition(etag=etag))
    await world.put("k", b"x")
    with pytest.raises(ConditionFailed):
        await world.put("k", b"y", condition=Condition(etag="0" * 32))
    await world.put("k", b"y", condition=Condition(etag="*"))
    assert await world.read("k") == b"y"


@pytest.mark.parametrize("size", [30, 100_000])
async def test_write_once_takes_the_same_bytes_again(world, size):
    """A write-once key answers a retry with what is there, refuses other bytes, and keeps to its condition."""
    data = os.urandom(size)
    first = await world.put("k", data, write_once=True)
    assert await world.put("k", data, write_once=True) == first
    with pytest.raises(WriteOnce):
        await world.put("k", data[:-1] + b"!", write_once=True)
    with pytest.raises(ConditionFailed):
        await world.put("k", data, write_once=True, condition=ABSENT)
    assert await world.store.head("b", "k") == first


async def test_write_once_holds_for_copies_and_uploads(world):
    """A copy or an upload onto a write-once key is refused unless it brings the same bytes."""
    data = os.urandom(5000)
    first = await world.put("k", data)
    await world.put("same", data)
    await world.put("other", data + b"!")
    assert await world.copy("same", "k", write_once=True) == first
    with pytest.raises(WriteOnce):
        await world.copy("other", "k", write_once=True)
    for body, allowed in ((data, True), (data + b"!", False)):
        upload = await world.begin("k")
        parts = [await world.part(upload, 1, body[:3000]), await world.part(upload, 2, body[3000:])]
        if allowed:
            assert await world.complete(upload, parts, write_once=True) == first
        else:
            with pytest.raises(WriteOnce):
                await world.complete(upload, parts, write_once=True)
    assert await world.store.head("b", "k") == first


@pytest.mark.parametrize("size", [0, 500, 100_000])
async def test_a_copy_has_its_own_life(world, size):
    """A copy has the bytes of its source, a pin of its own, and outlives it."""
    data = os.urandom(size)
    source = await world.put("source", data, facts=Facts("text/plain"), checksum=Checksum("CRC32", "AAAAAA=="))
    target = await world.copy("source", "target")
    assert (target.key, target.size, target.etag, target.facts) == ("target", size, source.etag, source.facts)
    assert target.checksum == source.checksum
    assert target.pin != source.pin
    await world.delete("source")
    assert await world.read("target") == data


async def test_a_copy_takes_the_pin_it_was_given(world):
    """A copy has the bytes that were read, even if its source was overwritten or deleted meanwhile."""
    old = os.urandom(100_000)
    source = await world.put("source", old)
    await world.put("source", b"new")
    await world.delete("source")
    put = Put("b", "target", Facts("text/plain"))
    info = await world.store.copy(Copy(put, "b", "source", source.pin))
    assert info.facts.content_type == "text/plain"
    assert await world.read("target") == old


async def test_a_copy_onto_itself_changes_what_is_said(world):
    """A copy of a key onto itself replaces its facts and keeps its bytes."""
    data = os.urandom(100_000)
    before = await world.put("k", data)
    after = await world.store.copy(Copy(Put("b", "k", Facts("text/html")), "b", "k", before.pin))
    assert after.facts.content_type == "text/html"
    assert await world.read("k") == data


async def test_a_copy_keeps_to_its_condition(world):
    """A copy is published under the same conditions as a put."""
    await world.put("source", b"s")
    await world.put("target", b"t")
    with pytest.raises(ConditionFailed):
        await world.copy("source", "target", condition=ABSENT)
    with pytest.raises(NoSuchKey):
        await world.copy("source", "nothing", condition=Condition(etag="*"))
    with pytest.raises(NoSuchKey):
        await world.store.copy(Copy(Put("b", "target"), "b", "gone", "0" * 32))
    await world.copy("source", "target", condition=Condition(etag="*"))
    assert await world.read("target") == b"s"


async def test_a_delete_says_what_it_did(world):
    """A delete removes what is there and says whether it was, in the order asked."""
    await world.put("a", b"1")
    await world.put("b", b"2")
    done = await world.store.delete("b", [Delete("a"), Delete("none"), Delete("b", "null"), Delete("a")])
    assert done == [
        Deleted("a", existed=True),
        Deleted("none", existed=False),
        Deleted("b", existed=True, version="null"),
        Deleted("a", existed=False),
    ]
    assert await world.keys() == ([], [], None)


async def test_a_delete_of_another_version_leaves_the_key(world):
    """A version that does not exist is not removed, nor is anything else."""
    await world.put("a", b"1")
    assert await world.store.delete("b", [Delete("a", "v9")]) == [Deleted("a", existed=False, version="v9")]
    assert await world.read("a") == b"1"


async def test_a_conditional_delete_stands_alone(world):
    """A failed condition keeps its own key and no other; what is not there meets all but an ETag."""
    one, two = await world.put("one", b"1"), await world.put("two", b"22")
    deletes = [
        Delete("one", condition=Condition(etag="0" * 32)),
        Delete("two", condition=Condition(etag=two.etag, size=2, modified_at=two.modified_at_ns // 10**9)),
        Delete("none", condition=Condition(etag="*")),
        Delete("one", condition=Condition(size=7)),
        Delete("one", condition=Condition(modified_at=1)),
        Delete("none", condition=Condition(size=7, modified_at=1)),
        Delete("two", condition=Condition(etag=two.etag)),
        Delete("one", "v9", Condition(etag=one.etag)),
    ]
    done = await world.store.delete("b", deletes)
    assert isinstance(done[0], ConditionFailed)
    assert done[1] == Deleted("two", existed=True)
    assert isinstance(done[2], NoSuchKey)
    assert isinstance(done[3], ConditionFailed)
    assert isinstance(done[4], ConditionFailed)
    assert done[5] == Deleted("none", existed=False)
    assert isinstance(done[6], NoSuchKey)
    assert isinstance(done[7], NoSuchKey)
    assert await world.read("one") == b"1"
    assert one.etag == (await world.store.head("b", "one")).etag


async def test_tags_change_without_the_object(world):
    """New tags replace the old ones and leave pin, time and bytes as they are."""
    info = await world.put("k", b"x", tags=(("a", "1"),))
    tagged = await world.store.set_tags("b", "k", VersionRef(), (("b", "2"),))
    assert tagged.tags == (("b", "2"),)
    assert (tagged.pin, tagged.modified_at_ns) == (info.pin, info.modified_at_ns)
    assert await world.store.head("b", "k") == tagged
    cleared = await world.store.set_tags("b", "k", VersionRef(version="null"), ())
    assert cleared.tags == ()
    with pytest.raises(NoSuchKey):
        await world.store.set_tags("b", "none", VersionRef(), ())


async def test_versions_of_a_plain_bucket_are_null(world):
    """A bucket that keeps no versions lists each key once, as its null version, page by page."""
    infos = [await world.put(key, key.encode()) for key in ("a", "b/1", "b/2", "c")]
    await world.put("gone", b"")
    await world.delete("gone")
    await world.put("a", b"again")
    page = await world.store.list_versions(VersionListing("b"))
    assert [one.key for one in page.versions] == ["a", "b/1", "b/2", "c"]
    assert page.versions[3] == infos[3]
    assert all(one.version == "null" and one.latest for one in page.versions)
    page = await world.store.list_versions(VersionListing("b", delimiter="/", limit=2))
    assert ([one.key for one in page.versions], page.prefixes, page.next_after) == (["a"], ["b/"], ("b/", ""))
    page = await world.store.list_versions(VersionListing("b", delimiter="/", after_key="b/"))
    assert [one.key for one in page.versions] == ["c"]
    page = await world.store.list_versions(VersionListing("b", limit=1))
    assert page.next_after == ("a", "null")
    page = await world.store.list_versions(VersionListing("b", after_key="a", after_version="null"))
    assert [one.key for one in page.versions] == ["b/1", "b/2", "c"]


async def test_a_listing_shows_a_checksum(world):
    """An entry of a listing has the object's checksum, and knows a composite one."""
    value = base64.b64encode(b"1234").decode()
    await world.put("full", b"x", checksum=Checksum("CRC32", value))
    await world.put("composite", b"x", checksum=Checksum("SHA256", value + "-2", ChecksumKind.COMPOSITE))
    await world.put("none", b"x")
    from lakeshare.storage.port import Listing

    entries = {one.key: one.checksum for one in (await world.store.list(Listing("b"))).objects}
    assert entries == {
        "full": Checksum("CRC32", value),
        "composite": Checksum("SHA256", value + "-2", ChecksumKind.COMPOSITE),
        "none": None,
    }


async def test_pins_of_many_keys_are_those_that_reading_them_shows(world):
    """Pins are returned in the order of the keys, one for each, and none for what is not there or was deleted."""
    first, second = await world.put("a/1", b"1"), await world.put("a/2", b"2")
    third = await world.put("ü=%20/'\"", b"3")
    await world.put("gone", b"4")
    await world.store.delete("b", [Delete("gone")])
    keys = ["a/2", "gone", "a/1", "never", "a/2", "ü=%20/'\""]
    assert list(await world.store.pins("b", keys)) == [second.pin, None, first.pin, None, second.pin, third.pin]
    assert list(await world.store.pins("b", [])) == []
    replaced = await world.put("a/1", b"other")
    assert list(await world.store.pins("b", ["a/1"])) == [replaced.pin]
    with pytest.raises(NoSuchBucket):
        await world.store.pins("none", ["a"])


@pytest.mark.parametrize("blocks", [[b"a" * 10], [b"a" * 1_048_576, b"b" * 70_000], [b"x"] * 2000])
async def test_bytes_written_at_once_are_as_others(world, blocks):
    """Who writes on a thread of his own stores the same object, whatever he does to his blocks afterwards."""
    async with world.store.stage(frozenset({"SHA256"})) as staging:
        lent = [bytearray(block) for block in blocks]
        await asyncio.to_thread(staging.write_now, [memoryview(block) for block in lent])
        await asyncio.to_thread(staging.write_now, [b"end"])
        for block in lent:
            block[:] = bytes(len(block))
        data = b"".join(blocks) + b"end"
        assert staging.size == len(data)
        assert await staging.digest("SHA256") == hashlib.sha256(data).digest()
        info = await world.store.put(Put(world.bucket, "k"), staging)
    assert info.etag == hashlib.md5(data).hexdigest()
    assert await world.read("k") == data
