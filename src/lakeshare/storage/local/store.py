"""The object store on a local disk.

`LocalStore.open_root(root)` opens a data directory, making it if it is not there, in the process and on the event loop
that will use it; `close` finishes what is under way. Any number of processes may have the same one open.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import apsw
import orjson

from lakeshare.errors import LakeshareError
from lakeshare.sqlite.committer import GroupCommitter
from lakeshare.sqlite.errors import DatabaseError, DatabaseFull
from lakeshare.sqlite.pulse import Pulse
from lakeshare.sqlite.readers import Readers
from lakeshare.storage.errors import StoreFailed, StoreFull
from lakeshare.storage.ids import new_upload_id
from lakeshare.storage.local import layout as layouts
from lakeshare.storage.local.copying import PartSource
from lakeshare.storage.local.index import buckets, listing, objects, uploads, usage
from lakeshare.storage.local.index.objects import BlobPayload, Payload, SmallPayload
from lakeshare.storage.local.index.schema import INDEX
from lakeshare.storage.local.index.uploads import NewPart
from lakeshare.storage.local.layout import Layout
from lakeshare.storage.local.reads import Reads
from lakeshare.storage.local.remembered import Remembered
from lakeshare.storage.local.space import FreeSpace
from lakeshare.storage.local.staging import LocalStaging
from lakeshare.storage.port import (
    LATEST,
    NO_DOCUMENTS,
    Assembly,
    Bucket,
    BucketUsage,
    Checksum,
    Copy,
    Delete,
    Deleted,
    Listing,
    ObjectInfo,
    Opened,
    Page,
    Part,
    Put,
    Staging,
    Tags,
    Upload,
    UploadListing,
    UploadPage,
    VersionListing,
    VersionPage,
    VersionRef,
)

T = TypeVar("T")
IO_THREADS = 16
"""Threads that hash, write and sync: most of them wait for the disk."""


class LocalStore:
    """An ObjectStore over blobs and an index in one data directory."""

    def __init__(self, layout: Layout, free_space_watermark: int) -> None:
        self._layout = layout
        self._space = FreeSpace(layout.root, free_space_watermark)
        self._pulse = Pulse(layout.index)
        self._committer = GroupCommitter(layout.index, INDEX, self._pulse.beat, self._pulse.stop)
        self._readers = Readers(layout.index)
        self._reads = Reads(layout, self._readers, Remembered(self._pulse))
        self._threads = ThreadPoolExecutor(IO_THREADS, thread_name_prefix="lakeshare-blobs")

    @classmethod
    def open_root(cls, root: Path, free_space_watermark: int = 0) -> "LocalStore":
        """Open a data directory, making it if need be; under the watermark's free bytes writes are refused."""
        return cls(layouts.prepare(root), free_space_watermark)

    def set_watermark(self, watermark_bytes: int) -> None:
        """Refuse writes under another number of free bytes from now on."""
        self._space.watermark_bytes = watermark_bytes

    @property
    def batches(self) -> tuple[int, int]:
        """Return the transactions of this process so far, and the operations that they carried."""
        return self._committer.batches, self._committer.operations

    async def create_bucket(self, name: str, region: str = "", documents: Mapping[str, bytes] = NO_DOCUMENTS) -> Bucket:
        """Make a bucket, with its first documents."""
        self._space.check()
        bucket = Bucket(name, time.time_ns(), region)
        return await self._commit(lambda cursor: buckets.create(cursor, bucket, documents))

    async def delete_bucket(self, name: str) -> None:
        """Remove an empty bucket, its documents and its unfinished uploads."""
        await self._commit(lambda cursor: buckets.delete(cursor, name, time.time_ns()))

    async def bucket(self, name: str) -> Bucket:
        """Return a bucket."""
        return self._reads.run(lambda cursor: buckets.find(cursor, name))

    async def buckets(self, prefix: str = "", after: str = "", limit: int = 10_000) -> Sequence[Bucket]:
        """Return buckets in order of their names."""
        return self._reads.run(lambda cursor: buckets.page(cursor, prefix, after, limit))

    async def usage(self) -> Sequence[BucketUsage]:
        """Return what each bucket holds, read in the pool."""
        try:
            return await self._readers.run(usage.tally)
        except DatabaseError as error:
            raise StoreFailed(str(error)) from error

    async def document(self, bucket: str, name: str) -> bytes:
        """Return a bucket's configuration document."""
        return self._reads.run(lambda cursor: buckets.document(cursor, bucket, name))

    async def set_document(self, bucket: str, name: str, value: bytes | None) -> None:
        """Set a configuration document, or remove it; on a full disk too, since a policy may be what stops a writer."""
        await self._commit(lambda cursor: buckets.set_document(cursor, bucket, name, value))

    async def head(self, bucket: str, key: str, ref: VersionRef = LATEST) -> ObjectInfo:
        """Return one version."""
        return self._reads.head(bucket, key, ref)

    async def open(self, bucket: str, key: str, ref: VersionRef = LATEST) -> Opened:
        """Return one version with its content."""
        return self._reads.open(bucket, key, ref)

    async def pins(self, bucket: str, keys: Sequence[str]) -> Sequence[str | None]:
        """Return the pin of each key's latest version, read in the pool."""
        try:
            return await self._readers.run(lambda cursor: objects.pins(cursor, bucket, keys))
        except DatabaseError as error:
            raise StoreFailed(str(error)) from error

    def stage(self, algorithms: frozenset[str], size_hint: int | None = None) -> AbstractAsyncContextManager[Staging]:  # noqa: ARG002 (space is taken as bytes come)
        """Begin to take bytes."""
        return LocalStaging(self._layout, self._space, self._threads, algorithms)

    async def put(self, put: Put, staging: Staging) -> ObjectInfo:
        """Make staged bytes durable and publish them under a key."""
        assert isinstance(staging, LocalStaging)
        payload = await self._durable(staging, put.bucket, put.key)
        staging.handed_over = True
        try:
            published = await self._commit(lambda cursor: objects.publish(cursor, put, payload, time.time_ns()))
        except LakeshareError as error:
            staging.handed_over = isinstance(error, (StoreFailed, StoreFull))
            raise
        staging.handed_over = published.taken
        return published.info

    async def copy(self, copy: Copy) -> ObjectInfo:
        """Publish the bytes of one version under another key, moving none of them."""
        self._space.check()
        return await self._commit(lambda cursor: objects.copy(cursor, copy, time.time_ns()))

    async def delete(self, bucket: str, deletes: Sequence[Delete]) -> Sequence[Deleted | Exception]:
        """Remove keys in one transaction, each on its own."""
        return await self._commit(lambda cursor: objects.delete(cursor, bucket, deletes, time.time_ns()))

    async def set_tags(self, bucket: str, key: str, ref: VersionRef, tags: Tags) -> ObjectInfo:
        """Replace the tags of one version."""
        if tags:
            self._space.check()
        return await self._commit(lambda cursor: objects.set_tags(cursor, bucket, key, ref, tags))

    async def list(self, wanted: Listing) -> Page:
        """List the latest versions."""
        return await self._reads.run_in_slices(lambda cursor: listing.keys(cursor, wanted))

    async def list_versions(self, wanted: VersionListing) -> VersionPage:
        """List all versions and delete markers."""
        return self._reads.run(lambda cursor: listing.versions(cursor, wanted))

    async def create_upload(self, upload: Upload) -> Upload:
        """Begin a multipart upload."""
        self._space.check()
        now_ns = time.time_ns()
        made = replace(upload, id=new_upload_id(now_ns), created_at_ns=now_ns, parts=(), completed_pin=None)
        return await self._commit(lambda cursor: uploads.create(cursor, made))

    async def upload(self, bucket: str, key: str, upload_id: str) -> Upload:
        """Return an upload with its parts in order of number."""
        return self._reads.run(lambda cursor: uploads.find(cursor, bucket, key, upload_id))

    async def put_part(self, upload: Upload, number: int, staging: Staging, checksum: Checksum | None) -> Part:
        """Make staged bytes durable as a part."""
        assert isinstance(staging, LocalStaging)
        payload = await self._durable(staging, upload.bucket, f"{upload.key}?part={number}&upload={upload.id}")
        staging.handed_over = True
        try:
            return await self._commit(
                lambda cursor: uploads.keep_part(cursor, upload, NewPart(number, payload, checksum), time.time_ns())
            )
        except LakeshareError as error:
            staging.handed_over = isinstance(error, (StoreFailed, StoreFull))
            raise

    async def copy_part(self, upload: Upload, number: int, source: Opened, start: int, stop: int) -> Part:
        """Make a part of a stretch of an object that was just opened, moving none of its bytes."""
        self._space.check()
        known = PartSource(source, start, stop).known(upload.algorithm)
        if known is None:
            reading = PartSource(source, start, stop)
            known = await asyncio.get_running_loop().run_in_executor(self._threads, reading.read, upload.algorithm)
        content, checksum = known

        def keep(cursor: apsw.Cursor) -> Part:
            payload = uploads.share_stretch(cursor, source.info, start, stop, content)
            return uploads.keep_part(cursor, upload, NewPart(number, payload, checksum), time.time_ns())

        return await self._commit(keep)

    async def complete(self, upload: Upload, assembly: Assembly, put: Put) -> ObjectInfo:
        """Publish an upload as an object, moving none of its bytes."""
        self._space.check()
        return await self._commit(lambda cursor: uploads.complete(cursor, upload, assembly, put, time.time_ns()))

    async def abort(self, upload: Upload) -> None:
        """Forget an upload and its parts."""
        await self._commit(lambda cursor: uploads.abort(cursor, upload, time.time_ns()))

    async def list_uploads(self, wanted: UploadListing) -> UploadPage:
        """List the uploads under way."""
        return self._reads.run(lambda cursor: listing.uploads(cursor, wanted))

    async def close(self) -> None:
        """Finish what is under way and let go of the disk."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self._close)

    def _close(self) -> None:
        self._threads.shutdown()
        self._committer.close()
        self._readers.close()
        self._pulse.close()

    async def _durable(self, staging: LocalStaging, bucket: str, key: str) -> Payload:
        """Make staged bytes ready for a transaction: a small payload goes with it, a blob is on disk before it."""
        content = await staging.finish()
        if staging.small:
            return SmallPayload(content, staging.data)
        description = orjson.dumps(
            {"bucket": bucket, "key": key, "size": content.size, "etag": content.etag, "crc64nvme": content.crc64}
        )
        return BlobPayload(content, await staging.publish(description))

    async def _commit(self, operation: Callable[[apsw.Cursor], T]) -> T:
        """Run an operation on the index and wait until it is durable. Raises StoreFull, StoreFailed."""
        try:
            return await self._committer.run(operation)
        except DatabaseFull as error:
            raise StoreFull(self._space.free_bytes(), self._space.watermark_bytes) from error
        except DatabaseError as error:
            raise StoreFailed(str(error)) from error
