"""Signer against verifier: what one signs the other takes, and nothing else."""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lakeshare.http.request import Request
from lakeshare.identity.errors import SignatureMismatch
from lakeshare.identity.sigv4 import presigned, presigned_v2
from lakeshare.identity.sigv4.canonical import (
    EMPTY_SHA256,
    UNSIGNED_PAYLOAD,
    canonical_pairs,
    canonical_path,
    encode,
    encode_path,
)
from lakeshare.identity.sigv4.keys import Credentials
from lakeshare.identity.sigv4.presigner import Presigner
from lakeshare.identity.sigv4.sign import Signer
from lakeshare.identity.sigv4.verify import verify
from lakeshare.settings import Secret
from tests.identity.sigv4.wire import STEADY, request

NOW = 1_790_000_000
SERVICES = frozenset({"s3", "s3tables"})
HOST = "https://store.example:9443"

PRINTABLE = st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters=",= ")
ACCESS_KEYS = st.text(PRINTABLE, min_size=1, max_size=40)
SECRETS = st.text(min_size=1, max_size=60).filter(lambda text: not any("\ud800" <= it <= "\udfff" for it in text))
REGIONS = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters=",=/"), max_size=12)
SIGNERS = st.builds(
    lambda key, secret, region: Signer(Credentials(key, Secret(secret)), region), ACCESS_KEYS, SECRETS, REGIONS
)
WIRE = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters="?#@\\[]"), max_size=40)
MARKS = presigned.MARKS | presigned_v2.MARKS
QUERIES = WIRE.filter(lambda text: MARKS.isdisjoint(name for name, _ in canonical_pairs(text)))
VALUES = st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFF, exclude_characters="\x7f\x85\xa0"), max_size=20)
HEADERS = st.dictionaries(st.sampled_from(["x-amz-meta-a", "content-type", "range", "X-Amz-Acl"]), VALUES, max_size=3)
METHODS = st.sampled_from(["GET", "PUT", "HEAD", "DELETE", "POST"])


def known(signer: Signer) -> dict[str, Secret]:
    return {signer.credentials.access_key: signer.credentials.secret}


@STEADY
@given(
    signer=SIGNERS,
    method=METHODS,
    path=WIRE,
    query=QUERIES,
    headers=HEADERS,
    payload=st.sampled_from([EMPTY_SHA256, UNSIGNED_PAYLOAD]),
)
def test_signed_headers_verify(
    signer: Signer, method: str, path: str, query: str, headers: dict[str, str], payload: str
) -> None:
    """Whatever the key, path, query and headers, a request that we sign verifies."""
    url = f"{HOST}/{path}?{query}"
    asked = request(method, url, signer.headers(method, url, NOW, headers, payload))
    found = verify(asked, known(signer).get, NOW, SERVICES)
    assert found is not None
    assert (found.access_key, found.region) == (signer.credentials.access_key, signer.region)


@STEADY
@given(signer=SIGNERS, method=METHODS, path=WIRE, query=QUERIES)
def test_presigned_urls_verify(signer: Signer, method: str, path: str, query: str) -> None:
    """Whatever the key, path and query, a URL that we presign verifies until it ends."""
    assume(not any(name.lower().startswith("x-amz-") for name, _ in canonical_pairs(query)))
    url = signer.presign(method, f"{HOST}/{path}?{query}", NOW, 60)
    found = verify(request(method, url), known(signer).get, NOW + 60, SERVICES)
    assert found is not None
    assert found.expires_at == NOW + 60


def differ(one: Request, other: Request) -> bool:
    """Whether two requests mean different things."""
    same_path = canonical_path(one.raw_path) == canonical_path(other.raw_path)
    return not (same_path and canonical_pairs(one.raw_query) == canonical_pairs(other.raw_query))


@STEADY
@given(signer=SIGNERS, path=WIRE, query=QUERIES, other_path=WIRE, other_query=QUERIES)
def test_a_signature_serves_no_other_request(
    signer: Signer, path: str, query: str, other_path: str, other_query: str
) -> None:
    """A signature for one path and query serves another spelling of them, and nothing else."""
    url = f"{HOST}/{path}?{query}"
    asked = request("GET", url, signer.headers("GET", url, NOW))
    other = replace(asked, raw_path=f"/{other_path}", raw_query=other_query)
    if differ(asked, other):
        with pytest.raises(SignatureMismatch):
            verify(other, known(signer).get, NOW, SERVICES)
    else:
        assert verify(other, known(signer).get, NOW, SERVICES) is not None


@STEADY
@given(
    signer=SIGNERS,
    keys=st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=20), max_size=5),
    token=st.none() | st.just(Secret("session+token/=")),
)
def test_the_fast_presigner_makes_the_same_urls(signer: Signer, keys: list[str], token: Secret | None) -> None:
    """A presigner for many URLs makes each as it would be made alone, and they verify."""
    signer = replace(signer, credentials=replace(signer.credentials, session_token=token))
    paths, values = [encode_path(key) for key in keys], [encode(key) for key in keys]
    plain = Presigner(signer, f"{HOST}/bucket/t%C3%A4ble/", NOW, 600)
    pinned = Presigner(signer, f"{HOST}/bucket/t%C3%A4ble/", NOW, 600, "versionId")
    assert plain.expires_at == NOW + 600
    urls = zip(paths, values, plain.urls(paths), pinned.urls(paths, values), strict=True)
    for path, value, url, other in urls:
        assert url == signer.presign("GET", f"{HOST}/bucket/t%C3%A4ble/{path}", NOW, 600)
        assert url == plain.url(path)
        assert other == signer.presign("GET", f"{HOST}/bucket/t%C3%A4ble/{path}?versionId={value}", NOW, 600)
        assert verify(request("HEAD", other), known(signer).get, NOW, SERVICES) is not None


def test_a_presigner_keeps_parameters_in_order() -> None:
    """A parameter that would sort before the signature's own cannot be added after them."""
    signer = Signer(Credentials("key", Secret("secret")))
    with pytest.raises(ValueError, match="before"):
        Presigner(signer, HOST, NOW, 600, "Version")
    with pytest.raises(ValueError, match="values"):
        Presigner(signer, HOST, NOW, 600).urls(["a"], ["b"])
    with pytest.raises(ValueError, match="values"):
        Presigner(signer, HOST, NOW, 600, "versionId").urls(["a"])


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://h/", "h"),
        ("http://h:80/", "h"),
        ("https://h:443/", "h"),
        ("https://h:80/", "h:80"),
        ("http://[::1]:9000/", "[::1]:9000"),
        ("http://user:pass@h:9000/", "h:9000"),
    ],
)
def test_the_host_is_what_clients_send(url: str, host: str) -> None:
    """The Host header leaves out a scheme's own port, and any user."""
    assert Signer(Credentials("key", Secret("secret"))).headers("GET", url, NOW)["host"] == host


def test_a_secret_does_not_print() -> None:
    """No representation of a signer shows its secret."""
    signer = Signer(Credentials("key", Secret("a very secret secret"), Secret("a secret token")))
    assert "secret secret" not in repr(signer)
    assert "secret token" not in repr(signer)
