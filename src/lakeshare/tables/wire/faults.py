"""How each error is said to the catalog's clients: its type, its status, and the JSON around them (iceberg.md 1.3)."""

from lakeshare.errors import Kind, LakeshareError
from lakeshare.formats.iceberg import errors as formats
from lakeshare.http import paths as http_paths
from lakeshare.http.fault import Fault
from lakeshare.http.response import Response
from lakeshare.identity import errors as identity
from lakeshare.state import errors as state
from lakeshare.tables import errors
from lakeshare.tables.wire.answers import json_answer

MAX_TEXT_CHARACTERS = 8_192
"""Of a message: it may quote what was sent."""
INTERNAL_TEXT = "something went wrong on the server: tell its operator the request id"


_BAD = Fault("BadRequestException", 400)
_ARGUMENT = Fault("IllegalArgumentException", 400)
_UNKNOWN = Fault("NotAuthorizedException", 401)
_DENIED = Fault("ForbiddenException", 403)
_EXISTS = Fault("AlreadyExistsException", 409)
_FAILED = Fault("CommitFailedException", 409)
_NOT_EMPTY = Fault("NamespaceNotEmptyException", 409)
_UNSUPPORTED = Fault("UnsupportedOperationException", 406)
_UNPROCESSABLE = Fault("UnprocessableEntityException", 422)
_INTERNAL = Fault("InternalServerError", 500)
_UNAVAILABLE = Fault("ServiceUnavailableException", 503)
_SLOW_DOWN = Fault("SlowDownException", 503)
_TOO_MANY = Fault("TooManyRequestsException", 429)

FAULTS: dict[type[LakeshareError], Fault] = {
    errors.BadRequest: _BAD,
    errors.NotSignedIn: _UNKNOWN,
    errors.BadToken: _UNKNOWN,
    errors.BadGrant: _BAD,
    errors.ClientRefused: _UNKNOWN,
    errors.NoSuchWarehouse: Fault("NoSuchWarehouseException", 404),
    errors.WarehouseExists: _EXISTS,
    errors.WarehouseNotEmpty: Fault("WarehouseNotEmptyException", 409),
    errors.BucketHasObjects: _EXISTS,
    errors.NoSuchNamespace: Fault("NoSuchNamespaceException", 404),
    errors.NamespaceExists: _EXISTS,
    errors.NamespaceNotEmpty: _NOT_EMPTY,
    errors.Unprocessable: _UNPROCESSABLE,
    errors.NoSuchTable: Fault("NoSuchTableException", 404),
    errors.NoSuchView: Fault("NoSuchViewException", 404),
    errors.AlreadyExists: _EXISTS,
    errors.MetadataFileMissing: Fault("NotFoundException", 404),
    errors.MetadataFileChanged: _INTERNAL,
    errors.CommitFailed: _FAILED,
    errors.CommitStateUnknown: Fault("CommitStateUnknownException", 500),
    errors.NotOffered: _UNSUPPORTED,
    errors.OutOfTries: _FAILED,
    errors.InMotion: _EXISTS,
    errors.RefusedBefore: _BAD,
    errors.KeyReused: _BAD,
    formats.InvalidMetadata: _ARGUMENT,
    formats.Unsupported: _BAD,
    formats.RequirementFailed: _FAILED,
    formats.Stale: _FAILED,
    state.StateUnknown: Fault("CommitStateUnknownException", 500),
    state.Contended: _FAILED,
    identity.TooManyFailures: _TOO_MANY,
    http_paths.NoSuchPath: Fault("NotFoundException", 404),
    http_paths.NoSuchMethod: Fault("UnsupportedOperationException", 405),
    http_paths.BadPath: _BAD,
}

BY_KIND = {
    Kind.INVALID: _BAD,
    Kind.UNAUTHENTICATED: _UNKNOWN,
    Kind.DENIED: _DENIED,
    Kind.MISSING: Fault("NotFoundException", 404),
    Kind.CONFLICT: _FAILED,
    Kind.PRECONDITION: _FAILED,
    Kind.TOO_LARGE: _BAD,
    Kind.UNSUPPORTED: _UNSUPPORTED,
    Kind.THROTTLED: _TOO_MANY,
    Kind.TIMEOUT: _UNAVAILABLE,
    Kind.FULL: _SLOW_DOWN,
    Kind.UNAVAILABLE: _UNAVAILABLE,
    Kind.INTERNAL: _INTERNAL,
}

_FINAL_STATUSES = frozenset({400, 404, 406, 409, 422})
"""Of refusals that are final (the specification's Idempotency-Key): neither 5xx, nor what depends on who asks now."""
_PASSING = (
    errors.OutOfTries,
    errors.InMotion,
    errors.MetadataFileMissing,
    errors.RefusedBefore,
    errors.KeyReused,
)
_TOLD = (errors.CommitStateUnknown, errors.MetadataFileChanged)


def fault_of(error: LakeshareError) -> Fault:
    """Return an error's type and status; one that the table does not name is said by its kind.

    A request that was refused before is refused as it was then.
    """
    if isinstance(error, errors.RefusedBefore):
        return Fault(error.code, error.status)
    return FAULTS.get(type(error)) or BY_KIND[error.kind]


def text_of(error: LakeshareError) -> str:
    """Return what is said of an error; a failure of the server's own says nothing of its inside.

    A refusal does not name the resource as the audit log does: its UUID would say that a table is there.
    """
    if isinstance(error, identity.AccessDenied):
        return f"not allowed: {error.action}"
    text = INTERNAL_TEXT if error.kind is Kind.INTERNAL and not isinstance(error, _TOLD) else error.message
    return text[:MAX_TEXT_CHARACTERS].encode("utf-8", "replace").decode()


def is_final(error: LakeshareError) -> bool:
    """Say whether the request that was refused would be refused again: then a repeat of it is told the same."""
    if isinstance(error, _PASSING) or not isinstance(error, errors.TablesError | formats.IcebergError):
        return False
    return fault_of(error).status in _FINAL_STATUSES


def encode_fault(error: LakeshareError, fault: Fault) -> Response:
    """Write an error."""
    body = {"error": {"message": text_of(error), "type": fault.code, "code": fault.status}}
    return json_answer(body, *_headers(error, fault), status=fault.status)


def _headers(error: LakeshareError, fault: Fault) -> list[tuple[str, str]]:
    if fault.status == 401:
        return [("www-authenticate", 'Bearer realm="iceberg"')]
    if fault.status == 429:
        return [("retry-after", "1")]
    if isinstance(error, http_paths.NoSuchMethod):
        return [("allow", ", ".join(error.allowed))]
    return []
