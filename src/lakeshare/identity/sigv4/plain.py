"""Presigned URLs in the one form that most clients write: in order, with the host alone signed, and nothing odd.

One pattern recognises them whole, in half the time of taking them apart. `presigned.py` is the law: what is accepted
here it accepts with the same answer, and all that is not accepted here, for whatever reason, is left to it.
"""

import re
from functools import lru_cache
from hashlib import sha256
from hmac import compare_digest
from urllib.parse import unquote

from lakeshare.http.request import Request
from lakeshare.identity.sigv4.canonical import ALGORITHM, UNSIGNED_PAYLOAD, canonical_path, octets
from lakeshare.identity.sigv4.keys import signing_key
from lakeshare.identity.sigv4.payload import read_payload
from lakeshare.identity.sigv4.presigned import EXPIRES_LIMIT_SECONDS
from lakeshare.identity.sigv4.scope import CREDENTIAL_LIMIT, Scope, parse_credential
from lakeshare.identity.sigv4.timestamps import SKEW_LIMIT_SECONDS, parse_timestamp
from lakeshare.identity.sigv4.verified import DECOY, KeyLookup, Verified
from lakeshare.settings import Secret

_WORD = r"[A-Za-z0-9\-._~]"
_OTHER = rf"(?:&(?!(?i:x-amz-))[a-z][A-Za-z0-9\-]{{0,63}}={_WORD}{{0,256}})?"
"""One more parameter may follow the signature's own: its first letter sorts it behind them."""

_FORM = re.compile(
    rf"(X-Amz-Algorithm={ALGORITHM}&X-Amz-Credential=((?:{_WORD}|%2F){{1,{CREDENTIAL_LIMIT}}})"
    rf"&X-Amz-Date=([0-9]{{8}}T[0-9]{{6}}Z)&X-Amz-Expires=([1-9][0-9]{{0,5}})&X-Amz-SignedHeaders=host{_OTHER})"
    r"&X-Amz-Signature=([0-9a-f]{64})"
)


def verify_plain(request: Request, keys: KeyLookup, now: float) -> Verified | None:
    """Return who signed a request by a presigned URL of the plain form; None leaves it to `verify_presigned`."""
    form = _FORM.fullmatch(request.raw_query)
    if form is None or not _is_plain(request):
        return None
    query, credential, timestamp, life, signature = form.groups()
    try:
        scope, signed_at = _scope(credential), parse_timestamp(timestamp)
    except ValueError:
        return None
    expires_at = signed_at + int(life)
    if scope.date != timestamp[:8] or not now <= expires_at <= signed_at + EXPIRES_LIMIT_SECONDS:
        return None
    if signed_at > now + SKEW_LIMIT_SECONDS or ("%" in request.raw_path and scope.service != "s3"):
        return None
    secret = keys(scope.access_key)
    expected = _signature(request, DECOY if secret is None else secret, scope, timestamp, query)
    if not compare_digest(expected, signature) or secret is None:
        return None
    payload = read_payload(UNSIGNED_PAYLOAD, request.headers, None)
    return Verified(scope.access_key, scope.service, scope.region, payload, presigned=True, expires_at=expires_at)


def _is_plain(request: Request) -> bool:
    """Say whether a request's head has nothing that a signature would have to speak of."""
    headers = request.headers
    if request.method == "HEAD" or "authorization" in headers or " " in headers.get("host", " "):
        return False
    for name in headers:
        if name.startswith("x-amz-"):
            return False
    return "\t" not in headers["host"]


def _signature(request: Request, secret: Secret, scope: Scope, timestamp: str, query: str) -> str:
    path, host = canonical_path(request.raw_path), request.headers["host"]
    form = f"{request.method}\n{path}\n{query}\nhost:{host}\n\nhost\n{UNSIGNED_PAYLOAD}"
    digest = sha256(octets(form)).hexdigest()
    return signing_key(secret, scope).sign(f"{ALGORITHM}\n{timestamp}\n{scope.text}\n{digest}".encode())


@lru_cache(maxsize=1024)
def _scope(credential: str) -> Scope:
    return parse_credential(unquote(credential))
