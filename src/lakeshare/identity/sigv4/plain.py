"""Presigned URLs in the one form that most clients write: in order, with the host alone signed, and nothing odd.

One pattern recognises them whole, in half the time of taking them apart. `presigned.py` is the law: what is accepted
here it accepts with the same answer, and all that is not accepted here, for whatever reason, is left to it.

A URL is used again and again: readers of a table ask for one stretch of a file after the other. What its signature was
made of never changes, so one that held once, for the same method, path, query, host and secret, holds again: only the
time and the key's secret are looked at anew.
"""

import re
from functools import lru_cache
from hashlib import sha256
from hmac import compare_digest
from typing import NamedTuple
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

URLS_REMEMBERED = 4096
"""URLs whose signatures held, at hand at once; the oldest go first."""

URL_LIMIT = 1024
"""Longest path and query of a URL that is remembered, in characters."""

_WORD = r"[A-Za-z0-9\-._~]"
_OTHER = rf"(?:&(?!(?i:x-amz-))[a-z][A-Za-z0-9\-]{{0,63}}={_WORD}{{0,256}})?"
"""One more parameter may follow the signature's own: its first letter sorts it behind them."""

_FORM = re.compile(
    rf"(X-Amz-Algorithm={ALGORITHM}&X-Amz-Credential=((?:{_WORD}|%2F){{1,{CREDENTIAL_LIMIT}}})"
    rf"&X-Amz-Date=([0-9]{{8}}T[0-9]{{6}}Z)&X-Amz-Expires=([1-9][0-9]{{0,5}})&X-Amz-SignedHeaders=host{_OTHER})"
    r"&X-Amz-Signature=([0-9a-f]{64})"
)


class _Held(NamedTuple):
    """A signature that held: under which secret, and between which times."""

    secret: Secret
    scope: Scope
    signed_at: int
    expires_at: int


_Url = tuple[str, str, str, str]
_held: dict[_Url, _Held] = {}


def verify_plain(request: Request, keys: KeyLookup, now: float) -> Verified | None:
    """Return who signed a request by a presigned URL of the plain form; None leaves it to `verify_presigned`."""
    if not request.raw_query.startswith("X-Amz-Algorithm=") or not _is_plain(request):
        return None
    url = (request.method, request.raw_path, request.raw_query, request.headers["host"])
    if (held := _held.get(url)) is not None and held.signed_at <= now + SKEW_LIMIT_SECONDS and now <= held.expires_at:
        secret = keys(held.scope.access_key)
        return _verified(request, held) if secret == held.secret else None
    held = _hold(request, keys, now)
    return None if held is None else _verified(request, _remembered(url, held))


def _remembered(url: _Url, held: _Held) -> _Held:
    if len(url[1]) + len(url[2]) <= URL_LIMIT:
        while len(_held) >= URLS_REMEMBERED:
            _held.pop(next(iter(_held)), None)
        _held[url] = held
    return held


def _verified(request: Request, held: _Held) -> Verified:
    scope, payload = held.scope, read_payload(UNSIGNED_PAYLOAD, request.headers, None)
    return Verified(scope.access_key, scope.service, scope.region, payload, presigned=True, expires_at=held.expires_at)


def _hold(request: Request, keys: KeyLookup, now: float) -> _Held | None:
    """Reckon the signature of a URL of the plain form; None where it does not hold, or must be looked at closer."""
    form = _FORM.fullmatch(request.raw_query)
    if form is None:
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
    return _Held(secret, scope, signed_at, expires_at)


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
