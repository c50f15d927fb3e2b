"""What a request says of its own version 4 signature, and whether that holds."""

from collections.abc import Iterable
from hmac import compare_digest
from typing import NamedTuple

from lakeshare.http.request import Request
from lakeshare.identity.errors import AccessKeyUnknown, SignatureMismatch
from lakeshare.identity.sigv4.canonical import (
    SignedHeaders,
    canonical_headers,
    canonical_path,
    canonical_request,
    escaped_path,
    string_to_sign,
)
from lakeshare.identity.sigv4.chunks import ChunkSeed
from lakeshare.identity.sigv4.keys import SigningKey, signing_key
from lakeshare.identity.sigv4.scope import Scope
from lakeshare.identity.sigv4.timestamps import parse_timestamp
from lakeshare.identity.sigv4.verified import DECOY, KeyLookup

_SLASH = "%2F"


class Claim(NamedTuple):
    """A signature, and what it is said to be made with."""

    scope: Scope
    signed: SignedHeaders
    signature: str
    timestamp: str

    def signed_at(self) -> int:
        """Return the time of signing, which must be on the scope's day; raises ValueError."""
        if self.timestamp[:8] != self.scope.date:
            raise ValueError("the credential's date is not that of the request")
        return parse_timestamp(self.timestamp)

    def seed(self, key: SigningKey, payload_hash: str) -> ChunkSeed | None:
        """Return what signed chunks build on, where the body has them."""
        if not payload_hash.startswith("STREAMING-"):
            return None
        return ChunkSeed(self.signature, key, self.timestamp, self.scope.text)


def canonical_forms(  # noqa: PLR0913 - the last is rare
    request: Request, claim: Claim, methods: Iterable[str], query: str, payload_hash: str, *, twice: bool = False
) -> list[str]:
    """Return the canonical requests that a claim may have signed; raises SignatureMismatch if a header is missing.

    `twice` also takes a path encoded twice where the scope names S3, and the path as it was sent, encoded once more
    or with encoded slashes left as they are.
    """
    try:
        headers = canonical_headers(request.headers, claim.signed)
    except KeyError as missing:
        reason = f"header {missing} is signed, but was not sent"
        raise SignatureMismatch(claim.scope.access_key, reason) from None
    path = canonical_path(request.raw_path)
    paths = [path]
    if twice and path != request.raw_path:
        # Iceberg's Java up to 1.11 sends a blank in a name as a plus, signed as %2B beside escapes that it escapes.
        paths.append(escaped_path(request.raw_path))
        if _SLASH in request.raw_path.upper():
            # Where names stand in a path, signers keep a slash within one apart from the slash between two.
            paths.append(request.raw_path)
    if "%" in path and (twice or claim.scope.service != "s3"):
        # S3 encodes a path once; other services twice, though MinIO's clients do so for none.
        paths.insert(0, path.replace("%", "%25"))
    return [canonical_request(method, path, query, headers, payload_hash) for method in methods for path in paths]


def check_signature(claim: Claim, keys: KeyLookup, forms: list[str]) -> SigningKey:
    """Compare a claim's signature with that of each canonical form; return the key that made it."""
    scope = claim.scope
    secret = keys(scope.access_key)
    key = signing_key(DECOY if secret is None else secret, scope)
    matched = False
    for form in forms:
        expected = key.sign(string_to_sign(claim.timestamp, scope.text, form))
        matched |= compare_digest(expected, claim.signature)
    if secret is None:
        raise AccessKeyUnknown(scope.access_key)
    if not matched:
        raise SignatureMismatch(scope.access_key)
    return key
