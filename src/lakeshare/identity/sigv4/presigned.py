"""Signature version 4 in the query: presigned URLs."""

from functools import lru_cache
from urllib.parse import unquote_to_bytes

from lakeshare.http.request import Request
from lakeshare.identity.errors import (
    AuthorizationQueryMalformed,
    HeaderNotSigned,
    RequestExpired,
    RequestNotYetValid,
    SignatureVersionUnsupported,
)
from lakeshare.identity.sigv4.canonical import (
    ALGORITHM,
    UNSIGNED_PAYLOAD,
    Pairs,
    canonical_query,
    signed_headers,
)
from lakeshare.identity.sigv4.claim import Claim, canonical_forms, check_signature
from lakeshare.identity.sigv4.payload import read_payload
from lakeshare.identity.sigv4.scope import CREDENTIAL_LIMIT, parse_credential
from lakeshare.identity.sigv4.timestamps import SKEW_LIMIT_SECONDS
from lakeshare.identity.sigv4.verified import KeyLookup, Verified
from lakeshare.settings import Secret

EXPIRES_LIMIT_SECONDS = 604_800
"""Longest life of a presigned URL: AWS's seven days."""

MARKS = frozenset({"X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Signature"})
"""Parameters any of which says that a URL is presigned."""

_OWN = frozenset(
    name.lower() for name in (*MARKS, "X-Amz-Date", "X-Amz-Expires", "X-Amz-SignedHeaders", "X-Amz-Security-Token")
)
_NEEDED = 6
"""Parameters that every presigned URL has."""


def verify_presigned(request: Request, pairs: Pairs, keys: KeyLookup, now: float) -> Verified:
    """Verify a request by its presigned URL. One for GET serves HEAD too."""
    try:
        given = _parameters(pairs)
        claim = _read(given)
        signed_at = claim.signed_at()
        expires_at = signed_at + _expires(given.get("x-amz-expires", ""))
    except ValueError as reason:
        raise AuthorizationQueryMalformed(str(reason)) from None
    if signed_at > now + SKEW_LIMIT_SECONDS:
        raise RequestNotYetValid(signed_at, now)
    if now > expires_at:
        raise RequestExpired(expires_at, now)
    hoisted = {name: value for name, value in given.items() if name not in _OWN} if len(given) > _NEEDED else {}
    _require_signed(request, claim.signed.members, given)
    signed_hash = request.headers.get("x-amz-content-sha256", UNSIGNED_PAYLOAD)
    payload_hash = hoisted.pop("x-amz-content-sha256", signed_hash)
    query = canonical_query([pair for pair in pairs if pair[0] != "X-Amz-Signature"])
    methods = ("HEAD", "GET") if request.method == "HEAD" else (request.method,)
    key = check_signature(claim, keys, canonical_forms(request, claim, methods, query, payload_hash))
    token = given.get("x-amz-security-token", request.headers.get("x-amz-security-token"))
    return Verified(
        claim.scope.access_key,
        claim.scope.service,
        claim.scope.region,
        read_payload(
            payload_hash, {**hoisted, **request.headers} if hoisted else request.headers, claim.seed(key, payload_hash)
        ),
        presigned=True,
        session_token=None if token is None else Secret(token),
        expires_at=expires_at,
        hoisted=hoisted,
    )


def _parameters(pairs: Pairs) -> dict[str, str]:
    """Return the x-amz-* parameters by lower-case name; raises ValueError for one that comes twice."""
    found: dict[str, str] = {}
    for name, value in pairs:
        lower = name.lower()
        if not lower.startswith("x-amz-"):
            continue
        if lower in found:
            raise ValueError(f"{name[:64]} comes twice")
        found[lower] = _decode(value) if "%" in value else value
    return found


def _decode(value: str) -> str:
    """Decode a value; short ones, such as the credential, come again and again."""
    return _decode_short(value) if len(value) <= CREDENTIAL_LIMIT else unquote_to_bytes(value).decode("latin-1")


@lru_cache(maxsize=512)
def _decode_short(value: str) -> str:
    return unquote_to_bytes(value).decode("latin-1")


def _read(given: dict[str, str]) -> Claim:
    try:
        algorithm = given["x-amz-algorithm"]
        credential, timestamp = given["x-amz-credential"], given["x-amz-date"]
        names, signature = given["x-amz-signedheaders"], given["x-amz-signature"]
    except KeyError as missing:
        raise ValueError(f"{missing.args[0]} is missing") from None
    if algorithm != ALGORITHM:
        raise SignatureVersionUnsupported(algorithm[:64])
    if not signature.isascii():
        raise ValueError("the signature must be in hex")
    return Claim(parse_credential(credential), signed_headers(names), signature, timestamp)


@lru_cache(maxsize=256)
def _expires(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(EXPIRES_LIMIT_SECONDS))):
        raise ValueError("X-Amz-Expires must be a number of seconds")
    if not 1 <= int(text) <= EXPIRES_LIMIT_SECONDS:
        raise ValueError(f"X-Amz-Expires must be from 1 to {EXPIRES_LIMIT_SECONDS} seconds")
    return int(text)


def _require_signed(request: Request, signed: frozenset[str], given: dict[str, str]) -> None:
    if "host" not in signed:
        raise HeaderNotSigned("host")
    for name, value in request.headers.items():
        if name.startswith("x-amz-") and name not in signed and given.get(name) != value:
            raise HeaderNotSigned(name)
