"""The ?tagging of objects and buckets."""

from lakeshare.http.response import Response
from lakeshare.objects.errors import InvalidTag, MalformedXml
from lakeshare.objects.model.tags import BUCKET_TAG_LIMIT, OBJECT_TAG_LIMIT, tag_set
from lakeshare.objects.operations.tagging import TagBucket, TagObject
from lakeshare.objects.room import Room
from lakeshare.objects.wire import xml
from lakeshare.objects.wire.call import Call
from lakeshare.objects.wire.read import version_of
from lakeshare.objects.wire.write import version_header, xml_response
from lakeshare.storage.port import ObjectInfo, Tags


def decode_get_object(call: Call) -> TagObject:
    """Read a GetObjectTagging."""
    return TagObject(call.bucket, call.key, "s3:GetObjectTagging", version_of(call))


def decode_put_object(call: Call) -> TagObject:
    """Read a PutObjectTagging."""
    tags = _parse(call.document, OBJECT_TAG_LIMIT)
    return TagObject(call.bucket, call.key, "s3:PutObjectTagging", version_of(call), tags)


def decode_delete_object(call: Call) -> TagObject:
    """Read a DeleteObjectTagging."""
    return TagObject(call.bucket, call.key, "s3:DeleteObjectTagging", version_of(call), ())


def decode_get_bucket(call: Call) -> TagBucket:
    """Read a GetBucketTagging."""
    return TagBucket(call.bucket, "s3:GetBucketTagging")


def decode_put_bucket(call: Call) -> TagBucket:
    """Read a PutBucketTagging."""
    return TagBucket(call.bucket, "s3:PutBucketTagging", _parse(call.document, BUCKET_TAG_LIMIT))


def decode_delete_bucket(call: Call) -> TagBucket:
    """Read a DeleteBucketTagging."""
    return TagBucket(call.bucket, "s3:PutBucketTagging", ())


def encode_object(_room: Room, call: TagObject, info: ObjectInfo) -> Response:
    """Write the answer about an object's tags."""
    if call.tags is None:
        return xml_response(_document(info.tags), version_header(info))
    return Response(204 if call.action == "s3:DeleteObjectTagging" else 200, version_header(info))


def encode_bucket(_room: Room, call: TagBucket, tags: Tags) -> Response:
    """Write the answer about a bucket's tags."""
    return xml_response(_document(tags)) if call.tags is None else Response(204)


def _parse(document: bytes, limit: int) -> Tags:
    root = xml.parse(document, "Tagging")
    sets = xml.children(root, "TagSet")
    if len(sets) != 1:
        raise MalformedXml("it must hold one TagSet")
    items = xml.children(sets[0], "Tag")
    if len(items) > limit:
        raise InvalidTag(f"there may be at most {limit} tags")
    pairs = [(xml.child_text(item, "Key"), xml.child_text(item, "Value")) for item in items]
    if any(key is None or value is None for key, value in pairs):
        raise MalformedXml("a tag needs a Key and a Value")
    return tag_set([(key or "", value or "") for key, value in pairs], limit)


def _document(tags: Tags) -> bytes:
    inner = [xml.group("Tag", xml.element("Key", key), xml.element("Value", value)) for key, value in tags]
    return xml.document("Tagging", [xml.group("TagSet", *inner)])
