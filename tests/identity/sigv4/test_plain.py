"""Presigned URLs of the plain form: the short way and the long way give one answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeshare.errors import LakeshareError
from lakeshare.http.request import Request
from lakeshare.identity.sigv4 import plain
from lakeshare.identity.sigv4.canonical import canonical_pairs
from lakeshare.identity.sigv4.keys import Credentials
from lakeshare.identity.sigv4.plain import verify_plain
from lakeshare.identity.sigv4.presigned import verify_presigned
from lakeshare.identity.sigv4.sign import Signer
from lakeshare.identity.sigv4.verified import Verified
from lakeshare.settings import Secret
from tests.identity.sigv4.wire import ACCESS_KEY, SECRET, STEADY, keys, request

NOW = 1_790_000_000
HOST = "http://127.0.0.1:9000"
SIGNER = Signer(Credentials(ACCESS_KEY, SECRET))


def long_way(asked: Request, now: float) -> Verified | None:
    """Return what the law says; None for a refusal."""
    try:
        return verify_presigned(asked, canonical_pairs(asked.raw_query), keys, now)
    except LakeshareError:
        return None


def test_a_plain_url_is_recognised() -> None:
    """What clients and our own presigner write is taken the short way, a pinned version too."""
    for url in (f"{HOST}/bucket/a%20key", f"{HOST}/bucket/key?x-lakeshare-pin=0123abcd", f"{HOST}/b/k?versionId=null"):
        asked = request("GET", SIGNER.presign("GET", url, NOW, 60), {"user-agent": "curl", "range": "bytes=0-9"})
        found = verify_plain(asked, keys, NOW)
        assert found is not None
        assert found == long_way(asked, NOW)


def test_an_upload_by_a_plain_url_keeps_its_length() -> None:
    """The payload says what the content-length says."""
    asked = request("PUT", SIGNER.presign("PUT", f"{HOST}/b/k", NOW, 60), {"content-length": "7"})
    found = verify_plain(asked, keys, NOW)
    assert found is not None
    assert found.payload.length == 7
    assert found == long_way(asked, NOW)


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("HEAD", {}),
        ("GET", {"authorization": "AWS4-HMAC-SHA256 x"}),
        ("GET", {"x-amz-date": "20260101T000000Z"}),
        ("GET", {"x-amz-security-token": "t"}),
        ("GET", {"host": "127.0.0.1:9000 "}),
        ("GET", {"host": "127.0.0.1:9000\t"}),
    ],
)
def test_an_odd_head_is_left_to_the_long_way(method: str, headers: dict[str, str]) -> None:
    """A head that a signature may have to speak of is not judged the short way."""
    url = SIGNER.presign("GET", f"{HOST}/b/k", NOW, 60)
    assert verify_plain(request(method, url, headers), keys, NOW) is None


@pytest.mark.parametrize("off", [-901, 61, 10**9])
def test_a_url_outside_its_time_is_left_to_the_long_way(off: int) -> None:
    """What is not valid yet or any more is not accepted."""
    asked = request("GET", SIGNER.presign("GET", f"{HOST}/b/k", NOW, 60))
    assert verify_plain(asked, keys, NOW + off) is None


def test_unknown_keys_are_not_accepted() -> None:
    """A key that nobody has opens nothing, even by the secret that stands in for it."""
    other = Signer(Credentials("AKIANOBODY", Secret("no identity has this secret")))
    asked = request("GET", other.presign("GET", f"{HOST}/b/k", NOW, 60))
    assert verify_plain(asked, keys, NOW) is None


def test_a_url_that_held_once_is_asked_for_its_time_and_its_key_each_time() -> None:
    """A URL used again is judged by the clock, and by the secret that its key has now."""
    asked = request("GET", SIGNER.presign("GET", f"{HOST}/b/again", NOW, 60))
    first = verify_plain(asked, keys, NOW)
    assert first is not None
    assert verify_plain(asked, keys, NOW + 60) == first
    for at in (NOW + 60.5, NOW - 901):
        assert verify_plain(asked, keys, at) is None
    for secret in (None, Secret("another")):
        assert verify_plain(asked, lambda _, secret=secret: secret, NOW) is None
    assert verify_plain(asked, keys, NOW) == first


def test_a_url_that_held_once_says_nothing_of_others() -> None:
    """Another method, path, host or signature, or a head that is odd, is judged as if nothing had come before."""
    url = SIGNER.presign("GET", f"{HOST}/b/one", NOW, 60)
    assert verify_plain(request("GET", url), keys, NOW) is not None
    last = "0" if url[-1] != "0" else "1"
    for method, other, headers in (
        ("PUT", url, {}),
        ("GET", url.replace("/b/one", "/b/two"), {}),
        ("GET", url, {"host": "127.0.0.1:9001"}),
        ("GET", url[:-1] + last, {}),
        ("GET", url, {"x-amz-acl": "private"}),
    ):
        assert verify_plain(request(method, other, headers), keys, NOW) is None


def test_few_urls_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered has a bound, in number and in length."""
    monkeypatch.setattr(plain, "_held", {})
    monkeypatch.setattr(plain, "URLS_REMEMBERED", 3)
    for number in range(9):
        assert verify_plain(request("GET", SIGNER.presign("GET", f"{HOST}/b/{number}", NOW, 60)), keys, NOW)
    assert len(plain._held) == 3
    long = request("GET", SIGNER.presign("GET", f"{HOST}/b/{'k' * plain.URL_LIMIT}", NOW, 60))
    assert verify_plain(long, keys, NOW)
    assert all(url[1] != long.raw_path for url in plain._held)


LETTERS = "aAxX-Z019%2Ff=&~._"


@STEADY
@given(
    st.sampled_from(["GET", "PUT", "DELETE"]),
    st.text("ab/%20~.-", max_size=8),
    st.sampled_from(["", "?versionId=1", "?a=b", "?a=b&c=d", "?X-Amz-Meta=1", "?x-Amz-acl=2", "?Zed=1", "?a"]),
    st.integers(-5, 20),
    st.text(LETTERS, max_size=3),
    st.integers(0, 5),
    st.sampled_from([-901, -900, 0, 60, 61]),
)
def test_what_the_short_way_accepts_the_long_way_accepts_alike(
    method: str, path: str, query: str, at: int, change: str, cut: int, off: int
) -> None:
    """Whatever is changed in a URL, nothing is accepted the short way that the long way refuses or reads otherwise."""
    url = SIGNER.presign(method, f"{HOST}/b/{path}{query}", NOW, 60)
    start, _, signed = url.partition("?")
    place = at * len(signed) // 20
    if at >= 0:
        signed = signed[:place] + change + signed[place + cut :]
    asked = request(method, f"{start}?{signed}")
    found = verify_plain(asked, keys, NOW + off)
    assert found is None or found == long_way(asked, NOW + off)
