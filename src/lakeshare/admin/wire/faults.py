"""How each error is said by the admin API: its code, its status and the JSON around them."""

import orjson

from lakeshare import settings
from lakeshare.admin import errors as admin
from lakeshare.errors import Kind, LakeshareError
from lakeshare.http import json as http_json
from lakeshare.http import paths as http_paths
from lakeshare.http import request as http_request
from lakeshare.http.fault import Fault
from lakeshare.http.response import Response
from lakeshare.identity import directory_errors as directory
from lakeshare.identity import errors as identity
from lakeshare.identity import vault
from lakeshare.identity.policy import errors as policy
from lakeshare.identity.wire import errors as wire
from lakeshare.sharing import errors as sharing
from lakeshare.state import errors as state
from lakeshare.storage import errors as storage

_MISMATCH = Fault("SignatureDoesNotMatch", 401)
_MALFORMED_AUTH = Fault("AuthorizationMalformed", 401)
_BODY = Fault("BodyIncomplete", 400)
_INTERNAL = Fault("InternalError", 500)

FAULTS: dict[type[LakeshareError], Fault] = {
    admin.BadField: Fault("BadField", 400),
    admin.NoSuchSetting: Fault("NoSuchSetting", 404),
    admin.SettingNotLive: Fault("SettingNotLive", 409),
    admin.SettingPinned: Fault("SettingPinned", 409),
    admin.NoAuditLog: Fault("NoAuditLog", 404),
    admin.ImportTooLarge: Fault("BodyTooLarge", 413),
    admin.WrongToken: Fault("WrongToken", 401),
    admin.SealedOtherwise: Fault("SealedOtherwise", 409),
    settings.BadSetting: Fault("BadSetting", 400),
    http_json.BadJson: Fault("BadJson", 400),
    http_paths.NoSuchPath: Fault("NoSuchPath", 404),
    http_paths.BadPath: Fault("BadPath", 400),
    http_paths.NoSuchMethod: Fault("NoSuchMethod", 405),
    http_request.BodyTooLarge: Fault("BodyTooLarge", 413),
    http_request.ClientGone: _BODY,
    directory.BadName: Fault("BadName", 400),
    directory.TooMany: Fault("TooMany", 409),
    directory.NoSuchUser: Fault("NoSuchUser", 404),
    directory.NoSuchGroup: Fault("NoSuchGroup", 404),
    directory.NoSuchPolicy: Fault("NoSuchPolicy", 404),
    directory.NoSuchAccessKey: Fault("NoSuchAccessKey", 404),
    directory.NameTaken: Fault("NameTaken", 409),
    directory.GroupNotEmpty: Fault("GroupNotEmpty", 409),
    directory.PolicyInUse: Fault("PolicyInUse", 409),
    directory.PolicyBuiltIn: Fault("PolicyBuiltIn", 409),
    directory.Escalation: Fault("AccessDenied", 403),
    directory.BadDuration: Fault("BadDuration", 400),
    directory.AccessKeyInactive: Fault("AccessKeyInactive", 401),
    policy.MalformedPolicy: Fault("MalformedPolicy", 400),
    policy.PolicyTooLarge: Fault("PolicyTooLarge", 413),
    identity.AccessDenied: Fault("AccessDenied", 403),
    identity.AccessKeyUnknown: Fault("AccessKeyUnknown", 401),
    identity.SignatureMismatch: _MISMATCH,
    identity.ChunkSignatureMismatch: _MISMATCH,
    identity.ClockSkewed: Fault("ClockSkewed", 401),
    identity.RequestExpired: Fault("RequestExpired", 401),
    identity.RequestNotYetValid: Fault("RequestNotYetValid", 401),
    identity.TokenExpired: Fault("TokenExpired", 401),
    identity.TokenInvalid: Fault("TokenInvalid", 401),
    identity.HeaderNotSigned: Fault("HeaderNotSigned", 401),
    identity.AuthorizationMalformed: _MALFORMED_AUTH,
    identity.AuthorizationQueryMalformed: _MALFORMED_AUTH,
    identity.AuthorizationAmbiguous: _MALFORMED_AUTH,
    identity.SignatureVersionUnsupported: _MALFORMED_AUTH,
    identity.PayloadHashUnknown: Fault("BodyNotSigned", 400),
    identity.PayloadMismatch: Fault("BodyMismatch", 400),
    identity.BodyMalformed: Fault("BodyMalformed", 400),
    identity.BodyIncomplete: _BODY,
    identity.TrailerMalformed: Fault("BodyMalformed", 400),
    identity.TooManyFailures: Fault("TooManyFailures", 429),
    wire.BodyNotSigned: Fault("BodyNotSigned", 400),
    vault.SecretUnreadable: _INTERNAL,
    state.BadKey: Fault("BadName", 400),
    state.BadTransaction: _INTERNAL,
    state.OverLimit: Fault("OverLimit", 413),
    state.ReceiptReused: Fault("ReceiptReused", 409),
    state.Contended: Fault("Contended", 409),
    state.CorruptValue: _INTERNAL,
    state.NotEmpty: Fault("NotEmpty", 409),
    state.BadExport: Fault("BadExport", 400),
    state.StateUnusable: _INTERNAL,
    state.StateFull: Fault("StateFull", 507),
    state.StateUnavailable: Fault("StateUnavailable", 503),
    state.StateFailed: _INTERNAL,
    state.StateUnknown: Fault("StateUnknown", 503),
    storage.StoreFailed: _INTERNAL,
    sharing.BadName: Fault("BadName", 400),
    sharing.BadPlace: Fault("BadPlace", 400),
    sharing.BadSpec: Fault("BadSpec", 400),
    sharing.BadSpan: Fault("BadLifetime", 400),
    sharing.BadEndpoint: Fault("BadEndpoint", 400),
    sharing.BadWindow: Fault("BadWindow", 400),
    sharing.TooMany: Fault("TooMany", 409),
    sharing.ShareMissing: Fault("NoSuchShare", 404),
    sharing.SchemaMissing: Fault("NoSuchSchema", 404),
    sharing.TableMissing: Fault("NoSuchTable", 404),
    sharing.RecipientMissing: Fault("NoSuchRecipient", 404),
    sharing.CredentialMissing: Fault("NoSuchToken", 404),
    sharing.SourceMissing: Fault("NoSuchSource", 404),
    sharing.NameTaken: Fault("NameTaken", 409),
    sharing.SourceInUse: Fault("SourceInUse", 409),
    sharing.NotImplicit: Fault("ImplicitRecipient", 409),
    sharing.NoTableThere: Fault("NoTableThere", 400),
    sharing.TableUnreadable: Fault("TableUnreadable", 400),
    sharing.IcebergNotShared: Fault("IcebergNotShared", 501),
    sharing.SourceUnreachable: Fault("SourceUnreachable", 503),
}

BY_KIND = {
    Kind.INVALID: Fault("BadRequest", 400),
    Kind.UNAUTHENTICATED: Fault("Unauthenticated", 401),
    Kind.DENIED: Fault("AccessDenied", 403),
    Kind.MISSING: Fault("NotFound", 404),
    Kind.CONFLICT: Fault("Conflict", 409),
    Kind.PRECONDITION: Fault("PreconditionFailed", 412),
    Kind.TOO_LARGE: Fault("TooLarge", 413),
    Kind.UNSUPPORTED: Fault("NotSupported", 501),
    Kind.THROTTLED: Fault("TooManyRequests", 429),
    Kind.TIMEOUT: Fault("Timeout", 408),
    Kind.FULL: Fault("NoSpace", 507),
    Kind.UNAVAILABLE: Fault("Unavailable", 503),
    Kind.INTERNAL: _INTERNAL,
}

STATUSES = tuple(sorted({fault.status for fault in (*FAULTS.values(), *BY_KIND.values())}))
_UNAUTHENTICATED = 401


def fault_of(error: LakeshareError) -> Fault:
    """Return an error's code and status; one that the table does not name is said by its kind."""
    return FAULTS.get(type(error)) or BY_KIND[error.kind]


def encode_fault(error: LakeshareError, fault: Fault, request_id: str) -> Response:
    """Write an error."""
    inner = {"code": fault.code, "message": _carried(error.message), "request_id": request_id}
    if isinstance(error, admin.BadField) and error.field:
        inner["field"] = _carried(error.field)
    if isinstance(error, settings.BadSetting):
        inner["field"] = "value"
    return Response(fault.status, _headers(error, fault), orjson.dumps({"error": inner}))


def _carried(text: str) -> str:
    """Return a text that JSON can carry."""
    return text.encode("utf-8", "replace").decode()


def _headers(error: LakeshareError, fault: Fault) -> list[tuple[str, str]]:
    headers = [("content-type", "application/json")]
    if isinstance(error, http_paths.NoSuchMethod):
        headers.append(("allow", ", ".join(error.allowed)))
    if fault.status == _UNAUTHENTICATED:
        headers.append(("www-authenticate", "AWS4-HMAC-SHA256"))
    return headers
