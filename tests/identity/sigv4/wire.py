"""Requests and bodies as clients put them on the wire, made without the code under test."""

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from hypothesis import settings

from lakeshare.http.request import Message, Request
from lakeshare.settings import Secret

ACCESS_KEY = "AKIAIOSFODNN7EXAMPLE"
SECRET = Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
S3 = frozenset({"s3"})
STEADY = settings(deadline=None, derandomize=True)
"""Property tests are the same in every run, and a slow machine fails none of them."""
EMPTY = hashlib.sha256(b"").hexdigest()


async def _no_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


def request(method: str, url: str, headers: Mapping[str, str] | Iterable[tuple[str, str]] = ()) -> Request:
    """Make a request from an absolute URL; its host header comes from the URL unless one is given."""
    parts = urlsplit(url)
    joined = {"host": parts.netloc}
    for name, value in headers.items() if isinstance(headers, Mapping) else headers:
        joined[name.lower()] = value
    path, _, query = url.partition("//")[2].partition("/")[2].partition("?")
    return Request("1", method, "/" + path, query, joined, parts.scheme, "192.0.2.1", _no_body)


def keys(access_key: str) -> Secret | None:
    """Know the example key alone."""
    return SECRET if access_key == ACCESS_KEY else None


def signing_key(secret: str, date: str, region: str, service: str = "s3") -> bytes:
    key = b"AWS4" + secret.encode()
    for part in (date, region, service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key


class ChunkWriter:
    """Frames a body as aws-chunked, signed or not, as AWS's documentation describes it."""

    def __init__(self, key: bytes | None, seed: str, timestamp: str, scope: str) -> None:
        self.key = key
        self.previous = seed
        self.timestamp = timestamp
        self.scope = scope

    def chunk(self, data: bytes) -> bytes:
        if self.key is None:
            return b"%x\r\n%b%b" % (len(data), data, b"\r\n" if data else b"")
        text = f"{EMPTY}\n{hashlib.sha256(data).hexdigest()}"
        signature = self._advance("AWS4-HMAC-SHA256-PAYLOAD", text)
        return b"%x;chunk-signature=%b\r\n%b%b" % (len(data), signature.encode(), data, b"\r\n" if data else b"")

    def body(self, chunks: Iterable[bytes], trailers: Mapping[str, str] | None = None) -> bytes:
        framed = b"".join(self.chunk(chunk) for chunk in [*chunks, b""])
        if trailers is None:
            return framed + b"\r\n"
        lines = "".join(f"{name}:{value}\r\n" for name, value in trailers.items())
        if self.key is not None:
            text = "".join(f"{name}:{value}\n" for name, value in trailers.items())
            signature = self._advance("AWS4-HMAC-SHA256-TRAILER", hashlib.sha256(text.encode()).hexdigest())
            lines += f"x-amz-trailer-signature:{signature}\r\n"
        return framed + lines.encode() + b"\r\n"

    def _advance(self, algorithm: str, text: str) -> str:
        message = f"{algorithm}\n{self.timestamp}\n{self.scope}\n{self.previous}\n{text}"
        assert self.key is not None
        self.previous = hmac.new(self.key, message.encode(), hashlib.sha256).hexdigest()
        return self.previous


def authorization(
    method: str, headers: Mapping[str, str], timestamp: str, payload_hash: str, service: str, path: str = "/"
) -> str:
    """Sign a request for a canonical path and no query, all headers given, as AWS's documentation describes it."""
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    names = ";".join(sorted(headers))
    form = f"{method}\n{path}\n\n{lines}\n{names}\n{payload_hash}"
    scope = f"{timestamp[:8]}/us-east-1/{service}/aws4_request"
    message = f"AWS4-HMAC-SHA256\n{timestamp}\n{scope}\n{hashlib.sha256(form.encode()).hexdigest()}"
    key = signing_key(SECRET.reveal(), timestamp[:8], "us-east-1", service)
    signature = hmac.new(key, message.encode(), hashlib.sha256).hexdigest()
    return f"AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/{scope}, SignedHeaders={names}, Signature={signature}"
