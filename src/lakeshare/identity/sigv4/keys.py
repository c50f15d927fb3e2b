"""Signing keys: derived from a secret for one day, region and service, and remembered for the next request.

A key is kept as two SHA-256 states (HMAC's inner and outer) that are copied for each message: half the cost of
keying an HMAC anew.
"""

import hashlib
import hmac
from dataclasses import dataclass, field
from functools import lru_cache

from lakeshare.identity.sigv4.scope import Scope
from lakeshare.settings import Secret

KEYS_REMEMBERED = 2048
"""Signing keys held at once; about half a kilobyte each."""

_BLOCK = 64
_IPAD = bytes(byte ^ 0x36 for byte in range(256))
_OPAD = bytes(byte ^ 0x5C for byte in range(256))


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a client signs with."""

    access_key: str
    secret: Secret
    session_token: Secret | None = field(default=None)


class SigningKey:
    """HMAC-SHA256 under one key."""

    __slots__ = ("inner", "outer")

    def __init__(self, key: bytes) -> None:
        padded = key.ljust(_BLOCK, b"\0")
        self.inner = hashlib.sha256(padded.translate(_IPAD))
        self.outer = hashlib.sha256(padded.translate(_OPAD))

    def sign(self, message: bytes) -> str:
        """Return the message's HMAC in hex."""
        inner = self.inner.copy()
        inner.update(message)
        outer = self.outer.copy()
        outer.update(inner.digest())
        return outer.hexdigest()


def signing_key(secret: Secret, scope: Scope) -> SigningKey:
    """Return the key of a scope."""
    return _derive(secret, scope.date, scope.region, scope.service)


@lru_cache(maxsize=KEYS_REMEMBERED)
def _derive(secret: Secret, date: str, region: str, service: str) -> SigningKey:
    key = b"AWS4" + secret.reveal().encode()
    for part in (date, region, service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return SigningKey(key)
