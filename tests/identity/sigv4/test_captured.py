"""What real clients sent verifies and decodes; what was changed on the way does not."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

import pytest

from lakeshare.http.request import Request
from lakeshare.identity.errors import (
    AccessKeyUnknown,
    AuthorizationMalformed,
    BodyIncomplete,
    ChunkSignatureMismatch,
    ClockSkewed,
    HeaderNotSigned,
    IdentityError,
    PayloadMismatch,
    SignatureMismatch,
)
from lakeshare.identity.sigv4.payload import PayloadMode
from lakeshare.identity.sigv4.timestamps import parse_timestamp
from lakeshare.identity.sigv4.verified import Verified
from lakeshare.identity.sigv4.verify import verify
from tests.identity.sigv4.captured import REQUESTS, Captured, captured
from tests.identity.sigv4.wire import S3
from tests.vectors import S3_REQUESTS, needs

pytestmark = needs(S3_REQUESTS)

REFUSALS = (SignatureMismatch, HeaderNotSigned, AuthorizationMalformed, ClockSkewed, AccessKeyUnknown)


def check(item: Captured, changed: Request | None = None) -> Verified:
    now = parse_timestamp(item.timestamp)
    claimed = item.request.headers["authorization"].partition("Credential=")[2].partition("/")[0]
    found = verify(changed or item.request, {claimed: item.secret}.get, now, S3)
    assert found is not None
    return found


def refuses(item: Captured, changed: Request) -> bool:
    try:
        check(item, changed)
    except REFUSALS:
        return True
    return False


def decode(found: Verified, body: bytes) -> None:
    decoder = found.decoder()
    decoder.feed(body)
    decoder.finish()


def with_headers(request: Request, **changes: str) -> Request:
    headers: Mapping[str, str] = {**request.headers, **{name.replace("_", "-"): it for name, it in changes.items()}}
    return replace(request, headers=MappingProxyType(dict(headers)))


def flip(text: str, at: int) -> str:
    """Change one character to another of its kind."""
    other = {"0": "1", "a": "b", "/": "x", "Z": "Y"}.get(text[at], "0")
    return text[:at] + other + text[at + 1 :]


def changes(item: Captured) -> Iterator[tuple[str, Request]]:
    """Yield the request with one byte changed in each part that is signed."""
    request = item.request
    yield "method", replace(request, method="DELETE" if request.method != "DELETE" else "GET")
    for at in range(0, len(request.raw_path), 7):
        yield f"path at {at}", replace(request, raw_path=flip(request.raw_path, at))
    for at in range(0, len(request.raw_query), 11):
        yield f"query at {at}", replace(request, raw_query=flip(request.raw_query, at))
    yield "query longer", replace(request, raw_query=request.raw_query + "&a=b")
    authorization = request.headers["authorization"]
    names = authorization.partition("SignedHeaders=")[2].partition(",")[0].split(";")
    for name in names:
        value = request.headers[name]
        yield f"header {name}", with_headers(request, **{name: flip(value, len(value) // 2)})
        fewer = {key: it for key, it in request.headers.items() if key != name}
        yield f"without {name}", replace(request, headers=fewer)
    for at in range(authorization.index("Signature=") + 10, len(authorization), 9):
        yield f"signature at {at}", with_headers(request, authorization=flip(authorization, at))
    yield "signature shorter", with_headers(request, authorization=authorization[:-1])
    yield "other region", with_headers(request, authorization=authorization.replace("/s3/", "x/s3/"))
    yield "other service", with_headers(request, authorization=authorization.replace("/s3/", "/sts/"))
    yield "unsigned header", with_headers(request, x_amz_acl="public-read")


def test_every_request_is_there() -> None:
    """The vectors hold the requests that this suite was written for."""
    assert len(captured()) == REQUESTS


def test_every_request_verifies() -> None:
    """Each of the captured requests has the signature that its client's secret gives."""
    modes = Counter(check(item).payload.mode for item in captured())
    assert modes.total() == REQUESTS
    assert modes[PayloadMode.SIGNED_CHUNKS] == 4
    assert modes[PayloadMode.UNSIGNED_CHUNKS_TRAILER] == 14


def test_an_empty_region_verifies() -> None:
    """MinIO's admin client signs for a region without a name."""
    regions = {check(item).region for item in captured()}
    assert regions == {"us-east-1", ""}


def test_every_whole_body_decodes() -> None:
    """A body that the capture kept whole decodes, with the trailers that were announced, in one piece or in bytes."""
    whole = [item for item in captured() if item.whole]
    assert len(whole) == REQUESTS - 38
    for item in whole:
        found = check(item)
        at_once, in_bytes = found.decoder(), found.decoder()
        content = b"".join(at_once.feed(item.body))
        trailers = at_once.finish()
        pieces = [bytes(piece) for byte in item.body for piece in in_bytes.feed(bytes([byte]))]
        assert b"".join(pieces) == content
        assert in_bytes.finish() == trailers
        assert set(trailers) == set(found.payload.trailers)
        assert found.payload.length in {None, len(content)}


def test_a_body_cut_by_the_capture_is_incomplete() -> None:
    """A body of which the capture kept the start only is refused when it ends."""
    for item in captured():
        if item.whole:
            continue
        decoder = check(item).decoder()
        decoder.feed(item.body)
        with pytest.raises(BodyIncomplete):
            decoder.finish()


@pytest.mark.parametrize("part", range(4))
def test_a_changed_byte_is_refused(part: int) -> None:
    """A changed byte in any signed part of a request is refused, and for one of the reasons that fit."""
    accepted = [
        f"{item.name}: {what}"
        for item in captured()[part::4]
        for what, changed in changes(item)
        if not refuses(item, changed)
    ]
    assert accepted == []


def test_a_changed_body_is_refused() -> None:
    """A changed byte in a body whose digest or chunks are signed is refused, wherever it stands."""
    seen = Counter[PayloadMode]()
    for item in captured():
        found = check(item)
        if not item.whole or found.payload.mode not in {PayloadMode.HASHED, PayloadMode.SIGNED_CHUNKS}:
            continue
        seen[found.payload.mode] += 1
        for at in range(0, len(item.body), max(1, len(item.body) // 50)):
            body = bytearray(item.body)
            body[at] ^= 1
            with pytest.raises(IdentityError) as refusal:
                decode(found, bytes(body))
            if found.payload.mode is PayloadMode.HASHED:
                assert isinstance(refusal.value, PayloadMismatch)
    assert seen[PayloadMode.SIGNED_CHUNKS] == 2


def test_changed_chunk_data_names_the_chunk() -> None:
    """Data that was changed inside a signed chunk is told apart from broken framing, and none of it is released."""
    item = next(it for it in captured() if it.whole and check(it).payload.mode is PayloadMode.SIGNED_CHUNKS)
    head = item.body.index(b"\r\n") + 2
    body = bytearray(item.body)
    body[head] ^= 1
    with pytest.raises(ChunkSignatureMismatch) as refusal:
        check(item).decoder().feed(bytes(body))
    assert refusal.value.chunk == 1
