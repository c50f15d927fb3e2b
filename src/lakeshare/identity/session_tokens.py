"""Session tokens: everything a session is, sealed under a key of its own that has nothing to do with root's secret.

A token carries the session's secret, its parent, its end and its policies, encrypted and authenticated together with
the access key it belongs to: no one can read, change or make one, and beside another access key it is worthless.
Nothing is stored for a session; it ends with its time, with its parent, and when its parent's sessions are revoked.
"""

import hashlib
import hmac
import secrets
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from dataclasses import dataclass, field
from functools import lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from lakeshare.identity.errors import TokenInvalid
from lakeshare.settings import Secret
from lakeshare.state.codec import decode, encode

MIN_SESSION_SECONDS = 900  # STS AssumeRole, DurationSeconds
MAX_SESSION_SECONDS = 43_200
DEFAULT_SESSION_SECONDS = 3_600
MAX_TOKEN_CHARACTERS = 16 * 1024  # half of the bound of a request's head
MAX_SESSION_POLICIES = 4  # a session made by a session has its policy too
KEY_BYTES = 32

_VERSION = "LS1."
_ID_BYTES = 4
_SALT_BYTES = 16
_NONCE_BYTES = 12
_MAX_PAYLOAD_BYTES = 128 * 1024
_TOKENS_KEPT = 4096
_UNREADABLE = "it was not issued by this server, or not for this access key"


@dataclass(frozen=True, slots=True)
class Session:
    """What a token says. `parent` is the key that the rights come from, as it was when the session was made."""

    parent: str
    parent_uid: str
    parent_epoch: str
    secret: str = field(repr=False)
    issued_at: int
    expires_at: int
    name: str = ""
    policies: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class TemporaryCredentials:
    """What AssumeRole gives: a key, its secret, the token that must accompany every use, and its end."""

    access_key: str
    secret: Secret
    session_token: Secret
    expires_at: int


class TokenSealer:
    """Makes and opens tokens. The first key makes them, all of them open."""

    def __init__(self, keys: tuple[bytes, ...]) -> None:
        self._keys = {_key_id(key): key for key in keys}
        self._newest = _key_id(keys[0])
        self._remembered = lru_cache(maxsize=_TOKENS_KEPT)(self._open)

    def seal(self, session: Session, access_key: str) -> Secret:
        """Make the token of a session."""
        salt, nonce = secrets.token_bytes(_SALT_BYTES), secrets.token_bytes(_NONCE_BYTES)
        payload = zlib.compress(encode(session))
        sealed = self._cipher(self._newest, salt).encrypt(nonce, payload, access_key.encode())
        return Secret(_VERSION + urlsafe_b64encode(self._newest + salt + nonce + sealed).decode().rstrip("="))

    def open(self, token: str, access_key: str) -> Session:
        """Return the session of a token and the access key it came with, whether or not it has ended.

        Raises TokenInvalid.
        """
        if not token.startswith(_VERSION) or len(token) > MAX_TOKEN_CHARACTERS:
            raise TokenInvalid(access_key, _UNREADABLE)
        return self._remembered(token, access_key)

    def _open(self, token: str, access_key: str) -> Session:
        try:
            body = token[len(_VERSION) :].encode()
            raw = urlsafe_b64decode(body + b"=" * (-len(body) % 4))
            key_id, rest = raw[:_ID_BYTES], raw[_ID_BYTES:]
            salt, nonce = rest[:_SALT_BYTES], rest[_SALT_BYTES : _SALT_BYTES + _NONCE_BYTES]
            sealed = rest[_SALT_BYTES + _NONCE_BYTES :]
            payload = self._cipher(key_id, salt).decrypt(nonce, sealed, access_key.encode())
            return decode(Session, zlib.decompressobj().decompress(payload, _MAX_PAYLOAD_BYTES))
        except (Base64Error, ValueError, KeyError, InvalidTag, zlib.error):
            raise TokenInvalid(access_key, _UNREADABLE) from None

    def _cipher(self, key_id: bytes, salt: bytes) -> AESGCM:
        # A key for each token, so that random nonces never wear one key out.
        return AESGCM(hmac.digest(self._keys[key_id], b"session token" + salt, "sha256"))


def new_session_key() -> bytes:
    """Make a key for tokens."""
    return secrets.token_bytes(KEY_BYTES)


def _key_id(key: bytes) -> bytes:
    return hashlib.sha256(b"lakeshare session key" + key).digest()[:_ID_BYTES]
