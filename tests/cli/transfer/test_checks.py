"""Checksums of what arrives."""

import base64
import hashlib
import zlib
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeshare.cli.errors import Corrupted
from lakeshare.cli.remote.model import Checksum, ObjectFacts
from lakeshare.cli.transfer.checks import Running, combined, digest_of, expected, require

WHEN = datetime(2026, 1, 1, tzinfo=UTC)
MD5 = "d41d8cd98f00b204e9800998ecf8427e"


@pytest.mark.parametrize("algorithm", ["CRC32", "CRC32C", "CRC64NVME"])
@given(parts=st.lists(st.binary(max_size=64), min_size=1, max_size=6))
def test_checksums_of_stretches_make_that_of_the_whole(algorithm: str, parts: list[bytes]):
    """Put together, the checksums of stretches are the checksum of all bytes."""
    sums = []
    for part in parts:
        running = Running(algorithm)
        running.update(part)
        sums.append((running.value, len(part)))
    assert combined(algorithm, sums) == digest_of(algorithm, [b"".join(parts)])


def test_known_digests():
    """The digests are those that everybody reckons."""
    data = b"123456789"
    assert digest_of("CRC32", [data]) == zlib.crc32(data).to_bytes(4, "big")
    assert digest_of("CRC32C", [data]).hex() == "e3069283"
    assert digest_of("CRC64NVME", [data]).hex() == "ae8b14860a799888"
    assert digest_of("SHA256", [data[:4], data[4:]]) == hashlib.sha256(data).digest()


def facts(etag: str = "", checksum: Checksum | None = None, size: int = 10, *, encrypted: bool = False) -> ObjectFacts:
    return ObjectFacts(size, WHEN, etag, "", checksum=checksum, is_encrypted=encrypted)


def test_what_is_expected():
    """A small object is known by its MD5, a large one by its checksum; what cannot be checked is not."""
    crc = Checksum("CRC64NVME", base64.b64encode(bytes(8)).decode(), whole=True)
    assert expected(facts(MD5, crc)) == ("MD5", bytes.fromhex(MD5))
    assert expected(facts(MD5, crc, 10**9)) == ("CRC64NVME", bytes(8))
    assert expected(facts(MD5 + "-2", crc)) == ("CRC64NVME", bytes(8))
    assert expected(facts(MD5, None, 10**9)) == ("MD5", bytes.fromhex(MD5))
    assert expected(facts(MD5 + "-2")) is None
    assert expected(facts(MD5, encrypted=True)) is None
    assert expected(facts(MD5 + "-2", Checksum("SHA256", "x-2", whole=False))) is None


def test_a_difference_is_told():
    """Other bytes than the server keeps are refused."""
    require("x", ("MD5", b"1"), b"1")
    require("x", None, b"1")
    with pytest.raises(Corrupted, match="did not arrive whole"):
        require("x", ("MD5", b"1"), b"2")
