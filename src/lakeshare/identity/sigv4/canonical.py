"""The canonical form of a request: what both sides hash, however the request was spelled on the wire.

Laws: a path is decoded once and encoded once, with no normalisation of dots or slashes; `+` in a query is a plus;
what is signed is therefore what is meant, and two spellings of one request have one canonical form.
Header and path text is Latin-1, as it came off the wire.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from urllib.parse import quote_from_bytes, unquote_to_bytes

EMPTY_SHA256 = sha256(b"").hexdigest()
UNSIGNED_PAYLOAD = "UNSIGNED-PAYLOAD"
ALGORITHM = "AWS4-HMAC-SHA256"

QUERY_PARAMETERS_LIMIT = 1000
"""Most parameters in a query; S3's own operations have under twenty."""
SIGNED_HEADERS_LIMIT = 4096
"""Longest list of signed headers, in characters."""

Pairs = list[tuple[str, str]]

_PLAIN = r"[A-Za-z0-9\-._~]"
_ENCODED = r"%(?!2D|2E|5F|7E|3[0-9]|[46][1-9A-F]|[57][0-9A])[0-9A-F]{2}"
# No possessive quantifiers: Python before 3.11.5 takes some of them wrongly. What may follow a run never begins one, so
# none is tried twice.
_PATH = re.compile(rf"[A-Za-z0-9\-._~/]*(?:(?!%2F){_ENCODED}[A-Za-z0-9\-._~/]*)*")
_WORD = rf"{_PLAIN}*(?:{_ENCODED}{_PLAIN}*)*"
_QUERY = re.compile(rf"{_WORD}(?:={_WORD})?(?:&{_WORD}(?:={_WORD})?)*")
_HEADER_NAMES = re.compile(r"[a-z0-9!#$%&'*+\-.^_`|~]+(?:;[a-z0-9!#$%&'*+\-.^_`|~]+)*")


def octets(text: str) -> bytes:
    """Return text as the bytes that it was on the wire."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def encode(text: str) -> str:
    """Percent-encode a word of a query."""
    return quote_from_bytes(text.encode("utf-8", "surrogateescape"), safe="")


def encode_path(text: str) -> str:
    """Percent-encode a path, keeping its slashes."""
    return quote_from_bytes(text.encode("utf-8", "surrogateescape"), safe="/")


def canonical_path(raw_path: str) -> str:
    """Return a path decoded once and encoded once."""
    if _PATH.fullmatch(raw_path):
        return raw_path or "/"
    return quote_from_bytes(unquote_to_bytes(octets(raw_path)), safe="/")


def escaped_path(raw_path: str) -> str:
    """Return a path as it was sent, encoded once more."""
    return quote_from_bytes(octets(raw_path), safe="/")


def canonical_pairs(raw_query: str) -> Pairs:
    """Return a query's parameters, encoded and in canonical order; raises ValueError if there are too many.

    A plus is a space, as forms write it: Rust's `object_store` sends it so, and signs it as %20.
    """
    if not raw_query:
        return []
    if raw_query.count("&") >= QUERY_PARAMETERS_LIMIT:
        raise ValueError(f"the query has more than {QUERY_PARAMETERS_LIMIT} parameters")
    pairs: Pairs = [part.partition("=")[::2] for part in raw_query.split("&") if part]
    if not _QUERY.fullmatch(raw_query):
        pairs = [(_recode(name.replace("+", " ")), _recode(value.replace("+", " "))) for name, value in pairs]
    pairs.sort()
    return pairs


def canonical_query(pairs: Pairs) -> str:
    """Join canonical parameters."""
    return "&".join([f"{name}={value}" for name, value in pairs]) if pairs else ""


def _recode(word: str) -> str:
    return quote_from_bytes(unquote_to_bytes(octets(word)), safe="")


@dataclass(frozen=True, slots=True)
class SignedHeaders:
    """The names of the headers that are signed, in their order, as a set, and as the text that lists them."""

    names: tuple[str, ...]
    members: frozenset[str]
    text: str


def signed_headers(text: str) -> SignedHeaders:
    """Read a list of signed headers; raises ValueError with what is wrong."""
    if len(text) > SIGNED_HEADERS_LIMIT:
        raise ValueError(f"the list of signed headers is longer than {SIGNED_HEADERS_LIMIT} characters")
    return _signed_headers(text)


@lru_cache(maxsize=512)
def _signed_headers(text: str) -> SignedHeaders:
    if not _HEADER_NAMES.fullmatch(text):
        raise ValueError("SignedHeaders must be lower-case names with semicolons between them")
    names = tuple(text.split(";"))
    if len(set(names)) != len(names):
        raise ValueError("SignedHeaders names a header twice")
    return SignedHeaders(names, frozenset(names), text)


def canonical_value(value: str) -> str:
    """Trim a header's value and make each run of blanks one space."""
    if "  " in value or "\t" in value:
        return " ".join([word for word in value.replace("\t", " ").split(" ") if word])
    return value.strip(" ")


def canonical_headers(headers: Mapping[str, str], signed: SignedHeaders) -> str:
    """Return the signed headers and their names; raises KeyError for one that is not there."""
    lines = "\n".join([*map(":".join, zip(signed.names, map(headers.__getitem__, signed.names), strict=True)), ""])
    if "  " in lines or "\t" in lines or " \n" in lines or ": " in lines:
        lines = "".join([f"{name}:{canonical_value(headers[name])}\n" for name in signed.names])
    return f"{lines}\n{signed.text}"


def canonical_request(method: str, path: str, query: str, headers: str, payload_hash: str) -> str:
    """Put a canonical request together from its canonical parts."""
    return f"{method}\n{path}\n{query}\n{headers}\n{payload_hash}"


def string_to_sign(timestamp: str, scope_text: str, canonical: str) -> bytes:
    """Return what the signing key signs."""
    return f"{ALGORITHM}\n{timestamp}\n{scope_text}\n{sha256(octets(canonical)).hexdigest()}".encode()
