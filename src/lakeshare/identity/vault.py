"""Secrets at rest: sealed with AES-GCM under a key that lies in a file of its own, never in state.

SigV4 needs a secret in the clear, so secrets cannot be hashed. What is sealed is bound to its place: moved to another
record it does not open. The file has one key a line, the newest first; the first seals, all of them open.
"""

import hashlib
import secrets
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from lakeshare.errors import Kind, LakeshareError
from lakeshare.identity.private_file import create_private, read_private, replace_private

FILE_NAME = "secrets.key"
MAX_KEYS = 16
_FILE_LIMIT_BYTES = 4096
_KEY_BYTES = 32
_ID_BYTES = 4
_NONCE_BYTES = 12
_FORMAT = b"\x01"
_HEAD_BYTES = len(_FORMAT) + _ID_BYTES


class VaultUnusable(LakeshareError):
    """The key file is missing its key, readable by others, or cannot be read."""

    kind = Kind.INVALID


class SecretUnreadable(LakeshareError):
    """What is sealed does not open: another key sealed it, for another place, or it was changed."""

    kind = Kind.INTERNAL

    def __init__(self, place: str) -> None:
        super().__init__(f"the secret of {place} does not open with the key file: restore the file that sealed it")
        self.place = place


class Vault:
    """Seals and opens small secrets."""

    __slots__ = ("_keys", "_newest")

    def __init__(self, keys: tuple[bytes, ...]) -> None:
        if not keys or any(len(key) != _KEY_BYTES for key in keys):
            raise VaultUnusable(f"a key of the key file has {_KEY_BYTES} bytes")
        self._keys = {_key_id(key): AESGCM(key) for key in keys}
        self._newest = _key_id(keys[0])

    @classmethod
    def load(cls, path: Path) -> "Vault":
        """Read the key file, making it at the first start; several processes may start at once."""
        found = _read(path)
        if found is None:
            create_private(path, _written((secrets.token_bytes(_KEY_BYTES),)), VaultUnusable)
            found = _read(path)
        if found is None:
            raise VaultUnusable(f"{path} cannot be made: another process keeps removing it")
        return cls(found)

    def newest_alone(self) -> "Vault":
        """Return a vault that opens only what the newest key sealed."""
        alone = Vault.__new__(Vault)
        alone._newest = self._newest  # noqa: SLF001 - the same class
        alone._keys = {self._newest: self._keys[self._newest]}  # noqa: SLF001
        return alone

    def seal(self, secret: bytes, place: str) -> bytes:
        """Encrypt a secret for one place."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = self._keys[self._newest].encrypt(nonce, secret, place.encode())
        return _FORMAT + self._newest + nonce + sealed

    def open(self, sealed: bytes, place: str) -> bytes:
        """Decrypt what was sealed for this place. Raises SecretUnreadable."""
        key = self._keys.get(sealed[1:_HEAD_BYTES])
        if not sealed.startswith(_FORMAT) or key is None:
            raise SecretUnreadable(place)
        nonce, body = sealed[_HEAD_BYTES : _HEAD_BYTES + _NONCE_BYTES], sealed[_HEAD_BYTES + _NONCE_BYTES :]
        try:
            return key.decrypt(nonce, body, place.encode())
        except (InvalidTag, ValueError):
            raise SecretUnreadable(place) from None

    def seal_again(self, sealed: bytes, place: str) -> bytes:
        """Encrypt what was sealed for this place by the newest key. Raises SecretUnreadable."""
        return self.seal(self.open(sealed, place), place)

    def is_newest(self, sealed: bytes) -> bool:
        """Whether the newest key sealed this, so that the older ones are not needed for it."""
        return sealed[1:_HEAD_BYTES] == self._newest


def add_key(path: Path) -> None:
    """Put a new key in front of those in the file: it seals from the next start on, and the others still open."""
    keys = _read(path) or ()
    if len(keys) >= MAX_KEYS:
        raise VaultUnusable(f"{path} has {MAX_KEYS} keys already: rotate without keeping the older ones")
    replace_private(path, _written((secrets.token_bytes(_KEY_BYTES), *keys)), VaultUnusable)


def drop_older(path: Path) -> int:
    """Leave the newest key alone in the file, and say how many went: what they sealed opens no more."""
    keys = _read(path) or ()
    if len(keys) > 1:
        replace_private(path, _written(keys[:1]), VaultUnusable)
    return max(0, len(keys) - 1)


def _key_id(key: bytes) -> bytes:
    return hashlib.sha256(b"lakeshare vault key" + key).digest()[:_ID_BYTES]


def _read(path: Path) -> tuple[bytes, ...] | None:
    content = read_private(path, _FILE_LIMIT_BYTES, VaultUnusable)
    return None if content is None else _parse(path, content)


def _parse(path: Path, content: bytes) -> tuple[bytes, ...]:
    lines = [line for line in content.split() if line]
    try:
        keys = tuple(b64decode(line, validate=True) for line in lines[:MAX_KEYS])
    except Base64Error:
        keys = ()
    if not keys or len(lines) > MAX_KEYS or any(len(key) != _KEY_BYTES for key in keys):
        raise VaultUnusable(f"{path} must hold one to {MAX_KEYS} lines of {_KEY_BYTES} bytes in base64")
    return keys


def _written(keys: tuple[bytes, ...]) -> bytes:
    return b"".join(b64encode(key) + b"\n" for key in keys)
