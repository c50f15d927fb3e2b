"""Writing objects: put and copy."""

from dataclasses import dataclass, replace

from lakeshare.identity.caller import Need
from lakeshare.objects.errors import DeltaCommitExists, EntityTooLarge, InvalidRequest
from lakeshare.objects.model.conditions import UNCONDITIONAL, ReadCondition
from lakeshare.objects.model.names import Source, object_arn
from lakeshare.objects.operations.intake import PUT_LIMIT_BYTES, Body, take
from lakeshare.objects.room import Room
from lakeshare.storage.errors import WriteOnce
from lakeshare.storage.port import ALWAYS, Condition, Copy, Facts, ObjectInfo, Put, Tags, VersionRef

PolicyFacts = tuple[tuple[str, str], ...]
"""What a request says of itself that policies may ask for."""


@dataclass(frozen=True, slots=True)
class PutObject:
    """A body to be stored under a key."""

    bucket: str
    key: str
    facts: Facts
    tags: Tags = ()
    condition: Condition = ALWAYS
    policy_facts: PolicyFacts = ()

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        arn = object_arn(self.bucket, self.key)
        tagging = (Need("s3:PutObjectTagging", arn, self.policy_facts),) if self.tags else ()
        return (Need("s3:PutObject", arn, self.policy_facts), *tagging)


async def put_object(room: Room, call: PutObject, body: Body) -> ObjectInfo:
    """Store a body, once every promise about it holds."""
    await room.store.bucket(call.bucket)
    async with room.store.stage(body.algorithms, body.size) as staging:
        checksum = await take(body, staging)
        put = Put(call.bucket, call.key, call.facts, checksum, call.tags, call.condition, room.write_once(call.key))
        try:
            return await room.store.put(put, staging)
        except WriteOnce:
            raise DeltaCommitExists(call.bucket, call.key) from None


@dataclass(frozen=True, slots=True)
class CopyObject:
    """An object's bytes under another key. `facts` and `tags` are None where the source's own are kept."""

    bucket: str
    key: str
    source: Source
    source_condition: ReadCondition = UNCONDITIONAL
    facts: Facts | None = None
    tags: Tags | None = None
    condition: Condition = ALWAYS
    policy_facts: PolicyFacts = ()

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed: to read the source, and to write the target."""
        arn = object_arn(self.bucket, self.key)
        tagging = (Need("s3:PutObjectTagging", arn, self.policy_facts),) if self.tags else ()
        return (Need("s3:PutObject", arn, self.policy_facts), *source_needs(self.source), *tagging)


def source_needs(source: Source) -> tuple[Need, ...]:
    """Say what reading a copy's source takes."""
    action = "s3:GetObjectVersion" if source.version else "s3:GetObject"
    return (Need(action, object_arn(source.bucket, source.key)),)


async def copy_object(room: Room, call: CopyObject) -> ObjectInfo:
    """Publish the source's bytes under the key, moving none of them."""
    source = await room.store.head(call.source.bucket, call.source.key, VersionRef(call.source.version))
    call.source_condition.check_source(source.etag, source.modified_at_ns)
    if source.size > PUT_LIMIT_BYTES:
        raise EntityTooLarge(PUT_LIMIT_BYTES)
    if (call.source.bucket, call.source.key, call.source.version, call.facts) == (call.bucket, call.key, None, None):
        raise InvalidRequest(
            "this copy request is illegal because it would copy an object to itself without changing its metadata"
        )
    try:
        return await room.store.copy(Copy(_put_of(room, call, source), source.bucket, source.key, source.pin))
    except WriteOnce:
        raise DeltaCommitExists(call.bucket, call.key) from None


def _put_of(room: Room, call: CopyObject, source: ObjectInfo) -> Put:
    """Say what is written; a Delta commit may get new metadata if it is still the one that was read."""
    tags = source.tags if call.tags is None else call.tags
    condition, once = call.condition, room.write_once(call.key)
    if once and (call.bucket, call.key) == (source.bucket, source.key):
        once = False
        if condition.etag in {None, "*"}:
            condition = replace(condition, etag=source.etag)
    return Put(call.bucket, call.key, call.facts or source.facts, source.checksum, tags, condition, once)
