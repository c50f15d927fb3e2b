"""Signature version 2 in the query: the presigned URLs that boto3 makes by default.

HMAC-SHA1 over method, Content-MD5, Content-Type, expiry, x-amz-* headers and the resource with its subresources.
Other parameters are not signed: the few that only shape a listing are let through, all others are refused,
so that the holder of a URL cannot turn it into another request.
"""

import hmac
from base64 import b64encode
from urllib.parse import unquote_to_bytes

from lakeshare.http.request import Request
from lakeshare.identity.errors import (
    AccessKeyUnknown,
    AuthorizationQueryMalformed,
    RequestExpired,
    SignatureMismatch,
)
from lakeshare.identity.sigv4.canonical import octets
from lakeshare.identity.sigv4.payload import unsigned_request_payload
from lakeshare.identity.sigv4.scope import CREDENTIAL_LIMIT
from lakeshare.identity.sigv4.verified import DECOY, KeyLookup, Verified
from lakeshare.settings import Secret

MARKS = frozenset({"AWSAccessKeyId", "Signature"})
"""Parameters either of which says that a URL is signed with version 2."""

_OWN = MARKS | {"Expires"}
_EXPIRES_DIGITS = 12
_PARAMETERS_LIMIT = 1000

_SUBRESOURCES = frozenset(
    (
        "accelerate",
        "acl",
        "analytics",
        "cors",
        "defaultObjectAcl",
        "delete",
        "inventory",
        "lifecycle",
        "location",
        "logging",
        "metrics",
        "notification",
        "object-lock",
        "partNumber",
        "policy",
        "replication",
        "requestPayment",
        "response-cache-control",
        "response-content-disposition",
        "response-content-encoding",
        "response-content-language",
        "response-content-type",
        "response-expires",
        "restore",
        "select",
        "select-type",
        "storageClass",
        "tagging",
        "torrent",
        "uploadId",
        "uploads",
        "versionId",
        "versioning",
        "versions",
        "website",
    )
)
_LISTING = frozenset(
    (
        "continuation-token",
        "delimiter",
        "encoding-type",
        "fetch-owner",
        "key-marker",
        "list-type",
        "marker",
        "max-keys",
        "max-parts",
        "max-uploads",
        "part-number-marker",
        "prefix",
        "start-after",
        "upload-id-marker",
        "version-id-marker",
        "x-id",
    )
)
_STANDARD = frozenset({"content-md5", "content-type"})


def verify_presigned_v2(request: Request, keys: KeyLookup, now: float, bucket: str) -> Verified:
    """Verify a request by its version 2 URL. `bucket` is the one that the host names, or empty."""
    try:
        own, hoisted, resource = _read(request.raw_query)
        access_key, claimed, expires = _claim(own)
    except ValueError as reason:
        raise AuthorizationQueryMalformed(str(reason)) from None
    if now > int(expires):
        raise RequestExpired(int(expires), now)
    path = (f"/{bucket}" if bucket else "") + (request.raw_path or "/")
    headers = {**hoisted, **{name: value for name, value in request.headers.items() if _counts(name)}}
    rest = f"{_standard(headers)}{expires}\n{_custom(headers)}{path}{resource}"
    secret = keys(access_key)
    methods = ("HEAD", "GET") if request.method == "HEAD" else (request.method,)
    signatures = [_sign(DECOY if secret is None else secret, f"{method}\n{rest}") for method in methods]
    matched = [hmac.compare_digest(signature, claimed) for signature in signatures]
    if secret is None:
        raise AccessKeyUnknown(access_key)
    if not any(matched):
        raise SignatureMismatch(access_key)
    return _verified(access_key, int(expires), headers, hoisted, request)


def _verified(
    access_key: str, expires_at: int, headers: dict[str, str], hoisted: dict[str, str], request: Request
) -> Verified:
    token = headers.get("x-amz-security-token")
    return Verified(
        access_key,
        "s3",
        "",
        unsigned_request_payload({**hoisted, **request.headers}),
        presigned=True,
        version=2,
        session_token=None if token is None else Secret(token),
        expires_at=expires_at,
        hoisted={name: value for name, value in hoisted.items() if name != "x-amz-security-token"},
    )


def _read(raw_query: str) -> tuple[dict[str, str], dict[str, str], str]:
    """Sort a query into the signature's own parameters, those that stand for headers, and signed subresources."""
    if raw_query.count("&") >= _PARAMETERS_LIMIT:
        raise ValueError("the query has too many parameters")
    own: dict[str, str] = {}
    hoisted: dict[str, str] = {}
    resources: dict[str, str] = {}
    for part in filter(None, raw_query.split("&")):
        raw_name, equals, raw_value = part.partition("=")
        name, value = _decode(raw_name), _decode(raw_value)
        if name in _SUBRESOURCES:
            _once(resources, name, equals + _unambiguous(name, value))
        elif name in _OWN:
            _once(own, name, value)
        elif _counts(name.lower()):
            _once(hoisted, name.lower(), value)
        elif name not in _LISTING:
            raise ValueError(f"version 2 does not sign {name[:64]!r}: use version 4")
    text = "&".join([name + value for name, value in sorted(resources.items())])
    return own, hoisted, "?" + text if text else ""


def _claim(own: dict[str, str]) -> tuple[str, str, str]:
    try:
        access_key, claimed, expires = own["AWSAccessKeyId"], own["Signature"], own["Expires"]
    except KeyError as missing:
        raise ValueError(f"{missing.args[0]} is missing") from None
    if not access_key or len(access_key) > CREDENTIAL_LIMIT or not access_key.isprintable():
        raise ValueError("AWSAccessKeyId is empty, too long or not printable")
    if not (expires.isascii() and expires.isdigit() and len(expires) <= _EXPIRES_DIGITS):
        raise ValueError("Expires must be a time in seconds since 1970")
    if not claimed.isascii():
        raise ValueError("Signature must be in base64")
    return access_key, claimed, expires


def _unambiguous(name: str, value: str) -> str:
    """Refuse a value that reads like more subresources: signed decoded, one string would mean two requests."""
    if any(part.partition("=")[0] in _SUBRESOURCES for part in value.split("&")[1:]):
        raise ValueError(f"the value of {name} reads like another parameter: use version 4")
    return value


def _once(found: dict[str, str], name: str, value: str) -> None:
    if name in found:
        raise ValueError(f"{name[:64]} comes twice")
    found[name] = value


def _decode(word: str) -> str:
    return unquote_to_bytes(octets(word)).decode("latin-1")


def _counts(lower: str) -> bool:
    return lower.startswith("x-amz-") or lower in _STANDARD


def _standard(headers: dict[str, str]) -> str:
    return f"{headers.get('content-md5', '').strip()}\n{headers.get('content-type', '').strip()}\n"


def _custom(headers: dict[str, str]) -> str:
    names = sorted(name for name in headers if name.startswith("x-amz-"))
    return "".join([f"{name}:{headers[name].strip()}\n" for name in names])


def _sign(secret: Secret, text: str) -> str:
    return b64encode(hmac.digest(secret.reveal().encode(), octets(text), "sha1")).decode("ascii")
