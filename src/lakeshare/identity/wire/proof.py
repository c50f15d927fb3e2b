"""Whole requests only: where a body names identities, its digest must be part of the signature. Pure.

S3 lets a client leave its body unsigned, for the sake of large uploads, and lets it sign a link that others use.
Neither has a place where a request makes credentials or changes who may do what.
"""

from lakeshare.identity.sigv4.canonical import EMPTY_SHA256
from lakeshare.identity.sigv4.payload import PayloadMode
from lakeshare.identity.sigv4.verified import Verified
from lakeshare.identity.wire.errors import BodyNotSigned


def require_whole(verified: Verified | None) -> None:
    """Refuse a presigned URL, and a body that is not signed. Raises BodyNotSigned; a request of nobody's passes."""
    if verified is None:
        return
    if verified.presigned:
        raise BodyNotSigned("presigned URLs are not taken here, sign in the Authorization header")
    if verified.payload.mode is not PayloadMode.HASHED:
        raise BodyNotSigned("send the SHA-256 of the body as x-amz-content-sha256")


def check_body(verified: Verified | None, body: bytes, *, may_be_unsigned: bool = False) -> None:
    """Compare a body with the digest that was signed. Raises BodyNotSigned, PayloadMismatch, BodyIncomplete."""
    if verified is None:
        return
    payload = verified.payload
    if may_be_unsigned and payload.mode is PayloadMode.UNSIGNED and not verified.presigned:
        return
    require_whole(verified)
    if not body and not payload.length and payload.sha256 == EMPTY_SHA256:
        return
    decoder = verified.decoder()
    decoder.feed(body)
    decoder.finish()
