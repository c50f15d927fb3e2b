"""The table of S3's operations: how each is found, what it needs, and how it is read, done and answered."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from lakeshare.http.response import Response
from lakeshare.identity.caller import Need
from lakeshare.objects.errors import CorsForbidden, MethodNotAllowed, NotImplementedYet
from lakeshare.objects.operations import buckets, delete, listing, multipart, policy, read, tagging, write
from lakeshare.objects.operations.buckets import BucketCall
from lakeshare.objects.operations.read import ObjectCall
from lakeshare.objects.room import Room
from lakeshare.objects.wire import attributes as attributes_wire
from lakeshare.objects.wire import buckets as buckets_wire
from lakeshare.objects.wire import delete as delete_wire
from lakeshare.objects.wire import listing as listing_wire
from lakeshare.objects.wire import multipart as multipart_wire
from lakeshare.objects.wire import policy as policy_wire
from lakeshare.objects.wire import probes
from lakeshare.objects.wire import read as read_wire
from lakeshare.objects.wire import tagging as tagging_wire
from lakeshare.objects.wire import write as write_wire
from lakeshare.objects.wire.call import Call, Target

COPY_SOURCE = "x-amz-copy-source"
"""The header of a copy, which a presigned URL may have as a parameter."""

COPY = "+copy"
"""What is put after a marker when the request has a copy source."""


class Takes(Enum):
    """What an operation does with its request's body."""

    NOTHING = "nothing"
    DOCUMENT = "document"
    BODY = "body"


class Operation(Protocol):
    """A decoded request: a value that says what it needs."""

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        ...


@dataclass(frozen=True, slots=True)
class Route:
    """One operation. `marker` is the query parameter that selects it; `action` the permission it needs first."""

    name: str
    method: str
    scope: str
    marker: str
    action: str
    decode: Callable[[Call], Any]
    operate: Callable[..., Awaitable[Any]]
    encode: Callable[[Room, Any, Any], Response]
    takes: Takes = Takes.NOTHING


def _probe_routes() -> list[Route]:
    routes = []
    for probe in probes.PROBES:
        codec = probes.ProbeCodec(probe)
        name = probe.marker.title().replace("-", "")
        find = buckets.find_bucket
        routes += [
            Route(
                f"GetBucket{name}",
                "GET",
                "bucket",
                probe.marker,
                probe.read_action,
                codec.decode_get,
                find,
                codec.encode_get,
            ),
            Route(
                f"PutBucket{name}",
                "PUT",
                "bucket",
                probe.marker,
                probe.write_action,
                codec.decode_change,
                find,
                codec.encode_put,
            ),
            Route(
                f"DeleteBucket{name}",
                "DELETE",
                "bucket",
                probe.marker,
                probe.write_action,
                codec.decode_change,
                find,
                codec.encode_delete,
            ),
        ]
    return routes


def _bucket_call(action: str) -> Callable[[Call], BucketCall]:
    return lambda call: BucketCall(call.bucket, action)


def _set_bucket_acl(call: Call) -> BucketCall:
    probes.refuse_other_acl(call)
    return BucketCall(call.bucket, "s3:PutBucketAcl")


def _set_object_acl(call: Call) -> ObjectCall:
    probes.refuse_other_acl(call)
    return ObjectCall(call.bucket, call.key, "s3:PutObjectAcl", read_wire.version_of(call))


def _object_call(action: str) -> Callable[[Call], ObjectCall]:
    return lambda call: ObjectCall(call.bucket, call.key, action, read_wire.version_of(call))


_FIND, _FIND_OBJECT = buckets.find_bucket, read.find_object
_DOCUMENT, _BODY = Takes.DOCUMENT, Takes.BODY

# A table reads better with a row an operation than with a line a cell.
# fmt: off
ROUTES: tuple[Route, ...] = (
    Route("ListBuckets", "GET", "service", "", "s3:ListAllMyBuckets",
          buckets_wire.decode_list, buckets.list_buckets, buckets_wire.encode_list),
    Route("CreateBucket", "PUT", "bucket", "", "s3:CreateBucket",
          buckets_wire.decode_create, buckets.create_bucket, buckets_wire.encode_create, _DOCUMENT),
    Route("HeadBucket", "HEAD", "bucket", "", "s3:ListBucket",
          buckets_wire.decode_head, _FIND, buckets_wire.encode_head),
    Route("DeleteBucket", "DELETE", "bucket", "", "s3:DeleteBucket",
          buckets_wire.decode_delete, buckets.delete_bucket, buckets_wire.encode_delete),
    Route("GetBucketLocation", "GET", "bucket", "location", "s3:GetBucketLocation",
          buckets_wire.decode_location, _FIND, buckets_wire.encode_location),
    Route("ListObjectsV2", "GET", "bucket", "list-type", "s3:ListBucket",
          listing_wire.decode_v2, listing.list_objects, listing_wire.encode_v2),
    Route("ListObjects", "GET", "bucket", "", "s3:ListBucket",
          listing_wire.decode_v1, listing.list_objects, listing_wire.encode_v1),
    Route("ListObjectVersions", "GET", "bucket", "versions", "s3:ListBucketVersions",
          listing_wire.decode_versions, listing.list_versions, listing_wire.encode_versions),
    Route("ListMultipartUploads", "GET", "bucket", "uploads", "s3:ListBucketMultipartUploads",
          multipart_wire.decode_list_uploads, listing.list_uploads, multipart_wire.encode_list_uploads),
    Route("DeleteObjects", "POST", "bucket", "delete", "s3:DeleteObject",
          delete_wire.decode_many, delete.delete_objects, delete_wire.encode_many, _DOCUMENT),
    Route("GetBucketTagging", "GET", "bucket", "tagging", "s3:GetBucketTagging",
          tagging_wire.decode_get_bucket, tagging.tag_bucket, tagging_wire.encode_bucket),
    Route("PutBucketTagging", "PUT", "bucket", "tagging", "s3:PutBucketTagging",
          tagging_wire.decode_put_bucket, tagging.tag_bucket, tagging_wire.encode_bucket, _DOCUMENT),
    Route("DeleteBucketTagging", "DELETE", "bucket", "tagging", "s3:PutBucketTagging",
          tagging_wire.decode_delete_bucket, tagging.tag_bucket, tagging_wire.encode_bucket),
    Route("GetBucketAcl", "GET", "bucket", "acl", "s3:GetBucketAcl",
          _bucket_call("s3:GetBucketAcl"), _FIND, probes.encode_acl),
    Route("PutBucketAcl", "PUT", "bucket", "acl", "s3:PutBucketAcl",
          _set_bucket_acl, _FIND, probes.encode_set_acl),
    Route("GetBucketRequestPayment", "GET", "bucket", "requestPayment", "s3:GetBucketRequestPayment",
          _bucket_call("s3:GetBucketRequestPayment"), _FIND, probes.encode_request_payment),
    Route("GetBucketPolicy", "GET", "bucket", "policy", "s3:GetBucketPolicy",
          policy_wire.decode_get, policy.get_policy, policy_wire.encode_get),
    Route("PutBucketPolicy", "PUT", "bucket", "policy", "s3:PutBucketPolicy",
          policy_wire.decode_put, policy.set_policy, policy_wire.encode_change, _DOCUMENT),
    Route("DeleteBucketPolicy", "DELETE", "bucket", "policy", "s3:DeleteBucketPolicy",
          policy_wire.decode_delete, policy.set_policy, policy_wire.encode_change),
    Route("GetBucketPolicyStatus", "GET", "bucket", "policyStatus", "s3:GetBucketPolicyStatus",
          policy_wire.decode_status, policy.get_policy_status, policy_wire.encode_status),
    *_probe_routes(),
    Route("GetObject", "GET", "key", "", "s3:GetObject",
          read_wire.decode, read.get_object, read_wire.encode),
    Route("HeadObject", "HEAD", "key", "", "s3:GetObject",
          read_wire.decode, read.head_object, read_wire.encode),
    Route("GetObjectAttributes", "GET", "key", "attributes", "s3:GetObject",
          attributes_wire.decode, read.find_object, attributes_wire.encode),
    Route("PutObject", "PUT", "key", "", "s3:PutObject",
          write_wire.decode_put, write.put_object, write_wire.encode_put, _BODY),
    Route("CopyObject", "PUT", "key", COPY, "s3:PutObject",
          write_wire.decode_copy, write.copy_object, write_wire.encode_copy),
    Route("DeleteObject", "DELETE", "key", "", "s3:DeleteObject",
          delete_wire.decode_one, delete.delete_object, delete_wire.encode_one),
    Route("GetObjectTagging", "GET", "key", "tagging", "s3:GetObjectTagging",
          tagging_wire.decode_get_object, tagging.tag_object, tagging_wire.encode_object),
    Route("PutObjectTagging", "PUT", "key", "tagging", "s3:PutObjectTagging",
          tagging_wire.decode_put_object, tagging.tag_object, tagging_wire.encode_object, _DOCUMENT),
    Route("DeleteObjectTagging", "DELETE", "key", "tagging", "s3:DeleteObjectTagging",
          tagging_wire.decode_delete_object, tagging.tag_object, tagging_wire.encode_object),
    Route("GetObjectAcl", "GET", "key", "acl", "s3:GetObjectAcl",
          _object_call("s3:GetObjectAcl"), _FIND_OBJECT, probes.encode_acl),
    Route("PutObjectAcl", "PUT", "key", "acl", "s3:PutObjectAcl",
          _set_object_acl, _FIND_OBJECT, probes.encode_set_acl),
    Route("GetObjectRetention", "GET", "key", "retention", "s3:GetObjectRetention",
          _object_call("s3:GetObjectRetention"), _FIND_OBJECT, probes.encode_no_lock),
    Route("GetObjectLegalHold", "GET", "key", "legal-hold", "s3:GetObjectLegalHold",
          _object_call("s3:GetObjectLegalHold"), _FIND_OBJECT, probes.encode_no_lock),
    Route("CreateMultipartUpload", "POST", "key", "uploads", "s3:PutObject",
          multipart_wire.decode_create, multipart.create_upload, multipart_wire.encode_create),
    Route("UploadPart", "PUT", "key", "uploadId", "s3:PutObject",
          multipart_wire.decode_part, multipart.put_part, multipart_wire.encode_part, _BODY),
    Route("UploadPartCopy", "PUT", "key", "uploadId" + COPY, "s3:PutObject",
          multipart_wire.decode_part_copy, multipart.copy_part, multipart_wire.encode_part_copy),
    Route("CompleteMultipartUpload", "POST", "key", "uploadId", "s3:PutObject",
          multipart_wire.decode_complete, multipart.complete_upload, multipart_wire.encode_complete, _DOCUMENT),
    Route("AbortMultipartUpload", "DELETE", "key", "uploadId", "s3:AbortMultipartUpload",
          multipart_wire.decode_abort, multipart.abort_upload, multipart_wire.encode_abort),
    Route("ListParts", "GET", "key", "uploadId", "s3:ListMultipartUploadParts",
          multipart_wire.decode_list_parts, multipart.list_parts, multipart_wire.encode_list_parts),
)
# fmt: on

_TABLE = {(route.method, route.scope, route.marker): route for route in ROUTES}
_MARKERS = frozenset(route.marker.removesuffix(COPY) for route in ROUTES) - {""}
_UNOFFERED = frozenset(
    {
        "analytics",
        "intelligent-tiering",
        "inventory",
        "metrics",
        "metadataTable",
        "metadataConfiguration",
        "restore",
        "select",
        "torrent",
        "session",
        "renameObject",
        "append",
    }
)


def find(method: str, target: Target, params: Mapping[str, str], headers: Mapping[str, str]) -> Route:
    """Return the route of a request, or refuse it by name."""
    marker, scope = _marker(params) if params else "", target.scope
    copies = method == "PUT" and (COPY_SOURCE in headers or any(name.lower() == COPY_SOURCE for name in params))
    if copies and (route := _TABLE.get((method, scope, marker + COPY))) is not None:
        return route
    if (route := _TABLE.get((method, scope, marker))) is not None:
        return route
    if method == "OPTIONS":
        raise CorsForbidden
    if (
        marker in _UNOFFERED
        or (method == "POST" and not marker)
        or (marker in _MARKERS and method in ("PUT", "POST", "DELETE"))
    ):
        raise NotImplementedYet(f"{method} {'?' + marker if marker else 'of a form'} on a {scope}")
    raise MethodNotAllowed(method)


_SELECTING = _MARKERS | _UNOFFERED


def _marker(params: Mapping[str, str]) -> str:
    if _SELECTING.isdisjoint(params):
        return ""
    for name in params:
        if name in _SELECTING and not (name == "list-type" and params[name] != "2"):
            return name
    return ""
