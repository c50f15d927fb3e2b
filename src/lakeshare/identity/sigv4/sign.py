"""Signing our own requests: headers for a client, and presigned URLs."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import urlsplit

from lakeshare.identity.sigv4.canonical import (
    ALGORITHM,
    EMPTY_SHA256,
    UNSIGNED_PAYLOAD,
    Pairs,
    canonical_headers,
    canonical_pairs,
    canonical_path,
    canonical_query,
    canonical_request,
    encode,
    signed_headers,
    string_to_sign,
)
from lakeshare.identity.sigv4.keys import Credentials, signing_key
from lakeshare.identity.sigv4.scope import scope_of
from lakeshare.identity.sigv4.timestamps import format_timestamp

_NONE: Mapping[str, str] = MappingProxyType({})
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
_LEFT_UNSIGNED = frozenset(
    ("authorization", "connection", "expect", "transfer-encoding", "user-agent", "accept-encoding", "content-length")
)
"""Headers that an HTTP library or a proxy may set or change after signing."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes, in canonical form; `origin` is its scheme and host."""

    origin: str
    host: str
    path: str
    pairs: Pairs

    @classmethod
    def of(cls, url: str) -> "Target":
        """Read an absolute URL, already percent-encoded; its host is what the Host header will say."""
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2].removesuffix(_DEFAULT_PORTS.get(parts.scheme, ""))
        path = canonical_path(parts.path or "/")
        return cls(f"{parts.scheme}://{host}", host, path, canonical_pairs(parts.query))


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs for one region and service."""

    credentials: Credentials
    region: str = "us-east-1"
    service: str = "s3"

    def headers(
        self, method: str, url: str, now: float, headers: Mapping[str, str] = _NONE, payload_sha256: str = EMPTY_SHA256
    ) -> dict[str, str]:
        """Return the headers to send: those given, in lower case, and those of the signature."""
        target = Target.of(url)
        timestamp = format_timestamp(now)
        sent = {name.lower(): value for name, value in headers.items()}
        sent |= {"host": target.host, "x-amz-date": timestamp, "x-amz-content-sha256": payload_sha256}
        if self.credentials.session_token is not None:
            sent["x-amz-security-token"] = self.credentials.session_token.reveal()
        names = ";".join(sorted(name for name in sent if name not in _LEFT_UNSIGNED))
        lines = canonical_headers(sent, signed_headers(names))
        path = target.path if self.service == "s3" else target.path.replace("%", "%25")
        form = canonical_request(method, path, canonical_query(target.pairs), lines, payload_sha256)
        credential, signature = self._sign(timestamp, form)
        sent["authorization"] = f"{ALGORITHM} Credential={credential}, SignedHeaders={names}, Signature={signature}"
        return sent

    def presign(
        self, method: str, url: str, now: float, expires_seconds: int, headers: Mapping[str, str] = _NONE
    ) -> str:
        """Return a URL that carries its signature. Headers given must be sent with it."""
        target = Target.of(url)
        timestamp = format_timestamp(now)
        sent = {"host": target.host, **{name.lower(): value for name, value in headers.items()}}
        names = ";".join(sorted(sent))
        pairs = sorted(target.pairs + self.query(timestamp, expires_seconds, names))
        lines = canonical_headers(sent, signed_headers(names))
        query = canonical_query(pairs)
        form = canonical_request(method, target.path, query, lines, UNSIGNED_PAYLOAD)
        _, signature = self._sign(timestamp, form)
        return f"{target.origin}{target.path}?{query}&X-Amz-Signature={signature}"

    def query(self, timestamp: str, expires_seconds: int, names: str) -> Pairs:
        """Return a presigned URL's own parameters, but the signature."""
        scope = scope_of(self.credentials.access_key, timestamp[:8], self.region, self.service)
        pairs = [
            ("X-Amz-Algorithm", ALGORITHM),
            ("X-Amz-Credential", encode(f"{scope.access_key}/{scope.text}")),
            ("X-Amz-Date", timestamp),
            ("X-Amz-Expires", str(expires_seconds)),
            ("X-Amz-SignedHeaders", encode(names)),
        ]
        if self.credentials.session_token is not None:
            pairs.insert(4, ("X-Amz-Security-Token", encode(self.credentials.session_token.reveal())))
        return pairs

    def _sign(self, timestamp: str, form: str) -> tuple[str, str]:
        """Return the credential and the signature of a canonical request."""
        scope = scope_of(self.credentials.access_key, timestamp[:8], self.region, self.service)
        key = signing_key(self.credentials.secret, scope)
        return f"{scope.access_key}/{scope.text}", key.sign(string_to_sign(timestamp, scope.text, form))
