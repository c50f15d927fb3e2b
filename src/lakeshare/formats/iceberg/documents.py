"""Reading JSON objects strictly: each reader returns a value of the type that is asked for, or says which field is not.

`null` and absent are one, as Iceberg's own readers have it. A document that was read is never changed in place.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from lakeshare.formats.iceberg.errors import InvalidMetadata

Document = Mapping[str, Any]

MAX_LONG = 2**63 - 1
MAX_INT = 2**31 - 1

MAX_JSON_BYTES = 256 * 1024 * 1024
"""How large a metadata file may be, unpacked, to be written and to be read: a table of half a million snapshots."""

MAX_LIST = 2_000_000
"""How many items a list of a metadata file may have."""

MAX_DEPTH = 200
"""How deep a request's JSON may nest; the encoder gives up at 254, and a table's metadata adds a few levels."""

MAX_NODES = 5_000_000
"""How many values a request's JSON may hold."""

MAX_SHOWN = 100
"""How much of a wrong value an error repeats."""


def decode(raw: bytes, what: str) -> Document:
    """Read a JSON object of bounded size."""
    if len(raw) > MAX_JSON_BYTES:
        raise InvalidMetadata(f"{what} has {len(raw)} bytes, more than {MAX_JSON_BYTES}")
    try:
        found = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise InvalidMetadata(f"{what} is not JSON: {error}") from error
    return as_document(found, what)


def encode(document: Document, what: str) -> bytes:
    """Write a JSON object that can be read again."""
    try:
        raw = orjson.dumps(document)
    except orjson.JSONEncodeError as error:
        raise InvalidMetadata(f"{what} cannot be written as JSON: {error}") from error
    if len(raw) > MAX_JSON_BYTES:
        raise InvalidMetadata(f"{what} would have {len(raw)} bytes, more than {MAX_JSON_BYTES}: expire snapshots first")
    return raw


def check_size(value: object, what: str) -> None:
    """Refuse JSON from a request that nests too deep or holds too much."""
    level = [value]
    nodes = 0
    for _ in range(MAX_DEPTH):
        below: list[object] = []
        for item in level:
            if isinstance(item, dict):
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
        nodes += len(below)
        if nodes > MAX_NODES:
            raise InvalidMetadata(f"{what} holds more than {MAX_NODES} values")
        if not below:
            return
        level = below
    raise InvalidMetadata(f"{what} nests deeper than {MAX_DEPTH} levels")


def as_document(value: object, what: str) -> Document:
    """Return a JSON object."""
    if not isinstance(value, dict):
        raise InvalidMetadata(f"{what} must be a JSON object, not {shown(value)}")
    return value


def as_integer(value: object, what: str, *, least: int = -MAX_LONG - 1, most: int = MAX_LONG) -> int:
    """Return an integer within its range."""
    if type(value) is not int:
        raise InvalidMetadata(f"{what} must be an integer, not {shown(value)}")
    if not least <= value <= most:
        raise InvalidMetadata(f"{what} must be from {least} to {most}, not {value}")
    return value


def as_text(value: object, what: str) -> str:
    """Return a string."""
    if not isinstance(value, str):
        raise InvalidMetadata(f"{what} must be a string, not {shown(value)}")
    return value


def as_list(value: object, what: str, most: int = MAX_LIST) -> list[Any]:
    """Return a list of bounded length."""
    if not isinstance(value, list):
        raise InvalidMetadata(f"{what} must be a list, not {shown(value)}")
    if len(value) > most:
        raise InvalidMetadata(f"{what} has {len(value)} items, more than {most}")
    return value


def integer(document: Document, key: str, what: str, *, least: int = -MAX_LONG - 1, most: int = MAX_LONG) -> int:
    """Return an integer that must be there."""
    return as_integer(document.get(key), f"{what}: {key}", least=least, most=most)


def optional_integer(
    document: Document, key: str, what: str, *, least: int = -MAX_LONG - 1, most: int = MAX_LONG
) -> int | None:
    """Return an integer, or None where there is none."""
    value = document.get(key)
    return None if value is None else as_integer(value, f"{what}: {key}", least=least, most=most)


def text(document: Document, key: str, what: str) -> str:
    """Return a string that must be there."""
    return as_text(document.get(key), f"{what}: {key}")


def optional_text(document: Document, key: str, what: str) -> str | None:
    """Return a string, or None where there is none."""
    value = document.get(key)
    return None if value is None else as_text(value, f"{what}: {key}")


def flag(document: Document, key: str, what: str) -> bool:
    """Return a boolean that must be there."""
    value = document.get(key)
    if not isinstance(value, bool):
        raise InvalidMetadata(f"{what}: {key} must be true or false, not {shown(value)}")
    return value


def document_in(document: Document, key: str, what: str) -> Document:
    """Return a JSON object that must be there."""
    return as_document(document.get(key), f"{what}: {key}")


def documents_in(document: Document, key: str, what: str, most: int = MAX_LIST) -> list[Document]:
    """Return a list of JSON objects; absent is empty."""
    value = document.get(key)
    if value is None:
        return []
    found = as_list(value, f"{what}: {key}", most)
    for item in found:
        if not isinstance(item, dict):
            raise InvalidMetadata(f"{what}: {key} must hold JSON objects, not {shown(item)}")
    return found


def integers_in(document: Document, key: str, what: str, most: int = MAX_LIST) -> tuple[int, ...]:
    """Return a list of integers that must be there."""
    found = as_list(document.get(key), f"{what}: {key}", most)
    return tuple(as_integer(item, f"{what}: {key}") for item in found)


def texts_in(document: Document, key: str, what: str, most: int = MAX_LIST) -> tuple[str, ...]:
    """Return a list of strings that must be there."""
    found = as_list(document.get(key), f"{what}: {key}", most)
    return tuple(as_text(item, f"{what}: {key}") for item in found)


def text_map(value: object, what: str) -> dict[str, str]:
    """Return a map of strings to strings; null is empty."""
    if value is None:
        return {}
    found = as_document(value, what)
    for key, item in found.items():
        if not isinstance(item, str):
            raise InvalidMetadata(f"{what}: {key} must be a string, not {shown(item)}")
    return dict(found)


def shown(value: object) -> str:
    """Write a wrong value, short, for an error."""
    if value is None:
        return "null or absent"
    if isinstance(value, dict):
        return "an object"
    return "a list" if isinstance(value, list) else repr(value)[:MAX_SHOWN]
