"""Who signed a request: the one door to every way of signing. Pure: `now` and the keys come from the caller."""

from collections.abc import Collection

from lakeshare.errors import LakeshareError
from lakeshare.http.request import Request
from lakeshare.identity.errors import (
    AuthorizationAmbiguous,
    AuthorizationMalformed,
    AuthorizationQueryMalformed,
    SignatureVersionUnsupported,
)
from lakeshare.identity.sigv4 import presigned, presigned_v2
from lakeshare.identity.sigv4.canonical import canonical_pairs
from lakeshare.identity.sigv4.header import verify_header
from lakeshare.identity.sigv4.plain import verify_plain
from lakeshare.identity.sigv4.verified import KeyLookup, Verified

_MARKS = presigned.MARKS | presigned_v2.MARKS
_GATEWAY = "execute-api"
"""Routes that may be signed for a gateway of any kind take the canonical forms of any signer."""


def verify(  # noqa: PLR0913 - the last three are rare, and named where they are given
    request: Request,
    keys: KeyLookup,
    now: float,
    services: Collection[str],
    *,
    allow_v2: bool = True,
    bucket: str = "",
    body_sha256: str | None = None,
) -> Verified | None:
    """Return who signed a request, or None if nothing of it claims to be signed.

    `services` are those that the route may be signed for. `bucket` is the one that the host names (virtual-host
    style), which version 2 signs. `body_sha256` is the digest of a body already read: clients of services other
    than S3 sign it without sending it.
    """
    verified = verify_plain(request, keys, now)
    if verified is None:
        lenient = _GATEWAY in services
        verified = _verify(
            request, keys, now, allow_v2=allow_v2, bucket=bucket, body_sha256=body_sha256, lenient=lenient
        )
    if verified is not None and verified.service not in services:
        raise _other_service(verified, services)
    return verified


def _verify(  # noqa: PLR0913 - as verify
    request: Request,
    keys: KeyLookup,
    now: float,
    *,
    allow_v2: bool,
    bucket: str,
    body_sha256: str | None,
    lenient: bool,
) -> Verified | None:
    """Find the way that a request is signed, and take it."""
    try:
        pairs = canonical_pairs(request.raw_query)
    except ValueError as reason:
        raise AuthorizationQueryMalformed(str(reason)) from None
    v4_query = v2_query = False
    for name, _ in pairs:
        if name in _MARKS:
            v4_query = v4_query or name in presigned.MARKS
            v2_query = v2_query or name in presigned_v2.MARKS
    in_header = "authorization" in request.headers
    if in_header + v4_query + v2_query > 1:
        raise AuthorizationAmbiguous
    if in_header:
        return verify_header(request, pairs, keys, now, body_sha256, lenient=lenient)
    if v4_query:
        return presigned.verify_presigned(request, pairs, keys, now)
    if not v2_query:
        return None
    if not allow_v2:
        raise SignatureVersionUnsupported("signature version 2")
    return presigned_v2.verify_presigned_v2(request, keys, now, bucket)


def _other_service(verified: Verified, services: Collection[str]) -> LakeshareError:
    expected = " or ".join(sorted(services))
    reason = f"the signature is for service {verified.service!r}, and this needs {expected}"
    return AuthorizationQueryMalformed(reason) if verified.presigned else AuthorizationMalformed(reason)
