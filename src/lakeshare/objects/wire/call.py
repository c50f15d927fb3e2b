"""One S3 request as its parts: which bucket and key, which parameters, which headers."""

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from lakeshare.http.request import Request
from lakeshare.objects.errors import InvalidArgument, InvalidUri
from lakeshare.objects.model.names import object_key

PARAM_LIMIT = 100
"""No S3 request has nearly so many query parameters."""

SIZE_LIMIT = 2**63 - 1
"""Largest size that can be told of an object: far more than S3 stores, and what an index holds."""

REPEATED_LIMIT = 128
"""Longest word of a query that is looked for among those decoded before: a presigned URL's credential is shorter."""


QUERY_REPEATED_LIMIT = 1024
"""Longest query that is looked for among those read before: readers use a presigned URL again and again."""

_NO_PARAMS: Mapping[str, str] = MappingProxyType({})


class Target(NamedTuple):
    """What a request's host and path name: nothing (the service), a bucket, or a key in it.

    A tuple, as are other values that each request makes: a third of the cost of a frozen dataclass.
    """

    bucket: str = ""
    key: str = ""

    @property
    def scope(self) -> str:
        """Say which of the three it is."""
        return "key" if self.key else "bucket" if self.bucket else "service"


def decode_text(text: str) -> str:
    """Undo percent-encoding; the bytes must be UTF-8."""
    try:
        return unquote_to_bytes(text).decode() if "%" in text or not text.isascii() else text
    except UnicodeDecodeError:
        raise InvalidUri("it is not UTF-8") from None


def whole_number(text: str, high: int) -> int | None:
    """Read a whole number from 0 to `high`; None for any other text, of however many digits."""
    digits = text.lstrip("0") or text[:1]
    if not text.isascii() or not text.isdigit() or len(digits) > len(str(high)):
        return None
    return number if (number := int(digits)) <= high else None


def target_of(request: Request, host_bucket: str = "") -> Target:
    """Read the bucket and the key from the path, or only the key where the host names the bucket."""
    path = request.raw_path
    if host_bucket:
        return Target(host_bucket, object_key(decode_text(path[1:])))
    bucket, _, key = path[1:].partition("/")
    if "%" in path or not path.isascii():
        bucket, key = decode_text(bucket), decode_text(key)
    return Target(bucket, object_key(key))


def host_bucket(request: Request, domains: tuple[str, ...]) -> str:
    """Return the bucket that a request's host names, where it is one of a domain that is served."""
    host = request.headers.get("host", "")
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    for domain in domains:
        if name.lower().endswith("." + domain.lower()):
            return name[: -len(domain) - 1].lower()
    return ""


def params_of(raw_query: str) -> Mapping[str, str]:
    """Read query parameters; the first of a name counts, and a plus sign is a space, as it is signed."""
    if not raw_query:
        return _NO_PARAMS
    return _repeated_params(raw_query) if len(raw_query) <= QUERY_REPEATED_LIMIT else _params(raw_query)


@lru_cache(1024)
def _repeated_params(raw_query: str) -> Mapping[str, str]:
    return _params(raw_query)


def _params(raw_query: str) -> dict[str, str]:
    pairs = raw_query.split("&", PARAM_LIMIT)
    if len(pairs) > PARAM_LIMIT:
        raise InvalidUri(f"it has more than {PARAM_LIMIT} query parameters")
    plain = raw_query.isascii() and "+" not in raw_query
    found: dict[str, str] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        if not plain or "%" in pair:
            name, value = _decode_word(name.replace("+", " ")), _decode_word(value.replace("+", " "))
        if name not in found:
            found[name] = value
    return found


def _decode_word(text: str) -> str:
    return _decode_repeated(text) if len(text) <= REPEATED_LIMIT else decode_text(text)


@lru_cache(1024)
def _decode_repeated(text: str) -> str:
    return decode_text(text)


class Call(NamedTuple):
    """A request that was found a route: everything a decoder may look at. `signed` is false for anonymous callers.

    `owner` is the caller's user as what it makes remembers it, and empty for root; operations with a document are told.
    """

    target: Target
    params: Mapping[str, str]
    headers: Mapping[str, str]
    signed: bool = False
    document: bytes = b""
    owner: str = ""

    @property
    def bucket(self) -> str:
        """Return the bucket's name."""
        return self.target.bucket

    @property
    def key(self) -> str:
        """Return the key."""
        return self.target.key

    def param(self, name: str) -> str | None:
        """Return a parameter's value; an empty one counts as absent."""
        return self.params.get(name) or None

    def number(self, name: str, default: int, low: int, high: int) -> int:
        """Return a whole number from the query, capped at `high`."""
        text = self.param(name)
        if text is None:
            return default
        if not text.isascii() or not text.isdigit() or len(text) > 10 or int(text) < low:
            raise InvalidArgument(name, text, f"it must be a whole number from {low} to {high}")
        return min(int(text), high)
