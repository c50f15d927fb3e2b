"""What S3 tells of buckets and objects, as values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

META = "x-amz-meta-"
_CHECKSUM = "x-amz-checksum-"
_ENCRYPTION = "x-amz-server-side-encryption"
"""Where such a header is there, and is not AES256, an ETag is no MD5."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket."""

    name: str
    created: datetime


@dataclass(frozen=True, slots=True)
class Entry:
    """An object in a listing, or one version of it."""

    key: str
    size: int
    modified: datetime
    etag: str
    storage_class: str = ""
    version: str = ""
    is_latest: bool = True
    is_delete_marker: bool = False


@dataclass(frozen=True, slots=True)
class Folder:
    """A prefix that keys have in common, up to a slash."""

    key: str


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A multipart upload that was neither completed nor aborted."""

    key: str
    upload_id: str
    started: datetime


@dataclass(frozen=True, slots=True)
class Checksum:
    """A checksum that a server keeps of an object; `whole` says that it is over all its bytes."""

    algorithm: str
    value: str
    whole: bool


@dataclass(frozen=True, slots=True)
class ObjectFacts:
    """What a server says of an object besides its bytes."""

    size: int
    modified: datetime
    etag: str
    content_type: str
    version: str = ""
    checksum: Checksum | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    is_encrypted: bool = False

    @classmethod
    def of(cls, headers: Mapping[str, str]) -> "ObjectFacts":
        """Read the headers of an answer to GET or HEAD."""
        return cls(
            int(size) if (size := headers.get("content-length", "")).isdigit() else 0,
            _http_date(headers.get("last-modified", "")),
            headers.get("etag", "").strip('"'),
            headers.get("content-type", ""),
            headers.get("x-amz-version-id", ""),
            checksum_of(headers),
            {name[len(META) :]: _text(value) for name, value in headers.items() if name.startswith(META)},
            {name: headers[name] for name in _KEPT if name in headers},
            any(name.startswith(_ENCRYPTION) and value != "AES256" for name, value in headers.items()),
        )


_KEPT = (
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "expires",
    "x-amz-tagging-count",
)


def checksum_of(headers: Mapping[str, str]) -> Checksum | None:
    """Return the checksum in the headers of an answer."""
    whole = headers.get(_CHECKSUM + "type", "FULL_OBJECT") == "FULL_OBJECT"
    for algorithm in ("CRC64NVME", "CRC32C", "CRC32", "SHA256", "SHA1"):
        if value := headers.get(_CHECKSUM + algorithm.lower()):
            return Checksum(algorithm, value, whole and "-" not in value)
    return None


def _http_date(text: str) -> datetime:
    try:
        return parsedate_to_datetime(text)
    except ValueError:
        return datetime.fromtimestamp(0, UTC)


def _text(value: str) -> str:
    """Read a header's value: plain, UTF-8 as it came, or encoded words (RFC 2047)."""
    if "=?" not in value:
        try:
            return value.encode("latin-1").decode()
        except UnicodeError:
            return value
    from email.errors import HeaderParseError  # noqa: PLC0415 - seldom
    from email.header import decode_header, make_header  # noqa: PLC0415 - seldom

    try:
        return str(make_header(decode_header(value)))
    except (HeaderParseError, ValueError, LookupError):
        return value
