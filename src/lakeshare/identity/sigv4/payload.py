"""What a request says of its body: the framing, the digest, the length and the trailers to come."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from lakeshare.identity.errors import BodyMalformed, PayloadHashUnknown, TrailerMalformed
from lakeshare.identity.sigv4.canonical import EMPTY_SHA256, UNSIGNED_PAYLOAD
from lakeshare.identity.sigv4.chunks import (
    TRAILERS_LIMIT,
    ChunkDecoder,
    ChunkSeed,
    Decoder,
    PlainDecoder,
)

LENGTH_DIGITS = 19
"""Most digits of a length: enough for 2^63."""

_SHA256 = re.compile(r"[0-9a-fA-F]{64}")
_TRAILER_NAME = re.compile(r"[a-z0-9\-]{1,128}")


class PayloadMode(Enum):
    """The five framings that x-amz-content-sha256 can name; a digest stands for HASHED."""

    HASHED = "a SHA-256"
    UNSIGNED = UNSIGNED_PAYLOAD
    SIGNED_CHUNKS = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
    SIGNED_CHUNKS_TRAILER = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"
    UNSIGNED_CHUNKS_TRAILER = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"


_STREAMING = {
    mode.value: mode
    for mode in (PayloadMode.SIGNED_CHUNKS, PayloadMode.SIGNED_CHUNKS_TRAILER, PayloadMode.UNSIGNED_CHUNKS_TRAILER)
}


@dataclass(frozen=True, slots=True)
class Payload:
    """A body's description. `length` is that of the content, without framing; None where it is not said.

    `trailers` are the names announced; `seed` is there for signed chunks.
    """

    mode: PayloadMode
    sha256: str | None = None
    length: int | None = None
    trailers: tuple[str, ...] = ()
    seed: ChunkSeed | None = None

    @property
    def framed(self) -> bool:
        """Whether the body is aws-chunked, and so not the content itself."""
        return self.mode is not PayloadMode.HASHED and self.mode is not PayloadMode.UNSIGNED

    def decoder(self) -> Decoder:
        """Return a decoder for the body, good for one use."""
        if not self.framed:
            return PlainDecoder(self.sha256, self.length)
        announced = None if self.mode is PayloadMode.SIGNED_CHUNKS else self.trailers
        return ChunkDecoder(self.seed, announced, self.length)


_EMPTY = Payload(PayloadMode.HASHED, EMPTY_SHA256, 0)
_UNSIGNED = Payload(PayloadMode.UNSIGNED)


def read_payload(value: str, headers: Mapping[str, str], seed: ChunkSeed | None) -> Payload:
    """Read what `value`, that of x-amz-content-sha256, and the headers beside it say of the body."""
    if value == EMPTY_SHA256 and headers.get("content-length", "0") == "0":
        return _EMPTY
    if value == UNSIGNED_PAYLOAD:
        if "content-length" not in headers:
            return _UNSIGNED
        return Payload(PayloadMode.UNSIGNED, None, _length(headers, "content-length"))
    if _SHA256.fullmatch(value):
        return Payload(PayloadMode.HASHED, value.lower(), _length(headers, "content-length"))
    mode = _STREAMING.get(value)
    if mode is None:
        raise PayloadHashUnknown(value)
    if mode is PayloadMode.UNSIGNED_CHUNKS_TRAILER:
        seed = None
    elif seed is None:
        raise BodyMalformed("its chunks are signed, but the request is not")
    trailers = () if mode is PayloadMode.SIGNED_CHUNKS else announced_trailers(headers)
    return Payload(mode, None, _length(headers, "x-amz-decoded-content-length"), trailers, seed)


def unsigned_request_payload(headers: Mapping[str, str]) -> Payload:
    """Read the payload of a request that carries no signature version 4."""
    return read_payload(headers.get("x-amz-content-sha256", UNSIGNED_PAYLOAD), headers, None)


def announced_trailers(headers: Mapping[str, str]) -> tuple[str, ...]:
    """Read the names that x-amz-trailer announces."""
    text = headers.get("x-amz-trailer", "").lower()
    names = tuple(name.strip() for name in text.split(",", TRAILERS_LIMIT) if name.strip())
    if len(names) > TRAILERS_LIMIT or len(set(names)) != len(names):
        raise TrailerMalformed("x-amz-trailer names too many trailers, or one of them twice")
    if not all(_TRAILER_NAME.fullmatch(name) for name in names):
        raise TrailerMalformed("x-amz-trailer must name headers, with commas between them")
    return names


def _length(headers: Mapping[str, str], name: str) -> int | None:
    text = headers.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit()) or len(text) > LENGTH_DIGITS:
        raise BodyMalformed(f"{name} must be a number of bytes")
    return int(text)
