"""The rules of version 2 URLs."""

import base64
import hashlib
import hmac
from urllib.parse import quote

import pytest

from lakeshare.identity.errors import (
    AccessKeyUnknown,
    AuthorizationAmbiguous,
    AuthorizationMalformed,
    AuthorizationQueryMalformed,
    RequestExpired,
    SignatureMismatch,
    SignatureVersionUnsupported,
)
from lakeshare.identity.sigv4.payload import PayloadMode
from lakeshare.identity.sigv4.verified import Verified
from lakeshare.identity.sigv4.verify import verify
from tests.identity.sigv4.wire import ACCESS_KEY, S3, SECRET, keys, request

NOW = 1_790_000_000
HOST = "http://127.0.0.1:9000"


def presign(text: str, target: str, access_key: str = ACCESS_KEY, expires: str = str(NOW + 60)) -> str:
    digest = hmac.new(SECRET.reveal().encode(), text.format(e=expires).encode("latin-1"), hashlib.sha1).digest()
    signature = quote(base64.b64encode(digest), safe="")
    joint = "&" if "?" in target else "?"
    return f"{HOST}{target}{joint}AWSAccessKeyId={access_key}&Signature={signature}&Expires={expires}"


def check(method: str, url: str, now: float = NOW, bucket: str = "", **headers: str) -> Verified:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    found = verify(request(method, url, given), keys, now, S3, bucket=bucket)
    assert found is not None
    return found


GET = presign("GET\n\n\n{e}\n/b/k", "/b/k")


def test_a_version_2_url_opens_what_it_was_made_for() -> None:
    """A version 2 URL names its signer and its end."""
    found = check("GET", GET)
    assert (found.access_key, found.version, found.presigned) == (ACCESS_KEY, 2, True)
    assert found.expires_at == NOW + 60
    assert found.payload.mode is PayloadMode.UNSIGNED


def test_a_get_url_serves_head_and_nothing_else() -> None:
    """A GET URL serves HEAD; other methods are refused."""
    check("HEAD", GET)
    for method in ("PUT", "DELETE", "POST"):
        with pytest.raises(SignatureMismatch):
            check(method, GET)


def test_the_path_and_the_bucket_of_the_host_are_signed() -> None:
    """The resource is the bucket, whether the path or the host names it, and the key."""
    check("GET", presign("GET\n\n\n{e}\n/bucket/k", "/k"), bucket="bucket")
    for bucket in ("", "other"):
        with pytest.raises(SignatureMismatch):
            check("GET", presign("GET\n\n\n{e}\n/bucket/k", "/k"), bucket=bucket)


def test_subresources_are_signed_in_order_and_decoded() -> None:
    """Subresources and response overrides are part of the resource, sorted by name, their values decoded."""
    text = "GET\n\n\n{e}\n/b/k?response-content-type=text/plain&versionId=a b"
    check("GET", presign(text, "/b/k?versionId=a%20b&response-content-type=text%2Fplain"))
    check("GET", presign("GET\n\n\n{e}\n/b?uploads", "/b?uploads"))
    check("GET", presign("GET\n\n\n{e}\n/b?acl", "/b?prefix=p&acl&max-keys=1"))
    with pytest.raises(SignatureMismatch):
        check("GET", GET + "&versionId=1")


@pytest.mark.parametrize("name", ["attributes", "retention", "legal-hold", "unheard-of", "%61ttributes"])
def test_a_parameter_that_version_2_does_not_sign_is_refused(name: str) -> None:
    """The holder of a URL cannot turn it into another request by a parameter that nothing covers."""
    with pytest.raises(AuthorizationQueryMalformed, match="version 4"):
        check("GET", GET + f"&{name}=")


def test_amz_headers_and_content_headers_are_signed() -> None:
    """Headers of S3's own, Content-MD5 and Content-Type are signed, sent as headers or in the query."""
    text = "PUT\nmd5==\ntext/plain\n{e}\nx-amz-acl:private\nx-amz-meta-a:b\n/b/k"
    url = presign(text, "/b/k")
    headers = {"content_md5": "md5==", "content_type": "text/plain", "x_amz_meta_a": "b", "x_amz_acl": "private"}
    check("PUT", url, **headers)
    for name in headers:
        with pytest.raises(SignatureMismatch):
            check("PUT", url, **{**headers, name: "other"})
        with pytest.raises(SignatureMismatch):
            check("PUT", url, **{key: value for key, value in headers.items() if key != name})
    hoisted = presign(text, "/b/k?x-amz-acl=private&x-amz-meta-a=b&content-type=text%2Fplain&content-md5=md5%3D%3D")
    assert check("PUT", hoisted).hoisted["x-amz-acl"] == "private"


def test_a_session_token_is_carried() -> None:
    """A temporary key's token stands in the query, and is signed."""
    found = check("GET", presign("GET\n\n\n{e}\nx-amz-security-token:tok\n/b/k", "/b/k?x-amz-security-token=tok"))
    assert found.session_token == "tok"
    assert found.hoisted == {}


def test_an_expired_url_is_refused() -> None:
    """A URL is good to its last second."""
    check("GET", GET, NOW + 60)
    with pytest.raises(RequestExpired):
        check("GET", GET, NOW + 61)


@pytest.mark.parametrize("expires", ["", "soon", "-1", "1.5", "9" * 13, "\u0661"])
def test_an_expiry_is_a_time(expires: str) -> None:
    """An expiry that is no time in seconds is malformed."""
    with pytest.raises(AuthorizationQueryMalformed):
        check("GET", f"{HOST}/b/k?AWSAccessKeyId=a&Signature=b&Expires={quote(expires)}")


@pytest.mark.parametrize(
    "query", ["AWSAccessKeyId=a", "Signature=a", "AWSAccessKeyId=a&Signature=b", "Signature=a&Expires=1"]
)
def test_a_partial_claim_is_malformed_and_not_anonymous(query: str) -> None:
    """A URL that claims a signature and lacks a part of it is refused."""
    with pytest.raises(AuthorizationQueryMalformed):
        check("GET", f"{HOST}/b/k?{query}")


def test_a_repeated_parameter_is_malformed() -> None:
    """A parameter of the signature that comes twice is refused."""
    with pytest.raises(AuthorizationQueryMalformed, match="twice"):
        check("GET", GET + "&Expires=1")


def test_unknown_keys_are_told() -> None:
    """An access key that nobody has is refused as such."""
    with pytest.raises(AccessKeyUnknown):
        check("GET", presign("GET\n\n\n{e}\n/b/k", "/b/k", access_key="nobody"))


def test_version_2_can_be_turned_off() -> None:
    """Where the operator turned version 2 off, its URLs are refused by name."""
    with pytest.raises(SignatureVersionUnsupported):
        verify(request("GET", GET), keys, NOW, S3, allow_v2=False)


def test_version_2_is_for_objects_alone() -> None:
    """Routes of other services take no version 2."""
    with pytest.raises((AuthorizationMalformed, AuthorizationQueryMalformed)):
        verify(request("GET", GET), keys, NOW, {"s3tables"})


def test_both_versions_at_once_are_refused() -> None:
    """A URL with both versions' parameters is ambiguous."""
    with pytest.raises(AuthorizationAmbiguous):
        check("GET", GET + "&X-Amz-Signature=a")


@pytest.mark.parametrize(
    ("signed", "sent"),
    [
        ("partNumber=1&uploadId=u", "partNumber=1%26uploadId%3Du"),
        ("response-content-type=a&versionId=v", "response-content-type=a%26versionId%3Dv"),
        ("uploads&versions", "uploads%3D%26versions"),
    ],
)
def test_subresources_cannot_be_folded_into_one(signed: str, sent: str) -> None:
    """A URL for a part is none for the object: encoding what joins two parameters gives another request."""
    check("PUT", presign("PUT\n\n\n{e}\n/b/k?" + signed, "/b/k?" + signed))
    with pytest.raises((AuthorizationQueryMalformed, SignatureMismatch)):
        check("PUT", presign("PUT\n\n\n{e}\n/b/k?" + signed, "/b/k?" + sent))


def test_a_value_may_hold_an_ampersand() -> None:
    """Only what reads like a parameter is refused."""
    text = 'attachment; filename="a&b=c"'
    check(
        "GET",
        presign(
            "GET\n\n\n{e}\n/b/k?response-content-disposition=" + text,
            "/b/k?response-content-disposition=" + quote(text, safe=""),
        ),
    )


def test_a_subresource_comes_once() -> None:
    """Of two values of one name either could count: such a URL is refused."""
    with pytest.raises(AuthorizationQueryMalformed):
        check("GET", presign("GET\n\n\n{e}\n/b/k?versionId=a&versionId=b", "/b/k?versionId=b&versionId=a"))
