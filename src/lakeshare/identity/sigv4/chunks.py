"""Bodies on their way in: framing taken off, and each byte checked before it is let through. No I/O.

`aws-chunked` frames a body as chunks, each `SIZE[;chunk-signature=SIG]CRLF DATA CRLF`, closed by a chunk of size zero,
after which trailers may come. Laws:

- A signed chunk is released only once its signature holds; no more than one chunk is held back.
- What `feed` returns are views of what it was given: feed immutable bytes.
- `finish` says that the body is whole. Until then nothing that was released may be published.
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from hmac import compare_digest
from typing import Protocol

from lakeshare.identity.errors import (
    BodyIncomplete,
    BodyMalformed,
    ChunkSignatureMismatch,
    PayloadMismatch,
    TrailerMalformed,
)
from lakeshare.identity.sigv4.canonical import EMPTY_SHA256
from lakeshare.identity.sigv4.keys import SigningKey

SIGNED_CHUNK_LIMIT = 16 * 1024**2
"""Largest chunk held back until its signature is known to hold; MinIO's bound."""
UNSIGNED_CHUNK_LIMIT = 5 * 1024**3
"""Largest chunk passed through as it comes: S3's largest part, which the AWS SDK for Go sends as one chunk."""
SMALL_CHUNK = 8192
"""AWS takes a smaller chunk only as the last one."""
SMALL_CHUNKS_LIMIT = 10_000
"""Chunks under that size taken nevertheless, so that a flood of tiny ones costs little."""
LINE_LIMIT = 4096
"""Longest line of framing, in bytes: a chunk's head or one trailer."""
TRAILERS_LIMIT = 16
"""Most trailers; S3 defines one for each checksum algorithm."""
GATHER_UNDER = 4096
"""Held pieces smaller than this are copied together, so that a trickle of bytes costs no more than its size."""

TRAILER_SIGNATURE = "x-amz-trailer-signature"

Piece = bytes | memoryview

_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,16})\r\n")
_SIGNED_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,16});chunk-signature=([0-9a-f]{64})\r\n")
_TRAILER = re.compile(rb"([A-Za-z0-9\-]{1,128}):[ \t]*([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?[ \t]*\r?\n")
_BLANK = (b"\r\n", b"\n")


class Decoder(Protocol):
    """Takes a body as it comes, and gives what it carries."""

    def feed(self, data: Piece) -> list[Piece]:
        """Take the next bytes; return those of the content that are now known to be good."""
        ...

    def finish(self) -> dict[str, str]:
        """Say that the body is over; return its trailers by lower-case name. Raises if it is not whole."""
        ...


@dataclass(frozen=True, slots=True)
class ChunkSeed:
    """What the chain of chunk signatures starts from: the request's own signature, and what made it."""

    signature: str
    key: SigningKey = field(repr=False)
    timestamp: str
    scope_text: str


class PlainDecoder:
    """A body without framing: its length and its SHA-256 are checked where they are known."""

    def __init__(self, sha256: str | None, length: int | None) -> None:
        self._expected = sha256
        self._length = length
        self._sha256 = None if sha256 is None else hashlib.sha256()
        self._size = 0

    def feed(self, data: Piece) -> list[Piece]:
        """Let the bytes through."""
        self._size += len(data)
        if self._length is not None and self._size > self._length:
            raise BodyMalformed(f"it is longer than the {self._length} bytes declared")
        if self._sha256 is not None:
            self._sha256.update(data)
        return [data] if data else []

    def finish(self) -> dict[str, str]:
        """Compare length and digest."""
        if self._length is not None and self._size != self._length:
            raise BodyIncomplete(self._size, self._length)
        if self._sha256 is not None and self._expected is not None:
            computed = self._sha256.hexdigest()
            if not compare_digest(computed, self._expected):
                raise PayloadMismatch(self._expected, computed)
        return {}


class ChunkDecoder:
    """The three modes of aws-chunked: signed with `seed`, with a trailer, or both."""

    def __init__(self, seed: ChunkSeed | None, announced: tuple[str, ...] | None, length: int | None) -> None:
        """Take the seed of signed chunks, the trailers announced (None: the mode has none) and the content's length."""
        self._chain = None if seed is None else _Chain(seed)
        self._tail = _Tail(self._chain, announced)
        self._length = length
        self._limit = UNSIGNED_CHUNK_LIMIT if seed is None else SIGNED_CHUNK_LIMIT
        self._step: Callable[[memoryview, int, list[Piece]], int] = self._head
        self._line = bytearray()
        self._left = 0
        self._small = 0
        self._declared = 0
        self._decoded = 0
        self._fed = False

    def feed(self, data: Piece) -> list[Piece]:
        """Take the next bytes; return the content that they complete."""
        view = memoryview(data)
        size = len(view)
        at = 0
        out: list[Piece] = []
        while at < size:
            self._fed = True
            at = self._step(view, at, out)
        return out

    def finish(self) -> dict[str, str]:
        """Check that the last chunk came, that lengths agree and that every trailer announced is there."""
        if not self._fed and self._length == 0 and self._tail.complete:
            return {}
        ended = self._step == self._after and self._tail.ended(self._line)
        if not ended or (self._length is not None and self._decoded != self._length):
            raise BodyIncomplete(self._decoded, self._length)
        return self._tail.trailers

    def _gather(self, view: memoryview, at: int) -> tuple[int, bytes | None]:
        """Gather a line of framing; return how far that took us, and the line once it is whole."""
        window = bytes(view[at : at + LINE_LIMIT - len(self._line)])
        end = window.find(b"\n") + 1
        if not end:
            self._line += window
            if len(self._line) >= LINE_LIMIT:
                raise BodyMalformed(f"a line of its framing is longer than {LINE_LIMIT} bytes")
            return at + len(window), None
        line = bytes(self._line) + window[:end]
        self._line.clear()
        return at + end, line

    def _head(self, view: memoryview, at: int, _out: list[Piece]) -> int:
        at, line = self._gather(view, at)
        if line is None:
            return at
        match = (_CHUNK if self._chain is None else _SIGNED_CHUNK).fullmatch(line)
        if match is None:
            raise BodyMalformed("a chunk does not begin with its size in hex, and its signature if it has one")
        self._left = int(match[1], 16)
        self._admit(self._left)
        if self._chain is not None:
            self._chain.begin(match[2].decode("ascii"))
        if self._left:
            self._step = self._data
        else:
            if self._chain is not None:
                self._chain.end()
            self._step = self._after
        return at

    def _admit(self, size: int) -> None:
        if size > self._limit:
            raise BodyMalformed(f"a chunk is larger than {self._limit} bytes")
        self._declared += size
        if self._length is not None and self._declared > self._length:
            raise BodyMalformed(f"it holds more than the {self._length} bytes of x-amz-decoded-content-length")
        if 0 < size < SMALL_CHUNK:
            self._small += 1
            if self._small > SMALL_CHUNKS_LIMIT:
                raise BodyMalformed(f"only the last chunk may be smaller than {SMALL_CHUNK} bytes")

    def _data(self, view: memoryview, at: int, out: list[Piece]) -> int:
        piece = view[at : at + self._left]
        taken = len(piece)
        self._left -= taken
        if self._chain is None:
            out.append(piece)
            self._decoded += taken
        else:
            self._chain.hold(piece)
            if not self._left:
                released = self._chain.end()
                self._decoded += sum(map(len, released))
                out += released
        if not self._left:
            self._step = self._edge
        return at + taken

    def _edge(self, view: memoryview, at: int, _out: list[Piece]) -> int:
        at, line = self._gather(view[: at + 2 - len(self._line)], at)
        if line is None and len(self._line) < len(b"\r\n"):
            return at
        if line != b"\r\n":
            raise BodyMalformed("a chunk's data does not end where its size says")
        self._step = self._head
        return at

    def _after(self, view: memoryview, at: int, _out: list[Piece]) -> int:
        at, line = self._gather(view, at)
        if line is not None:
            self._tail.take(line)
        return at


class _Chain:
    """The chunk being held back, and the signature that the next one builds on."""

    def __init__(self, seed: ChunkSeed) -> None:
        self._seed = seed
        self._previous = seed.signature
        self._claimed = ""
        self._sha256 = hashlib.sha256()
        self._held: list[Piece] = []
        self._loose = bytearray()
        self._number = 0

    def begin(self, claimed: str) -> None:
        self._claimed = claimed
        self._sha256 = hashlib.sha256()
        self._number += 1

    def hold(self, piece: memoryview) -> None:
        self._sha256.update(piece)
        if len(piece) < GATHER_UNDER:
            self._loose += piece
            return
        self._settle()
        self._held.append(piece)

    def end(self) -> list[Piece]:
        """Check the chunk held, and release it."""
        text = f"{EMPTY_SHA256}\n{self._sha256.hexdigest()}"
        self._advance("AWS4-HMAC-SHA256-PAYLOAD", text, self._claimed)
        self._settle()
        held, self._held = self._held, []
        return held

    def trailer(self, lines: list[str], claimed: str) -> None:
        """Check the signature over the trailers, in the order they came or in that of their names."""
        self._number += 1
        digests = [hashlib.sha256("".join(order).encode("ascii")).hexdigest() for order in (lines, sorted(lines))]
        expected = [self._signature("AWS4-HMAC-SHA256-TRAILER", digest) for digest in digests]
        matched = [compare_digest(one, claimed) for one in expected]
        if not any(matched):
            raise ChunkSignatureMismatch(self._number)

    def _advance(self, algorithm: str, text: str, claimed: str) -> None:
        expected = self._signature(algorithm, text)
        if not compare_digest(expected, claimed):
            raise ChunkSignatureMismatch(self._number)
        self._previous = expected

    def _signature(self, algorithm: str, text: str) -> str:
        seed = self._seed
        message = f"{algorithm}\n{seed.timestamp}\n{seed.scope_text}\n{self._previous}\n{text}"
        return seed.key.sign(message.encode("ascii"))

    def _settle(self) -> None:
        if self._loose:
            self._held.append(bytes(self._loose))
            self._loose.clear()


class _Tail:
    """What follows the last chunk: trailers where the mode has them, and blank lines.

    Clients differ in their blank lines: AWS's end with one; MinIO's put one more before the trailer's signature,
    or a second one at the end.
    """

    def __init__(self, chain: _Chain | None, announced: tuple[str, ...] | None) -> None:
        self.trailers: dict[str, str] = {}
        self._chain = chain
        self._announced = announced
        self._lines: list[str] = []
        self._blanks = 0
        self._signed = chain is None or announced is None

    @property
    def complete(self) -> bool:
        """Whether everything announced has come."""
        return self._signed and len(self.trailers) == len(self._announced or ())

    @property
    def over(self) -> bool:
        """Whether everything has come and a blank line has ended it."""
        return self.complete and self._blanks > 0

    def ended(self, rest: bytearray) -> bool:
        """Say whether it is whole when the body ends with `rest`, the start of a line."""
        if rest and self.over:
            raise BodyMalformed("there is data after the last chunk")
        if self._blanks and not rest and not self.complete:
            raise TrailerMalformed("a trailer that x-amz-trailer announced, or its signature, is missing")
        return self.complete and not rest

    def take(self, line: bytes) -> None:
        """Take one line."""
        if line in _BLANK:
            self._blanks += 1
            if self._blanks > (1 if self._announced is None else 2):
                raise BodyMalformed("there is data after the last chunk")
            return
        if self._announced is None or self.over:
            raise BodyMalformed("there is data after the last chunk")
        match = _TRAILER.fullmatch(line)
        if match is None:
            raise TrailerMalformed("a trailer must be a name, a colon and a value in ASCII")
        self._add(match[1].decode("ascii").lower(), (match[2] or b"").decode("ascii"))

    def _add(self, name: str, value: str) -> None:
        if name == TRAILER_SIGNATURE and self._chain is not None:
            if self._signed:
                raise TrailerMalformed("it is signed twice")
            self._chain.trailer(self._lines, value)
            self._signed = True
            return
        if self._chain is not None and self._signed:
            raise TrailerMalformed(f"{name} comes after the trailer's signature")
        if self._announced is None or name not in self._announced or name in self.trailers:
            raise TrailerMalformed(f"{name} was not announced in x-amz-trailer, or comes twice")
        self.trailers[name] = value
        self._lines.append(f"{name}:{value}\n")
