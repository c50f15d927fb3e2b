"""Tags of objects and buckets."""

from dataclasses import dataclass

import orjson

from lakeshare.identity.caller import Need
from lakeshare.objects.errors import MethodNotAllowed, NoSuchConfiguration
from lakeshare.objects.model.names import bucket_arn, object_arn
from lakeshare.objects.room import Room
from lakeshare.storage.errors import NoSuchDocument
from lakeshare.storage.port import LATEST, ObjectInfo, Tags, VersionRef

_DOCUMENT = "tagging"


@dataclass(frozen=True, slots=True)
class TagObject:
    """Reading (`tags` is None), replacing or removing (`tags` is empty) the tags of an object."""

    bucket: str
    key: str
    action: str
    ref: VersionRef = LATEST
    tags: Tags | None = None

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        action = self.action.replace("Tagging", "VersionTagging") if self.ref.version else self.action
        facts = tuple((f"s3:RequestObjectTag/{key}", value) for key, value in self.tags or ())
        keys = tuple(("s3:RequestObjectTagKeys", key) for key, _ in self.tags or ())
        return (Need(action, object_arn(self.bucket, self.key), (*facts, *keys)),)


async def tag_object(room: Room, call: TagObject) -> ObjectInfo:
    """Return the object with the tags it now has."""
    if call.tags is not None:
        return await room.store.set_tags(call.bucket, call.key, call.ref, call.tags)
    info = await room.store.head(call.bucket, call.key, call.ref)
    if info.delete_marker:
        raise MethodNotAllowed("GET")
    return info


@dataclass(frozen=True, slots=True)
class TagBucket:
    """Reading (`tags` is None), replacing or removing (`tags` is empty) the tags of a bucket."""

    bucket: str
    action: str
    tags: Tags | None = None

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need(self.action, bucket_arn(self.bucket)),)


async def tag_bucket(room: Room, call: TagBucket) -> Tags:
    """Return the tags that the bucket now has."""
    if call.tags is not None:
        value = orjson.dumps(call.tags) if call.tags else None
        await room.store.set_document(call.bucket, _DOCUMENT, value)
        return call.tags
    try:
        pairs = orjson.loads(await room.store.document(call.bucket, _DOCUMENT))
    except NoSuchDocument:
        raise NoSuchConfiguration("NoSuchTagSet", "the bucket has no tags") from None
    return tuple((key, value) for key, value in pairs)
