"""The rules of the Authorization header."""

from dataclasses import replace
from email.utils import formatdate
from urllib.parse import quote

import pytest

from lakeshare.http.request import Request
from lakeshare.identity.errors import (
    AccessKeyUnknown,
    AuthorizationAmbiguous,
    AuthorizationMalformed,
    ClockSkewed,
    HeaderNotSigned,
    SignatureMismatch,
    SignatureVersionUnsupported,
    TooManyFailures,
)
from lakeshare.identity.sigv4.keys import Credentials
from lakeshare.identity.sigv4.sign import Signer
from lakeshare.identity.sigv4.timestamps import format_timestamp
from lakeshare.identity.sigv4.verified import Verified
from lakeshare.identity.sigv4.verify import verify
from lakeshare.settings import Secret
from tests.identity.sigv4.wire import ACCESS_KEY, EMPTY, S3, SECRET, authorization, keys, request

NOW = 1_790_000_000
URL = "http://127.0.0.1:9000/bucket/key"
SIGNER = Signer(Credentials(ACCESS_KEY, SECRET))


def signed(url: str = URL, signer: Signer = SIGNER, at: float = NOW, **headers: str) -> Request:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return request("GET", url, signer.headers("GET", url, at, given))


def check(asked: Request, now: float = NOW) -> Verified:
    found = verify(asked, keys, now, S3)
    assert found is not None
    return found


def with_authorization(asked: Request, old: str, new: str) -> Request:
    header = asked.headers["authorization"]
    assert old in header
    return replace(asked, headers={**asked.headers, "authorization": header.replace(old, new)})


def test_a_request_without_a_signature_is_anonymous() -> None:
    """A request that claims nothing is nobody's."""
    assert verify(request("GET", URL), keys, NOW, S3) is None
    assert verify(request("GET", URL + "?list-type=2&prefix=Signature"), keys, NOW, S3) is None


def test_a_signed_request_names_its_signer() -> None:
    """A signature that holds gives the access key, region and service that it was made for."""
    found = check(signed())
    assert (found.access_key, found.region, found.service) == (ACCESS_KEY, "us-east-1", "s3")
    assert not found.presigned
    assert found.session_token is None


@pytest.mark.parametrize("region", ["", "eu-central-1", "anything at all", "a.b-c_d"])
def test_any_region_will_do(region: str) -> None:
    """The region is whatever the client was set to, an empty one too."""
    signer = Signer(Credentials(ACCESS_KEY, SECRET), region)
    assert check(signed(signer=signer)).region == region


def test_an_access_key_may_hold_slashes() -> None:
    """The credential is taken apart from its right end."""
    signer = Signer(Credentials("team/one/key", SECRET))
    found = verify(signed(signer=signer), {"team/one/key": SECRET}.get, NOW, S3)
    assert found is not None
    assert found.access_key == "team/one/key"


@pytest.mark.parametrize(
    "layout",
    [
        "Credential={c}, SignedHeaders={n}, Signature={s}",
        "Credential={c},SignedHeaders={n},Signature={s}",
        "Signature={s},Credential={c},SignedHeaders={n}",
        "SignedHeaders={n} , Signature={s} , Credential={c}",
        "  Credential={c},  SignedHeaders={n},  Signature={s}  ",
    ],
)
def test_the_header_may_be_laid_out_in_any_way(layout: str) -> None:
    """Commas may stand with or without blanks, and the fields in any order."""
    asked = signed()
    scheme, _, rest = asked.headers["authorization"].partition(" ")
    fields = dict(part.split("=", 1) for part in rest.split(", "))
    text = layout.format(c=fields["Credential"], n=fields["SignedHeaders"], s=fields["Signature"])
    check(replace(asked, headers={**asked.headers, "authorization": f"{scheme} {text}"}))


@pytest.mark.parametrize(
    "rest",
    [
        "",
        "Credential=a",
        "Credential=a/20260921/r/s3/aws4_request,SignedHeaders=host",
        "Credential=a/20260921/r/s3/aws4_request,Signature=0",
        "Credential=a/20260921/r/s3/aws4_request,SignedHeaders=host,SignedHeaders=host,Signature=0",
        "Credential=a/20260921/r/s3/aws4_request,SignedHeaders=host,Extra=1,Signature=0",
        "Credential=a/20260921/r/s3,SignedHeaders=host,Signature=0",
        "Credential=/20260921/r/s3/aws4_request,SignedHeaders=host,Signature=0",
        "Credential=a/20260921/r/s3/aws5_request,SignedHeaders=host,Signature=0",
        "Credential=a/2026/r/s3/aws4_request,SignedHeaders=host,Signature=0",
        "Credential=a/20260921/r/s3/aws4_request,SignedHeaders=Host,Signature=0",
        "Credential=a/20260921/r/s3/aws4_request,SignedHeaders=host;;a,Signature=0",
        "Credential=a/20260921/r/s3/aws4_request,SignedHeaders=host;host,Signature=0",
        "Credential=a/20260921/r/s3/aws4_request,SignedHeaders=host,Signature=é",
        "Credential=" + "a" * 600 + "/20260921/r/s3/aws4_request,SignedHeaders=host,Signature=0",
        "Credential=a/20260921/r/s3/aws4_request,SignedHeaders=host" + ";a" * 5000 + ",Signature=0",
    ],
)
def test_a_header_that_cannot_be_read_is_malformed(rest: str) -> None:
    """What is missing, twice, too long or out of place is told as a malformed header."""
    headers = {"x-amz-date": format_timestamp(NOW), "authorization": f"AWS4-HMAC-SHA256 {rest}"}
    with pytest.raises(AuthorizationMalformed):
        check(request("GET", URL, headers))


@pytest.mark.parametrize(
    ("header", "scheme"),
    [
        ("AWS AKIAIOSFODNN7EXAMPLE:frJIUN8DYpKDtOLCwo//yllqDzg=", "AWS"),
        ("Bearer eyJhbGciOi", "Bearer"),
        ("Basic dXNlcjpwYXNz", "Basic"),
        ("AWS4-ECDSA-P256-SHA256 Credential=a", "AWS4-ECDSA-P256-SHA256"),
        ("AWS4-HMAC-SHA256-V2 Credential=a,Signature=0", "AWS4-HMAC-SHA256-V2"),
        ("dXNlcjpwYXNz", "an unknown scheme"),
        ("", "an unknown scheme"),
    ],
)
def test_other_schemes_are_refused_by_name(header: str, scheme: str) -> None:
    """A scheme that is not ours is named, and what might be a credential is not repeated."""
    with pytest.raises(SignatureVersionUnsupported) as refusal:
        check(request("GET", URL, {"x-amz-date": format_timestamp(NOW), "authorization": header}))
    assert refusal.value.scheme == scheme


def test_an_unknown_access_key_is_told() -> None:
    """An access key that nobody has is refused as such, whatever the signature."""
    with pytest.raises(AccessKeyUnknown) as refusal:
        check(signed(signer=Signer(Credentials("nobody", SECRET))))
    assert refusal.value.access_key == "nobody"


def test_a_wrong_secret_is_a_mismatch() -> None:
    """A signature by another secret does not match, and says whose it claims to be."""
    with pytest.raises(SignatureMismatch) as refusal:
        check(signed(signer=Signer(Credentials(ACCESS_KEY, Secret("another secret")))))
    assert refusal.value.access_key == ACCESS_KEY


def test_the_lookup_may_refuse() -> None:
    """A lookup that knows of too many failures stops the request before its signature is reckoned."""

    def tired(access_key: str) -> Secret | None:
        raise TooManyFailures(access_key, "192.0.2.1")

    with pytest.raises(TooManyFailures):
        verify(signed(), tired, NOW, S3)


@pytest.mark.parametrize("off", [-900, -1, 0, 1, 900])
def test_clocks_may_differ_by_a_quarter_of_an_hour(off: int) -> None:
    """A request signed up to fifteen minutes before or after the server's time is taken."""
    check(signed(), NOW + off)


@pytest.mark.parametrize("off", [-86_400, -901, 901, 86_400 * 365])
def test_older_or_later_requests_are_skewed(off: int) -> None:
    """A request signed earlier or later than that is refused, so that it cannot be replayed for long."""
    with pytest.raises(ClockSkewed) as refusal:
        check(signed(), NOW + off)
    assert (refusal.value.signed_at, refusal.value.server_at) == (NOW, NOW + off)


def test_the_scope_is_for_the_day_of_the_request() -> None:
    """A credential of another day than the request's is refused, even a minute after midnight."""
    midnight = 1_790_035_200
    day = format_timestamp(midnight)[:8]
    asked = with_authorization(signed(at=midnight), day, format_timestamp(midnight - 1)[:8])
    with pytest.raises(AuthorizationMalformed, match="date"):
        check(asked, midnight)


@pytest.mark.parametrize("service", ["sts", "s3tables", "execute-api", ""])
def test_a_signature_is_for_its_service(service: str) -> None:
    """A signature made for one service opens no other."""
    asked = signed(signer=Signer(Credentials(ACCESS_KEY, SECRET), service=service))
    with pytest.raises(AuthorizationMalformed, match="service"):
        check(asked)
    found = verify(asked, keys, NOW, frozenset({service}))
    assert found is not None
    assert found.service == service


def test_other_services_encode_a_path_twice_or_once() -> None:
    """Outside S3 a path's escapes are themselves escaped, though MinIO's clients leave them."""
    url = "http://127.0.0.1:9000/_iceberg/v1/namespaces/a%1Fb"
    twice = signed(url, Signer(Credentials(ACCESS_KEY, SECRET), service="s3tables"))
    assert verify(twice, keys, NOW, {"s3tables"}) is not None
    once = replace(
        signed("http://127.0.0.1:9000/_iceberg/v1/namespaces/a%251Fb", SIGNER),
        raw_path="/_iceberg/v1/namespaces/a%1Fb",
    )
    with pytest.raises(SignatureMismatch):
        check(once)


@pytest.mark.parametrize("sent", ["a%1Fb+c/tables/t", "a%1Fb/tables/x%2Fy+z", "a%1fb/tables/t", "%C3%A4+o"])
def test_a_gateway_takes_a_path_as_it_was_sent(sent: str) -> None:
    """Iceberg's Java up to 1.11 sends a blank in a name as a plus, and signs what it sends, encoded once more."""
    path, services = f"/_iceberg/v1/namespaces/{sent}", {"s3tables", "execute-api"}
    headers = {"host": "127.0.0.1:9000", "x-amz-date": format_timestamp(NOW), "x-amz-content-sha256": EMPTY}
    proof = authorization("GET", headers, format_timestamp(NOW), EMPTY, "s3tables", quote(path, safe="/"))
    asked = request("GET", f"http://127.0.0.1:9000{path}", {**headers, "authorization": proof})
    assert verify(asked, keys, NOW, services) is not None
    with pytest.raises(SignatureMismatch):
        verify(replace(asked, raw_path=f"{path}t"), keys, NOW, services)


@pytest.mark.parametrize("name", ["x-amz-acl", "x-amz-copy-source", "x-amz-security-token", "x-amz-meta-a"])
def test_every_amz_header_must_be_signed(name: str) -> None:
    """A header that S3 gives a meaning to cannot be added on the way."""
    asked = signed()
    with pytest.raises(HeaderNotSigned) as refusal:
        check(replace(asked, headers={**asked.headers, name: "v"}))
    assert refusal.value.header == name


def test_the_host_must_be_signed() -> None:
    """A signature that does not cover the host would serve any server."""
    asked = with_authorization(signed(), "SignedHeaders=host;", "SignedHeaders=")
    with pytest.raises(HeaderNotSigned) as refusal:
        check(asked)
    assert refusal.value.header == "host"


def test_a_range_may_go_unsigned() -> None:
    """DuckDB sends a Range that it does not sign."""
    asked = signed()
    check(replace(asked, headers={**asked.headers, "range": "bytes=0-1"}))


def test_a_signed_header_must_be_sent() -> None:
    """A header that is listed as signed and was not sent is told by name."""
    asked = signed(x_amz_meta_colour="red")
    fewer = {name: value for name, value in asked.headers.items() if name != "x-amz-meta-colour"}
    with pytest.raises(SignatureMismatch, match="x-amz-meta-colour"):
        check(replace(asked, headers=fewer))


def test_a_session_token_is_carried() -> None:
    """A session token is signed and handed on unchecked, and does not print."""
    signer = Signer(Credentials(ACCESS_KEY, SECRET, Secret("token of a session")))
    found = check(signed(signer=signer))
    assert found.session_token == "token of a session"
    assert "token of a session" not in repr(found)


def test_the_date_header_may_stand_in() -> None:
    """Where x-amz-date is not sent, the time is that of the Date header."""
    headers = {"host": "127.0.0.1:9000", "date": formatdate(NOW, usegmt=True), "x-amz-content-sha256": EMPTY}
    headers["authorization"] = authorization("GET", headers, format_timestamp(NOW), EMPTY, "s3")
    check(request("GET", "http://127.0.0.1:9000/", headers))


@pytest.mark.parametrize("date", [None, "", "yesterday", "20260921T133320", "Mon, 99 Sep 2026 13:33:20 GMT", "x" * 100])
def test_a_request_needs_a_time(date: str | None) -> None:
    """Without a time that can be read a signature means nothing."""
    asked = signed()
    headers = {name: value for name, value in asked.headers.items() if name != "x-amz-date"}
    with pytest.raises(AuthorizationMalformed):
        check(replace(asked, headers=headers if date is None else {**headers, "date": date}))


def test_two_ways_of_signing_at_once_are_refused() -> None:
    """A request signed in its header and in its query is ambiguous, and so refused."""
    url = SIGNER.presign("GET", URL, NOW, 60)
    for both in (url, URL + f"?AWSAccessKeyId={ACCESS_KEY}&Signature=a&Expires=1"):
        with pytest.raises(AuthorizationAmbiguous):
            check(signed(both))


def test_a_body_read_beforehand_is_signed_too() -> None:
    """Clients of other services sign the body's digest without sending it; the caller gives it."""
    timestamp, digest = format_timestamp(NOW), "ab" * 32
    headers = {"host": "127.0.0.1:9000", "x-amz-date": timestamp}
    headers["authorization"] = authorization("POST", headers, timestamp, digest, "sts")
    asked = request("POST", "http://127.0.0.1:9000/", headers)
    found = verify(asked, keys, NOW, {"sts"}, body_sha256=digest)
    assert found is not None
    assert found.payload.sha256 == digest
    with pytest.raises(SignatureMismatch):
        verify(asked, keys, NOW, {"sts"})
