"""Multipart uploads: an object put together from parts that were sent, or copied within the server."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lakeshare.cli.errors import ClientError, Refused, Unreachable
from lakeshare.cli.remote import xml
from lakeshare.cli.remote.body import Body, Bytes
from lakeshare.cli.remote.server import Call, Moved, Pairs, Server, unwatched
from lakeshare.cli.remote.store import Store, copy_source, path_of

PARTS_LIMIT = 10_000
"""Most parts of an upload, by S3's limit."""
PART_BYTES = 16 * 1024**2
"""Size of a part where the object is not so large that parts must be larger."""
_MIB = 1024**2
_NONE: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part as a stretch of the whole: its number, where it begins, and how long it is."""

    number: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class SentPart:
    """A part that the server has."""

    number: int
    etag: str
    size: int = 0


def stretches(size: int, part_bytes: int = PART_BYTES) -> list[Stretch]:
    """Cut a size into at most ten thousand parts of one size, and a last one."""
    least = -(-size // PARTS_LIMIT)
    step = max(part_bytes, -(-least // _MIB) * _MIB if least > part_bytes else part_bytes)
    return [Stretch(number, offset, min(step, size - offset)) for number, offset in enumerate(range(0, size, step), 1)]


def etag_of(parts: Sequence[SentPart]) -> str:
    """Return the ETag that an object made of these parts has."""
    joined = b"".join(bytes.fromhex(part.etag) for part in parts)
    return f"{hashlib.md5(joined, usedforsecurity=False).hexdigest()}-{len(parts)}"


class Upload:
    """One multipart upload."""

    def __init__(self, store: Store, bucket: str, key: str, upload_id: str) -> None:
        self._server: Server = store.server
        self._store = store
        self.bucket, self.key, self.upload_id = bucket, key, upload_id

    @classmethod
    def create(cls, store: Store, bucket: str, key: str, headers: Mapping[str, str] = _NONE) -> "Upload":
        """Begin an upload."""
        named = store.named(bucket, key)
        answer = store.server.ask(Call("POST", path_of(bucket, key), (("uploads", ""),), headers, named=named))
        try:
            upload_id = xml.parse(answer.body, "InitiateMultipartUploadResult").text_of("UploadId")
        except ValueError:
            raise Unreachable(f"{named} does not answer as S3 does") from None
        return cls(store, bucket, key, upload_id)

    def put(self, number: int, body: Body, moved: Moved = unwatched) -> SentPart:
        """Send a part."""
        answer = self._server.ask(replace(self._call("PUT", (("partNumber", str(number)),)), body=body), moved)
        return SentPart(number, answer.headers.get("etag", "").strip('"'), body.size)

    def copy(self, stretch: Stretch, source: tuple[str, str], etag: str) -> SentPart:
        """Copy a part from an object of the same server."""
        last = stretch.offset + stretch.size - 1
        headers = {
            "x-amz-copy-source": copy_source(*source),
            "x-amz-copy-source-range": f"bytes={stretch.offset}-{last}",
            "x-amz-copy-source-if-match": f'"{etag}"',
        }
        call = self._call("PUT", (("partNumber", str(stretch.number)),))
        answer = self._server.ask(replace(call, headers=headers))
        node = xml.parse(answer.body, "CopyPartResult")
        return SentPart(stretch.number, node.text_of("ETag").strip('"'), stretch.size)

    def sent(self) -> list[SentPart]:
        """List the parts that the server has."""
        found: list[SentPart] = []
        more: Pairs = ()
        for _ in range(PARTS_LIMIT):
            page = xml.parse(self._server.ask(self._call("GET", more)).body, "ListPartsResult")
            for node in page.all("Part"):
                number, size = int(node.text_of("PartNumber")), int(node.text_of("Size"))
                found.append(SentPart(number, node.text_of("ETag").strip('"'), size))
            if page.text_of("IsTruncated") != "true":
                break
            more = (("part-number-marker", page.text_of("NextPartNumberMarker")),)
        return found

    def complete(self, parts: Sequence[SentPart]) -> None:
        """Publish the object."""
        inner = "".join(
            f"<Part><PartNumber>{part.number}</PartNumber><ETag>{xml.escape(part.etag)}</ETag></Part>" for part in parts
        )
        body = f"<CompleteMultipartUpload>{inner}</CompleteMultipartUpload>".encode()
        try:
            answer = self._server.ask(replace(self._call("POST"), body=Bytes(body)))
        except Refused as error:
            if error.code == "NoSuchUpload" and self._is_there(parts):
                return  # An attempt before this one succeeded, and its answer was lost.
            raise
        node = xml.parse(answer.body)
        if node.name == "Error":
            named = self._store.named(self.bucket, self.key)
            raise Refused(500, node.text_of("Code"), node.text_of("Message"), named)

    def _is_there(self, parts: Sequence[SentPart]) -> bool:
        found = self._store.find(self.bucket, self.key)
        return found is not None and found.etag == etag_of(parts)

    def abort(self) -> None:
        """Give the upload up, and let the server forget its parts."""
        try:
            self._server.ask(self._call("DELETE"), cleans_up=True)
        except ClientError:
            return  # The server removes what is left of it in time.

    def _call(self, method: str, query: Pairs = ()) -> Call:
        pairs = (*query, ("uploadId", self.upload_id))
        return Call(method, path_of(self.bucket, self.key), pairs, named=self._store.named(self.bucket, self.key))
