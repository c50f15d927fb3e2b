"""The object store's port: S3's semantics on values, with no word of HTTP.

Laws that every implementation keeps, and that the conformance suite checks:

- A write is visible to every process once its call returns, and survives a crash; before that, nothing of it is.
- A condition is checked in the transaction that publishes the key: of any number of racers exactly one wins.
- Keys are ordered by the unsigned bytes of their UTF-8; `a`, `a/b` and `a//b` are all legal, and never become paths.
- Content never changes under a pin: a pin names the bytes of one write for as long as they can be read.
- Copy and complete move no payload bytes.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple, Protocol

from lakeshare.http.request import Block
from lakeshare.http.response import Spans

NULL_VERSION = "null"
"""S3's name for the version of an object written while its bucket keeps no versions."""


class ChecksumKind(Enum):
    """Over the whole object, or over the checksums of its parts."""

    FULL_OBJECT = "FULL_OBJECT"
    COMPOSITE = "COMPOSITE"


class Checksum(NamedTuple):
    """A checksum as clients see it: `algorithm` in S3's upper case, `value` base64 (`…-N` when composite)."""

    algorithm: str
    value: str
    kind: ChecksumKind = ChecksumKind.FULL_OBJECT


@dataclass(frozen=True, slots=True)
class Facts:
    """What a writer says of an object besides its bytes; `headers` are standard ones such as cache-control."""

    content_type: str = "binary/octet-stream"
    headers: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)


Tags = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Part:
    """One part, of an upload or of a completed object. `pin` names its bytes; `etag` is its MD5 in hex."""

    number: int
    size: int
    etag: str
    pin: str
    modified_at_ns: int
    checksum: Checksum | None = None


class ObjectInfo(NamedTuple):
    """One version of one object. `etag` has no quotes; `pin` is unique to the write.

    A tuple, since every read makes one: a third of the cost of a frozen dataclass.
    """

    bucket: str
    key: str
    version: str
    pin: str
    size: int
    etag: str
    modified_at_ns: int
    facts: Facts
    checksum: Checksum | None = None
    tags: Tags = ()
    parts: Sequence[Part] = ()
    delete_marker: bool = False
    latest: bool = True


class Content(Protocol):
    """The bytes of one version, readable for as long as the grace after its removal."""

    def spans(self, start: int, stop: int) -> Spans:
        """Return the bytes from `start` up to `stop` as literal bytes and runs of files. Raises ContentLost."""
        ...


class Opened(NamedTuple):
    """A version and its content, from one consistent read."""

    info: ObjectInfo
    content: Content


@dataclass(frozen=True, slots=True)
class VersionRef:
    """Which version is meant: the latest, one by its S3 version id, or the bytes of one write by its pin."""

    version: str | None = None
    pin: str | None = None


LATEST = VersionRef()


@dataclass(frozen=True, slots=True)
class Condition:
    """What must hold of the key when a write is published. `etag` may be `*`: any object will do.

    `other_than` is an ETag that the key must not have. `size` and `modified_at` (whole seconds since 1970) serve
    deletes. A delete of what is not there fails only where it names an `etag`.
    """

    absent: bool = False
    etag: str | None = None
    other_than: str | None = None
    size: int | None = None
    modified_at: int | None = None


ALWAYS = Condition()


class Staging(Protocol):
    """Bytes on their way in. Nothing of them is visible until a store's put or put_part takes them."""

    size: int

    async def write(self, chunk: bytes) -> None:
        """Take the next bytes; small chunks are gathered."""
        ...

    def write_now(self, blocks: Sequence[Block]) -> None:
        """Take the next bytes on the calling thread, which may block; they are the caller's again afterwards.

        For a body that is written in this way from its first byte to its last, by one thread at a time.
        """
        ...

    async def digest(self, algorithm: str) -> bytes:
        """Return a digest of all bytes written: MD5, CRC64NVME, or one asked for when staging began."""
        ...


@dataclass(frozen=True, slots=True)
class Put:
    """A write to a key. A `write_once` key that exists takes the same bytes again, and refuses others."""

    bucket: str
    key: str
    facts: Facts = Facts()
    checksum: Checksum | None = None
    tags: Tags = ()
    condition: Condition = ALWAYS
    write_once: bool = False


@dataclass(frozen=True, slots=True)
class Copy:
    """A write whose bytes are those of an object that was just read, named by its pin."""

    put: Put
    source_bucket: str
    source_key: str
    source_pin: str


@dataclass(frozen=True, slots=True)
class Delete:
    """The removal of a key, or of one version of it."""

    key: str
    version: str | None = None
    condition: Condition = ALWAYS


@dataclass(frozen=True, slots=True)
class Deleted:
    """What a delete did. `version` is the one removed, or the delete marker made."""

    key: str
    existed: bool
    version: str | None = None
    delete_marker: bool = False


@dataclass(frozen=True, slots=True)
class Upload:
    """A multipart upload. `completed_pin` is set once it is complete, for as long as that is remembered."""

    bucket: str
    key: str
    id: str
    facts: Facts
    created_at_ns: int
    tags: Tags = ()
    algorithm: str | None = None
    checksum_kind: ChecksumKind | None = None
    parts: tuple[Part, ...] = ()
    completed_pin: str | None = None


@dataclass(frozen=True, slots=True)
class Assembly:
    """What a completed upload becomes: its parts in order, each still to be the pin named, and the sums over them."""

    parts: tuple[Part, ...]
    etag: str
    checksum: Checksum | None


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket. `region` is what its maker asked for, and means nothing else."""

    name: str
    created_at_ns: int
    region: str = ""


NO_DOCUMENTS: Mapping[str, bytes] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class BucketUsage:
    """What a bucket holds: the objects that a listing shows, and the sum of their sizes."""

    bucket: Bucket
    objects: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Listing:
    """Which keys to list: those under `prefix`, after `after` (exclusive), rolled up at `delimiter`.

    `after` skips a whole common prefix when it names one, so that a page may go on after it.
    """

    bucket: str
    prefix: str = ""
    delimiter: str = ""
    after: str = ""
    limit: int = 1000


class Entry(NamedTuple):
    """One key of a listing. A tuple, because a listing makes a million of them a second."""

    key: str
    size: int
    etag: str
    modified_at_ns: int
    algorithm: str | None = None
    checksum_value: str | None = None

    @property
    def checksum(self) -> Checksum | None:
        """Return the checksum; base64 has no `-`, so that one tells a composite."""
        if self.algorithm is None or self.checksum_value is None:
            return None
        kind = ChecksumKind.COMPOSITE if "-" in self.checksum_value else ChecksumKind.FULL_OBJECT
        return Checksum(self.algorithm, self.checksum_value, kind)


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a listing: keys and common prefixes, each in order; `next_after` goes on, None is the end."""

    objects: Sequence[Entry]
    prefixes: Sequence[str]
    next_after: str | None = None


@dataclass(frozen=True, slots=True)
class UploadListing:
    """Which uploads to list, by key and then by id, after the pair of markers."""

    bucket: str
    prefix: str = ""
    delimiter: str = ""
    after_key: str = ""
    after_id: str = ""
    limit: int = 1000


@dataclass(frozen=True, slots=True)
class UploadPage:
    """One page of uploads, without their parts."""

    uploads: Sequence[Upload]
    prefixes: Sequence[str]
    next_after: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class VersionListing:
    """Which versions to list, newest first under each key, after the pair of markers."""

    bucket: str
    prefix: str = ""
    delimiter: str = ""
    after_key: str = ""
    after_version: str = ""
    limit: int = 1000


@dataclass(frozen=True, slots=True)
class VersionPage:
    """One page of versions and delete markers."""

    versions: Sequence[ObjectInfo]
    prefixes: Sequence[str]
    next_after: tuple[str, str] | None = None


class ObjectStore(Protocol):
    """Buckets and the objects under their keys."""

    async def create_bucket(self, name: str, region: str = "", documents: Mapping[str, bytes] = NO_DOCUMENTS) -> Bucket:
        """Make a bucket, with its first documents. Raises BucketExists."""
        ...

    async def delete_bucket(self, name: str) -> None:
        """Remove an empty bucket and its documents. Raises NoSuchBucket, BucketNotEmpty."""
        ...

    async def bucket(self, name: str) -> Bucket:
        """Return a bucket. Raises NoSuchBucket."""
        ...

    async def buckets(self, prefix: str = "", after: str = "", limit: int = 10_000) -> Sequence[Bucket]:
        """Return buckets in order of their names."""
        ...

    async def usage(self) -> Sequence[BucketUsage]:
        """Return what each bucket holds, by name; it may take as long as a listing of everything."""
        ...

    async def document(self, bucket: str, name: str) -> bytes:
        """Return a bucket's configuration document, such as its tagging. Raises NoSuchBucket, NoSuchDocument."""
        ...

    async def set_document(self, bucket: str, name: str, value: bytes | None) -> None:
        """Set a configuration document, or remove it. Raises NoSuchBucket."""
        ...

    async def head(self, bucket: str, key: str, ref: VersionRef = LATEST) -> ObjectInfo:
        """Return one version. Raises NoSuchBucket, NoSuchKey, NoSuchVersion."""
        ...

    async def open(self, bucket: str, key: str, ref: VersionRef = LATEST) -> Opened:
        """Return one version with its content. Raises as head does, and ContentLost."""
        ...

    async def pins(self, bucket: str, keys: Sequence[str]) -> Sequence[str | None]:
        """Return the pin of each key's latest version, None where a key has none. Raises NoSuchBucket."""
        ...

    def stage(self, algorithms: frozenset[str], size_hint: int | None = None) -> AbstractAsyncContextManager[Staging]:
        """Begin to take bytes, with the digests named; what is not published when the block ends is discarded.

        Raises StoreFull on entry when free space is under the watermark.
        """
        ...

    async def put(self, put: Put, staging: Staging) -> ObjectInfo:
        """Make staged bytes durable and publish them under a key.

        Raises NoSuchBucket, ConditionFailed, NoSuchKey (an etag is asked for and nothing is there), WriteOnce.
        """
        ...

    async def copy(self, copy: Copy) -> ObjectInfo:
        """Publish the bytes of one version under another key, moving none of them. Raises as put does."""
        ...

    async def delete(self, bucket: str, deletes: Sequence[Delete]) -> Sequence[Deleted | Exception]:
        """Remove keys in one transaction, each on its own: what failed stands in its place in the answer.

        That is ConditionFailed, or NoSuchKey where an etag is asked for and nothing is there.
        """
        ...

    async def set_tags(self, bucket: str, key: str, ref: VersionRef, tags: Tags) -> ObjectInfo:
        """Replace the tags of one version. Raises as head does."""
        ...

    async def list(self, listing: Listing) -> Page:
        """List the latest versions, leaving out delete markers. Raises NoSuchBucket."""
        ...

    async def list_versions(self, listing: VersionListing) -> VersionPage:
        """List all versions and delete markers. Raises NoSuchBucket."""
        ...

    async def create_upload(self, upload: Upload) -> Upload:
        """Begin a multipart upload; the store chooses its id and the time. Raises NoSuchBucket."""
        ...

    async def upload(self, bucket: str, key: str, upload_id: str) -> Upload:
        """Return an upload with its parts in order of number. Raises NoSuchBucket, NoSuchUpload."""
        ...

    async def put_part(self, upload: Upload, number: int, staging: Staging, checksum: Checksum | None) -> Part:
        """Make staged bytes durable as a part, in place of one of the same number. Raises NoSuchUpload."""
        ...

    async def copy_part(self, upload: Upload, number: int, source: Opened, start: int, stop: int) -> Part:
        """Make a part of a stretch of an object that was just opened. Raises NoSuchUpload."""
        ...

    async def complete(self, upload: Upload, assembly: Assembly, put: Put) -> ObjectInfo:
        """Publish an upload as an object, moving none of its bytes. Raises as put does, NoSuchUpload, PartChanged."""
        ...

    async def abort(self, upload: Upload) -> None:
        """Forget an upload and its parts. Raises NoSuchUpload."""
        ...

    async def list_uploads(self, listing: UploadListing) -> UploadPage:
        """List the uploads under way. Raises NoSuchBucket."""
        ...

    async def close(self) -> None:
        """Finish what is under way and let go of the disk."""
        ...
