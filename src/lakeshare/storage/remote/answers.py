"""What another S3 store answers, read into values: pages of a listing, and the codes of errors. Pure.

The store is a stranger: sizes are bounded, entities are never expanded, and of an error nothing but its code goes on.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import unquote_plus
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from lakeshare.storage.errors import NoSuchBucket, NoSuchKey, StorageError
from lakeshare.storage.port import Entry, Page
from lakeshare.storage.remote.errors import RemoteFailed

MAX_PAGE_BYTES = 8 * 1024**2
"""A page of 1000 keys of 1024 bytes each, all of them encoded, has less."""
_NANOSECONDS = 1_000_000_000
_CODE = re.compile(rb"<Code>([A-Za-z0-9]{1,64})</Code>")
_REFUSED = frozenset({401, 403})
_MOVED = frozenset({301, 302, 307, 308})


def read_page(body: bytes) -> Page:
    """Read a page of ListObjectsV2; names are decoded where it says that they are encoded. Raises RemoteFailed."""
    try:
        root = fromstring(body)
        found = [(_bare(child.tag), child) for child in root]
        decode = _decoded if _text(root, "EncodingType").lower() == "url" else str
        objects = [_entry(child, decode) for name, child in found if name == "Contents"]
        prefixes = [decode(_text(child, "Prefix")) for name, child in found if name == "CommonPrefixes"]
    except (ParseError, DefusedXmlException, ValueError):
        raise RemoteFailed("it answers a listing with what is no listing of S3") from None
    truncated = any(name == "IsTruncated" and child.text == "true" for name, child in found)
    names = [objects[-1].key] if objects else []
    names += prefixes[-1:]
    if truncated and not names:
        raise RemoteFailed("its listing says that it goes on, and not where")
    return Page(objects, prefixes, max(names, key=str.encode) if truncated else None)


def etag_of(headers: Mapping[str, str]) -> str:
    """Return an ETag without its quotes. Raises RemoteFailed."""
    if not (etag := bare_etag(headers.get("etag", ""))):
        raise RemoteFailed("it gives no ETag, by which files that changed are told")
    return etag


def bare_etag(text: str) -> str:
    """Take the quotes off an ETag."""
    return text.strip().removeprefix("W/").strip('"')


def modified_of(headers: Mapping[str, str]) -> int:
    """Return when an object was written, in nanoseconds; 0 where it is not said."""
    try:
        return int(parsedate_to_datetime(headers.get("last-modified", "")).timestamp()) * _NANOSECONDS
    except ValueError:
        return 0


def error_of(status: int, body: bytes, bucket: str, key: str) -> StorageError:
    """Say what a status that is no success means."""
    match = _CODE.search(body)
    code = match[1].decode() if match else ""
    told = f"{status} {code}".strip()
    if code == "NoSuchBucket":
        return NoSuchBucket(bucket)
    if status == 404:
        return NoSuchKey(bucket, key)
    if status in _REFUSED:
        return RemoteFailed(f"it refuses the key of this source ({told}): check the key, its rights and the region")
    if status in _MOVED or code == "AuthorizationHeaderMalformed":
        return RemoteFailed(f"it sends us elsewhere ({told}): check the endpoint and the region of this source")
    return RemoteFailed(f"it answers {told}")


def _entry(child: Element, decode: Callable[[str], str]) -> Entry:
    modified = datetime.fromisoformat(_text(child, "LastModified"))
    if modified.tzinfo is None:
        modified = modified.replace(tzinfo=UTC)
    at_us = round(modified.timestamp() * 1_000_000)
    key, etag = decode(_text(child, "Key")), bare_etag(_text(child, "ETag"))
    if not key or not etag:
        raise ValueError
    return Entry(key, int(_text(child, "Size")), etag, at_us * 1_000)


def _text(parent: Element, name: str) -> str:
    return next((child.text or "" for child in parent if _bare(child.tag) == name), "")


def _decoded(text: str) -> str:
    return unquote_plus(text, errors="strict")


def _bare(tag: str) -> str:
    return tag.rpartition("}")[2]
