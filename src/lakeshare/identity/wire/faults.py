"""How each error is said in STS's dialect: its code, its status and the XML around them."""

from lakeshare.errors import Kind, LakeshareError
from lakeshare.http import request as http_errors
from lakeshare.http.fault import Fault
from lakeshare.http.response import Response
from lakeshare.identity import directory_errors as directory
from lakeshare.identity import errors as identity
from lakeshare.identity.policy import errors as policy
from lakeshare.identity.wire import errors as wire
from lakeshare.identity.wire import xml

SERVER_FAULT = 500


_DENIED = Fault("AccessDenied", 403)
_INVALID = Fault("ValidationError", 400)
_INCOMPLETE = Fault("IncompleteSignature", 400)
_MISMATCH = Fault("SignatureDoesNotMatch", 403)
_UNKNOWN_KEY = Fault("InvalidClientTokenId", 403)

FAULTS: dict[type[LakeshareError], Fault] = {
    wire.NotAForm: Fault("MalformedInput", 400),
    wire.UnknownAction: Fault("InvalidAction", 400),
    wire.UnknownVersion: Fault("InvalidAction", 400),
    wire.BadParameter: _INVALID,
    wire.BodyNotSigned: _INCOMPLETE,
    policy.MalformedPolicy: Fault("MalformedPolicyDocument", 400),
    policy.PolicyTooLarge: Fault("PackedPolicyTooLarge", 400),
    directory.BadDuration: _INVALID,
    directory.BadName: _INVALID,
    directory.TooMany: _INVALID,
    directory.Escalation: _DENIED,
    directory.AccessKeyInactive: _UNKNOWN_KEY,
    identity.AccessDenied: _DENIED,
    identity.AccessKeyUnknown: _UNKNOWN_KEY,
    identity.TokenInvalid: _UNKNOWN_KEY,
    identity.TokenExpired: Fault("ExpiredToken", 403),
    identity.SignatureMismatch: _MISMATCH,
    identity.ClockSkewed: _MISMATCH,
    identity.RequestExpired: _MISMATCH,
    identity.RequestNotYetValid: _MISMATCH,
    identity.HeaderNotSigned: _INCOMPLETE,
    identity.AuthorizationMalformed: _INCOMPLETE,
    identity.AuthorizationQueryMalformed: _INCOMPLETE,
    identity.AuthorizationAmbiguous: _INCOMPLETE,
    identity.SignatureVersionUnsupported: _INCOMPLETE,
    identity.PayloadHashUnknown: _INCOMPLETE,
    identity.PayloadMismatch: _MISMATCH,
    identity.ChunkSignatureMismatch: _MISMATCH,
    identity.BodyMalformed: Fault("MalformedInput", 400),
    identity.BodyIncomplete: Fault("MalformedInput", 400),
    identity.TrailerMalformed: Fault("MalformedInput", 400),
    identity.TooManyFailures: Fault("Throttling", 400),
    http_errors.ClientGone: Fault("MalformedInput", 400),
    http_errors.BodyTooLarge: Fault("RequestEntityTooLarge", 413),
}

BY_KIND = {
    Kind.INVALID: _INVALID,
    Kind.UNAUTHENTICATED: _DENIED,
    Kind.DENIED: _DENIED,
    Kind.MISSING: _INVALID,
    Kind.CONFLICT: Fault("ServiceUnavailable", 503),
    Kind.PRECONDITION: _INVALID,
    Kind.TOO_LARGE: Fault("RequestEntityTooLarge", 413),
    Kind.UNSUPPORTED: Fault("InvalidAction", 400),
    Kind.THROTTLED: Fault("Throttling", 400),
    Kind.TIMEOUT: Fault("ServiceUnavailable", 503),
    Kind.FULL: Fault("ServiceUnavailable", 503),
    Kind.UNAVAILABLE: Fault("ServiceUnavailable", 503),
    Kind.INTERNAL: Fault("InternalFailure", 500),
}


def fault_of(error: LakeshareError) -> Fault:
    """Return an error's code and status; one that the table does not name is said by its kind."""
    return FAULTS.get(type(error)) or BY_KIND[error.kind]


def encode_fault(error: LakeshareError, fault: Fault, request_id: str) -> Response:
    """Write an error as STS does."""
    inner = xml.group(
        "Error",
        xml.element("Type", "Receiver" if fault.status >= SERVER_FAULT else "Sender"),
        xml.element("Code", fault.code),
        xml.element("Message", error.message),
    )
    body = xml.document("ErrorResponse", inner, xml.element("RequestId", request_id))
    return Response(fault.status, [("content-type", xml.CONTENT_TYPE)], body)
