"""GET and HEAD of an object."""

import re
from base64 import b64encode
from email.utils import formatdate
from functools import lru_cache

from lakeshare.http.response import Response
from lakeshare.objects.errors import InvalidArgument, InvalidRequest
from lakeshare.objects.model.ranges import Range
from lakeshare.objects.operations.read import Reading, ReadObject
from lakeshare.objects.room import Room
from lakeshare.objects.wire.call import Call
from lakeshare.objects.wire.headers import META, checksum_header, range_condition, read_condition
from lakeshare.storage.port import LATEST, Checksum, ObjectInfo, VersionRef

PIN_PARAM = "x-lakeshare-pin"
_VERSION = re.compile(r"[A-Za-z0-9._-]{1,1024}\Z")
_OVERRIDES = {
    "response-content-type": "content-type",
    "response-content-language": "content-language",
    "response-expires": "expires",
    "response-cache-control": "cache-control",
    "response-content-disposition": "content-disposition",
    "response-content-encoding": "content-encoding",
}
_PARAMS = frozenset({"partNumber", "versionId", PIN_PARAM, *_OVERRIDES})
_ACTIVE = re.compile(
    r"\s*(?:text/(?:html|xml|xsl)|application/xml|image/svg|multipart/x-mixed-replace|[^;,]*(?:\+xml|(?:java|ecma)script))",
    re.IGNORECASE,
)
"""Types that a browser would run, with the rights of every page of this server."""

_TYPE_LIMIT = 256
"""Longest type that is looked at, in characters, and kept with what was found."""


def decode(call: Call) -> ReadObject:
    """Read a GET or HEAD."""
    bucket, key = call.target
    text = call.headers.get("range")
    span = Range.parse(text) if text else None
    condition = read_condition(call.headers)
    with_checksum = call.headers.get("x-amz-checksum-mode", "").lower() == "enabled"
    only_if = range_condition(call.headers) if span else None
    if _PARAMS.isdisjoint(call.params):
        return ReadObject(bucket, key, LATEST, span, None, condition, with_checksum, (), only_if)
    part = call.number("partNumber", 0, 1, 10_000) or None
    if part and text:
        raise InvalidRequest("a request cannot have both a range and a part number")
    return ReadObject(bucket, key, version_of(call), span, part, condition, with_checksum, _overrides(call), only_if)


def version_of(call: Call) -> VersionRef:
    """Read which version is meant."""
    if not call.params:
        return LATEST
    version, pin = call.params.get("versionId"), call.param(PIN_PARAM)
    if version is not None and not _VERSION.match(version):
        raise InvalidArgument("versionId", version, "Invalid version id specified")
    return VersionRef(version, pin) if version or pin else LATEST


def _overrides(call: Call) -> tuple[tuple[str, str], ...]:
    asked = tuple((header, call.params[name]) for name, header in _OVERRIDES.items() if name in call.params)
    if asked and not call.signed:
        raise InvalidRequest("request specific response headers cannot be used for anonymous GET requests")
    for name, value in asked:
        if not value.isprintable() or not value.isascii():
            raise InvalidArgument(f"response-{name}", value, "it cannot be a header's value")
    return asked


def encode(_room: Room, call: ReadObject, reading: Reading) -> Response:
    """Write the head of an object, and the stretch of it that was asked for."""
    info = reading.info
    headers = object_headers(info)
    headers.append(("content-length", str(reading.stop - reading.start)))
    if reading.partial:
        headers.append(("content-range", f"bytes {reading.start}-{reading.stop - 1}/{info.size}"))
    if call.part is not None and info.parts:
        headers.append(("x-amz-mp-parts-count", str(len(info.parts))))
    if call.with_checksum and info.checksum and (checksum := _checksum_of(call, reading)):
        headers += [checksum_header(checksum)[0], ("x-amz-checksum-type", info.checksum.kind.value)]
    if call.overrides:
        headers = _overridden(headers, call.overrides)
    return Response(206 if reading.partial else 200, headers, reading.spans)


def _checksum_of(call: ReadObject, reading: Reading) -> Checksum | None:
    """Return the checksum of what is sent: of the whole, or of one part; a range has none."""
    info = reading.info
    if call.part is not None and info.parts:
        return info.parts[call.part - 1].checksum
    return None if reading.partial and call.part is None else info.checksum


def object_headers(info: ObjectInfo) -> list[tuple[str, str]]:
    """Write what every answer about an object says of it."""
    facts = info.facts
    headers = [
        ("etag", f'"{info.etag}"'),
        ("last-modified", http_date(info.modified_at_ns // 1_000_000_000)),
        ("accept-ranges", "bytes"),
        ("content-type", facts.content_type),
        ("x-content-type-options", "nosniff"),
    ]
    if facts.headers:
        headers += facts.headers.items()
    if facts.metadata:
        headers += [(META + name, header_text(value)) for name, value in facts.metadata.items()]
    if info.tags:
        headers.append(("x-amz-tagging-count", str(len(info.tags))))
    if info.version != "null":
        headers.append(("x-amz-version-id", info.version))
    if is_active(facts.content_type):
        headers += _defused(facts.headers.get("content-disposition"))
    return headers


def is_active(content_type: str) -> bool:
    """Say whether a browser would run what has that type; one of unlikely length is taken for active."""
    return len(content_type) > _TYPE_LIMIT or _matches_active(content_type)


@lru_cache(maxsize=1024)
def _matches_active(content_type: str) -> bool:
    return _ACTIVE.match(content_type) is not None


def _defused(disposition: str | None) -> list[tuple[str, str]]:
    """Return what keeps a browser from running an object: a download, or where another is asked for a sandbox."""
    if disposition is None:
        return [("content-disposition", "attachment")]
    attached = disposition.lstrip().lower().startswith("attachment")
    return [] if attached else [("content-security-policy", "sandbox")]


def _overridden(headers: list[tuple[str, str]], overrides: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    named = {"content-security-policy", *(name for name, _ in overrides)}
    kept = [pair for pair in headers if pair[0] not in named] + list(overrides)
    told = dict(kept)
    return kept + _defused(told.get("content-disposition")) if is_active(told["content-type"]) else kept


@lru_cache(maxsize=4096)
def http_date(seconds: int) -> str:
    """Write a time as HTTP has it."""
    return formatdate(seconds, usegmt=True)


def header_text(value: str) -> str:
    """Write text into a header, as one encoded word where it is not ASCII (RFC 2047), whatever lines it would break."""
    return value if value.isascii() else f"=?UTF-8?B?{b64encode(value.encode()).decode()}?="
