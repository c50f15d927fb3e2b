"""What can go wrong with buckets and keys, in S3's words. `wire/faults.py` gives each its code and status."""

from lakeshare.errors import Kind, LakeshareError


class ObjectsError(LakeshareError):
    """The root of what the S3 room refuses."""

    kind = Kind.INVALID


class InvalidBucketName(ObjectsError):
    """A name that no bucket can have."""

    def __init__(self, bucket: str, reason: str) -> None:
        super().__init__(f"{bucket!r} cannot be a bucket name: {reason}")
        self.bucket = bucket


class KeyTooLong(ObjectsError):
    """A key of more than 1024 bytes."""

    def __init__(self, size_bytes: int) -> None:
        super().__init__(f"the key is {size_bytes} bytes long; at most 1024 are allowed")


class InvalidUri(ObjectsError):
    """A path that names no bucket or key."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the request's path cannot be read: {reason}")


class InvalidArgument(ObjectsError):
    """A header or query parameter with a value that it cannot have."""

    def __init__(self, name: str, value: str, reason: str) -> None:
        super().__init__(f"{name}: {reason}")
        self.name = name
        self.value = value[:256]


class InvalidRequest(ObjectsError):
    """A request whose parts do not go together."""


class InvalidRange(ObjectsError):
    """A range that holds no byte of the object."""

    def __init__(self, requested: str, size_bytes: int) -> None:
        super().__init__(f"the range {requested!r} holds no byte of an object of {size_bytes} bytes")
        self.requested = requested
        self.size_bytes = size_bytes


class InvalidPartNumber(ObjectsError):
    """A part number that the object does not have."""

    def __init__(self, number: int, count: int) -> None:
        super().__init__(f"part {number} was asked for, and the object has {count}")
        self.number = number


class NotModified(ObjectsError):
    """The reader has the object already."""

    kind = Kind.PRECONDITION

    def __init__(self, etag: str, modified_at_ns: int) -> None:
        super().__init__("not modified")
        self.etag = etag
        self.modified_at_ns = modified_at_ns


class PreconditionFailed(ObjectsError):
    """A condition of a read, or of a copy's source, does not hold."""

    kind = Kind.PRECONDITION

    def __init__(self, condition: str) -> None:
        super().__init__(f"the precondition {condition} does not hold")
        self.condition = condition


class DeltaCommitExists(ObjectsError):
    """A Delta commit stands under the key already, with other bytes."""

    kind = Kind.PRECONDITION

    def __init__(self, bucket: str, key: str) -> None:
        super().__init__(
            f"412 Precondition Failed: {bucket}/{key} is a Delta commit that another writer made; "
            "commits are written once. Read the table again and retry with the next version. "
            "To mirror a re-created table over this one, delete the target first."
        )
        self.key = key


class InvalidDigest(ObjectsError):
    """A digest that is not one."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the value of {name} is not a digest of that kind")
        self.name = name


class BadDigest(ObjectsError):
    """The body is not what its digest says."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the {name} you gave does not match what was received; send the object again")
        self.name = name


class MissingContentLength(ObjectsError):
    """A body of unknown length."""

    def __init__(self) -> None:
        super().__init__("a Content-Length header is needed for this request")


class IncompleteBody(ObjectsError):
    """Fewer or more bytes than were promised."""

    def __init__(self, promised: int, received: int) -> None:
        super().__init__(f"{promised} bytes were promised, and {received} received")


class EntityTooLarge(ObjectsError):
    """An object or part over S3's limit."""

    kind = Kind.TOO_LARGE

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(f"an upload may have at most {limit_bytes} bytes; use a multipart upload for more")


class EntityTooSmall(ObjectsError):
    """A part, not the last, under S3's limit."""

    def __init__(self, number: int, size_bytes: int, least_bytes: int) -> None:
        super().__init__(f"part {number} has {size_bytes} bytes; every part but the last needs at least {least_bytes}")


class InvalidPart(ObjectsError):
    """A part that was not uploaded, or with another ETag or checksum."""

    def __init__(self, number: int) -> None:
        super().__init__(f"part {number} was not found, or its ETag or checksum is not the one given")
        self.number = number


class InvalidPartOrder(ObjectsError):
    """Parts listed out of order."""

    def __init__(self) -> None:
        super().__init__("the parts must be listed in ascending order, each once")


class MalformedXml(ObjectsError):
    """A document that does not follow its schema."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the XML you provided cannot be read: {reason}")


class MessageTooLong(ObjectsError):
    """A document over its bound."""

    kind = Kind.TOO_LARGE

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(f"the request body is larger than {limit_bytes} bytes")


class MetadataTooLarge(ObjectsError):
    """User metadata of more than 2 KB."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(f"user metadata may have at most {limit_bytes} bytes")


class InvalidTag(ObjectsError):
    """A tag that breaks a rule."""


class InvalidStorageClass(ObjectsError):
    """A storage class that is not offered."""

    def __init__(self, name: str) -> None:
        super().__init__(f"storage class {name!r} is not offered; use STANDARD")


class InvalidLocation(ObjectsError):
    """A location constraint that cannot be read."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} is not a location constraint")


class AclNotSupported(ObjectsError):
    """An ACL other than private: access is governed by policies."""

    def __init__(self) -> None:
        super().__init__("ACLs are not supported: access is governed by policies")


class NotImplementedYet(ObjectsError):
    """A feature of S3 that is not offered; it is named, never ignored."""

    kind = Kind.UNSUPPORTED

    def __init__(self, feature: str) -> None:
        super().__init__(f"{feature} is not implemented")
        self.feature = feature


class MethodNotAllowed(ObjectsError):
    """A method that the resource does not take."""

    kind = Kind.UNSUPPORTED

    def __init__(self, method: str) -> None:
        super().__init__(f"the method {method} is not allowed against this resource")


class DeleteMarkerFound(ObjectsError):
    """The latest version is a delete marker."""

    kind = Kind.MISSING

    def __init__(self, key: str, version: str) -> None:
        super().__init__(f"{key} was deleted; its latest version is a delete marker")
        self.key = key
        self.version = version


class NoSuchConfiguration(ObjectsError):
    """A configuration that the bucket does not have; `code` is S3's own word for that."""

    kind = Kind.MISSING

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class CorsForbidden(ObjectsError):
    """A preflight for a bucket that has no CORS rules."""

    kind = Kind.DENIED

    def __init__(self) -> None:
        super().__init__("CORSResponse: CORS is not enabled for this bucket")


class BucketTaken(ObjectsError):
    """Somebody else has a bucket of that name, which the caller may not see."""

    kind = Kind.CONFLICT

    def __init__(self, bucket: str) -> None:
        super().__init__(f"the name {bucket!r} is taken: choose another")
        self.bucket = bucket


class OwnerMismatch(ObjectsError):
    """The bucket is not owned by whom the request expects."""

    kind = Kind.DENIED

    def __init__(self) -> None:
        super().__init__("the bucket's owner is not the one in x-amz-expected-bucket-owner")
