"""Names of buckets and keys, and their ARNs."""

import re
from dataclasses import dataclass

from lakeshare.objects.errors import InvalidArgument, InvalidBucketName, InvalidUri, KeyTooLong

KEY_LIMIT_BYTES = 1024
RESERVED = frozenset({"delta-sharing", "metrics", "minio"})
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]\Z")
_ADDRESS = re.compile(r"[0-9]{1,3}(\.[0-9]{1,3}){3}\Z")


def bucket_name(name: str) -> str:
    """Return a name that a new bucket may have (S3's general purpose bucket naming rules)."""
    if not _NAME.match(name):
        reason = "use 3 to 63 lower-case letters, digits, dots and hyphens, with a letter or digit at both ends"
        raise InvalidBucketName(name, reason)
    if ".." in name or ".-" in name or "-." in name:
        raise InvalidBucketName(name, "a dot may not stand beside another dot or a hyphen")
    if _ADDRESS.match(name):
        raise InvalidBucketName(name, "it looks like an IP address")
    if name in RESERVED:
        raise InvalidBucketName(name, "the name is reserved for the server's own paths")
    if name.startswith(("xn--", "sthree-")) or name.endswith(("-s3alias", "--ol-s3")):
        raise InvalidBucketName(name, "S3 reserves such prefixes and suffixes")
    return name


def object_key(key: str) -> str:
    """Return a key that an object may have: any UTF-8 but NUL, 1 to 1024 bytes."""
    size = len(key) if key.isascii() else len(key.encode())
    if size > KEY_LIMIT_BYTES:
        raise KeyTooLong(size)
    if "\0" in key:
        raise InvalidUri("a key cannot hold a NUL character")
    return key


def bucket_arn(bucket: str) -> str:
    """Name a bucket in policies."""
    return f"arn:aws:s3:::{bucket}"


def object_arn(bucket: str, key: str) -> str:
    """Name an object in policies."""
    return f"arn:aws:s3:::{bucket}/{key}"


@dataclass(frozen=True, slots=True)
class Source:
    """What a copy reads: a bucket, a key and perhaps a version."""

    bucket: str
    key: str
    version: str | None = None

    @classmethod
    def parse(cls, text: str, version: str | None = None) -> "Source":
        """Read a decoded `bucket/key` or `/bucket/key`."""
        bucket, slash, key = text.removeprefix("/").partition("/")
        if not slash or not bucket or not key:
            raise InvalidArgument("x-amz-copy-source", text, "write the source as bucket/key")
        return cls(bucket, object_key(key), version)
