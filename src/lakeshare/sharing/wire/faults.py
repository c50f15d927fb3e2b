"""How each error is said to recipients: its code, its status, and the JSON around them (PROTOCOL.md, errors)."""

import orjson

from lakeshare.errors import Kind, LakeshareError
from lakeshare.http import json as http_json
from lakeshare.http import paths as http_paths
from lakeshare.http import request as http_request
from lakeshare.http.fault import Fault
from lakeshare.http.response import Response
from lakeshare.sharing import errors

INTERNAL_TEXT = "something went wrong on the server: tell your share provider the request id"


_MISSING = Fault("RESOURCE_DOES_NOT_EXIST", 404)
_PARAMETER = Fault("INVALID_PARAMETER_VALUE", 400)
_MALFORMED = Fault("MALFORMED_REQUEST", 400)
_DENIED = Fault("PERMISSION_DENIED", 403)
_UNKNOWN = Fault("UNAUTHENTICATED", 401)
_INTERNAL = Fault("INTERNAL_ERROR", 500)

FAULTS: dict[type[LakeshareError], Fault] = {
    errors.NoSuchResource: _MISSING,
    errors.LinkUsed: _MISSING,
    errors.InvalidParameter: _PARAMETER,
    errors.HistoryNotShared: _PARAMETER,
    errors.ChangesNotRecorded: _PARAMETER,
    errors.BeforeWindow: _PARAMETER,
    errors.BadPage: _PARAMETER,
    errors.BadPageSize: _PARAMETER,
    errors.MalformedRequest: _MALFORMED,
    errors.UnsupportedTable: Fault("UNSUPPORTED_OPERATION", 400),
    errors.IcebergNotShared: Fault("UNSUPPORTED_OPERATION", 400),
    errors.TableBroken: Fault("TABLE_UNREADABLE", 400),
    errors.FileElsewhere: Fault("UNSUPPORTED_OPERATION", 400),
    errors.Unrecognised: _UNKNOWN,
    errors.CredentialExpired: _UNKNOWN,
    errors.ClientRefused: _UNKNOWN,
    errors.RecipientSuspended: _DENIED,
    errors.AddressRefused: _DENIED,
    errors.OAuthRequired: _DENIED,
    errors.TooManyGuesses: Fault("RESOURCE_EXHAUSTED", 429),
    errors.RateLimited: Fault("RESOURCE_EXHAUSTED", 429),
    errors.SourceUnreachable: Fault("TEMPORARILY_UNAVAILABLE", 503),
    http_paths.NoSuchPath: Fault("ENDPOINT_NOT_FOUND", 404),
    http_paths.NoSuchMethod: Fault("METHOD_NOT_ALLOWED", 405),
    http_paths.BadPath: _MALFORMED,
    http_json.BadJson: _MALFORMED,
    http_request.BodyTooLarge: Fault("REQUEST_TOO_LARGE", 413),
    http_request.ClientGone: _MALFORMED,
}

BY_KIND = {
    Kind.INVALID: _PARAMETER,
    Kind.UNAUTHENTICATED: _UNKNOWN,
    Kind.DENIED: _DENIED,
    Kind.MISSING: _MISSING,
    Kind.CONFLICT: Fault("ABORTED", 409),
    Kind.PRECONDITION: Fault("FAILED_PRECONDITION", 412),
    Kind.TOO_LARGE: Fault("REQUEST_TOO_LARGE", 413),
    Kind.UNSUPPORTED: Fault("UNSUPPORTED_OPERATION", 400),
    Kind.THROTTLED: Fault("RESOURCE_EXHAUSTED", 429),
    Kind.TIMEOUT: Fault("DEADLINE_EXCEEDED", 408),
    Kind.FULL: Fault("RESOURCE_EXHAUSTED", 507),
    Kind.UNAVAILABLE: Fault("TEMPORARILY_UNAVAILABLE", 503),
    Kind.INTERNAL: _INTERNAL,
}

_JSON = ("content-type", "application/json; charset=utf-8")
_NO_STORE = ("cache-control", "no-store")


def fault_of(error: LakeshareError) -> Fault:
    """Return an error's code and status; one that the table does not name is said by its kind."""
    return FAULTS.get(type(error)) or BY_KIND[error.kind]


def encode_fault(error: LakeshareError, fault: Fault) -> Response:
    """Write an error; a failure of the server's own says nothing of its inside."""
    text = INTERNAL_TEXT if error.kind is Kind.INTERNAL else error.message
    body = {"errorCode": fault.code, "message": text.encode("utf-8", "replace").decode()}
    return Response(fault.status, [_JSON, _NO_STORE, *extra_headers(error, fault)], orjson.dumps(body))


def encode_oauth_fault(error: LakeshareError, fault: Fault) -> Response:
    """Write an error as OAuth's token endpoint does (RFC 6749, section 5.2)."""
    status = fault.status
    if isinstance(error, errors.BadGrant):
        code = error.code
    elif fault.status in {401, 403}:
        code, status = "invalid_client", 401
    else:
        code = "invalid_request" if fault.status < 500 else "server_error"
    headers = [_JSON, _NO_STORE, ("pragma", "no-cache")]
    if status == 401:
        headers.append(("www-authenticate", 'Basic realm="delta-sharing"'))
    text = INTERNAL_TEXT if error.kind is Kind.INTERNAL else error.message
    body = {"error": code, "error_description": text.encode("ascii", "replace").decode()}
    return Response(status, headers, orjson.dumps(body))


def extra_headers(error: LakeshareError, fault: Fault) -> list[tuple[str, str]]:
    """Return the headers that belong to an error."""
    found: list[tuple[str, str]] = []
    if fault.status == 401:
        found.append(("www-authenticate", 'Bearer realm="delta-sharing", error="invalid_token"'))
    if (wait := getattr(error, "retry_after_seconds", 0)) or fault.status == 429:
        found.append(("retry-after", str(wait or 1)))
    if isinstance(error, http_paths.NoSuchMethod):
        found.append(("allow", ", ".join(error.allowed)))
    return found
