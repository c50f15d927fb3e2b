"""The lines of an export: each fact as one JSON object, in one form only. Pure.

    {"format":"lakeshare-state","version":1,"generation":7}
    {"key":["share","sales"],"generation":3,"text":"{...}"}
    {"receipt":["alice","0197..."],"generation":7,"digest":"...","answer":{"text":"..."},"expires_at_ms":1767225600000}
    {"records":1,"receipts":1,"sha256":"..."}

Bytes that are UTF-8 are written as text, others as base64; a key's part is a string, or bytes as {"base64":"..."}.
"""

from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import Any

import orjson

from lakeshare.state.errors import StateError
from lakeshare.state.keys import Part, encode_key
from lakeshare.state.limits import MAX_VALUE_BYTES
from lakeshare.state.port import Fact, Head, KeptReceipt, Record
from lakeshare.state.prepared import check_receipt_name, within

FORMAT = "lakeshare-state"
VERSION = 1


@dataclass(frozen=True, slots=True)
class End:
    """The last line: how much there is, and the SHA-256 of all lines before it, in hex."""

    records: int
    receipts: int
    sha256: str


def write_line(fact: Fact | End) -> bytes:
    """Write a fact as its line."""
    return orjson.dumps(_shape(fact), option=orjson.OPT_APPEND_NEWLINE)


def read_line(line: bytes) -> Fact | End:
    """Read a line. Raises ValueError when it is not exactly what write_line makes of a legal fact."""
    try:
        fact = _read(orjson.loads(line))
        same = write_line(fact) == line
    except StateError as error:
        raise ValueError(f"it cannot be read: {error}") from error
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise ValueError("it is not in the form of an export") from error
    if not same:
        raise ValueError("it is not in the form of an export")
    return fact


def place(fact: Fact) -> tuple[int | bytes, ...]:
    """Say where a fact belongs: facts of an export come in the order of their places, none twice."""
    match fact:
        case Head():
            return (0,)
        case Record():
            return 1, encode_key(fact.key)
        case KeptReceipt():
            return 2, fact.owner.encode(), fact.key.encode()


def _shape(fact: Fact | End) -> dict[str, Any]:
    match fact:
        case Head():
            return {"format": FORMAT, "version": VERSION, "generation": fact.generation}
        case Record():
            key = [part if isinstance(part, str) else _bytes_out(part, text=False) for part in fact.key]
            return {"key": key, "generation": fact.generation, **_bytes_out(fact.value)}
        case KeptReceipt():
            return {
                "receipt": [fact.owner, fact.key],
                "generation": fact.generation,
                "digest": b64encode(fact.digest).decode(),
                "answer": _bytes_out(fact.answer),
                "expires_at_ms": fact.expires_at_ms,
            }
        case End():
            return {"records": fact.records, "receipts": fact.receipts, "sha256": fact.sha256}


def _read(line: dict[str, Any]) -> Fact | End:
    if "format" in line:
        return _read_head(line)
    if "key" in line:
        value = _bytes_in(line)
        within("bytes of a value", len(value), MAX_VALUE_BYTES)
        key = tuple([_part_in(part) for part in line["key"]])
        encode_key(key)
        return Record(key, value, _whole(line["generation"]))
    if "receipt" in line:
        return _read_receipt(line)
    return End(_whole(line["records"]), _whole(line["receipts"]), line["sha256"])


def _read_head(line: dict[str, Any]) -> Head:
    if line["format"] != FORMAT:
        raise ValueError("this is no export of state")
    if line["version"] != VERSION:
        raise ValueError(f"version {line['version']} of the format is not known: use a newer release")
    return Head(_whole(line["generation"]))


def _read_receipt(line: dict[str, Any]) -> KeptReceipt:
    owner, key = line["receipt"]
    check_receipt_name(owner)
    check_receipt_name(key)
    return KeptReceipt(
        owner=owner,
        key=key,
        digest=b64decode(line["digest"], validate=True),
        answer=_bytes_in(line["answer"]),
        generation=_whole(line["generation"]),
        expires_at_ms=_whole(line["expires_at_ms"]),
    )


def _bytes_out(value: bytes, *, text: bool = True) -> dict[str, str]:
    try:
        if text:
            return {"text": value.decode()}
    except UnicodeDecodeError:
        pass
    return {"base64": b64encode(value).decode()}


def _bytes_in(line: dict[str, Any]) -> bytes:
    if "text" in line:
        return bytes(line["text"].encode())
    return b64decode(line["base64"], validate=True)


def _part_in(part: Any) -> Part:
    return part if isinstance(part, str) else b64decode(part["base64"], validate=True)


def _whole(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise ValueError("a whole number was expected")
    return number
