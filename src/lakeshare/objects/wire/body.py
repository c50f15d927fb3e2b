"""A request's body as the room takes it: unframed, with every digest that was promised for it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import cast

from lakeshare.http.request import Block, Request, Sink
from lakeshare.identity.sigv4.chunks import Decoder
from lakeshare.identity.sigv4.payload import Payload, unsigned_request_payload
from lakeshare.identity.sigv4.verified import Verified
from lakeshare.objects.errors import (
    BadDigest,
    InvalidDigest,
    InvalidRequest,
    MessageTooLong,
    MissingContentLength,
)
from lakeshare.objects.model.checksums import Declared, digest_of, digest_whole
from lakeshare.objects.operations.intake import DEFAULT_ALGORITHM, SIGNED_SHA256, Body
from lakeshare.objects.wire.headers import checksum_algorithm

DOCUMENT_LIMIT_BYTES = 2 * 1024 * 1024
"""1000 keys of 1024 bytes each, escaped, or 10 000 parts with checksums, fit."""

_PREFIX = "x-amz-checksum-"
_NOT_DIGESTS = frozenset({"x-amz-checksum-mode", "x-amz-checksum-algorithm", "x-amz-checksum-type"})
_NEEDS_PROOF = frozenset({"DeleteObjects"})


def body_of(request: Request, verified: Verified | None) -> Body:
    """Read what the head promises of the body, and return the way to its bytes."""
    headers = request.headers
    payload = _payload(request, verified)
    if payload.length is None and "transfer-encoding" not in headers:
        raise MissingContentLength
    named = _named_digests(headers)
    trailer, algorithm = _trailer(payload)
    declared = [*named.values()]
    if (md5 := headers.get("content-md5", verified.hoisted.get("content-md5") if verified else None)) is not None:
        declared.append(Declared("Content-MD5", "MD5", digest_of("Content-MD5", "MD5", md5)))
    if payload.sha256 is not None:
        declared.append(Declared(SIGNED_SHA256, "SHA256", bytes.fromhex(payload.sha256)))
    if algorithm is None:
        algorithm = next(iter(named), None) or _asked(headers) or DEFAULT_ALGORITHM
    size, promised = payload.length, tuple(declared)
    if not payload.framed:
        pour = None if request.pour_into is None else request.pour
        return Body(request.chunks(), size, promised, algorithm, pour=pour)
    decoder = payload.decoder()
    trailers: dict[str, str] = {}
    chunks, poured = _unframed(request, decoder, trailers), _poured(request, decoder, trailers)
    return Body(chunks, size, promised, algorithm, trailer, lambda: trailers, poured)


async def document_of(request: Request, verified: Verified | None, route: str) -> bytes:
    """Return a bounded document once its digests hold; a bulk delete must have one that is proven."""
    payload = _payload(request, verified)
    headers = request.headers
    if payload.length is not None and payload.length > DOCUMENT_LIMIT_BYTES:
        raise MessageTooLong(DOCUMENT_LIMIT_BYTES)
    decoder, found, size = payload.decoder(), [], 0
    async for chunk in request.chunks():
        for piece in decoder.feed(chunk):
            size += len(piece)
            if size > DOCUMENT_LIMIT_BYTES:
                raise MessageTooLong(DOCUMENT_LIMIT_BYTES)
            found.append(piece)
    trailers = decoder.finish()
    data = b"".join(found)
    named = _document_digests(headers, route) | _named_digests(trailers)
    for item in named.values():
        if digest_whole(item.algorithm, data) != item.value:
            raise BadDigest(item.name)
    if route in _NEEDS_PROOF and not named and payload.sha256 is None and not payload.framed:
        raise InvalidRequest("missing required header for this request: Content-MD5 or x-amz-checksum-*")
    return data


def _document_digests(headers: Mapping[str, str], route: str) -> dict[str, Declared]:
    """Return the digests of a document; the checksum headers of a Complete speak of the object, not of the document."""
    named = {} if route == "CompleteMultipartUpload" else _named_digests(headers)
    if "content-md5" in headers:
        named["MD5"] = Declared("Content-MD5", "MD5", digest_of("Content-MD5", "MD5", headers["content-md5"]))
    return named


def _payload(request: Request, verified: Verified | None) -> Payload:
    return verified.payload if verified else unsigned_request_payload(request.headers)


def _named_digests(headers: Mapping[str, str]) -> dict[str, Declared]:
    named: dict[str, Declared] = {}
    for name, value in headers.items():
        if name.startswith(_PREFIX) and name not in _NOT_DIGESTS:
            algorithm = checksum_algorithm(name[len(_PREFIX) :], name)
            named[algorithm] = Declared(name, algorithm, _checksum_value(name, algorithm, value))
    if len(named) > 1:
        raise InvalidRequest("expecting a single x-amz-checksum- header; multiple checksum types are not allowed")
    return named


def _checksum_value(name: str, algorithm: str, value: str) -> bytes:
    try:
        return digest_of(name, algorithm, value)
    except InvalidDigest:
        raise InvalidRequest(f"Value for {name} header is invalid.") from None


def _trailer(payload: Payload) -> tuple[str | None, str | None]:
    named = [name for name in payload.trailers if name.startswith(_PREFIX)]
    if len(named) > 1:
        raise InvalidRequest("expecting a single x-amz-checksum- trailer")
    if not named:
        return None, None
    return named[0], checksum_algorithm(named[0][len(_PREFIX) :], "x-amz-trailer")


def _asked(headers: Mapping[str, str]) -> str | None:
    text = headers.get("x-amz-sdk-checksum-algorithm")
    return checksum_algorithm(text, "x-amz-sdk-checksum-algorithm") if text else None


async def _unframed(request: Request, decoder: Decoder, trailers: dict[str, str]) -> AsyncIterator[bytes]:
    async for chunk in request.chunks():
        for piece in decoder.feed(chunk):
            yield cast("bytes", piece)
    trailers.update(decoder.finish())


def _poured(request: Request, decoder: Decoder, trailers: dict[str, str]) -> Callable[[Sink], Awaitable[None]] | None:
    """Return what hands over a framed body in a thread, where the connection has one to spare."""

    async def pour(sink: Sink) -> None:
        def unframe(blocks: Sequence[Block]) -> None:
            # The decoder's pieces are views of what it is fed, and may outlive the call: the block is copied.
            pieces = [piece for block in blocks for piece in decoder.feed(bytes(block))]
            if pieces:
                sink(pieces)

        await request.pour(unframe)
        trailers.update(decoder.finish())

    return None if request.pour_into is None else pour
