"""Signature version 4 in the Authorization header."""

import re
from functools import lru_cache

from lakeshare.http.request import Request
from lakeshare.identity.errors import (
    AuthorizationMalformed,
    ClockSkewed,
    HeaderNotSigned,
    SignatureVersionUnsupported,
)
from lakeshare.identity.sigv4.canonical import (
    ALGORITHM,
    EMPTY_SHA256,
    Pairs,
    SignedHeaders,
    canonical_query,
    signed_headers,
)
from lakeshare.identity.sigv4.claim import Claim, canonical_forms, check_signature
from lakeshare.identity.sigv4.payload import read_payload
from lakeshare.identity.sigv4.scope import Scope, parse_credential
from lakeshare.identity.sigv4.timestamps import SKEW_LIMIT_SECONDS, timestamp_of_date
from lakeshare.identity.sigv4.verified import KeyLookup, Verified
from lakeshare.settings import Secret

AUTHORIZATION_LIMIT = 4096
"""Longest Authorization header read, in characters."""

_FIELDS = 3
_BASE64_SHA256 = re.compile(r"[A-Za-z0-9+/]{43}=")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9\-]{0,31}")


def verify_header(  # noqa: PLR0913 - the last two are rare
    request: Request,
    pairs: Pairs,
    keys: KeyLookup,
    now: float,
    body_sha256: str | None,
    *,
    lenient: bool = False,
) -> Verified:
    """Verify a request by its Authorization header; `lenient` takes the forms of signers that are not S3's own."""
    headers = request.headers
    try:
        claim = _read(request)
        signed_at = claim.signed_at()
    except ValueError as reason:
        raise AuthorizationMalformed(str(reason)) from None
    if abs(now - signed_at) > SKEW_LIMIT_SECONDS:
        raise ClockSkewed(signed_at, now, SKEW_LIMIT_SECONDS)
    _require_signed(request, claim.signed.members)
    payload_hash = _payload_hash(headers.get("x-amz-content-sha256"), body_sha256)
    forms = canonical_forms(request, claim, (request.method,), canonical_query(pairs), payload_hash, twice=lenient)
    if lenient and not all(value for _, value in pairs):
        # Signers built on `requests`, such as PyIceberg's, leave parameters without a value out of what they sign.
        query = canonical_query([pair for pair in pairs if pair[1]])
        forms += canonical_forms(request, claim, (request.method,), query, payload_hash, twice=True)
    key = check_signature(claim, keys, forms)
    token = headers.get("x-amz-security-token")
    scope = claim.scope
    return Verified(
        scope.access_key,
        scope.service,
        scope.region,
        read_payload(payload_hash, headers, claim.seed(key, payload_hash)),
        session_token=None if token is None else Secret(token),
    )


def _payload_hash(told: str | None, body_sha256: str | None) -> str:
    """Return the digest that was signed: Java's SDK may tell it in base64, and signs it in hex all the same."""
    if told and body_sha256 and _BASE64_SHA256.fullmatch(told):
        return body_sha256
    return told or body_sha256 or EMPTY_SHA256


def _read(request: Request) -> Claim:
    header = request.headers["authorization"]
    if not header.startswith(ALGORITHM):
        raise SignatureVersionUnsupported(_scheme(header))
    if len(header) > AUTHORIZATION_LIMIT:
        raise ValueError(f"it is longer than {AUTHORIZATION_LIMIT} characters")
    standing, _, signature = header.rpartition("Signature=")
    if not standing or "," in signature:
        standing, signature = _part(header)
    signature = signature.strip(" ")
    if not signature.isascii():
        raise ValueError("the signature must be in hex")
    scope, signed = _standing(standing)
    return Claim(scope, signed, signature, _timestamp(request))


@lru_cache(maxsize=512)
def _standing(text: str) -> tuple[Scope, SignedHeaders]:
    """Read what a client repeats from request to request: all of the header but the signature."""
    scheme, _, rest = text.partition(" ")
    if scheme != ALGORITHM:
        raise SignatureVersionUnsupported(_scheme(text))
    fields = _fields(rest.rstrip(" ,"))
    if fields.keys() != {"Credential", "SignedHeaders"}:
        raise ValueError("it must hold Credential, SignedHeaders and Signature, and nothing else")
    return parse_credential(fields["Credential"]), signed_headers(fields["SignedHeaders"])


def _part(header: str) -> tuple[str, str]:
    """Part the signature from a header in which it is not the last field."""
    scheme, _, rest = header.partition(" ")
    fields = _fields(rest)
    signature = fields.pop("Signature", None)
    if signature is None:
        raise ValueError("Signature is missing")
    return f"{scheme} " + ",".join([f"{name}={value}" for name, value in fields.items()]), signature


def _fields(text: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    for part in text.split(",", _FIELDS):
        name, _, value = part.partition("=")
        name = name.strip(" ")
        if name in fields:
            raise ValueError("it holds a field twice")
        fields[name] = value.strip(" ")
    return fields


def _scheme(header: str) -> str:
    """Name an authorization scheme, and no part of a credential that may stand in its place."""
    scheme, space, _ = header.partition(" ")
    return scheme if space and _SCHEME.fullmatch(scheme) else "an unknown scheme"


def _timestamp(request: Request) -> str:
    timestamp = request.headers.get("x-amz-date")
    if timestamp is not None:
        return timestamp
    date = request.headers.get("date")
    if date is None:
        raise ValueError("neither x-amz-date nor Date is there")
    return timestamp_of_date(date)


def _require_signed(request: Request, signed: frozenset[str]) -> None:
    if "host" not in signed:
        raise HeaderNotSigned("host")
    for name in request.headers.keys() - signed:
        if name.startswith("x-amz-"):
            raise HeaderNotSigned(name)
