"""What x-amz-content-sha256 and the headers beside it say of a body."""

import pytest

from lakeshare.identity.errors import BodyMalformed, PayloadHashUnknown, TrailerMalformed
from lakeshare.identity.sigv4.canonical import EMPTY_SHA256
from lakeshare.identity.sigv4.chunks import ChunkSeed
from lakeshare.identity.sigv4.keys import SigningKey
from lakeshare.identity.sigv4.payload import PayloadMode, read_payload, unsigned_request_payload

SEED = ChunkSeed("0" * 64, SigningKey(b"k"), "20260921T133320Z", "s")
LENGTHS = {"content-length": "100", "x-amz-decoded-content-length": "10", "x-amz-trailer": "x-amz-checksum-crc32"}


@pytest.mark.parametrize(
    ("value", "mode", "framed", "length"),
    [
        ("ab" * 32, PayloadMode.HASHED, False, 100),
        ("UNSIGNED-PAYLOAD", PayloadMode.UNSIGNED, False, 100),
        ("STREAMING-AWS4-HMAC-SHA256-PAYLOAD", PayloadMode.SIGNED_CHUNKS, True, 10),
        ("STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER", PayloadMode.SIGNED_CHUNKS_TRAILER, True, 10),
        ("STREAMING-UNSIGNED-PAYLOAD-TRAILER", PayloadMode.UNSIGNED_CHUNKS_TRAILER, True, 10),
    ],
)
def test_five_framings_are_known(value: str, mode: PayloadMode, framed: bool, length: int) -> None:
    """Each framing has its name, and its own header for the content's length."""
    payload = read_payload(value, LENGTHS, SEED)
    assert (payload.mode, payload.framed, payload.length) == (mode, framed, length)
    announced = mode in {PayloadMode.SIGNED_CHUNKS_TRAILER, PayloadMode.UNSIGNED_CHUNKS_TRAILER}
    assert payload.trailers == (("x-amz-checksum-crc32",) if announced else ())
    assert (payload.seed is SEED) == (mode in {PayloadMode.SIGNED_CHUNKS, PayloadMode.SIGNED_CHUNKS_TRAILER})


@pytest.mark.parametrize(
    "value",
    ["", "ab" * 31, "xy" * 32, "unsigned-payload", "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD", "STREAMING-", "\n"],
)
def test_anything_else_is_unknown(value: str) -> None:
    """A value that names no framing is refused."""
    with pytest.raises(PayloadHashUnknown):
        read_payload(value, {}, SEED)


def test_a_digest_in_capitals_is_the_same_digest() -> None:
    """A digest is compared without regard to case."""
    assert read_payload("AB" * 32, {}, None).sha256 == "ab" * 32


def test_an_empty_body_has_a_length() -> None:
    """The digest of nothing says that the body has no bytes, unless a length says otherwise."""
    assert read_payload(EMPTY_SHA256, {}, None).length == 0
    assert read_payload(EMPTY_SHA256, {"content-length": "5"}, None).length == 5


@pytest.mark.parametrize("length", ["", "-1", "1.0", "1e3", " 1", "\u0663", "1" * 20, "0x10"])
def test_a_length_is_a_number(length: str) -> None:
    """A length that is no whole number of bytes is refused."""
    with pytest.raises(BodyMalformed):
        read_payload("STREAMING-UNSIGNED-PAYLOAD-TRAILER", {"x-amz-decoded-content-length": length}, None)


@pytest.mark.parametrize("text", ["a,a", "a b", "é", ",".join(f"n{i}" for i in range(17)), "a" * 129, "a:b"])
def test_trailers_are_announced_by_name(text: str) -> None:
    """An announcement that names no headers, too many or one of them twice is refused."""
    with pytest.raises(TrailerMalformed):
        read_payload("STREAMING-UNSIGNED-PAYLOAD-TRAILER", {"x-amz-trailer": text}, None)


def test_an_announcement_may_be_spaced_and_in_capitals() -> None:
    """Names are compared without regard to case, blanks around them are nothing."""
    headers = {"x-amz-trailer": " X-Amz-Checksum-Crc32 , x-amz-checksum-sha256,"}
    names = read_payload("STREAMING-UNSIGNED-PAYLOAD-TRAILER", headers, None).trailers
    assert names == ("x-amz-checksum-crc32", "x-amz-checksum-sha256")


def test_a_request_without_a_signature_may_still_frame_its_body() -> None:
    """An anonymous upload may have a trailer, or a digest, but no signed chunks."""
    assert unsigned_request_payload({}).mode is PayloadMode.UNSIGNED
    assert unsigned_request_payload({"x-amz-content-sha256": "ab" * 32}).mode is PayloadMode.HASHED
    trailer = {"x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER"}
    assert unsigned_request_payload(trailer).mode is PayloadMode.UNSIGNED_CHUNKS_TRAILER
    with pytest.raises(BodyMalformed):
        unsigned_request_payload({"x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"})
