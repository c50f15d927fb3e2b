"""Buckets on the wire: list, create, find, delete, location."""

import re
from collections.abc import Sequence

from lakeshare.http.response import Response
from lakeshare.objects.errors import AclNotSupported, InvalidLocation, NotImplementedYet
from lakeshare.objects.operations.buckets import BucketCall, CreateBucket, ListBuckets
from lakeshare.objects.room import Room
from lakeshare.objects.wire import xml
from lakeshare.objects.wire.call import Call
from lakeshare.objects.wire.listing import decode_token, encode_token, owner_element
from lakeshare.objects.wire.write import xml_response
from lakeshare.storage.port import Bucket

_LIMIT = 10_000
_LOCATION_LIMIT = 63
_LOCATION = re.compile(rf"[A-Za-z0-9_-]{{0,{_LOCATION_LIMIT}}}\Z")
"""Names of regions: they come back in a header."""


def decode_list(call: Call) -> ListBuckets:
    """Read a ListBuckets."""
    token = call.param("continuation-token")
    after = decode_token(token) if token else ""
    return ListBuckets(call.param("prefix") or "", after, call.number("max-buckets", _LIMIT, 1, _LIMIT))


def encode_list(room: Room, call: ListBuckets, found: tuple[Sequence[Bucket], bool]) -> Response:
    """Write a page of buckets."""
    buckets, more = found
    items = [
        xml.group(
            "Bucket",
            xml.element("Name", bucket.name),
            xml.element("CreationDate", xml.timestamp(bucket.created_at_ns)),
            xml.element("BucketRegion", bucket.region or room.region),
        )
        for bucket in buckets
    ]
    inner = [
        owner_element(room),
        xml.group("Buckets", *items),
        xml.element("Prefix", call.prefix or None),
        xml.element("ContinuationToken", encode_token(buckets[-1].name) if more else None),
    ]
    return xml_response(xml.document("ListAllMyBucketsResult", inner))


def decode_create(call: Call) -> CreateBucket:
    """Read a CreateBucket."""
    if call.headers.get("x-amz-acl", "private") != "private" or any(n.startswith("x-amz-grant-") for n in call.headers):
        raise AclNotSupported
    if call.headers.get("x-amz-bucket-object-lock-enabled", "false").lower() == "true":
        raise NotImplementedYet("object lock")
    return CreateBucket(call.bucket, _location(call.document), call.owner)


def _location(document: bytes) -> str:
    if not document.strip():
        return ""
    text = xml.child_text(xml.parse(document, "CreateBucketConfiguration"), "LocationConstraint") or ""
    if not _LOCATION.match(text):
        raise InvalidLocation(text[:_LOCATION_LIMIT])
    return text


def encode_create(_room: Room, call: CreateBucket, _bucket: Bucket) -> Response:
    """Write the answer to a CreateBucket."""
    return Response(200, [("location", f"/{call.bucket}")])


def decode_head(call: Call) -> BucketCall:
    """Read a HeadBucket."""
    return BucketCall(call.bucket, "s3:ListBucket")


def encode_head(room: Room, _call: BucketCall, bucket: Bucket) -> Response:
    """Write the answer to a HeadBucket."""
    headers = [("x-amz-bucket-region", bucket.region or room.region), ("content-type", "application/xml")]
    return Response(200, [*headers, ("x-amz-access-point-alias", "false")])


def decode_delete(call: Call) -> BucketCall:
    """Read a DeleteBucket."""
    return BucketCall(call.bucket, "s3:DeleteBucket")


def encode_delete(_room: Room, _call: BucketCall, _nothing: None) -> Response:
    """Write the answer to a DeleteBucket."""
    return Response(204)


def decode_location(call: Call) -> BucketCall:
    """Read a GetBucketLocation."""
    return BucketCall(call.bucket, "s3:GetBucketLocation")


def encode_location(_room: Room, _call: BucketCall, bucket: Bucket) -> Response:
    """Write a bucket's location; us-east-1 is said by silence."""
    return xml_response(xml.document("LocationConstraint", [xml.escape(bucket.region)]))
