"""The ?policy and ?policyStatus of a bucket."""

from lakeshare.http.response import Response
from lakeshare.identity.policy.errors import MalformedPolicy
from lakeshare.objects.operations.policy import BucketPolicyCall
from lakeshare.objects.room import Room
from lakeshare.objects.wire import xml
from lakeshare.objects.wire.call import Call
from lakeshare.objects.wire.write import xml_response


def decode_get(call: Call) -> BucketPolicyCall:
    """Read a GetBucketPolicy."""
    return BucketPolicyCall(call.bucket, "s3:GetBucketPolicy")


def encode_get(_room: Room, _call: BucketPolicyCall, text: str) -> Response:
    """Write a policy as it was set."""
    return Response(200, [("content-type", "application/json")], text.encode())


def decode_put(call: Call) -> BucketPolicyCall:
    """Read a PutBucketPolicy."""
    try:
        text = call.document.decode()
    except UnicodeDecodeError:
        raise MalformedPolicy("the document", "it is not UTF-8") from None
    if not text.strip():
        raise MalformedPolicy("the document", "it is empty")
    return BucketPolicyCall(call.bucket, "s3:PutBucketPolicy", text)


def decode_delete(call: Call) -> BucketPolicyCall:
    """Read a DeleteBucketPolicy."""
    return BucketPolicyCall(call.bucket, "s3:DeleteBucketPolicy", "")


def encode_change(_room: Room, _call: BucketPolicyCall, _nothing: None) -> Response:
    """Write the answer to a change of the policy."""
    return Response(204)


def decode_status(call: Call) -> BucketPolicyCall:
    """Read a GetBucketPolicyStatus."""
    return BucketPolicyCall(call.bucket, "s3:GetBucketPolicyStatus")


def encode_status(_room: Room, _call: BucketPolicyCall, public: bool) -> Response:  # noqa: FBT001 - the result
    """Write whether the policy grants something to everyone."""
    return xml_response(xml.document("PolicyStatus", [xml.element("IsPublic", "TRUE" if public else "FALSE")]))
