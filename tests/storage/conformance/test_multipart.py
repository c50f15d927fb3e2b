"""Every store keeps the laws of multipart uploads."""

import asyncio
import os

import pytest

from lakeshare.storage.errors import ConditionFailed, NoSuchKey, NoSuchUpload, PartChanged
from lakeshare.storage.hashing import Digests, full_object
from lakeshare.storage.port import Assembly, Checksum, ChecksumKind, Condition, Facts, Put, Upload, VersionRef

BIG, SMALL = 300_000, 700


def sums(data: bytes, *algorithms: str) -> Digests:
    digests = Digests(algorithms)
    digests.update((data,))
    return digests


async def test_parts_become_an_object(world):
    """Parts in order, of any sizes and sent in any order, are the object's bytes, whole and across their seams."""
    pieces = [os.urandom(BIG), os.urandom(SMALL), b"", os.urandom(BIG + 1), os.urandom(SMALL)]
    upload = await world.begin("k")
    sent = {number: await world.part(upload, number, pieces[number - 1]) for number in (3, 1, 5, 2, 4)}
    parts = [sent[number] for number in sorted(sent)]
    assert (await world.store.upload("b", "k", upload.id)).parts == tuple(parts)
    info = await world.complete(upload, parts)
    whole = b"".join(pieces)
    assert (info.size, [one.size for one in info.parts]) == (len(whole), [len(one) for one in pieces])
    assert [one.etag for one in info.parts] == [one.etag for one in parts]
    assert info.etag.endswith("-5")
    assert await world.store.head("b", "k") == info
    assert await world.read("k") == whole
    for start, stop in ((0, 1), (BIG - 1, BIG + 1), (BIG - 5, BIG + SMALL + 5), (BIG + SMALL, len(whole)), (9, 9)):
        assert await world.read_range("k", start, stop) == whole[start:stop]


@pytest.mark.parametrize("size", [0, SMALL, BIG])
async def test_one_part_is_enough(world, size):
    """An upload of a single part, which is how some clients send every file, becomes an object."""
    data = os.urandom(size)
    upload = await world.begin("k")
    info = await world.complete(upload, [await world.part(upload, 1, data)])
    assert info.size == size
    assert await world.read("k") == data
    await world.copy("k", "copy")
    await world.delete("k")
    assert await world.read("copy") == data


async def test_a_part_is_replaced_by_its_number(world):
    """The last part of a number counts, and completing with the one before it fails."""
    upload = await world.begin("k")
    old = await world.part(upload, 1, b"old")
    new = await world.part(upload, 1, b"new")
    with pytest.raises(PartChanged):
        await world.complete(upload, [old])
    await world.complete(upload, [new])
    assert await world.read("k") == b"new"


async def test_parts_may_be_left_out(world):
    """A completed object has the parts that were named, and no other."""
    upload = await world.begin("k")
    parts = [await world.part(upload, number, b"%d" % number) for number in (1, 2, 3)]
    info = await world.complete(upload, [parts[0], parts[2]])
    assert await world.read("k") == b"13"
    assert [one.number for one in info.parts] == [1, 3]


async def test_an_upload_carries_what_was_said(world):
    """Facts, tags and the algorithm of an upload are there until it is completed, and its part has its checksum."""
    facts, tags = Facts("text/csv", {}, {"a": "b"}), (("t", "v"),)
    made = await world.store.create_upload(Upload("b", "k", "", facts, 0, tags, "CRC32", ChecksumKind.COMPOSITE))
    assert made.created_at_ns > 0
    part = await world.part(made, 7, b"x", Checksum("CRC32", "AAAAAA=="))
    found = await world.store.upload("b", "k", made.id)
    assert (found.facts, found.tags, found.algorithm, found.checksum_kind) == (
        facts,
        tags,
        "CRC32",
        ChecksumKind.COMPOSITE,
    )
    assert found.parts == (part,)
    assert part.checksum == Checksum("CRC32", "AAAAAA==")
    checksum = Checksum("CRC32", "BBBBBB==-1", ChecksumKind.COMPOSITE)
    info = await world.store.complete(made, Assembly((part,), "e-1", checksum), Put("b", "k", facts, None, tags))
    assert (info.checksum, info.facts, info.tags) == (checksum, facts, tags)
    assert info.parts[0].checksum == part.checksum


async def test_a_completed_upload_is_remembered(world):
    """An upload that was completed says which write it became, and can be neither completed nor added to again."""
    upload = await world.begin("k")
    parts = [await world.part(upload, 1, b"x")]
    info = await world.complete(upload, parts)
    found = await world.store.upload("b", "k", upload.id)
    assert (found.completed_pin, found.parts) == (info.pin, ())
    assert await world.store.head("b", "k", VersionRef(pin=found.completed_pin)) == info
    for call in (world.complete(upload, parts), world.part(upload, 2, b"y"), world.store.abort(upload)):
        with pytest.raises(NoSuchUpload):
            await call


async def test_an_aborted_upload_is_gone(world):
    """After an abort the upload is not there, and its key never was."""
    upload = await world.begin("k")
    part = await world.part(upload, 1, os.urandom(BIG))
    await world.store.abort(upload)
    for call in (
        world.store.upload("b", "k", upload.id),
        world.part(upload, 2, b"y"),
        world.part(upload, 2, b"y" * BIG),
        world.complete(upload, [part]),
        world.store.abort(upload),
        world.store.upload("b", "other", upload.id),
    ):
        with pytest.raises(NoSuchUpload):
            await call
    with pytest.raises(NoSuchKey):
        await world.read("k")


async def test_an_upload_belongs_to_its_key(world):
    """An upload is found under its own key alone."""
    upload = await world.begin("k")
    with pytest.raises(NoSuchUpload):
        await world.store.upload("b", "other", upload.id)


async def test_conditions_are_asked_when_an_upload_is_completed(world):
    """A condition fails a complete, which may be tried again; of racers one wins."""
    await world.put("k", b"there")
    uploads = [await world.begin("k") for _ in range(6)]
    parts = [await world.part(one, 1, b"%d" % index) for index, one in enumerate(uploads)]
    with pytest.raises(ConditionFailed):
        await world.complete(uploads[0], [parts[0]], condition=Condition(absent=True))
    await world.delete("k")
    done = await asyncio.gather(
        *(
            world.complete(one, [part], condition=Condition(absent=True))
            for one, part in zip(uploads, parts, strict=True)
        ),
        return_exceptions=True,
    )
    winners = [index for index, one in enumerate(done) if not isinstance(one, Exception)]
    assert len(winners) == 1
    assert await world.read("k") == b"%d" % winners[0]


@pytest.mark.parametrize("algorithm", [None, "CRC32", "CRC64NVME", "SHA256"])
async def test_a_part_may_be_a_stretch_of_an_object(world, algorithm):
    """A copied part has the bytes, the MD5 and the checksum of its stretch, of whatever the source is made."""
    pieces = [os.urandom(BIG), os.urandom(BIG), os.urandom(SMALL)]
    made = await world.begin("source")
    await world.complete(made, [await world.part(made, n + 1, piece) for n, piece in enumerate(pieces)])
    await world.put("plain", os.urandom(BIG))
    await world.put("small", os.urandom(SMALL))
    whole = b"".join(pieces)
    stretches = [
        ("source", 0, BIG),
        ("source", BIG - 10, 2 * BIG + 20),
        ("source", 2 * BIG, 2 * BIG + SMALL),
        ("source", 0, len(whole)),
        ("plain", 10, BIG - 10),
        ("plain", 0, BIG),
        ("small", 5, 20),
    ]
    upload, parts, expected = await world.begin("k", algorithm), [], []
    for number, (key, start, stop) in enumerate(stretches, 1):
        data = (await world.read(key))[start:stop]
        part = await world.store.copy_part(upload, number, await world.store.open("b", key), start, stop)
        digests = sums(data, *([algorithm] if algorithm else []))
        assert (part.size, part.etag) == (len(data), digests.md5_hex)
        assert part.checksum == (full_object(algorithm, digests.digest(algorithm)) if algorithm else None)
        parts.append(part)
        expected.append(data)
    await world.delete("source", "plain", "small")
    await world.complete(upload, parts)
    assert await world.read("k") == b"".join(expected)


async def test_a_copied_part_needs_its_upload(world):
    """A part is copied into an upload that is under way."""
    await world.put("source", b"x" * BIG)
    upload = await world.begin("k")
    await world.store.abort(upload)
    with pytest.raises(NoSuchUpload):
        await world.store.copy_part(upload, 1, await world.store.open("b", "source"), 0, 10)


async def test_uploads_of_one_key_are_apart(world):
    """Two uploads of one key do not see each other's parts."""
    one, two = await world.begin("k"), await world.begin("k")
    parts = await world.part(one, 1, b"one"), await world.part(two, 1, b"two")
    with pytest.raises(PartChanged):
        await world.complete(one, [parts[1]])
    await world.complete(one, [parts[0]])
    await world.complete(two, [parts[1]])
    assert await world.read("k") == b"two"
