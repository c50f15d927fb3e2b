"""Keys as tuples of strings and bytes, and their encoding into bytes that sort the same way.

A part is a tag, its bytes with every 00 written as 00 FF, and 00. Tuples then compare part by part, a tuple comes
before those it begins, bytes come before strings, and strings sort by code point. A tag is never FF, so the end of
a part cannot be taken for an escaped 00.
"""

from functools import lru_cache

from lakeshare.state.errors import BadKey
from lakeshare.state.limits import MAX_KEY_BYTES, MAX_KEY_PARTS

Part = str | bytes
Key = tuple[Part, ...]

_BYTES, _TEXT, _PAST = b"\x01", b"\x02", b"\x03"
_CACHED_KEYS = 4_096
_ORDINAL_BYTES = 8


@lru_cache(_CACHED_KEYS)
def encode_key(key: Key) -> bytes:
    """Encode a whole key. Raises BadKey."""
    if not key:
        raise BadKey(key, "it has no part")
    return encode_prefix(key)


def encode_prefix(prefix: Key) -> bytes:
    """Encode the first parts of keys; no part at all begins every key. Raises BadKey."""
    if len(prefix) > MAX_KEY_PARTS:
        raise BadKey(prefix, f"it has more than {MAX_KEY_PARTS} parts")
    encoded = b"".join([_encode_part(part, prefix) for part in prefix])
    if len(encoded) > MAX_KEY_BYTES:
        raise BadKey(prefix, f"it is longer than {MAX_KEY_BYTES} bytes")
    return encoded


def decode_key(encoded: bytes) -> Key:
    """Decode what encode_key made, or the end of it that begins with a part. Raises BadKey."""
    if encoded[-1:] != b"\x00":
        raise BadKey(encoded, "it ends within a part")
    parts = _split(encoded) if b"\x00\xff" in encoded else encoded[:-1].split(b"\x00")
    return tuple([str(part[1:], "utf-8") if part[:1] == _TEXT else _raw_part(part) for part in parts])


def range_under(prefix: Key) -> tuple[bytes, bytes]:
    """Bound the encoded keys that have all the parts of a prefix and at least one more: from, and before."""
    return range_below(encode_prefix(prefix))


def range_below(encoded_prefix: bytes) -> tuple[bytes, bytes]:
    """Bound the encoded keys below a prefix that is encoded already."""
    return encoded_prefix + _BYTES, encoded_prefix + _PAST


def is_under(key: Key, prefix: Key) -> bool:
    """Tell whether a key has all the parts of a prefix and at least one more."""
    return len(key) > len(prefix) and key[: len(prefix)] == prefix


def ordinal(number: int) -> bytes:
    """Make a part of a whole number, such that parts sort as their numbers do."""
    return number.to_bytes(_ORDINAL_BYTES, "big")


def number_of(part: Part) -> int:
    """Read what ordinal made. Raises BadKey."""
    if not isinstance(part, bytes) or len(part) != _ORDINAL_BYTES:
        raise BadKey((part,), "it is not a number")
    return int.from_bytes(part, "big")


def _encode_part(part: Part, key: Key) -> bytes:
    if isinstance(part, str):
        try:
            return _TEXT + part.encode().replace(b"\x00", b"\x00\xff") + b"\x00"
        except UnicodeEncodeError:
            raise BadKey(key, "it holds half a surrogate pair") from None
    if isinstance(part, bytes):
        return _BYTES + part.replace(b"\x00", b"\x00\xff") + b"\x00"
    raise BadKey(key, f"{type(part).__name__} is neither a string nor bytes")


def _raw_part(part: bytes) -> bytes:
    if part[:1] != _BYTES:
        raise BadKey(part, "it has a part of unknown type")
    return part[1:]


def _split(encoded: bytes) -> list[bytes]:
    """Split where no FF follows a 00, and take the FF away where it does."""
    parts: list[bytes] = []
    start = search = 0
    while (stop := encoded.find(b"\x00", search)) >= 0:
        if encoded[stop + 1 : stop + 2] == b"\xff":
            search = stop + 2
            continue
        parts.append(encoded[start:stop].replace(b"\x00\xff", b"\x00"))
        start = search = stop + 1
    if start < len(encoded):
        raise BadKey(encoded, "it ends within a part")
    return parts
