"""Listings: objects, versions and unfinished uploads of a bucket, page by page as they are asked for."""

from collections.abc import Callable, Iterator
from urllib.parse import unquote

from lakeshare.cli.errors import Unreachable
from lakeshare.cli.remote import xml
from lakeshare.cli.remote.model import Entry, Folder, Unfinished
from lakeshare.cli.remote.server import Call, Pairs, Server
from lakeshare.cli.units import moment
from lakeshare.identity.sigv4.canonical import encode

PAGE_LIMIT = 1000
"""Most entries in a page, by S3's limit."""
PAGES_LIMIT = 1_000_000
"""Most pages of one listing: a thousand million keys."""

_ROOTS = {
    "list-type": "ListBucketResult",
    "versions": "ListVersionsResult",
    "uploads": "ListMultipartUploadsResult",
}

Found = Iterator[Entry | Folder]


class Listing:
    """Lists what is in the buckets of one server. Names travel percent-encoded, since XML cannot carry them all."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def objects(self, bucket: str, prefix: str = "", delimiter: str = "", limit: int | None = None) -> Found:
        """Yield objects, and folders where there is a delimiter, in the order of their keys."""
        query = _query(("list-type", "2"), prefix, delimiter, limit)
        for page in self._pages(bucket, query, _after_objects):
            found: list[Entry | Folder] = [*_objects(page), *_folders(page)]
            yield from sorted(found, key=_order)
            if limit is not None:
                return

    def versions(self, bucket: str, prefix: str = "", delimiter: str = "") -> Found:
        """Yield versions and delete markers, newest first for each key."""
        query = _query(("versions", ""), prefix, delimiter, None)
        for page in self._pages(bucket, query, _after_versions):
            yield from _versions(page)
            yield from _folders(page)

    def uploads(self, bucket: str, prefix: str = "") -> Iterator[Unfinished]:
        """Yield uploads that were not finished."""
        query = _query(("uploads", ""), prefix, "", None)
        for page in self._pages(bucket, query, _after_uploads):
            for node in page.all("Upload"):
                yield Unfinished(_name(node), node.text_of("UploadId"), moment(node.text_of("Initiated")))

    def _pages(self, bucket: str, query: Pairs, after: Callable[[xml.Node], Pairs]) -> Iterator[xml.Node]:
        """Yield a listing's pages, each asked for when the one before is through."""
        name = f"{self._server.alias.name}/{bucket}"
        more: Pairs = ()
        for _ in range(PAGES_LIMIT):
            answer = self._server.ask(Call("GET", f"/{encode(bucket)}", query + more, named=name))
            try:
                page = xml.parse(answer.body, _ROOTS[query[0][0]])
            except ValueError:
                raise Unreachable(f"{name} does not answer as S3 does") from None
            yield page
            if page.text_of("IsTruncated") != "true":
                return
            more = after(page)


def _query(kind: tuple[str, str], prefix: str, delimiter: str, limit: int | None) -> Pairs:
    most = "max-uploads" if kind[0] == "uploads" else "max-keys"
    pairs = [kind, ("encoding-type", "url"), (most, str(limit or PAGE_LIMIT))]
    if prefix:
        pairs.append(("prefix", prefix))
    if delimiter:
        pairs.append(("delimiter", delimiter))
    return tuple(pairs)


def _order(item: Entry | Folder) -> bytes:
    return item.key.encode("utf-8", "surrogateescape")


def _name(node: xml.Node, field: str = "Key") -> str:
    return unquote(node.text_of(field), errors="surrogateescape")


def _objects(page: xml.Node) -> Iterator[Entry]:
    for node in page.all("Contents"):
        yield _entry(node)


def _entry(node: xml.Node, *, marker: bool = False) -> Entry:
    return Entry(
        _name(node),
        _size(node),
        moment(node.text_of("LastModified")),
        node.text_of("ETag").strip('"'),
        node.text_of("StorageClass"),
        node.text_of("VersionId"),
        node.text_of("IsLatest", "true") == "true",
        marker,
    )


def _size(node: xml.Node) -> int:
    text = node.text_of("Size")
    return int(text) if text.isdigit() else 0


def _versions(page: xml.Node) -> Iterator[Entry]:
    for node in page.children:
        if node.name in ("Version", "DeleteMarker"):
            yield _entry(node, marker=node.name == "DeleteMarker")


def _folders(page: xml.Node) -> Iterator[Folder]:
    for node in page.all("CommonPrefixes"):
        yield Folder(_name(node, "Prefix"))


def _after_objects(page: xml.Node) -> Pairs:
    return (("continuation-token", page.text_of("NextContinuationToken")),)


def _after_versions(page: xml.Node) -> Pairs:
    return (("key-marker", _name(page, "NextKeyMarker")), ("version-id-marker", page.text_of("NextVersionIdMarker")))


def _after_uploads(page: xml.Node) -> Pairs:
    return (("key-marker", _name(page, "NextKeyMarker")), ("upload-id-marker", page.text_of("NextUploadIdMarker")))
