"""Deletion vectors as the log describes them: where one lies, and what tells it from any other."""

from dataclasses import dataclass
from enum import Enum
from uuid import UUID

from lakeshare.formats.delta.errors import BrokenLog

_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_Z85_VALUE = {letter: value for value, letter in enumerate(_Z85)}
_UUID_LETTERS = 20
"""A UUID's 16 bytes are 20 letters of Z85; what stands before them is a random prefix, a folder."""
_FIVE = 5


class Storage(Enum):
    """How the bytes of a vector are reached (PROTOCOL, Deletion Vector Descriptor Schema)."""

    RELATIVE = "u"
    INLINE = "i"
    ABSOLUTE = "p"


@dataclass(frozen=True, slots=True)
class DeletionVector:
    """Rows of a data file that are no longer in the table. `text` is the descriptor's `pathOrInlineDv`."""

    storage: Storage
    text: str
    offset: int | None
    size_bytes: int
    cardinality: int

    @property
    def unique_id(self) -> str:
        """Tell this vector from any other of the same file."""
        suffix = "" if self.offset is None else f"@{self.offset}"
        return f"{self.storage.value}{self.text}{suffix}"

    @property
    def path(self) -> str | None:
        """Return the vector's file: a key relative to the table, a URI, or None when it is inline."""
        if self.storage is Storage.INLINE:
            return None
        return self.text if self.storage is Storage.ABSOLUTE else relative_path(self.text)

    def inline_bytes(self) -> bytes:
        """Return the bytes of an inline vector."""
        data = z85_decode(self.text)
        if len(data) < self.size_bytes:
            msg = f"an inline deletion vector holds {len(data)} bytes where {self.size_bytes} are promised"
            raise BrokenLog(msg)
        return data[: self.size_bytes]


def relative_path(text: str) -> str:
    """Derive the key of a vector's file from its random prefix and Z85 UUID."""
    prefix, letters = text[:-_UUID_LETTERS], text[-_UUID_LETTERS:]
    if len(letters) != _UUID_LETTERS:
        msg = f"a deletion vector's name is too short: {text!r}"
        raise BrokenLog(msg)
    name = f"deletion_vector_{UUID(bytes=z85_decode(letters))}.bin"
    return f"{prefix}/{name}" if prefix else name


def z85_decode(text: str) -> bytes:
    """Decode Z85 (ZeroMQ RFC 32): five letters are four bytes, big-endian."""
    if len(text) % _FIVE:
        msg = f"Z85 text has {len(text)} letters, which is no multiple of five"
        raise BrokenLog(msg)
    out = bytearray()
    for start in range(0, len(text), _FIVE):
        out += _word(text[start : start + _FIVE])
    return bytes(out)


def _word(letters: str) -> bytes:
    value = 0
    for letter in letters:
        if (digit := _Z85_VALUE.get(letter)) is None:
            msg = f"{letter!r} is no letter of Z85"
            raise BrokenLog(msg)
        value = value * 85 + digit
    if value >= 1 << 32:
        msg = f"Z85 text {letters!r} is out of range"
        raise BrokenLog(msg)
    return value.to_bytes(4, "big")
