"""Decoding bodies: whatever the pieces they come in, what is released was checked, and what is wrong is refused."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakeshare.identity.errors import (
    BodyIncomplete,
    BodyMalformed,
    ChunkSignatureMismatch,
    IdentityError,
    PayloadMismatch,
    TrailerMalformed,
)
from lakeshare.identity.sigv4.chunks import (
    LINE_LIMIT,
    SIGNED_CHUNK_LIMIT,
    SMALL_CHUNKS_LIMIT,
    UNSIGNED_CHUNK_LIMIT,
    ChunkDecoder,
    ChunkSeed,
    Decoder,
    PlainDecoder,
)
from lakeshare.identity.sigv4.keys import SigningKey
from tests.identity.sigv4.wire import EMPTY, STEADY, ChunkWriter, signing_key

TIMESTAMP = "20260921T133320Z"
SCOPE = "20260921/us-east-1/s3/aws4_request"
KEY = signing_key("secret", "20260921", "us-east-1")
START = "5e" * 32
SEED = ChunkSeed(START, SigningKey(KEY), TIMESTAMP, SCOPE)
CRC = "x-amz-checksum-crc32"
TRAILERS = {CRC: "NhCmhg=="}


def signed() -> ChunkWriter:
    return ChunkWriter(KEY, START, TIMESTAMP, SCOPE)


def unsigned() -> ChunkWriter:
    return ChunkWriter(None, "", "", "")


def decode(decoder: Decoder, *pieces: bytes) -> tuple[bytes, dict[str, str]]:
    content = b"".join(piece for data in pieces for piece in decoder.feed(data))
    return content, decoder.finish()


def cut(body: bytes, cuts: list[int]) -> list[bytes]:
    edges = sorted({0, len(body), *(at % (len(body) + 1) for at in cuts)})
    return [body[a:b] for a, b in itertools.pairwise(edges)]


MODES = st.sampled_from(["signed", "signed trailer", "unsigned trailer"])
CHUNKS = st.lists(st.binary(min_size=1, max_size=300) | st.binary(min_size=5000, max_size=6000), max_size=5)
CUTS = st.lists(st.integers(min_value=0, max_value=100_000), max_size=12)


def made(mode: str, chunks: list[bytes], length: int | None) -> tuple[bytes, ChunkDecoder, dict[str, str]]:
    trailers = None if mode == "signed" else TRAILERS
    body = (unsigned() if mode.startswith("unsigned") else signed()).body(chunks, trailers)
    seed = None if mode.startswith("unsigned") else SEED
    return body, ChunkDecoder(seed, None if trailers is None else tuple(trailers), length), trailers or {}


@STEADY
@given(mode=MODES, chunks=CHUNKS, cuts=CUTS, known=st.booleans())
def test_a_body_decodes_however_it_is_cut(mode: str, chunks: list[bytes], cuts: list[int], known: bool) -> None:
    """In all three modes the content and the trailers come out, in whatever pieces the body arrives."""
    content = b"".join(chunks)
    body, decoder, trailers = made(mode, chunks, len(content) if known else None)
    assert decode(decoder, *cut(body, cuts)) == (content, trailers)


@STEADY
@given(mode=MODES, chunks=CHUNKS, end=st.integers(min_value=0, max_value=100_000))
def test_a_body_that_ends_early_is_never_whole(mode: str, chunks: list[bytes], end: int) -> None:
    """A body that is cut before its last chunk, or before what was announced, is refused at its end."""
    content = b"".join(chunks)
    body, decoder, trailers = made(mode, chunks, len(content))
    short = body[: end % (len(body) - 2)]
    if mode == "signed" and short == b"" and content == b"":
        return
    feed = decoder.feed(short)
    assert content.startswith(b"".join(feed))
    try:
        found = decoder.finish()
    except BodyIncomplete:
        return
    assert (b"".join(feed), found) == (content, trailers)
    assert len(body) - len(short) <= 4


@settings(STEADY, max_examples=300)
@given(
    mode=st.sampled_from(["signed", "signed trailer"]),
    chunks=CHUNKS.filter(bool),
    at=st.integers(min_value=0, max_value=100_000),
    bit=st.integers(min_value=0, max_value=7),
    cuts=CUTS,
)
def test_a_changed_bit_never_gets_through(mode: str, chunks: list[bytes], at: int, bit: int, cuts: list[int]) -> None:
    """Whichever bit of a signed body is changed, nothing else than its content is released, and it is not whole."""
    content = b"".join(chunks)
    body, decoder, trailers = made(mode, chunks, len(content))
    changed = bytearray(body)
    changed[at % len(body)] ^= 1 << bit
    released = bytearray()
    try:
        for piece in cut(bytes(changed), cuts):
            for good in decoder.feed(piece):
                released += good
        found = decoder.finish()
    except IdentityError:
        assert content.startswith(bytes(released))
        return
    # Letters of the framing may change their case, and a line end its form, without meaning anything else.
    assert (bytes(released), found) == (content, trailers)


@STEADY
@given(data=st.binary(max_size=2000), cuts=CUTS, trailer=st.booleans(), sign=st.booleans())
def test_garbage_is_refused_cleanly(data: bytes, cuts: list[int], trailer: bool, sign: bool) -> None:
    """Bytes that are no framing at all are refused with one of our errors."""
    decoder = ChunkDecoder(SEED if sign else None, (CRC,) if trailer else None, None)
    with pytest.raises(IdentityError):
        decode(decoder, *cut(data, cuts))


def test_no_more_than_a_chunk_is_held_back() -> None:
    """Each signed chunk is released with its last byte, and none of it earlier."""
    decoder = ChunkDecoder(SEED, None, None)
    writer = signed()
    for data in (b"a" * 10_000, b"b" * 20_000):
        framed = writer.chunk(data)
        assert decoder.feed(framed[:-3]) == []
        assert b"".join(decoder.feed(framed[-3:])) == data
    decoder.feed(writer.chunk(b"") + b"\r\n")
    assert decoder.finish() == {}


def test_unsigned_chunks_pass_as_they_come() -> None:
    """Where nothing is signed nothing is held back."""
    decoder = ChunkDecoder(None, (), None)
    assert [bytes(piece) for piece in decoder.feed(b"a00000\r\nabc")] == [b"abc"]


def test_large_pieces_are_not_copied() -> None:
    """What comes out of large pieces are views of what went in."""
    data = b"x" * 100_000
    (piece,) = ChunkDecoder(None, (), None).feed(b"186a0\r\n" + data)
    assert isinstance(piece, memoryview)
    framed = signed().chunk(data)
    (held,) = ChunkDecoder(SEED, None, None).feed(framed)
    assert isinstance(held, memoryview)
    assert held.obj is framed


def test_a_trickle_is_gathered() -> None:
    """Single bytes are gathered, and not held one by one."""
    decoder = ChunkDecoder(SEED, None, None)
    framed = signed().chunk(b"z" * 9000)
    pieces = [piece for at in range(len(framed)) for piece in decoder.feed(framed[at : at + 1])]
    assert len(pieces) == 1


@pytest.mark.parametrize(
    "head",
    [
        b"\r\n",
        b"g\r\n",
        b"0x5\r\n",
        b"+5\r\n",
        b"-5\r\n",
        b" 5\r\n",
        b"5 \r\n",
        b"5\n",
        b"1_0\r\n",
        b"5;chunk-signature=" + b"0" * 64 + b"\r\n",
        b"5;ext=1\r\n",
        b"00000000000000005\r\n",
        "٣\r\n".encode(),
    ],
)
def test_a_size_is_plain_hex(head: bytes) -> None:
    """A chunk's size is one to sixteen hex digits, with nothing around them."""
    with pytest.raises(BodyMalformed):
        ChunkDecoder(None, (), None).feed(head + b"hello\r\n")


@pytest.mark.parametrize(
    "head",
    [
        b"5\r\n",
        b"5;chunk-signature=\r\n",
        b"5;chunk-signature=" + b"A" * 64 + b"\r\n",
        b"5;chunk-signature=" + b"0" * 63 + b"\r\n",
        b"5; chunk-signature=" + b"0" * 64 + b"\r\n",
    ],
)
def test_a_signed_chunk_carries_its_signature(head: bytes) -> None:
    """In the signed modes a chunk without a signature in hex is malformed."""
    with pytest.raises(BodyMalformed):
        ChunkDecoder(SEED, None, None).feed(head + b"hello\r\n")


def test_a_chunk_has_a_largest_size() -> None:
    """A signed chunk may be as large as we hold back, an unsigned one as large as a part."""
    signature = b"0" * 64
    ChunkDecoder(SEED, None, None).feed(b"%x;chunk-signature=%b\r\n" % (SIGNED_CHUNK_LIMIT, signature))
    with pytest.raises(BodyMalformed):
        ChunkDecoder(SEED, None, None).feed(b"%x;chunk-signature=%b\r\n" % (SIGNED_CHUNK_LIMIT + 1, signature))
    ChunkDecoder(None, (), None).feed(b"%x\r\n" % UNSIGNED_CHUNK_LIMIT)
    with pytest.raises(BodyMalformed):
        ChunkDecoder(None, (), None).feed(b"%x\r\n" % (UNSIGNED_CHUNK_LIMIT + 1))


def test_a_line_of_framing_has_a_longest_length() -> None:
    """A line that does not end is refused while it is still short."""
    decoder = ChunkDecoder(None, (CRC,), None)
    with pytest.raises(BodyMalformed):
        decoder.feed(b"0" * LINE_LIMIT)
    decoder = ChunkDecoder(None, (CRC,), None)
    decoder.feed(b"0\r\n")
    with pytest.raises(BodyMalformed):
        decoder.feed(b"a" * LINE_LIMIT)


def test_tiny_chunks_are_borne_up_to_a_number() -> None:
    """A flood of chunks smaller than AWS allows is refused."""
    decoder = ChunkDecoder(None, (), None)
    decoder.feed(b"1\r\na\r\n" * SMALL_CHUNKS_LIMIT)
    with pytest.raises(BodyMalformed, match="last chunk"):
        decoder.feed(b"1\r\na\r\n")


@pytest.mark.parametrize("extra", [b"x", b"\r\n", b"0\r\n\r\n", b"5\r\nhello\r\n"])
def test_data_after_the_end_is_refused(extra: bytes) -> None:
    """Nothing may follow the last chunk of a body without a trailer."""
    decoder = ChunkDecoder(SEED, None, None)
    with pytest.raises((BodyMalformed, BodyIncomplete)):
        decode(decoder, signed().body([b"hello"]), extra)


@pytest.mark.parametrize("extra", [b"x", b"5\r\nhello\r\n", b"x-amz-checksum-crc32:NhCmhg==\r\n", b"\r\n\r\n\r\n"])
def test_data_after_the_trailer_is_refused(extra: bytes) -> None:
    """Nothing may follow the trailer."""
    decoder = ChunkDecoder(None, (CRC,), None)
    with pytest.raises((BodyMalformed, BodyIncomplete)):
        decode(decoder, unsigned().body([b"hello"], TRAILERS), extra)


def test_the_chunk_ends_where_its_size_says() -> None:
    """Data longer or shorter than its size is refused."""
    for body in (b"4\r\nhello\r\n0\r\n\r\n", b"6\r\nhello\r\n0\r\n\r\n", b"5\r\nhello\n0\r\n\r\n", b"5\r\nhello\rx"):
        with pytest.raises(BodyMalformed):
            decode(ChunkDecoder(None, (), None), body)


def test_the_decoded_length_must_agree() -> None:
    """More content than x-amz-decoded-content-length is refused with the chunk that exceeds it, less at the end."""
    body = unsigned().body([b"hello"], {})
    with pytest.raises(BodyMalformed, match="x-amz-decoded-content-length"):
        ChunkDecoder(None, (), 4).feed(body)
    with pytest.raises(BodyIncomplete) as refusal:
        decode(ChunkDecoder(None, (), 6), body)
    assert (refusal.value.decoded_bytes, refusal.value.expected_bytes) == (5, 6)


def test_a_body_of_nothing_is_whole_where_nothing_was_announced() -> None:
    """MinIO's client sends no body at all for an object of no bytes."""
    assert decode(ChunkDecoder(SEED, None, 0)) == (b"", {})
    for decoder in (ChunkDecoder(SEED, None, None), ChunkDecoder(None, (CRC,), 0), ChunkDecoder(SEED, (CRC,), 0)):
        with pytest.raises(BodyIncomplete):
            decode(decoder)


def test_chunks_cannot_be_swapped_or_dropped() -> None:
    """Each signature builds on the one before: the order of chunks is signed."""
    writer = signed()
    first, second, last = writer.chunk(b"a" * 9000), writer.chunk(b"b" * 9000), writer.chunk(b"") + b"\r\n"
    decode(ChunkDecoder(SEED, None, None), first, second, last)
    for wrong in ([second, first, last], [first, last], [second, last], [first, first, second, last]):
        with pytest.raises(ChunkSignatureMismatch):
            decode(ChunkDecoder(SEED, None, None), *wrong)


@pytest.mark.parametrize(
    "tail",
    [
        b"x-amz-checksum-crc32:NhCmhg==\r\n\r\n",
        b"x-amz-checksum-crc32: NhCmhg== \r\n\r\n",
        b"X-Amz-Checksum-Crc32:NhCmhg==\r\n\r\n",
        b"x-amz-checksum-crc32:NhCmhg==\n\r\n\r\n",
        b"x-amz-checksum-crc32:NhCmhg==\n\n",
        b"\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n",
        b"x-amz-checksum-crc32:NhCmhg==\r\n",
    ],
)
def test_trailers_are_read_as_clients_write_them(tail: bytes) -> None:
    """Line ends and blank lines differ between clients, and mean the same."""
    assert decode(ChunkDecoder(None, (CRC,), 5), b"5\r\nhello\r\n0\r\n" + tail) == (b"hello", TRAILERS)


@pytest.mark.parametrize(
    "tail",
    [
        b"\r\n",
        b"x-amz-checksum-sha256:abc=\r\n\r\n",
        b"x-amz-checksum-crc32:NhCmhg==\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n",
        b"x-amz-checksum-crc32:NhCmhg==\r\nx-amz-meta-a:b\r\n\r\n",
        b"x-amz-checksum-crc32 NhCmhg==\r\n\r\n",
        b"x-amz-checksum-crc32:Nh\x00Cmhg==\r\n\r\n",
        "x-amz-checksum-crc32:é\r\n\r\n".encode(),
        b": NhCmhg==\r\n\r\n",
    ],
)
def test_only_announced_trailers_count(tail: bytes) -> None:
    """A trailer that is missing, unannounced, repeated or no header at all is refused."""
    with pytest.raises(TrailerMalformed):
        decode(ChunkDecoder(None, (CRC,), None), b"5\r\nhello\r\n0\r\n" + tail)


def test_a_signed_trailer_needs_its_signature() -> None:
    """A trailer whose signature is missing, wrong, repeated or followed by more is refused."""
    body = signed().body([b"hello"], TRAILERS)
    line = body[body.index(b"x-amz-trailer-signature") : -2]
    start = body[: -2 - len(line)]
    for wrong in (
        start + b"\r\n",
        start + line + line + b"\r\n",
        start + line + b"x-amz-checksum-sha256:a\r\n\r\n",
        start.replace(b"NhCmhg", b"NhCmhG") + line + b"\r\n",
        start + b"x-amz-trailer-signature:" + b"0" * 64 + b"\r\n\r\n",
    ):
        with pytest.raises((TrailerMalformed, ChunkSignatureMismatch)):
            decode(ChunkDecoder(SEED, (CRC,), None), wrong)


def test_several_signed_trailers_may_be_signed_in_order_of_name() -> None:
    """The trailer's signature is over its lines as sent, or sorted by name."""
    sent = {"x-amz-checksum-sha256": "YQ==", CRC: "NhCmhg=="}
    names = tuple(sent)
    as_sent = signed().body([b"a"], sent)
    assert decode(ChunkDecoder(SEED, names, 1), as_sent) == (b"a", sent)
    in_order = signed().body([b"a"], dict(sorted(sent.items())))
    lines = [f"{name}:{value}\r\n".encode() for name, value in sorted(sent.items())]
    swapped = in_order.replace(b"".join(lines), b"".join(reversed(lines)))
    assert swapped != in_order
    assert decode(ChunkDecoder(SEED, names, 1), swapped) == (b"a", sent)


def test_a_plain_body_is_checked_at_its_end() -> None:
    """Without framing the digest and the length are compared when the body is over."""
    assert decode(PlainDecoder(EMPTY, 0)) == (b"", {})
    assert decode(PlainDecoder(None, None), b"a", b"", b"b") == (b"ab", {})
    with pytest.raises(PayloadMismatch) as refusal:
        decode(PlainDecoder("0" * 64, None), b"a")
    assert refusal.value.signed_sha256 == "0" * 64
    with pytest.raises(BodyIncomplete):
        decode(PlainDecoder(None, 3), b"ab")
    with pytest.raises(BodyMalformed):
        decode(PlainDecoder(None, 1), b"ab")
