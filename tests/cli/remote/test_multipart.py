"""Cutting objects into parts."""

import hashlib
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from lakeshare.cli.remote.multipart import PART_BYTES, PARTS_LIMIT, SentPart, etag_of, stretches

GIB = 1024**3


@given(st.integers(1, 5 * 1024 * GIB))
def test_parts_cover_the_whole(size: int):
    """Stretches follow each other without a gap, and there are never more than S3 takes."""
    parts = stretches(size)
    assert len(parts) <= PARTS_LIMIT
    assert [part.number for part in parts] == list(range(1, len(parts) + 1))
    assert parts[0].offset == 0
    assert all(one.offset + one.size == two.offset for one, two in pairwise(parts))
    assert parts[-1].offset + parts[-1].size == size
    assert all(part.size >= PART_BYTES for part in parts[:-1])
    assert len({part.size for part in parts[:-1]}) <= 1


def test_the_etag_of_an_object_in_parts():
    """It is the MD5 of the parts' MD5s, and how many there are."""
    digests = [hashlib.md5(data).hexdigest() for data in (b"a", b"b")]
    whole = hashlib.md5(b"".join(bytes.fromhex(digest) for digest in digests)).hexdigest()
    assert etag_of([SentPart(number, digest) for number, digest in enumerate(digests, 1)]) == f"{whole}-2"
