"""Garbage in every place that a stranger can write to: our errors come back, and nothing else."""

from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from lakeshare.errors import LakeshareError
from lakeshare.http.request import Request
from lakeshare.identity.sigv4.canonical import canonical_pairs, canonical_path, signed_headers
from lakeshare.identity.sigv4.scope import parse_credential
from lakeshare.identity.sigv4.timestamps import parse_timestamp, timestamp_of_date
from lakeshare.identity.sigv4.verify import verify
from tests.identity.sigv4.wire import ACCESS_KEY, S3, STEADY, keys, request

NOW = 1_790_000_000
GOOD = {
    "authorization": f"AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/20260921/us-east-1/s3/aws4_request,"
    f"SignedHeaders=host;x-amz-date,Signature={'0' * 64}",
    "x-amz-date": "20260921T141320Z",
    "date": "Mon, 21 Sep 2026 14:13:20 GMT",
    "x-amz-content-sha256": "UNSIGNED-PAYLOAD",
    "x-amz-decoded-content-length": "5",
    "x-amz-trailer": "x-amz-checksum-crc32",
    "content-length": "5",
    "x-amz-security-token": "token",
    "host": "h",
}
PARAMETERS = {
    "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
    "X-Amz-Credential": f"{ACCESS_KEY}%2F20260921%2Fus-east-1%2Fs3%2Faws4_request",
    "X-Amz-Date": "20260921T141320Z",
    "X-Amz-Expires": "60",
    "X-Amz-SignedHeaders": "host",
    "X-Amz-Signature": "0" * 64,
    "AWSAccessKeyId": ACCESS_KEY,
    "Signature": "abc=",
    "Expires": str(NOW + 1),
    "versionId": "1",
}
ANY = st.text(max_size=60)
WIRE = st.text(st.characters(max_codepoint=0xFF), max_size=60)


def mangled(good: str) -> st.SearchStrategy[str]:
    """Give a good value, garbage, or a good value with garbage at some place in it."""
    cut = st.integers(min_value=0, max_value=len(good))
    return st.just(good) | WIRE | ANY | st.builds(lambda a, b, text: good[:a] + text + good[b:], cut, cut, WIRE)


HEADERS = st.fixed_dictionaries({}, optional={name: mangled(value) for name, value in GOOD.items()})
QUERY = st.fixed_dictionaries({}, optional={name: mangled(value) for name, value in PARAMETERS.items()}).map(
    lambda pairs: "&".join(f"{name}={value}" for name, value in pairs.items())
)


def drive(asked: Request, body: bytes) -> None:
    with suppress(LakeshareError):
        found = verify(asked, keys, NOW, S3)
        if found is not None:
            decoder = found.decoder()
            decoder.feed(body)
            decoder.finish()


@settings(STEADY, max_examples=600)
@given(method=ANY, path=WIRE | ANY, query=QUERY | WIRE | ANY, headers=HEADERS, body=st.binary(max_size=50))
def test_any_request_is_verified_or_refused(
    method: str, path: str, query: str, headers: dict[str, str], body: bytes
) -> None:
    """Whatever a request holds, verifying it ends in an answer or in one of our errors."""
    asked = request("GET", "http://h/", headers)
    asked.method, asked.raw_path, asked.raw_query, asked.headers = method, path, query, headers
    drive(asked, body)


@STEADY
@given(text=ANY | mangled("AK/20260921/us-east-1/s3/aws4_request"))
def test_any_credential_is_read_or_refused(text: str) -> None:
    """A credential is read, or refused with a reason; what is read is printable."""
    with suppress(ValueError):
        scope = parse_credential(text)
        assert f"{scope.access_key}/{scope.text}" == text
        assert text.isascii()


@STEADY
@given(text=ANY | mangled("20260921T141320Z"))
def test_any_timestamp_is_read_or_refused(text: str) -> None:
    """A timestamp is read, or refused with a reason."""
    with suppress(ValueError):
        assert parse_timestamp(text) >= parse_timestamp("00010101T000000Z")


@STEADY
@given(text=ANY | mangled("Mon, 21 Sep 2026 14:13:20 GMT"))
def test_any_date_is_read_or_refused(text: str) -> None:
    """A Date header is read, or refused with a reason; what is read is a timestamp."""
    with suppress(ValueError):
        parse_timestamp(timestamp_of_date(text))


@STEADY
@given(text=ANY | mangled("host;x-amz-date"))
def test_any_list_of_headers_is_read_or_refused(text: str) -> None:
    """A list of signed headers is read, or refused with a reason."""
    with suppress(ValueError):
        assert ";".join(signed_headers(text).names) == text


@STEADY
@given(text=ANY | WIRE)
def test_any_path_has_a_canonical_form(text: str) -> None:
    """A canonical path is ASCII, and its own canonical form."""
    once = canonical_path(text)
    assert once.isascii()
    assert canonical_path(once) == once


@STEADY
@given(text=ANY | WIRE)
def test_any_query_has_a_canonical_form(text: str) -> None:
    """Canonical parameters are ASCII, in order, and their own canonical form."""
    once = canonical_pairs(text)
    joined = "&".join(f"{name}={value}" for name, value in once)
    assert joined.isascii()
    assert once == sorted(once)
    assert canonical_pairs(joined) == once
