"""How parts become an object."""

import base64
import hashlib
import zlib

import pytest

from lakeshare.objects.errors import (
    BadDigest,
    EntityTooSmall,
    InvalidPart,
    InvalidPartOrder,
    InvalidRequest,
    MalformedXml,
)
from lakeshare.objects.model.assembly import PART_LEAST_BYTES, NamedPart, assemble
from lakeshare.objects.model.checksums import combine, digest_whole, kind_for
from lakeshare.storage.port import Checksum, ChecksumKind, Facts, Part, Upload

BIG = b"x" * PART_LEAST_BYTES
SMALL = b"tail"


def part(number, data, algorithm="CRC32"):
    digest = base64.b64encode(digest_whole(algorithm, data)).decode()
    return Part(number, len(data), hashlib.md5(data).hexdigest(), f"pin{number}", 0, Checksum(algorithm, digest))


def upload(*parts, algorithm=None, kind=None):
    return Upload("b", "k", "u", Facts(), 0, (), algorithm, kind, parts)


def named(*parts):
    return [NamedPart(item.number, item.etag) for item in parts]


def test_the_etag_is_the_md5_of_the_parts_md5s():
    """The ETag of a multipart object is the MD5 of its parts' MD5s, and how many there are."""
    parts = part(1, BIG), part(2, SMALL)
    done = assemble(upload(*parts), named(*parts))
    expected = hashlib.md5(hashlib.md5(BIG).digest() + hashlib.md5(SMALL).digest()).hexdigest()
    assert done.etag == f"{expected}-2"


def test_a_full_object_crc_is_that_of_all_bytes():
    """CRCs of parts are joined to the CRC of the whole, where the upload declared nothing."""
    parts = part(1, BIG), part(2, SMALL)
    done = assemble(upload(*parts), named(*parts))
    whole = base64.b64encode(zlib.crc32(BIG + SMALL).to_bytes(4, "big")).decode()
    assert done.checksum == Checksum("CRC32", whole, ChecksumKind.FULL_OBJECT)


@pytest.mark.parametrize("algorithm", ["CRC32", "CRC32C", "CRC64NVME"])
def test_joined_crcs_equal_the_crc_of_the_whole(algorithm):
    """Joining works for every CRC."""
    pieces = [b"a" * 1000, b"b" * 77, b"c"]
    parts = [part(index, data, algorithm) for index, data in enumerate(pieces, start=1)]
    joined = combine(algorithm, ChecksumKind.FULL_OBJECT, parts)
    assert joined is not None
    assert base64.b64decode(joined.value) == digest_whole(algorithm, b"".join(pieces))


def test_a_composite_checksum_counts_its_parts():
    """A composite checksum is that of the parts' checksums, with their number."""
    parts = part(1, BIG, "SHA256"), part(2, SMALL, "SHA256")
    done = assemble(upload(*parts, algorithm="SHA256", kind=ChecksumKind.COMPOSITE), named(*parts))
    raw = hashlib.sha256(hashlib.sha256(BIG).digest() + hashlib.sha256(SMALL).digest()).digest()
    assert done.checksum is not None
    assert done.checksum.value == base64.b64encode(raw).decode() + "-2"


def test_wrong_lists_are_refused():
    """No part, parts out of order or twice, unknown parts and other ETags are each refused by S3's name."""
    one, two = part(1, BIG), part(2, SMALL)
    have = upload(one, two)
    with pytest.raises(MalformedXml):
        assemble(have, [])
    with pytest.raises(InvalidPartOrder):
        assemble(have, named(two, one))
    with pytest.raises(InvalidPartOrder):
        assemble(have, named(one, one))
    with pytest.raises(InvalidPart):
        assemble(have, [NamedPart(3, one.etag)])
    with pytest.raises(InvalidPart):
        assemble(have, [NamedPart(1, two.etag)])
    with pytest.raises(InvalidPart):
        assemble(have, [NamedPart(1, one.etag, (("CRC32", "AAAAAA=="),))])
    with pytest.raises(InvalidPart):
        assemble(have, [NamedPart(1, one.etag, (("SHA256", "A" * 43 + "="),))])
    assert one.checksum is not None
    assemble(have, [NamedPart(1, one.etag, (("CRC32", one.checksum.value),))])


def test_only_the_last_part_may_be_small():
    """A part under 5 MiB that is not the last is too small."""
    parts = part(1, SMALL), part(2, BIG)
    with pytest.raises(EntityTooSmall):
        assemble(upload(*parts), named(*parts))


def test_a_promised_checksum_of_the_whole_must_hold():
    """A Complete that says what the whole should be is held to it."""
    parts = part(1, BIG), part(2, SMALL)
    have = upload(*parts, algorithm="CRC32", kind=ChecksumKind.FULL_OBJECT)
    with pytest.raises(BadDigest):
        assemble(have, named(*parts), Checksum("CRC32", "AAAAAA=="))


@pytest.mark.parametrize(
    ("algorithm", "asked"), [("SHA1", "FULL_OBJECT"), ("CRC64NVME", "COMPOSITE"), ("CRC32", "HALF")]
)
def test_pairs_that_s3_has_not_are_refused(algorithm, asked):
    """SHA checksums are never of the whole, CRC64NVME always is."""
    with pytest.raises(InvalidRequest):
        kind_for(algorithm, asked)
