"""Presigning many URLs that differ in their path alone: what repeats is hashed once, and its state copied."""

import hashlib
from collections.abc import Iterable

from lakeshare.identity.sigv4.canonical import ALGORITHM, UNSIGNED_PAYLOAD, canonical_query
from lakeshare.identity.sigv4.keys import signing_key
from lakeshare.identity.sigv4.scope import scope_of
from lakeshare.identity.sigv4.sign import Signer, Target
from lakeshare.identity.sigv4.timestamps import format_timestamp

_LAST_OWN = "X-Amz-SignedHeaders"


class Presigner:
    """Signs GET URLs under one prefix, for one time and life.

    Paths are what follows the prefix, already percent-encoded (canonical.encode_path). Where `parameter` is given,
    each URL also carries a value for it, such as the version that it pins.
    """

    def __init__(self, signer: Signer, prefix_url: str, now: float, expires_seconds: int, parameter: str = "") -> None:
        """Prepare what repeats; `prefix_url` is the start of every URL, without a query."""
        if parameter and parameter <= _LAST_OWN:
            raise ValueError(f"{parameter} would have to stand before the signature's own parameters")
        target = Target.of(prefix_url)
        timestamp = format_timestamp(now)
        scope = scope_of(signer.credentials.access_key, timestamp[:8], signer.region, signer.service)
        key = signing_key(signer.credentials.secret, scope)
        query = canonical_query(signer.query(timestamp, expires_seconds, "host"))
        self.expires_at = int(now) + expires_seconds
        self._start = f"{target.origin}{target.path}"
        self._query = f"?{query}" + (f"&{parameter}=" if parameter else "")
        self._get = f"GET\n{target.path}"
        self._head = hashlib.sha256(self._get.encode())
        self._middle = f"\n{self._query[1:]}"
        self._end = f"\nhost:{target.host}\n\nhost\n{UNSIGNED_PAYLOAD}"
        self._inner = key.inner.copy()
        self._inner.update(f"{ALGORITHM}\n{timestamp}\n{scope.text}\n".encode())
        self._outer = key.outer
        self._with_values = bool(parameter)

    def url(self, path: str, value: str = "") -> str:
        """Return one URL."""
        return self.urls([path], [value] if self._with_values else None)[0]

    def urls(self, paths: Iterable[str], values: Iterable[str] | None = None) -> list[str]:
        """Return a URL for each path, with the parameter's value (percent-encoded) of the same place."""
        if (values is not None) != self._with_values:
            raise ValueError("values are for a presigner with a parameter, which needs them")
        if values is None:
            return self._plain(paths)
        return self._valued(zip(paths, values, strict=True))

    @property
    def around(self) -> tuple[str, str, str]:
        """Return what stands before, between and after the path and the value in every URL; its signature follows."""
        return self._start, self._query, "&X-Amz-Signature="

    @property
    def around_signed(self) -> tuple[str, str, str]:
        """Return what stands before, between and after the path and the value in what is signed."""
        return self._get, self._middle, self._end

    def signatures(self, requests: Iterable[bytes]) -> bytes:
        """Sign what `around_signed` says of many URLs, and return the signatures, 32 bytes each."""
        sha256, inner, outer = hashlib.sha256, self._inner.copy, self._outer.copy
        found: list[bytes] = []
        for request in requests:
            message = inner()
            message.update(sha256(request).hexdigest().encode())
            signature = outer()
            signature.update(message.digest())
            found.append(signature.digest())
        return b"".join(found)

    def _plain(self, paths: Iterable[str]) -> list[str]:
        head, inner, outer = self._head.copy, self._inner.copy, self._outer.copy
        tail, start, query = self._middle + self._end, self._start, self._query + "&X-Amz-Signature="
        found: list[str] = []
        for path in paths:
            request = head()
            request.update((path + tail).encode())
            message = inner()
            message.update(request.hexdigest().encode())
            signature = outer()
            signature.update(message.digest())
            found.append(f"{start}{path}{query}{signature.hexdigest()}")
        return found

    def _valued(self, items: Iterable[tuple[str, str]]) -> list[str]:
        head, inner, outer = self._head.copy, self._inner.copy, self._outer.copy
        middle, end, start, query = self._middle, self._end, self._start, self._query
        found: list[str] = []
        for path, value in items:
            request = head()
            request.update(f"{path}{middle}{value}{end}".encode())
            message = inner()
            message.update(request.hexdigest().encode())
            signature = outer()
            signature.update(message.digest())
            found.append(f"{start}{path}{query}{value}&X-Amz-Signature={signature.hexdigest()}")
        return found
