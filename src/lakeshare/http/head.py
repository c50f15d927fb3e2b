"""Heads of requests and responses: fields as values, the checks that stop request smuggling, status lines.

Pure: nothing here touches a socket. llhttp has already refused what is no HTTP at all; what is left to
refuse are heads that two parsers could read in two ways.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus

FIELD_COUNT_LIMIT = 200
"""Most fields one head may have; S3 clients send under forty, metadata included."""

RawFields = list[tuple[bytes, bytes]]

_REASONS = {status.value: status.phrase for status in HTTPStatus}
STATUS_LINES = {code: f"HTTP/1.1 {code} {_REASONS.get(code, '')}\r\n".encode() for code in range(100, 600)}
BODILESS = frozenset({204, 304})
"""Statuses whose answers end after the head (RFC 9110, 15.3.5 and 15.4.5)."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a head is not served, and the status to say it with."""

    status: int
    reason: str


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """The bytes of a response head, and what its fields say of the body."""

    lines: bytes
    length: int | None
    close: bool


class BadField(ValueError):
    """A response field has a character that would let it end its line."""


def fields_of(raw: RawFields) -> dict[str, str]:
    """Return fields by lower-case name; repeated ones are joined with a comma."""
    fields = {name.decode("latin-1"): value.decode("latin-1") for name, value in raw}
    if len(fields) == len(raw):
        return fields
    fields.clear()
    for name, value in raw:
        key, text = name.decode("latin-1"), value.decode("latin-1")
        fields[key] = f"{fields[key]},{text}" if key in fields else text
    return fields


def refuse(version: str, target: bytes, fields: dict[str, str]) -> Refusal | None:
    """Say why a head cannot be served, or nothing."""
    if version not in {"1.1", "1.0"}:
        return Refusal(505, "This server speaks HTTP/1.1.")
    host = fields.get("host")
    if (host is None and version == "1.1") or (host is not None and "," in host):
        return Refusal(400, "A request names exactly one host.")
    coding = fields.get("transfer-encoding")
    if coding is not None and (version == "1.0" or "content-length" in fields):
        return Refusal(400, "The length of the body is ambiguous.")
    if coding is not None and coding.strip().lower() != "chunked":
        return Refusal(501, "The only transfer coding served is chunked.")
    if b"#" in target:
        return Refusal(400, "A request target has no fragment.")
    return None


def size_bytes(target: bytes, raw: RawFields) -> int:
    """Return the size of a head as it crossed the wire, give or take optional blanks."""
    return len(target) + 16 + sum(len(name) + len(value) + 4 for name, value in raw)


def response_head(status: int, standing: bytes, raw: Iterable[tuple[bytes, bytes]]) -> ResponseHead:
    """Lay out the head of an ASGI response without its last empty line; `standing` are lines every response has."""
    length: int | None = None
    close = False
    kept: list[bytes] = []
    for name, value in raw:
        if name == b"content-length":
            length = int(value)
        if name == b"connection":
            close = b"close" in value.lower()
        elif name != b"transfer-encoding":
            kept += (name, b": ", value, b"\r\n")
    lines = b"".join(kept)
    _check_lines(lines, len(kept) // 4)
    return ResponseHead(STATUS_LINES[status] + standing + lines, length, close)


def response_lines(headers: list[tuple[str, str]]) -> bytes:
    """Lay out the fields of a response."""
    lines = "\r\n".join([*map(": ".join, headers), ""]).encode("latin-1")
    _check_lines(lines, len(headers))
    return lines


def _check_lines(lines: bytes, count: int) -> None:
    """Refuse fields that would end their line themselves."""
    if lines.count(b"\n") != count or lines.count(b"\r") != count or b"\0" in lines:
        raise BadField("a response field has a line break or a NUL in it")


def plain_response(refusal: Refusal, standing: bytes) -> bytes:
    """Lay out a whole small answer that ends the connection."""
    text = (refusal.reason + "\n").encode("ascii")
    return b"".join(
        (
            STATUS_LINES[refusal.status],
            standing,
            b"content-type: text/plain; charset=utf-8\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(text),
            text,
        )
    )
