"""Making, finding and removing buckets."""

from collections.abc import Sequence
from dataclasses import dataclass

from lakeshare.identity.caller import Need
from lakeshare.objects.model.names import bucket_arn, bucket_name
from lakeshare.objects.room import Room
from lakeshare.storage.errors import BucketExists
from lakeshare.storage.port import NO_DOCUMENTS, Bucket

OWNER_DOCUMENT = "owner"


@dataclass(frozen=True, slots=True)
class ListBuckets:
    """All buckets, in pages if asked for."""

    prefix: str = ""
    after: str = ""
    limit: int = 10_000

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need("s3:ListAllMyBuckets", "arn:aws:s3:::*"),)


async def list_buckets(room: Room, call: ListBuckets) -> tuple[Sequence[Bucket], bool]:
    """Return a page of buckets, and whether there are more."""
    found = await room.store.buckets(call.prefix, call.after, call.limit + 1)
    return found[: call.limit], len(found) > call.limit


@dataclass(frozen=True, slots=True)
class CreateBucket:
    """A new bucket. `owner` is who asks for it, as identity remembers users; policies may ask for it later."""

    bucket: str
    region: str = ""
    owner: str = ""

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need("s3:CreateBucket", bucket_arn(self.bucket)),)


async def create_bucket(room: Room, call: CreateBucket) -> Bucket:
    """Make the bucket."""
    documents = {OWNER_DOCUMENT: call.owner.encode()} if call.owner else NO_DOCUMENTS
    return await room.store.create_bucket(bucket_name(call.bucket), call.region, documents)


async def make_again(room: Room, call: CreateBucket) -> Bucket:
    """Answer one who may see the bucket that it is there: in us-east-1 that is no error, as S3 has it."""
    if call.region in ("", "us-east-1") and room.region == "us-east-1":
        return await room.store.bucket(call.bucket)
    raise BucketExists(call.bucket)


@dataclass(frozen=True, slots=True)
class BucketCall:
    """Any question about one bucket; `action` is what it needs."""

    bucket: str
    action: str

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need(self.action, bucket_arn(self.bucket)),)


async def find_bucket(room: Room, call: BucketCall) -> Bucket:
    """Return the bucket, or say that it is missing."""
    return await room.store.bucket(call.bucket)


async def delete_bucket(room: Room, call: BucketCall) -> None:
    """Remove an empty bucket."""
    await room.store.delete_bucket(call.bucket)
