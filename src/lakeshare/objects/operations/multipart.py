"""Multipart uploads, from create to complete."""

from dataclasses import dataclass

from lakeshare.identity.caller import Need
from lakeshare.objects.errors import DeltaCommitExists, InvalidPart, InvalidRequest
from lakeshare.objects.model.assembly import NamedPart, assemble
from lakeshare.objects.model.checksums import encoded
from lakeshare.objects.model.conditions import UNCONDITIONAL, ReadCondition
from lakeshare.objects.model.names import Source, object_arn
from lakeshare.objects.model.ranges import copy_range
from lakeshare.objects.operations.intake import Body, take
from lakeshare.objects.operations.write import PolicyFacts, source_needs
from lakeshare.objects.room import Room
from lakeshare.storage.errors import NoSuchUpload, WriteOnce
from lakeshare.storage.port import (
    ALWAYS,
    Checksum,
    Condition,
    ObjectInfo,
    Part,
    Put,
    Upload,
    VersionRef,
)


@dataclass(frozen=True, slots=True)
class CreateUpload:
    """The beginning of an upload."""

    upload: Upload
    policy_facts: PolicyFacts = ()

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        arn = object_arn(self.upload.bucket, self.upload.key)
        tagging = (Need("s3:PutObjectTagging", arn, self.policy_facts),) if self.upload.tags else ()
        return (Need("s3:PutObject", arn, self.policy_facts), *tagging)


async def create_upload(room: Room, call: CreateUpload) -> Upload:
    """Begin an upload."""
    return await room.store.create_upload(call.upload)


@dataclass(frozen=True, slots=True)
class UploadCall:
    """A question about one upload; `action` is what it needs."""

    bucket: str
    key: str
    upload_id: str
    action: str
    part: int = 0
    limit: int = 1000
    policy_facts: PolicyFacts = ()

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need(self.action, object_arn(self.bucket, self.key), self.policy_facts),)


async def upload_under_way(room: Room, bucket: str, key: str, upload_id: str) -> Upload:
    """Return an upload that is neither complete nor aborted."""
    upload = await room.store.upload(bucket, key, upload_id)
    if upload.completed_pin is not None:
        raise NoSuchUpload(upload_id)
    return upload


async def put_part(room: Room, call: UploadCall, body: Body) -> Part:
    """Store one part; one of the same number is replaced."""
    upload = await upload_under_way(room, call.bucket, call.key, call.upload_id)
    wanted = frozenset({upload.algorithm}) if upload.algorithm else frozenset()
    async with room.store.stage(body.algorithms | wanted, body.size) as staging:
        checksum = await take(body, staging)
        if upload.algorithm and checksum.algorithm != upload.algorithm:
            checksum = Checksum(upload.algorithm, encoded(await staging.digest(upload.algorithm)))
        return await room.store.put_part(upload, call.part, staging, checksum)


@dataclass(frozen=True, slots=True)
class CopyPart:
    """A part made of a stretch of an object."""

    call: UploadCall
    source: Source
    source_condition: ReadCondition = UNCONDITIONAL
    range_text: str | None = None

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed: to write the part, and to read the source."""
        return (*self.call.requires(), *source_needs(self.source))


async def copy_part(room: Room, call: CopyPart) -> Part:
    """Make a part of the source's bytes, moving none of them."""
    upload = await upload_under_way(room, call.call.bucket, call.call.key, call.call.upload_id)
    source = await room.store.open(call.source.bucket, call.source.key, VersionRef(call.source.version))
    call.source_condition.check_source(source.info.etag, source.info.modified_at_ns)
    size = source.info.size
    start, stop = (0, size) if call.range_text is None else copy_range(call.range_text, size)
    return await room.store.copy_part(upload, call.call.part, source, start, stop)


@dataclass(frozen=True, slots=True)
class CompleteUpload:
    """The end of an upload: its parts in order, and what must hold of the key."""

    bucket: str
    key: str
    upload_id: str
    parts: tuple[NamedPart, ...]
    condition: Condition = ALWAYS
    expected: Checksum | None = None
    expected_size: int | None = None

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need("s3:PutObject", object_arn(self.bucket, self.key)),)


async def complete_upload(room: Room, call: CompleteUpload) -> ObjectInfo:
    """Publish the parts as one object; a repeat of the same call gets the same answer."""
    upload = await room.store.upload(call.bucket, call.key, call.upload_id)
    if upload.completed_pin is not None:
        return await _completed_before(room, upload, call)
    assembly = assemble(upload, call.parts, call.expected)
    size = sum(part.size for part in assembly.parts)
    if call.expected_size is not None and size != call.expected_size:
        raise InvalidRequest(f"x-amz-mp-object-size is {call.expected_size}, and the parts have {size} bytes")
    put = Put(
        call.bucket,
        call.key,
        upload.facts,
        assembly.checksum,
        upload.tags,
        call.condition,
        room.write_once(call.key),
    )
    try:
        return await room.store.complete(upload, assembly, put)
    except WriteOnce:
        raise DeltaCommitExists(call.bucket, call.key) from None


async def abort_upload(room: Room, call: UploadCall) -> None:
    """Forget an upload and its parts."""
    await room.store.abort(await upload_under_way(room, call.bucket, call.key, call.upload_id))


async def list_parts(room: Room, call: UploadCall) -> Upload:
    """Return an upload with its parts."""
    return await upload_under_way(room, call.bucket, call.key, call.upload_id)


async def _completed_before(room: Room, upload: Upload, call: CompleteUpload) -> ObjectInfo:
    info = await room.store.head(upload.bucket, upload.key, VersionRef(pin=upload.completed_pin))
    same = [part.etag for part in info.parts] == [part.etag for part in call.parts]
    if not same:
        raise InvalidPart(call.parts[0].number if call.parts else 0)
    return info
