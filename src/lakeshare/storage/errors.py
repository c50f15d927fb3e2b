"""What can go wrong with objects under keys, whichever store holds them."""

from lakeshare.errors import Kind, LakeshareError


class StorageError(LakeshareError):
    """The root of what a store refuses."""


class NoSuchBucket(StorageError):
    """No bucket of that name."""

    kind = Kind.MISSING

    def __init__(self, bucket: str) -> None:
        super().__init__(f"bucket {bucket!r} does not exist")
        self.bucket = bucket


class BucketExists(StorageError):
    """The bucket is there already."""

    kind = Kind.CONFLICT

    def __init__(self, bucket: str) -> None:
        super().__init__(f"bucket {bucket!r} exists already")
        self.bucket = bucket


class BucketNotEmpty(StorageError):
    """The bucket still holds objects, versions or uploads."""

    kind = Kind.CONFLICT

    def __init__(self, bucket: str) -> None:
        super().__init__(f"bucket {bucket!r} is not empty: remove its objects first")
        self.bucket = bucket


class NoSuchKey(StorageError):
    """No object under that key."""

    kind = Kind.MISSING

    def __init__(self, bucket: str, key: str) -> None:
        super().__init__(f"{bucket}/{key} does not exist")
        self.bucket = bucket
        self.key = key


class NoSuchVersion(StorageError):
    """The object has no such version."""

    kind = Kind.MISSING

    def __init__(self, bucket: str, key: str, version: str) -> None:
        super().__init__(f"{bucket}/{key} has no version {version!r}")
        self.bucket = bucket
        self.key = key
        self.version = version


class NoSuchUpload(StorageError):
    """No multipart upload of that id, or it was completed or aborted."""

    kind = Kind.MISSING

    def __init__(self, upload_id: str) -> None:
        super().__init__(f"multipart upload {upload_id!r} does not exist: it may have been completed or aborted")
        self.upload_id = upload_id


class PartChanged(StorageError):
    """A part that was to be assembled was replaced or removed meanwhile."""

    kind = Kind.INVALID

    def __init__(self, number: int) -> None:
        super().__init__(f"part {number} was replaced or removed while the upload was being completed")
        self.number = number


class NoSuchDocument(StorageError):
    """The bucket has no configuration document of that kind."""

    kind = Kind.MISSING

    def __init__(self, bucket: str, name: str) -> None:
        super().__init__(f"bucket {bucket!r} has no {name} configuration")
        self.bucket = bucket
        self.name = name


class ConditionFailed(StorageError):
    """A precondition of a write did not hold when it was to be published."""

    kind = Kind.PRECONDITION

    def __init__(self, bucket: str, key: str, condition: str) -> None:
        super().__init__(f"{condition} does not hold for {bucket}/{key}")
        self.bucket = bucket
        self.key = key
        self.condition = condition


class WriteOnce(StorageError):
    """The key may be written once only, and holds other bytes already."""

    kind = Kind.PRECONDITION

    def __init__(self, bucket: str, key: str) -> None:
        super().__init__(f"{bucket}/{key} may be written only once, and holds other bytes")
        self.bucket = bucket
        self.key = key


class StoreFull(StorageError):
    """Free space is under the watermark: reads and deletes go on, writes do not."""

    kind = Kind.FULL

    def __init__(self, free_bytes: int, watermark_bytes: int) -> None:
        super().__init__(
            f"the disk has {free_bytes} bytes free, under the watermark of {watermark_bytes}: free some space"
        )
        self.free_bytes = free_bytes
        self.watermark_bytes = watermark_bytes


class StoreFailed(StorageError):
    """The disk or the index failed; nothing was acknowledged."""

    kind = Kind.INTERNAL


class ContentLost(StorageError):
    """The index names bytes that are not there, or that fail their checksum."""

    kind = Kind.INTERNAL

    def __init__(self, bucket: str, key: str, reason: str) -> None:
        super().__init__(f"the content of {bucket}/{key} cannot be served: {reason}; run lakeshare fsck")
        self.bucket = bucket
        self.key = key
