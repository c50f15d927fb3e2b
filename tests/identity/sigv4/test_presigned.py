"""The rules of presigned URLs."""

from urllib.parse import quote

import pytest

from lakeshare.identity.errors import (
    AccessKeyUnknown,
    AuthorizationQueryMalformed,
    HeaderNotSigned,
    PayloadMismatch,
    RequestExpired,
    RequestNotYetValid,
    SignatureMismatch,
    SignatureVersionUnsupported,
)
from lakeshare.identity.sigv4.keys import Credentials
from lakeshare.identity.sigv4.payload import PayloadMode
from lakeshare.identity.sigv4.sign import Signer
from lakeshare.identity.sigv4.timestamps import format_timestamp
from lakeshare.identity.sigv4.verified import Verified
from lakeshare.identity.sigv4.verify import verify
from lakeshare.settings import Secret
from tests.identity.sigv4.wire import ACCESS_KEY, S3, SECRET, keys, request

NOW = 1_790_000_000
URL = "http://127.0.0.1:9000/bucket/a%20key/with%3Dsigns"
SIGNER = Signer(Credentials(ACCESS_KEY, SECRET))


def check(method: str, url: str, now: float = NOW, **headers: str) -> Verified:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    found = verify(request(method, url, given), keys, now, S3)
    assert found is not None
    return found


def test_a_presigned_url_opens_what_it_was_made_for() -> None:
    """A presigned URL names its signer and its end, and leaves the body unsigned."""
    found = check("GET", SIGNER.presign("GET", URL, NOW, 600))
    assert found.presigned
    assert found.expires_at == NOW + 600
    assert found.payload.mode is PayloadMode.UNSIGNED


def test_a_get_url_serves_head() -> None:
    """Readers ask for the size with HEAD by the URL that they were given for GET."""
    check("HEAD", SIGNER.presign("GET", URL, NOW, 600))
    check("HEAD", SIGNER.presign("HEAD", URL, NOW, 600))


@pytest.mark.parametrize(
    ("made_for", "used_for"), [("HEAD", "GET"), ("GET", "PUT"), ("PUT", "GET"), ("PUT", "HEAD"), ("GET", "DELETE")]
)
def test_a_url_serves_no_other_method(made_for: str, used_for: str) -> None:
    """But for HEAD by a GET URL, the method is part of what is signed."""
    url = SIGNER.presign(made_for, URL, NOW, 600)
    with pytest.raises(SignatureMismatch):
        check(used_for, url)


@pytest.mark.parametrize("off", [-900, 0, 600])
def test_a_url_lives_as_long_as_it_says(off: int) -> None:
    """A URL is good to its last second, and from a clock's difference before its first."""
    check("GET", SIGNER.presign("GET", URL, NOW, 600), NOW + off)


def test_an_expired_url_is_refused() -> None:
    """A URL past its end is told as expired, in AWS's words."""
    with pytest.raises(RequestExpired, match="Request has expired"):
        check("GET", SIGNER.presign("GET", URL, NOW, 600), NOW + 601)


def test_a_url_of_the_future_is_refused() -> None:
    """A URL dated further ahead than clocks differ cannot be used yet."""
    with pytest.raises(RequestNotYetValid):
        check("GET", SIGNER.presign("GET", URL, NOW + 901, 600))


@pytest.mark.parametrize("expires", ["0", "604801", "-1", "", "1.5", "1e3", "\u0663", "99999999999999999999"])
def test_a_life_is_between_a_second_and_a_week(expires: str) -> None:
    """AWS allows a second to seven days, in whole seconds."""
    url = SIGNER.presign("GET", URL, NOW, 600).replace("X-Amz-Expires=600", "X-Amz-Expires=" + quote(expires))
    with pytest.raises(AuthorizationQueryMalformed, match="X-Amz-Expires"):
        check("GET", url)


def test_a_week_is_allowed() -> None:
    """The longest life is seven days."""
    check("GET", SIGNER.presign("GET", URL, NOW, 604_800), NOW + 604_800)


@pytest.mark.parametrize("name", ["Algorithm", "Credential", "Date", "Expires", "SignedHeaders", "Signature"])
def test_every_parameter_is_needed_once(name: str) -> None:
    """A URL that lacks one of the six parameters, or has it twice, is malformed."""
    url = SIGNER.presign("GET", URL, NOW, 600)
    start, query = url.split("?")
    parts = query.split("&")
    fewer = [part for part in parts if not part.startswith(f"X-Amz-{name}=")]
    again = parts + [part for part in parts if part.startswith(f"X-Amz-{name}=")]
    for wrong in (fewer, again):
        with pytest.raises(AuthorizationQueryMalformed):
            check("GET", f"{start}?{'&'.join(wrong)}")


def test_a_parameter_cannot_be_repeated_in_another_case() -> None:
    """Two spellings of one parameter would leave it open which counts."""
    signed = SIGNER.presign("PUT", URL + "?x-amz-acl=private&X-Amz-Acl=public-read", NOW, 600)
    with pytest.raises(AuthorizationQueryMalformed, match="twice"):
        check("PUT", signed)


def test_another_algorithm_is_unsupported() -> None:
    """Signatures by elliptic curves are told as unsupported."""
    url = SIGNER.presign("GET", URL, NOW, 600).replace("AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256")
    with pytest.raises(SignatureVersionUnsupported):
        check("GET", url)


def test_the_service_is_part_of_it() -> None:
    """A URL signed for another service opens no object."""
    url = Signer(Credentials(ACCESS_KEY, SECRET), service="sts").presign("GET", URL, NOW, 600)
    with pytest.raises(AuthorizationQueryMalformed, match="service"):
        check("GET", url)


def test_unknown_keys_and_wrong_secrets_are_told_apart() -> None:
    """An unknown access key and a wrong secret are told apart, as in the header."""
    with pytest.raises(AccessKeyUnknown):
        check("GET", Signer(Credentials("nobody", SECRET)).presign("GET", URL, NOW, 600))
    with pytest.raises(SignatureMismatch):
        check("GET", Signer(Credentials(ACCESS_KEY, Secret("wrong secret"))).presign("GET", URL, NOW, 600))


@pytest.mark.parametrize("change", ["&response-content-type=text%2Fhtml", "&versionId=1", "&X-Amz-Meta-A=b"])
def test_nothing_can_be_added_to_a_url(change: str) -> None:
    """Every parameter is signed: another one breaks the signature."""
    url = SIGNER.presign("GET", URL, NOW, 600)
    with pytest.raises(SignatureMismatch):
        check("GET", url + change)


def test_an_amz_header_must_be_signed_or_stand_in_the_query() -> None:
    """A header of S3's own counts only if the URL covers it: signed, or with the same value in the query."""
    with pytest.raises(HeaderNotSigned):
        check("PUT", SIGNER.presign("PUT", URL, NOW, 600), x_amz_acl="public-read")
    check("PUT", SIGNER.presign("PUT", URL, NOW, 600, {"x-amz-acl": "private"}), x_amz_acl="private")
    hoisted = SIGNER.presign("PUT", URL + "?x-amz-acl=private", NOW, 600)
    check("PUT", hoisted, x_amz_acl="private")
    with pytest.raises(HeaderNotSigned):
        check("PUT", hoisted, x_amz_acl="public-read")


def test_hoisted_parameters_stand_for_headers() -> None:
    """Parameters of S3's own besides the signature's are handed on as the headers that they stand for."""
    url = SIGNER.presign("PUT", URL + "?x-amz-meta-colour=light%20red&X-Amz-Storage-Class=STANDARD", NOW, 600)
    assert check("PUT", url).hoisted == {"x-amz-meta-colour": "light red", "x-amz-storage-class": "STANDARD"}


def test_a_hoisted_digest_is_signed_and_checked() -> None:
    """A URL may fix the body that is put by it; the digest then takes UNSIGNED-PAYLOAD's place in the signature."""
    import hashlib

    from lakeshare.identity.sigv4 import canonical, scope
    from lakeshare.identity.sigv4 import keys as derived

    digest = hashlib.sha256(b"body").hexdigest()
    timestamp = format_timestamp(NOW)
    where = scope.scope_of(ACCESS_KEY, timestamp[:8], "us-east-1", "s3")
    query = sorted([*SIGNER.query(timestamp, 600, "host"), ("X-Amz-Content-Sha256", digest)])
    joined = canonical.canonical_query(query)
    lines = canonical.canonical_headers({"host": "h"}, canonical.signed_headers("host"))
    form = canonical.canonical_request("PUT", "/b/k", joined, lines, digest)
    key = derived.signing_key(SECRET, where)
    signature = key.sign(canonical.string_to_sign(timestamp, where.text, form))
    found = check("PUT", f"http://h/b/k?{joined}&X-Amz-Signature={signature}")
    assert found.payload.sha256 == digest
    decoder = found.decoder()
    decoder.feed(b"other")
    with pytest.raises(PayloadMismatch):
        decoder.finish()


def test_a_session_token_stands_in_the_query() -> None:
    """A temporary key's URL carries its token, which is signed."""
    signer = Signer(Credentials(ACCESS_KEY, SECRET, Secret("a/token+of=session")))
    url = signer.presign("GET", URL, NOW, 600)
    found = check("GET", url)
    assert found.session_token == "a/token+of=session"
    assert found.hoisted == {}
    with pytest.raises(SignatureMismatch):
        check("GET", url.replace("token", "other"))


def test_parameters_may_come_in_any_order_and_spelling() -> None:
    """The canonical form, not the spelling, is signed."""
    url = SIGNER.presign("GET", URL + "?prefix=a%2Fb", NOW, 600)
    start, query = url.split("?")
    turned = "&".join(reversed(query.split("&"))).replace("%2F", "/").replace("X-Amz-Date", "%58-Amz-Date")
    check("GET", f"{start}?{turned}")
