"""Bearer tokens, client secrets and activation codes: made at random, known again by their SHA-256.

The id of each is reckoned from its hash, so that a secret finds its record without a search, and neither says anything
of the other to who has only one of them.
"""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from functools import lru_cache
from uuid import UUID

from lakeshare.settings import Secret

TOKEN_PREFIX = "dapi"  # noqa: S105 - how a token begins, not one
IDS_REMEMBERED = 1_024
"""Ids that need not be reckoned again: of hashes, so that no secret is kept."""
_SECRET_BYTES = 32
_TOKEN = re.compile(rf"{TOKEN_PREFIX}[0-9a-f]{{64}}\Z")
_CODE = re.compile(r"[A-Za-z0-9_-]{43}\Z")


@dataclass(frozen=True, slots=True)
class Made:
    """A new secret, its hash, and the id that follows from it."""

    secret: Secret = field(repr=False)
    sha256: bytes = field(repr=False)
    id: str


def new_token() -> Made:
    """Make a bearer token: `dapi` and 64 hex digits."""
    return _made(TOKEN_PREFIX + secrets.token_hex(_SECRET_BYTES))


def new_secret() -> Made:
    """Make a secret for an OAuth client, or the code of an activation link."""
    return _made(secrets.token_urlsafe(_SECRET_BYTES))


def is_token(text: str) -> bool:
    """Say whether a text can be a bearer token."""
    return _TOKEN.match(text) is not None


def is_code(text: str) -> bool:
    """Say whether a text can be a code of an activation link, or a client's secret."""
    return _CODE.match(text) is not None


def digest_of(secret: str) -> bytes:
    """Return the hash that a secret is known by."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


@lru_cache(IDS_REMEMBERED)
def id_of(sha256: bytes) -> str:
    """Return the id that follows from a hash: a UUID, as AIStor's token ids are."""
    return str(UUID(bytes=hashlib.sha256(b"lakeshare credential id" + sha256).digest()[:16], version=4))


def same(one: bytes, other: bytes) -> bool:
    """Compare two hashes in a time that says nothing of where they differ."""
    return hmac.compare_digest(one, other)


def _made(text: str) -> Made:
    digest = digest_of(text)
    return Made(Secret(text), digest, id_of(digest))
