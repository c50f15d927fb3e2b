"""How each error is said in S3's dialect: its code, its status and the XML around them."""

from lakeshare.errors import Kind, LakeshareError
from lakeshare.http import request as http_errors
from lakeshare.http.fault import Fault
from lakeshare.http.response import Response
from lakeshare.identity import directory_errors as directory
from lakeshare.identity import errors as identity
from lakeshare.identity.policy import errors as policy
from lakeshare.objects import errors as objects
from lakeshare.objects.wire.xml import bare_document, element
from lakeshare.storage import errors as storage

FAULTS: dict[type[LakeshareError], Fault] = {
    objects.InvalidBucketName: Fault("InvalidBucketName", 400),
    objects.KeyTooLong: Fault("KeyTooLongError", 400),
    objects.InvalidUri: Fault("InvalidURI", 400),
    objects.InvalidArgument: Fault("InvalidArgument", 400),
    objects.InvalidRequest: Fault("InvalidRequest", 400),
    objects.InvalidRange: Fault("InvalidRange", 416),
    objects.InvalidPartNumber: Fault("InvalidPartNumber", 416),
    objects.NotModified: Fault("NotModified", 304),
    objects.PreconditionFailed: Fault("PreconditionFailed", 412),
    objects.DeltaCommitExists: Fault("PreconditionFailed", 412),
    objects.InvalidDigest: Fault("InvalidDigest", 400),
    objects.BadDigest: Fault("BadDigest", 400),
    objects.MissingContentLength: Fault("MissingContentLength", 411),
    objects.IncompleteBody: Fault("IncompleteBody", 400),
    objects.EntityTooLarge: Fault("EntityTooLarge", 400),
    objects.EntityTooSmall: Fault("EntityTooSmall", 400),
    objects.InvalidPart: Fault("InvalidPart", 400),
    objects.InvalidPartOrder: Fault("InvalidPartOrder", 400),
    objects.MalformedXml: Fault("MalformedXML", 400),
    objects.MessageTooLong: Fault("MaxMessageLengthExceeded", 400),
    objects.MetadataTooLarge: Fault("MetadataTooLarge", 400),
    objects.InvalidTag: Fault("InvalidTag", 400),
    objects.InvalidStorageClass: Fault("InvalidStorageClass", 400),
    objects.InvalidLocation: Fault("InvalidLocationConstraint", 400),
    objects.AclNotSupported: Fault("AccessControlListNotSupported", 400),
    objects.NotImplementedYet: Fault("NotImplemented", 501),
    objects.MethodNotAllowed: Fault("MethodNotAllowed", 405),
    objects.DeleteMarkerFound: Fault("NoSuchKey", 404),
    objects.NoSuchConfiguration: Fault("", 404),
    objects.CorsForbidden: Fault("AccessForbidden", 403),
    objects.OwnerMismatch: Fault("AccessDenied", 403),
    storage.NoSuchBucket: Fault("NoSuchBucket", 404),
    storage.BucketExists: Fault("BucketAlreadyOwnedByYou", 409),
    objects.BucketTaken: Fault("BucketAlreadyExists", 409),
    storage.BucketNotEmpty: Fault("BucketNotEmpty", 409),
    storage.NoSuchKey: Fault("NoSuchKey", 404),
    storage.NoSuchVersion: Fault("NoSuchVersion", 404),
    storage.NoSuchUpload: Fault("NoSuchUpload", 404),
    storage.PartChanged: Fault("InvalidPart", 400),
    storage.NoSuchDocument: Fault("NoSuchConfiguration", 404),
    storage.ConditionFailed: Fault("PreconditionFailed", 412),
    storage.WriteOnce: Fault("PreconditionFailed", 412),
    storage.StoreFull: Fault("XMinioStorageFull", 507),
    storage.StoreFailed: Fault("InternalError", 500),
    storage.ContentLost: Fault("InternalError", 500),
    identity.AccessKeyUnknown: Fault("InvalidAccessKeyId", 403),
    identity.SignatureMismatch: Fault("SignatureDoesNotMatch", 403),
    identity.ClockSkewed: Fault("RequestTimeTooSkewed", 403),
    identity.RequestExpired: Fault("AccessDenied", 403),
    identity.RequestNotYetValid: Fault("AccessDenied", 403),
    identity.AuthorizationMalformed: Fault("AuthorizationHeaderMalformed", 400),
    identity.AuthorizationQueryMalformed: Fault("AuthorizationQueryParametersError", 400),
    identity.AuthorizationAmbiguous: Fault("InvalidArgument", 400),
    identity.SignatureVersionUnsupported: Fault("InvalidRequest", 400),
    identity.HeaderNotSigned: Fault("AccessDenied", 403),
    identity.TokenExpired: Fault("ExpiredToken", 400),
    identity.TokenInvalid: Fault("InvalidToken", 400),
    identity.AccessDenied: Fault("AccessDenied", 403),
    identity.PayloadHashUnknown: Fault("InvalidArgument", 400),
    identity.PayloadMismatch: Fault("XAmzContentSHA256Mismatch", 400),
    identity.ChunkSignatureMismatch: Fault("SignatureDoesNotMatch", 403),
    identity.BodyMalformed: Fault("InvalidRequest", 400),
    identity.BodyIncomplete: Fault("IncompleteBody", 400),
    identity.TrailerMalformed: Fault("MalformedTrailerError", 400),
    identity.TooManyFailures: Fault("SlowDown", 503),
    directory.AccessKeyInactive: Fault("InvalidAccessKeyId", 403),
    policy.MalformedPolicy: Fault("MalformedPolicy", 400),
    policy.PolicyTooLarge: Fault("PolicyTooLarge", 400),
    http_errors.ClientGone: Fault("IncompleteBody", 400),
    http_errors.BodyTooLarge: Fault("MaxMessageLengthExceeded", 400),
}

_BY_KIND = {
    Kind.INVALID: Fault("InvalidRequest", 400),
    Kind.UNAUTHENTICATED: Fault("AccessDenied", 403),
    Kind.DENIED: Fault("AccessDenied", 403),
    Kind.MISSING: Fault("NoSuchKey", 404),
    Kind.CONFLICT: Fault("OperationAborted", 409),
    Kind.PRECONDITION: Fault("PreconditionFailed", 412),
    Kind.TOO_LARGE: Fault("EntityTooLarge", 400),
    Kind.UNSUPPORTED: Fault("NotImplemented", 501),
    Kind.THROTTLED: Fault("SlowDown", 503),
    Kind.TIMEOUT: Fault("RequestTimeout", 400),
    Kind.FULL: Fault("XMinioStorageFull", 507),
    Kind.UNAVAILABLE: Fault("ServiceUnavailable", 503),
    Kind.INTERNAL: Fault("InternalError", 500),
}


def fault_of(error: LakeshareError) -> Fault:
    """Return an error's code and status; one that this table does not name is said by its kind."""
    if isinstance(error, objects.NoSuchConfiguration):
        return Fault(error.code, 404)
    return FAULTS.get(type(error)) or _BY_KIND[error.kind]


def encode_fault(error: LakeshareError, fault: Fault, resource: str, request_id: str, method: str) -> Response:
    """Write an error as S3 does; HEAD and 304 have no body."""
    headers = _headers(error)
    if method == "HEAD" or fault.status == 304:
        return Response(fault.status, headers)
    inner = [element("Code", fault.code), element("Message", message_of(error))]
    inner += [element(tag, getattr(error, name, None)) for name, tag in _DETAILS]
    inner += [element("Resource", resource), element("RequestId", request_id), element("HostId", request_id)]
    return Response(fault.status, [*headers, ("content-type", "application/xml")], bare_document("Error", inner))


_CONDITIONS = {
    "absent": "If-None-Match",
    "other than": "If-None-Match",
    "etag": "If-Match",
    "size": "x-amz-if-match-size",
    "modified": "x-amz-if-match-last-modified-time",
}


def message_of(error: LakeshareError) -> str:
    """Say an error; a failed condition by the header that asked for it."""
    if isinstance(error, storage.ConditionFailed):
        header = _CONDITIONS.get(error.condition, error.condition)
        return f"At least one of the pre-conditions you specified did not hold: {header} for {error.bucket}/{error.key}"
    return error.message


_DETAILS = (
    ("bucket", "BucketName"),
    ("key", "Key"),
    ("upload_id", "UploadId"),
    ("condition", "Condition"),
    ("size_bytes", "ActualObjectSize"),
    ("requested", "RangeRequested"),
)


def _headers(error: LakeshareError) -> list[tuple[str, str]]:
    match error:
        case objects.NotModified():
            return [("etag", f'"{error.etag}"')]
        case objects.InvalidRange():
            return [("content-range", f"bytes */{error.size_bytes}")]
        case objects.DeleteMarkerFound():
            return [("x-amz-delete-marker", "true"), ("x-amz-version-id", error.version)]
        case _:
            return []
