"""ListObjectsV2, ListObjects and ListObjectVersions."""

import base64
import binascii
from collections.abc import Callable, Sequence
from functools import cache

from lakeshare.http.response import Response
from lakeshare.objects.errors import InvalidArgument
from lakeshare.objects.operations.listing import ListObjects, ListVersions
from lakeshare.objects.room import Room
from lakeshare.objects.wire import xml
from lakeshare.objects.wire.call import Call
from lakeshare.objects.wire.write import xml_response
from lakeshare.storage.port import ChecksumKind, Entry, Listing, ObjectInfo, Page, VersionListing, VersionPage

PAGE_LIMIT = 1000
_TOKEN_LIMIT = 2048
_TOKEN_KIND = b"1"


def encode_token(after: str) -> str:
    """Write an opaque token that goes on after a key."""
    return base64.urlsafe_b64encode(_TOKEN_KIND + after.encode()).decode()


def decode_token(token: str) -> str:
    """Read a token that we made."""
    try:
        raw = base64.urlsafe_b64decode(token) if len(token) <= _TOKEN_LIMIT else b""
        if raw[:1] == _TOKEN_KIND:
            return raw[1:].decode()
    except (binascii.Error, ValueError):
        pass
    raise InvalidArgument("continuation-token", token, "the continuation token provided is incorrect")


def decode_v2(call: Call) -> ListObjects:
    """Read a ListObjectsV2."""
    token = call.params.get("continuation-token")
    start_after = call.param("start-after") or ""
    after = decode_token(token) if token else start_after
    return ListObjects(
        _listing(call, after),
        _encodes(call),
        call.params.get("fetch-owner", "").lower() == "true",
        token,
        start_after,
    )


def decode_v1(call: Call) -> ListObjects:
    """Read a ListObjects."""
    marker = call.param("marker") or ""
    return ListObjects(_listing(call, marker), _encodes(call), with_owner=True, marker=marker)


def _listing(call: Call, after: str) -> Listing:
    if call.param("allow-unordered") == "true" and call.param("delimiter"):
        raise InvalidArgument("allow-unordered", "true", "it cannot stand beside a delimiter")
    return Listing(
        call.bucket,
        call.param("prefix") or "",
        call.param("delimiter") or "",
        after,
        call.number("max-keys", PAGE_LIMIT, 0, PAGE_LIMIT),
    )


def _encodes(call: Call) -> bool:
    kind = call.param("encoding-type")
    if kind not in (None, "url"):
        raise InvalidArgument("encoding-type", kind or "", "it must be url")
    return kind == "url"


def encode_v2(room: Room, call: ListObjects, page: Page) -> Response:
    """Write a page as ListObjectsV2 does."""
    write = _writer(url=call.url_encoded)
    next_token = encode_token(page.next_after) if page.next_after is not None else None
    inner = [
        *_question(call.listing, write, write, url=call.url_encoded),
        xml.element("KeyCount", len(page.objects) + len(page.prefixes)),
        xml.element("IsTruncated", "false" if next_token is None else "true"),
        xml.element("ContinuationToken", call.token),
        xml.element("NextContinuationToken", next_token),
        f"<StartAfter>{write(call.start_after)}</StartAfter>" if call.start_after else "",
        *_contents(room, page.objects, url=call.url_encoded, owned=call.with_owner),
        *_prefixes(page.prefixes, url=call.url_encoded),
    ]
    return xml_response(xml.document("ListBucketResult", inner))


def encode_v1(room: Room, call: ListObjects, page: Page) -> Response:
    """Write a page as ListObjects does; NextMarker stands only beside a delimiter."""
    write = _writer(url=call.url_encoded)
    marker = page.next_after if call.listing.delimiter else None
    inner = [
        *_question(call.listing, write, xml.escape, url=call.url_encoded),
        f"<Marker>{write(call.marker)}</Marker>",
        xml.element("IsTruncated", "false" if page.next_after is None else "true"),
        f"<NextMarker>{write(marker)}</NextMarker>" if marker is not None else "",
        *_contents(room, page.objects, url=call.url_encoded, owned=True),
        *_prefixes(page.prefixes, url=call.url_encoded),
    ]
    return xml_response(xml.document("ListBucketResult", inner))


def _writer(*, url: bool) -> Callable[[str], str]:
    return xml.url_encoded if url else xml.escape


def _question(
    listing: Listing, write: Callable[[str], str], write_prefix: Callable[[str], str], *, url: bool
) -> list[str]:
    """Repeat the question. ListObjects never encodes the prefix: its clients do not decode it."""
    return [
        xml.element("Name", listing.bucket),
        f"<Prefix>{write_prefix(listing.prefix)}</Prefix>",
        f"<Delimiter>{write(listing.delimiter)}</Delimiter>" if listing.delimiter else "",
        xml.element("MaxKeys", listing.limit),
        "<EncodingType>url</EncodingType>" if url else "",
    ]


def _contents(room: Room, objects: Sequence[Entry], *, url: bool, owned: bool) -> list[str]:
    keys = [item.key for item in objects]
    rest = (owner_element(room) if owned else "") + "<StorageClass>STANDARD</StorageClass></Contents>"
    return [
        f"<Contents><Key>{key}</Key><LastModified>{xml.timestamp(at_ns)}</LastModified><ETag>&quot;{etag}&quot;</ETag>"
        f"{_algorithm(algorithm, checksum) if algorithm else ''}<Size>{size}</Size>{rest}"
        for key, (_, size, etag, at_ns, algorithm, checksum) in zip(_write_all(keys, url=url), objects, strict=True)
    ]


def _write_all(texts: Sequence[str], *, url: bool) -> Sequence[str]:
    return xml.url_encoded_all(texts) if url else xml.escape_all(texts)


def _algorithm(algorithm: str, checksum: str | None) -> str:
    """Name a checksum; base64 has no `-`, so that one tells a composite."""
    kind = ChecksumKind.COMPOSITE if checksum and "-" in checksum else ChecksumKind.FULL_OBJECT
    return _algorithm_element(algorithm, kind)


@cache
def _algorithm_element(algorithm: str, kind: ChecksumKind) -> str:
    return xml.element("ChecksumAlgorithm", algorithm) + xml.element("ChecksumType", kind.value)


def owner_element(room: Room) -> str:
    """Write who owns an object."""
    return f"<Owner><ID>{room.owner.id}</ID><DisplayName>{room.owner.name}</DisplayName></Owner>"


def _prefixes(prefixes: Sequence[str], *, url: bool) -> list[str]:
    written = _write_all(prefixes, url=url)
    return [f"<CommonPrefixes><Prefix>{prefix}</Prefix></CommonPrefixes>" for prefix in written]


def decode_versions(call: Call) -> ListVersions:
    """Read a ListObjectVersions."""
    key, version = call.param("key-marker") or "", call.param("version-id-marker") or ""
    if version and not key:
        raise InvalidArgument(
            "version-id-marker", version, "a version-id marker cannot be specified without a key marker"
        )
    listing = VersionListing(
        call.bucket,
        call.param("prefix") or "",
        call.param("delimiter") or "",
        key,
        version,
        call.number("max-keys", PAGE_LIMIT, 0, PAGE_LIMIT),
    )
    return ListVersions(listing, _encodes(call))


def encode_versions(room: Room, call: ListVersions, page: VersionPage) -> Response:
    """Write a page of versions and delete markers."""
    write = _writer(url=call.url_encoded)
    listing = call.listing
    inner = [
        xml.element("Name", listing.bucket),
        f"<Prefix>{write(listing.prefix)}</Prefix>",
        f"<KeyMarker>{write(listing.after_key)}</KeyMarker>",
        xml.element("VersionIdMarker", listing.after_version),
        xml.element("MaxKeys", listing.limit),
        f"<Delimiter>{write(listing.delimiter)}</Delimiter>" if listing.delimiter else "",
        "<EncodingType>url</EncodingType>" if call.url_encoded else "",
        xml.element("IsTruncated", "false" if page.next_after is None else "true"),
    ]
    if page.next_after is not None:
        inner.append(f"<NextKeyMarker>{write(page.next_after[0])}</NextKeyMarker>")
        inner.append(xml.element("NextVersionIdMarker", page.next_after[1] or None))
    inner += [_version(room, item, write) for item in page.versions]
    inner += _prefixes(page.prefixes, url=call.url_encoded)
    return xml_response(xml.document("ListVersionsResult", inner))


def _version(room: Room, item: ObjectInfo, write: Callable[[str], str]) -> str:
    head = (
        f"<Key>{write(item.key)}</Key><VersionId>{item.version}</VersionId>"
        f"<IsLatest>{'true' if item.latest else 'false'}</IsLatest>"
        f"<LastModified>{xml.timestamp(item.modified_at_ns)}</LastModified>"
    )
    if item.delete_marker:
        return f"<DeleteMarker>{head}{owner_element(room)}</DeleteMarker>"
    checksum = item.checksum
    return (
        f"<Version>{head}<ETag>&quot;{item.etag}&quot;</ETag>"
        f"{_algorithm_element(checksum.algorithm, checksum.kind) if checksum else ''}<Size>{item.size}</Size>"
        f"{owner_element(room)}<StorageClass>STANDARD</StorageClass></Version>"
    )
