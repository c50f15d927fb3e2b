"""What S3's request headers say: facts of objects, conditions, checksums, and what is refused by name."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.utils import parsedate_to_datetime
from urllib.parse import parse_qsl, unquote_to_bytes

from lakeshare.objects.errors import (
    AclNotSupported,
    InvalidArgument,
    InvalidRequest,
    InvalidStorageClass,
    InvalidTag,
    MetadataTooLarge,
    NotImplementedYet,
)
from lakeshare.objects.model.checksums import DIGEST_BYTES
from lakeshare.objects.model.conditions import UNCONDITIONAL, RangeCondition, ReadCondition, etags_of
from lakeshare.objects.model.names import Source
from lakeshare.objects.model.tags import OBJECT_TAG_LIMIT, tag_set
from lakeshare.objects.wire.call import decode_text
from lakeshare.storage.port import ALWAYS, Checksum, Condition, Facts, Tags

METADATA_LIMIT_BYTES = 2048
META = "x-amz-meta-"
_KEPT = ("cache-control", "content-disposition", "content-encoding", "content-language", "expires")
_REFUSED = (
    "x-amz-server-side-encryption",
    "x-amz-website-redirect-location",
    "x-amz-write-offset-bytes",
    "x-amz-source-expected-bucket-owner",
)
_ACLS_THAT_CHANGE_NOTHING = frozenset({"private", "bucket-owner-full-control", "bucket-owner-read"})
_CLASSES = frozenset({"STANDARD"})
_READ_CONDITIONS = frozenset({"if-match", "if-none-match", "if-modified-since", "if-unmodified-since"})
_CHUNKED = re.compile(r"\s*aws-chunked\s*(,\s*|\Z)", re.IGNORECASE)
_WORD = re.compile(r"=\?[^?]+\?[bBqQ]\?[^?]*\?=")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_TOKEN = re.compile(r"[a-z0-9!#$%&'*+\-.^_`|~]+\Z")


def with_hoisted(headers: Mapping[str, str], hoisted: Mapping[str, str]) -> Mapping[str, str]:
    """Add the headers that a presigned URL carries as parameters, where they could have been sent as headers."""
    for name, value in hoisted.items():
        if not _TOKEN.match(name) or _CONTROL.search(value):
            raise InvalidArgument(name[:64], value, "it cannot be a header's name or value")
    return {**hoisted, **headers}


def refuse_unoffered(headers: Mapping[str, str]) -> None:
    """Refuse what would change how an object is stored in a way that is not offered, naming it."""
    for name in headers:
        if name.startswith("x-amz-") and name.startswith(_REFUSED):
            raise NotImplementedYet(f"the header {name}")
        if name.startswith("x-amz-copy-source-server-side-encryption"):
            raise NotImplementedYet(f"the header {name}")
        if name.startswith("x-amz-object-lock-"):
            raise InvalidRequest("Bucket is missing Object Lock Configuration")
        if name.startswith("x-amz-grant-"):
            raise AclNotSupported
    if headers.get("x-amz-acl", "private") not in _ACLS_THAT_CHANGE_NOTHING:
        raise AclNotSupported
    if (storage_class := headers.get("x-amz-storage-class", "STANDARD")) not in _CLASSES:
        raise InvalidStorageClass(storage_class)


_CONDITION_HEADERS = (
    "x-amz-acl",
    "x-amz-copy-source",
    "x-amz-metadata-directive",
    "x-amz-server-side-encryption",
    "x-amz-storage-class",
    "x-amz-content-sha256",
    "if-match",
    "if-none-match",
)


def policy_facts(headers: Mapping[str, str], tags: Tags = ()) -> tuple[tuple[str, str], ...]:
    """Return what policies may ask of a write: some of its headers, and the tags that it brings."""
    named = tuple((f"s3:{name}", headers[name]) for name in _CONDITION_HEADERS if name in headers)
    brought = tuple((f"s3:RequestObjectTag/{key}", value) for key, value in tags)
    return (*named, *brought, *(("s3:RequestObjectTagKeys", key) for key, _ in tags))


def facts_of(headers: Mapping[str, str]) -> Facts:
    """Read what a writer says of an object besides its bytes."""
    kept = {name: headers[name] for name in _KEPT if name in headers}
    if "content-encoding" in kept:
        kept["content-encoding"] = _CHUNKED.sub("", kept["content-encoding"]).strip().rstrip(",").strip()
        if not kept["content-encoding"]:
            del kept["content-encoding"]
    metadata = {name[len(META) :]: _metadata_text(value) for name, value in headers.items() if name.startswith(META)}
    if sum(len(name) + len(value.encode()) for name, value in metadata.items()) > METADATA_LIMIT_BYTES:
        raise MetadataTooLarge(METADATA_LIMIT_BYTES)
    return Facts(headers.get("content-type") or "binary/octet-stream", kept, metadata)


def _metadata_text(value: str) -> str:
    """Read a metadata value: plain, UTF-8 as it came, or encoded words (RFC 2047)."""
    if not value.isascii():
        try:
            return value.encode("latin-1").decode()
        except UnicodeDecodeError:
            return value
    return _decoded_words(value) if _WORD.search(value) else value


def _decoded_words(value: str) -> str:
    """Decode encoded words, unless what they hold could not be written again: then the words themselves are kept."""
    try:
        text = str(make_header(decode_header(value)))
        text.encode()
    except (HeaderParseError, ValueError, LookupError):
        return value
    return value if _CONTROL.search(text) else text


def tags_of(headers: Mapping[str, str]) -> Tags:
    """Read the x-amz-tagging header, a query string of tags."""
    text = headers.get("x-amz-tagging")
    if not text:
        return ()
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=OBJECT_TAG_LIMIT)
    except ValueError:
        raise InvalidTag(f"x-amz-tagging must be a query string of at most {OBJECT_TAG_LIMIT} tags") from None
    return tag_set(sorted(pairs), OBJECT_TAG_LIMIT)


def write_condition(headers: Mapping[str, str]) -> Condition:
    """Read If-Match and If-None-Match of a write; a condition that is not offered is refused, never ignored."""
    if "if-unmodified-since" in headers:
        raise NotImplementedYet("If-Unmodified-Since of a write")
    none_match, match = headers.get("if-none-match"), headers.get("if-match")
    if none_match is None and match is None:
        return ALWAYS
    if none_match is not None and match is not None:
        raise NotImplementedYet("If-Match and If-None-Match in one write")
    if none_match is not None:
        etag = _one_etag("If-None-Match", none_match)
        return Condition(absent=True) if etag == "*" else Condition(other_than=etag)
    return Condition(etag=_one_etag("If-Match", match or ""))


def _one_etag(name: str, text: str) -> str:
    etag = text.strip().removeprefix("W/").strip('"')
    if not etag or "," in etag:
        raise NotImplementedYet(f"{name} of a write with anything but one ETag or *")
    return etag


def read_condition(headers: Mapping[str, str], prefix: str = "") -> ReadCondition:
    """Read the conditions of a read; `prefix` is that of a copy's source."""
    if not prefix and _READ_CONDITIONS.isdisjoint(headers):
        return UNCONDITIONAL
    match = headers.get(prefix + "if-match")
    none_match = headers.get(prefix + "if-none-match")
    modified = headers.get(prefix + "if-modified-since")
    unmodified = headers.get(prefix + "if-unmodified-since")
    if match is None and none_match is None and modified is None and unmodified is None:
        return UNCONDITIONAL
    return ReadCondition(
        etags_of(match) if match else (),
        etags_of(none_match) if none_match else (),
        date_seconds(modified),
        date_seconds(unmodified),
    )


def range_condition(headers: Mapping[str, str]) -> RangeCondition | None:
    """Read If-Range: a strong ETag, or a date; what is neither holds for nothing."""
    text = headers.get("if-range")
    if text is None:
        return None
    if text.startswith('"'):
        return RangeCondition(etag=text.strip('"'))
    return RangeCondition(modified_at=date_seconds(text))


def date_seconds(text: str | None) -> int | None:
    """Read an HTTP or ISO 8601 date; one that cannot be read is no condition (RFC 9110 13.1.3)."""
    if text is None:
        return None
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return _iso_seconds(text)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


def _iso_seconds(text: str) -> int | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


def copy_source(headers: Mapping[str, str]) -> Source:
    """Read x-amz-copy-source: `bucket/key`, percent-encoded, with a leading slash and `?versionId=` or without."""
    text = headers.get("x-amz-copy-source")
    if text is None:
        raise InvalidRequest("x-amz-copy-source may be a parameter only of a presigned URL: send it as a header")
    path, _, version = text.partition("?versionId=")
    try:
        decoded = unquote_to_bytes(path.encode("latin-1")).decode()
    except UnicodeDecodeError:
        raise InvalidArgument("x-amz-copy-source", text, "it is not UTF-8") from None
    return Source.parse(decoded, decode_text(version) or None)


def checksum_algorithm(text: str, name: str) -> str:
    """Read the name of a checksum algorithm."""
    algorithm = text.strip().upper()
    if algorithm not in DIGEST_BYTES:
        offered = ", ".join(DIGEST_BYTES)
        raise InvalidRequest(f"{name} names {text!r}; the algorithms offered are {offered}")
    return algorithm


def checksum_header(checksum: Checksum) -> list[tuple[str, str]]:
    """Write a checksum into an answer."""
    return [
        (f"x-amz-checksum-{checksum.algorithm.lower()}", checksum.value),
        ("x-amz-checksum-type", checksum.kind.value),
    ]
