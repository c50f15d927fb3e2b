"""The object store in memory: every law of the port, and no disk. For tests, and for trying things out."""

import time
from bisect import insort
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

from lakeshare.storage.errors import (
    BucketExists,
    BucketNotEmpty,
    ConditionFailed,
    NoSuchBucket,
    NoSuchDocument,
    NoSuchKey,
    NoSuchUpload,
    NoSuchVersion,
    PartChanged,
)
from lakeshare.storage.hashing import Digests, crc64nvme, full_object
from lakeshare.storage.ids import new_pin, new_upload_id
from lakeshare.storage.keys import Roll, Start, start_of
from lakeshare.storage.laws import Content as Written
from lakeshare.storage.laws import check_delete, check_put, next_time
from lakeshare.storage.memory_buckets import HeldBucket, HeldUpload, HeldVersion, MemoryContent, MemoryStaging
from lakeshare.storage.port import (
    LATEST,
    NO_DOCUMENTS,
    NULL_VERSION,
    Assembly,
    Bucket,
    BucketUsage,
    Checksum,
    Copy,
    Delete,
    Deleted,
    Entry,
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

GRACE_SECONDS = 7200
NANOSECONDS = 1_000_000_000


class MemoryStore:
    """An ObjectStore whose contents end with it."""

    def __init__(self, grace_seconds: int = GRACE_SECONDS, clock_ns: Callable[[], int] = time.time_ns) -> None:
        self._grace_ns = grace_seconds * NANOSECONDS
        self._clock_ns = clock_ns
        self._buckets: dict[str, HeldBucket] = {}

    async def create_bucket(self, name: str, region: str = "", documents: Mapping[str, bytes] = NO_DOCUMENTS) -> Bucket:
        """Make a bucket, with its first documents."""
        if name in self._buckets:
            raise BucketExists(name)
        bucket = Bucket(name, self._clock_ns(), region)
        self._buckets[name] = HeldBucket(bucket, documents=dict(documents))
        return bucket

    async def delete_bucket(self, name: str) -> None:
        """Remove an empty bucket, its documents and its unfinished uploads."""
        if self._of(name).keys:
            raise BucketNotEmpty(name)
        del self._buckets[name]

    async def bucket(self, name: str) -> Bucket:
        """Return a bucket."""
        return self._of(name).bucket

    async def buckets(self, prefix: str = "", after: str = "", limit: int = 10_000) -> Sequence[Bucket]:
        """Return buckets in order of their names."""
        names = sorted(name for name in self._buckets if name.startswith(prefix) and name > after)
        return [self._buckets[name].bucket for name in names[:limit]]

    async def usage(self) -> Sequence[BucketUsage]:
        """Return what each bucket holds."""
        held = sorted(self._buckets.items())
        sizes = [(found.bucket, [each.info.size for each in found.latest.values()]) for _, found in held]
        return [BucketUsage(bucket, len(each), sum(each)) for bucket, each in sizes]

    async def document(self, bucket: str, name: str) -> bytes:
        """Return a bucket's configuration document."""
        try:
            return self._of(bucket).documents[name]
        except KeyError:
            raise NoSuchDocument(bucket, name) from None

    async def set_document(self, bucket: str, name: str, value: bytes | None) -> None:
        """Set a configuration document, or remove it."""
        documents = self._of(bucket).documents
        if value is None:
            documents.pop(name, None)
        else:
            documents[name] = value

    async def head(self, bucket: str, key: str, ref: VersionRef = LATEST) -> ObjectInfo:
        """Return one version."""
        return self._find(bucket, key, ref).info

    async def open(self, bucket: str, key: str, ref: VersionRef = LATEST) -> Opened:
        """Return one version with its content."""
        version = self._find(bucket, key, ref)
        return Opened(version.info, MemoryContent(version.data))

    async def pins(self, bucket: str, keys: Sequence[str]) -> Sequence[str | None]:
        """Return the pin of each key's latest version."""
        self._of(bucket)
        found: list[str | None] = []
        for key in keys:
            try:
                found.append(self._find(bucket, key, LATEST).info.pin)
            except NoSuchKey:
                found.append(None)
        return found

    def stage(self, algorithms: frozenset[str], size_hint: int | None = None) -> AbstractAsyncContextManager[Staging]:  # noqa: ARG002 (memory needs no hint)
        """Begin to take bytes."""
        return MemoryStaging(algorithms)

    async def put(self, put: Put, staging: Staging) -> ObjectInfo:
        """Publish staged bytes under a key."""
        assert isinstance(staging, MemoryStaging)
        written = Written(staging.size, staging.digests.md5_hex, staging.digests.crc64)
        return self._publish(put, written, b"".join(staging.chunks))

    async def copy(self, copy: Copy) -> ObjectInfo:
        """Publish the bytes of one version under another key."""
        try:
            source = self._find(copy.source_bucket, copy.source_key, VersionRef(pin=copy.source_pin))
        except NoSuchVersion:
            raise NoSuchKey(copy.source_bucket, copy.source_key) from None
        put = replace(copy.put, checksum=copy.put.checksum or source.info.checksum)
        return self._publish(put, source.written, source.data, source.info.parts)

    async def delete(self, bucket: str, deletes: Sequence[Delete]) -> Sequence[Deleted | Exception]:
        """Remove keys, each on its own."""
        held = self._of(bucket)
        return [self._delete(bucket, held, delete) for delete in deletes]

    async def set_tags(self, bucket: str, key: str, ref: VersionRef, tags: Tags) -> ObjectInfo:
        """Replace the tags of one version."""
        held, found = self._of(bucket), self._find(bucket, key, ref)
        changed = replace(found, info=found.info._replace(tags=tags))
        if held.latest.get(key) is found:
            held.latest[key] = changed
        else:
            held.retired[key, found.info.pin] = changed
        return changed.info

    async def list(self, listing: Listing) -> Page:
        """List the latest versions."""
        held = self._of(listing.bucket)
        start = start_of(listing.prefix, listing.delimiter, listing.after)
        if start is None:
            return Page((), ())
        roll: Roll[str, Start] = Roll(
            listing.prefix,
            listing.delimiter,
            listing.limit,
            str,
            lambda place, count: held.scan(listing.prefix, place, count),
            lambda key: Start(key, inclusive=False),
            lambda key: Start(key, inclusive=True),
        )
        page = roll.page(start)
        entries = [_entry(held.latest[key].info) for key in page.rows]
        last = page.prefixes[-1:] if page.ends_in_prefix else page.rows[-1:]
        return Page(entries, page.prefixes, last[0] if page.more else None)

    async def list_versions(self, listing: VersionListing) -> VersionPage:
        """List all versions: one of each key, since no bucket keeps more yet."""
        plain = Listing(listing.bucket, listing.prefix, listing.delimiter, listing.after_key, listing.limit)
        page = await self.list(plain)
        held = self._of(listing.bucket)
        versions = [held.latest[entry.key].info for entry in page.objects]
        if page.next_after is None:
            return VersionPage(versions, page.prefixes)
        version = NULL_VERSION if versions and versions[-1].key == page.next_after else ""
        return VersionPage(versions, page.prefixes, (page.next_after, version))

    async def create_upload(self, upload: Upload) -> Upload:
        """Begin a multipart upload."""
        now = self._clock_ns()
        made = replace(upload, id=new_upload_id(now), created_at_ns=now, parts=(), completed_pin=None)
        self._of(upload.bucket).uploads[made.id] = HeldUpload(made)
        return made

    async def upload(self, bucket: str, key: str, upload_id: str) -> Upload:
        """Return an upload with its parts in order of number."""
        found = self._of(bucket).uploads.get(upload_id)
        if found is None or found.upload.key != key:
            raise NoSuchUpload(upload_id)
        return replace(found.upload, parts=tuple(found.parts[number][0] for number in sorted(found.parts)))

    async def put_part(self, upload: Upload, number: int, staging: Staging, checksum: Checksum | None) -> Part:
        """Keep staged bytes as a part."""
        assert isinstance(staging, MemoryStaging)
        return self._keep_part(upload, number, b"".join(staging.chunks), staging.digests.md5_hex, checksum)

    async def copy_part(self, upload: Upload, number: int, source: Opened, start: int, stop: int) -> Part:
        """Make a part of a stretch of an object that was just opened."""
        data = b"".join(span for span in source.content.spans(start, stop) if isinstance(span, bytes))
        digests = Digests({upload.algorithm} if upload.algorithm else ())
        digests.update((data,))
        checksum = full_object(upload.algorithm, digests.digest(upload.algorithm)) if upload.algorithm else None
        return self._keep_part(upload, number, data, digests.md5_hex, checksum)

    async def complete(self, upload: Upload, assembly: Assembly, put: Put) -> ObjectInfo:
        """Publish an upload as an object."""
        held = self._under_way(upload)
        chunks = []
        for wanted in assembly.parts:
            found = held.parts.get(wanted.number)
            if found is None or found[0].pin != wanted.pin:
                raise PartChanged(wanted.number)
            chunks.append(found[1])
        data = b"".join(chunks)
        parts = tuple(held.parts[wanted.number][0] for wanted in assembly.parts)
        written = Written(len(data), assembly.etag, crc64nvme(data))
        info = self._publish(replace(put, checksum=assembly.checksum), written, data, parts)
        held.upload = replace(held.upload, completed_pin=info.pin)
        held.parts.clear()
        return info

    async def abort(self, upload: Upload) -> None:
        """Forget an upload and its parts."""
        self._under_way(upload)
        del self._of(upload.bucket).uploads[upload.id]

    async def list_uploads(self, listing: UploadListing) -> UploadPage:
        """List the uploads under way."""
        start = start_of(listing.prefix, listing.delimiter, listing.after_key)
        if start is None:
            return UploadPage((), ())
        found = [one.upload for one in self._of(listing.bucket).uploads.values() if not one.upload.completed_pin]
        under = sorted((one for one in found if one.key.startswith(listing.prefix)), key=_place)
        roll: Roll[Upload, tuple[str, str]] = Roll(
            listing.prefix,
            listing.delimiter,
            listing.limit,
            lambda one: one.key,
            lambda place, count: [one for one in under if _place(one) > place][:count],
            _place,
            lambda key: (key, ""),
        )
        page = roll.page((start.key, "" if start.inclusive else listing.after_id or "~"))
        if not page.more:
            return UploadPage(page.rows, page.prefixes)
        return UploadPage(
            page.rows, page.prefixes, (page.prefixes[-1], "") if page.ends_in_prefix else _place(page.rows[-1])
        )

    async def close(self) -> None:
        """Let go of everything."""
        self._buckets.clear()

    def _of(self, bucket: str) -> HeldBucket:
        try:
            return self._buckets[bucket]
        except KeyError:
            raise NoSuchBucket(bucket) from None

    def _find(self, bucket: str, key: str, ref: VersionRef) -> HeldVersion:
        held = self._of(bucket)
        latest = held.latest.get(key)
        if ref.pin is not None:
            found = latest if latest and latest.info.pin == ref.pin else held.retired.get((key, ref.pin))
            if found is None:
                raise NoSuchVersion(bucket, key, ref.pin)
            return found
        if ref.version not in {None, NULL_VERSION}:
            raise NoSuchVersion(bucket, key, str(ref.version))
        if latest is None:
            raise NoSuchKey(bucket, key)
        return latest

    def _publish(self, put: Put, written: Written, data: bytes, parts: Sequence[Part] = ()) -> ObjectInfo:
        held = self._of(put.bucket)
        current = held.latest.get(put.key)
        if check_put(put, current.written if current else None, written) and current:
            return current.info
        now = next_time(self._clock_ns(), current.info.modified_at_ns if current else None)
        if current:
            held.retire(put.key, now)
        held.forget(now - self._grace_ns)
        pin = new_pin(now).hex()
        info = ObjectInfo(
            put.bucket,
            put.key,
            NULL_VERSION,
            pin,
            written.size,
            written.etag,
            now,
            put.facts,
            put.checksum,
            put.tags,
            parts,
        )
        held.latest[put.key] = HeldVersion(info, data, written.crc64)
        insort(held.keys, put.key)
        return info

    def _delete(self, bucket: str, held: HeldBucket, delete: Delete) -> Deleted | Exception:
        current = held.latest.get(delete.key) if delete.version in {None, NULL_VERSION} else None
        try:
            check_delete(bucket, delete.key, delete.condition, None if current is None else current.written)
        except (ConditionFailed, NoSuchKey) as failed:
            return failed
        if current is None:
            return Deleted(delete.key, existed=False, version=delete.version)
        held.retire(delete.key, self._clock_ns())
        return Deleted(delete.key, existed=True, version=delete.version)

    def _under_way(self, upload: Upload) -> HeldUpload:
        found = self._of(upload.bucket).uploads.get(upload.id)
        if found is None or found.upload.completed_pin:
            raise NoSuchUpload(upload.id)
        return found

    def _keep_part(self, upload: Upload, number: int, data: bytes, etag: str, checksum: Checksum | None) -> Part:
        held, now = self._under_way(upload), self._clock_ns()
        part = Part(number, len(data), etag, new_pin(now).hex(), now, checksum)
        held.parts[number] = (part, data)
        return part


def _place(upload: Upload) -> tuple[str, str]:
    return upload.key, upload.id


def _entry(info: ObjectInfo) -> Entry:
    checksum = info.checksum
    if checksum is None:
        return Entry(info.key, info.size, info.etag, info.modified_at_ns)
    return Entry(info.key, info.size, info.etag, info.modified_at_ns, checksum.algorithm, checksum.value)
