"""botocore as an independent oracle: what it signs verifies, and what we sign is what it would have signed."""

import datetime as dt
from collections.abc import Iterator
from unittest.mock import patch
from urllib.parse import quote

import pytest
from botocore import auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotoCredentials
from hypothesis import given
from hypothesis import strategies as st

from lakeshare.identity.errors import SignatureMismatch
from lakeshare.identity.sigv4 import presigned_v2
from lakeshare.identity.sigv4.canonical import EMPTY_SHA256, encode_path
from lakeshare.identity.sigv4.keys import Credentials
from lakeshare.identity.sigv4.sign import Signer
from lakeshare.identity.sigv4.verified import Verified
from lakeshare.identity.sigv4.verify import verify
from lakeshare.settings import Secret
from tests.identity.sigv4.wire import ACCESS_KEY, S3, SECRET, STEADY, request

NOW = 1_790_000_000
HOST = "http://127.0.0.1:9000"
TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r\n"), max_size=12)
KEYS = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=30)
NAMES = TEXT.filter(lambda name: name and not name.lower().startswith("x-amz-") and name not in presigned_v2.MARKS)
QUERIES = st.lists(st.tuples(NAMES, TEXT), max_size=4, unique_by=lambda pair: pair[0])
TOKENS = st.none() | st.text("abcABC123+/=", min_size=1, max_size=20)
METHODS = st.sampled_from(["GET", "PUT", "POST", "DELETE", "HEAD"])
REGIONS = st.sampled_from(["us-east-1", "eu-central-1", "", "home"])


@pytest.fixture(autouse=True, scope="module")
def stopped_clock() -> Iterator[None]:
    """Stop the clock that botocore reads itself."""
    with (
        patch.object(auth, "get_current_datetime", lambda **_: dt.datetime.fromtimestamp(NOW, dt.UTC)),
        patch("botocore.auth.time.time", lambda: NOW),
    ):
        yield


def check(method: str, url: str, headers: dict[str, str], services: frozenset[str] = S3) -> Verified:
    wire = {name: value.encode().decode("latin-1") for name, value in headers.items()}
    found = verify(request(method, url, wire), {ACCESS_KEY: SECRET}.get, NOW, services)
    assert found is not None
    return found


def url_of(key: str, query: list[tuple[str, str]]) -> str:
    words = "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in query)
    return f"{HOST}/bucket/{encode_path(key)}" + (f"?{words}" if words else "")


def boto(token: str | None) -> BotoCredentials:
    return BotoCredentials(ACCESS_KEY, SECRET.reveal(), token)


@STEADY
@given(method=METHODS, key=KEYS, query=QUERIES, token=TOKENS, region=REGIONS, data=st.binary(max_size=20))
def test_its_headers_verify(
    method: str, key: str, query: list[tuple[str, str]], token: str | None, region: str, data: bytes
) -> None:
    """What botocore signs in the header verifies, and its body passes."""
    asked = AWSRequest(method, url_of(key, query), headers={"x-amz-meta-a": "  two   words "}, data=data)
    auth.S3SigV4Auth(boto(token), "s3", region).add_auth(asked)
    found = check(method, asked.url, dict(asked.headers.items()))
    assert found.session_token == token
    decoder = found.decoder()
    assert b"".join(decoder.feed(data)) == data
    assert decoder.finish() == {}


@STEADY
@given(method=METHODS, key=KEYS, query=QUERIES, token=TOKENS, region=REGIONS)
def test_our_headers_are_its_headers(
    method: str, key: str, query: list[tuple[str, str]], token: str | None, region: str
) -> None:
    """For the same request we make the signature that botocore makes."""
    url = url_of(key, query)
    asked = AWSRequest(method, url, headers={"content-type": "text/plain"}, data=b"")
    auth.S3SigV4Auth(boto(token), "s3", region).add_auth(asked)
    signer = Signer(Credentials(ACCESS_KEY, SECRET, None if token is None else Secret(token)), region)
    ours = signer.headers(method, url, NOW, {"content-type": "text/plain"}, EMPTY_SHA256)
    assert ours["authorization"] == asked.headers["Authorization"]


@STEADY
@given(method=METHODS, key=KEYS, query=QUERIES, token=TOKENS, region=REGIONS)
def test_its_presigned_urls_verify(
    method: str, key: str, query: list[tuple[str, str]], token: str | None, region: str
) -> None:
    """A URL that botocore presigns verifies, and is the one that we presign."""
    url = url_of(key, query)
    asked = AWSRequest(method, url)
    auth.S3SigV4QueryAuth(boto(token), "s3", region, expires=600).add_auth(asked)
    found = check(method, asked.url, {})
    assert found.session_token == token
    signer = Signer(Credentials(ACCESS_KEY, SECRET, None if token is None else Secret(token)), region)
    ours = signer.presign(method, url, NOW, 600)
    assert ours.rpartition("=")[2] == asked.url.partition("X-Amz-Signature=")[2].partition("&")[0]


@STEADY
@given(
    method=METHODS,
    key=KEYS,
    token=TOKENS,
    query=st.lists(
        st.tuples(st.sampled_from(["versionId", "response-content-type", "uploadId", "prefix", "max-keys"]), TEXT),
        max_size=3,
        unique_by=lambda pair: pair[0],
    ),
    headers=st.dictionaries(
        st.sampled_from(["x-amz-acl", "x-amz-meta-a", "content-type", "content-md5"]), st.just("v")
    ),
)
def test_its_version_2_urls_verify(
    method: str, key: str, token: str | None, query: list[tuple[str, str]], headers: dict[str, str]
) -> None:
    """A version 2 URL that botocore presigns verifies, its headers sent again or not."""
    asked = AWSRequest(method, url_of(key, query), headers=headers)
    auth.HmacV1QueryAuth(boto(token), expires=600).add_auth(asked)
    assert check(method, asked.url, {}).session_token == token
    assert check(method, asked.url, headers).version == 2
    other = "PUT" if method != "PUT" else "POST"
    with pytest.raises(SignatureMismatch):
        check(other, asked.url, headers)


@STEADY
@given(words=st.lists(KEYS.filter(lambda word: word not in {".", ".."} and "/" not in word), min_size=1, max_size=3))
def test_it_signs_other_services_in_their_way(words: list[str]) -> None:
    """For services other than S3 botocore encodes paths twice, and that verifies too."""
    url = f"{HOST}/_iceberg/v1/" + "/".join(quote(word, safe="") for word in words)
    asked = AWSRequest("GET", url, headers={"x-amz-content-sha256": EMPTY_SHA256})
    auth.SigV4Auth(boto(None), "s3tables", "us-east-1").add_auth(asked)
    found = check("GET", asked.url, dict(asked.headers.items()), frozenset({"s3tables", "s3"}))
    assert found.service == "s3tables"
