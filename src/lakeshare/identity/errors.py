"""What can go wrong when a request says who it is, when its body is checked, and when it asks for too much.

Each error carries the facts that a dialect may want to tell; none carries a secret.
"""

from lakeshare.errors import Kind, LakeshareError


class IdentityError(LakeshareError):
    """The root of what identity refuses."""

    kind = Kind.UNAUTHENTICATED


class AccessKeyUnknown(IdentityError):
    """No identity has that access key."""

    def __init__(self, access_key: str) -> None:
        super().__init__(f"access key {access_key!r} does not exist")
        self.access_key = access_key


class SignatureMismatch(IdentityError):
    """The signature is not the one that the secret key gives for this request."""

    def __init__(self, access_key: str, reason: str = "") -> None:
        super().__init__(reason or "the signature does not match: check the secret key and how the request is signed")
        self.access_key = access_key


class ClockSkewed(IdentityError):
    """The request was signed at a time too far from the server's."""

    def __init__(self, signed_at: float, server_at: float, limit_seconds: int) -> None:
        super().__init__(
            f"the request was signed {abs(server_at - signed_at):.0f} seconds away from the server's time,"
            f" and {limit_seconds} are allowed: set the client's clock"
        )
        self.signed_at = signed_at
        self.server_at = server_at
        self.limit_seconds = limit_seconds


class RequestExpired(IdentityError):
    """A presigned URL is past its last second."""

    kind = Kind.DENIED

    def __init__(self, expired_at: float, server_at: float) -> None:
        super().__init__("Request has expired")
        self.expired_at = expired_at
        self.server_at = server_at


class RequestNotYetValid(IdentityError):
    """A presigned URL is dated later than now, beyond what clocks may differ by."""

    kind = Kind.DENIED

    def __init__(self, valid_from: float, server_at: float) -> None:
        super().__init__("Request is not valid yet")
        self.valid_from = valid_from
        self.server_at = server_at


class AuthorizationMalformed(IdentityError):
    """The Authorization header, or a header that it leans on, cannot be read."""

    kind = Kind.INVALID

    def __init__(self, reason: str) -> None:
        super().__init__(f"the authorization header is malformed: {reason}")
        self.reason = reason


class AuthorizationQueryMalformed(IdentityError):
    """The query parameters of a presigned URL cannot be read."""

    kind = Kind.INVALID

    def __init__(self, reason: str) -> None:
        super().__init__(f"the signature's query parameters are malformed: {reason}")
        self.reason = reason


class AuthorizationAmbiguous(IdentityError):
    """A request is signed in more than one way at once."""

    kind = Kind.INVALID

    def __init__(self) -> None:
        super().__init__(
            "only one of the Authorization header, the X-Amz-Algorithm and the Signature query parameter may be given"
        )


class SignatureVersionUnsupported(IdentityError):
    """The request is signed in a way that this server does not take."""

    kind = Kind.UNSUPPORTED

    def __init__(self, scheme: str) -> None:
        super().__init__(f"authorization by {scheme} is not supported here: use AWS4-HMAC-SHA256")
        self.scheme = scheme


class HeaderNotSigned(IdentityError):
    """A header that must be signed is there and is not."""

    kind = Kind.DENIED

    def __init__(self, header: str) -> None:
        super().__init__(f"There were headers present in the request which were not signed: {header}")
        self.header = header


class TokenExpired(IdentityError):
    """A session token is past its last second."""

    def __init__(self, access_key: str) -> None:
        super().__init__("the session token has expired: ask for new temporary credentials")
        self.access_key = access_key


class TokenInvalid(IdentityError):
    """A session token is missing, forged, or belongs to another access key."""

    def __init__(self, access_key: str, reason: str) -> None:
        super().__init__(f"the session token is not valid: {reason}")
        self.access_key = access_key


class AccessDenied(IdentityError):
    """The caller may not do this."""

    kind = Kind.DENIED

    def __init__(self, action: str, resource: str) -> None:
        super().__init__(f"not allowed: {action} on {resource}")
        self.action = action
        self.resource = resource


class PayloadHashUnknown(IdentityError):
    """What x-amz-content-sha256 says is neither a digest nor a framing that we know."""

    kind = Kind.INVALID

    def __init__(self, value: str) -> None:
        super().__init__(
            "x-amz-content-sha256 must be UNSIGNED-PAYLOAD, STREAMING-UNSIGNED-PAYLOAD-TRAILER,"
            " STREAMING-AWS4-HMAC-SHA256-PAYLOAD, STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"
            " or a SHA-256 in hex"
        )
        self.value = value


class PayloadMismatch(IdentityError):
    """The body's SHA-256 is not the one that was signed."""

    kind = Kind.INVALID

    def __init__(self, signed_sha256: str, computed_sha256: str) -> None:
        super().__init__("the x-amz-content-sha256 that was signed does not match the body that was sent")
        self.signed_sha256 = signed_sha256
        self.computed_sha256 = computed_sha256


class ChunkSignatureMismatch(IdentityError):
    """A chunk, or the trailer after the chunks, is not what was signed."""

    def __init__(self, chunk: int) -> None:
        super().__init__(f"the signature of chunk {chunk} does not match")
        self.chunk = chunk


class BodyMalformed(IdentityError):
    """The body's framing cannot be read, or does not add up."""

    kind = Kind.INVALID

    def __init__(self, reason: str) -> None:
        super().__init__(f"the body is malformed: {reason}")
        self.reason = reason


class BodyIncomplete(IdentityError):
    """The body ended before its framing, or its declared length, said so."""

    kind = Kind.INVALID

    def __init__(self, decoded_bytes: int, expected_bytes: int | None) -> None:
        whole = "" if expected_bytes is None else f" of {expected_bytes}"
        super().__init__(f"the body ended early, after {decoded_bytes}{whole} bytes")
        self.decoded_bytes = decoded_bytes
        self.expected_bytes = expected_bytes


class TrailerMalformed(IdentityError):
    """The trailer cannot be read, or is not the one that was announced."""

    kind = Kind.INVALID

    def __init__(self, reason: str) -> None:
        super().__init__(f"the trailer is malformed: {reason}")
        self.reason = reason


class TooManyFailures(IdentityError):
    """Too many signatures failed lately for this access key or from this address."""

    kind = Kind.THROTTLED

    def __init__(self, access_key: str, peer: str) -> None:
        super().__init__("too many failed signatures: please reduce your request rate")
        self.access_key = access_key
        self.peer = peer


class RootCredentialsUnusable(LakeshareError):
    """The root identity's credentials cannot be used as they are."""

    kind = Kind.INVALID
