"""That a body is what its signature says."""

import hashlib

import pytest

from lakeshare.identity.errors import BodyIncomplete, PayloadMismatch
from lakeshare.identity.sigv4.canonical import EMPTY_SHA256
from lakeshare.identity.sigv4.payload import Payload, PayloadMode
from lakeshare.identity.sigv4.verified import Verified
from lakeshare.identity.wire.errors import BodyNotSigned
from lakeshare.identity.wire.proof import check_body

BODY = b'{"name": "lake"}'
UNSIGNED = Payload(PayloadMode.UNSIGNED)


def signed(payload: Payload, *, presigned: bool = False) -> Verified:
    return Verified("a key", "s3", "us-east-1", payload, presigned)


def hashed(body: bytes) -> Payload:
    return Payload(PayloadMode.HASHED, hashlib.sha256(body).hexdigest(), len(body))


def test_a_body_that_was_signed_passes():
    """A body with the digest and the length that were signed is taken, and so is none at all."""
    check_body(signed(hashed(BODY)), BODY)
    check_body(signed(Payload(PayloadMode.HASHED, EMPTY_SHA256)), b"")
    check_body(None, BODY)


@pytest.mark.parametrize("unsigned", [True, False])
def test_another_body_than_was_signed_is_refused(unsigned: bool):
    """Bytes that were changed, added or left out are refused, wherever a digest was signed."""
    other = BODY.replace(b"lake", b"lane")
    for body, error in ((other, PayloadMismatch), (b"", BodyIncomplete)):
        with pytest.raises(error):
            check_body(signed(hashed(BODY)), body, may_be_unsigned=unsigned)
    with pytest.raises(PayloadMismatch):
        check_body(signed(Payload(PayloadMode.HASHED, EMPTY_SHA256)), BODY, may_be_unsigned=unsigned)


def test_a_body_is_left_unsigned_only_where_that_is_allowed():
    """UNSIGNED-PAYLOAD is taken by the catalog alone, chunks and presigned URLs by nobody here."""
    check_body(signed(UNSIGNED), BODY, may_be_unsigned=True)
    with pytest.raises(BodyNotSigned):
        check_body(signed(UNSIGNED), BODY)
    for refused in (signed(UNSIGNED, presigned=True), signed(Payload(PayloadMode.UNSIGNED_CHUNKS_TRAILER))):
        with pytest.raises(BodyNotSigned):
            check_body(refused, BODY, may_be_unsigned=True)
