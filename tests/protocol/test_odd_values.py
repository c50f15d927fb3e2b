"""Values that no library would send: each gets S3's own refusal, or comes back as it was."""

from email.header import decode_header, make_header

import pytest
from botocore.auth import HmacV1QueryAuth, S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

MANY_DIGITS = "1" * 5000
"""More than Python reads as a number at once."""


def presigned(server, method, path, *, params=None, headers=None):
    """Sign a URL as botocore does: version 4 with parameters, or version 2 with headers that become some."""
    keys = Credentials(server.access_key, server.secret_key)
    request = AWSRequest(method, server.endpoint + path, params=params, headers=headers)
    if headers is None:
        S3SigV4QueryAuth(keys, "s3", "us-east-1", expires=60).add_auth(request)
    else:
        HmacV1QueryAuth(keys, expires=60).add_auth(request)
    return request.url.removeprefix(server.endpoint)


@pytest.mark.parametrize(
    "value",
    [
        "=?utf-8?b?a?=",
        "=?utf-8?q?a=0D=0Ab?=",
        "=?utf-8?q?=00?=",
        "=?utf-7?q?+2AA-?=",
        "=?no-such?q?a?=",
        "=?utf-8?q??=",
    ],
)
def test_encoded_words_that_hold_no_text_are_kept_as_they_came(raw, bucket, value):
    """Metadata that cannot be decoded, or not be written again once it is, is plain text."""
    assert raw.send("PUT", f"/{bucket}/k", b"x", {"x-amz-meta-a": value}).status == 200
    assert raw.send("GET", f"/{bucket}/k").headers.get("x-amz-meta-a") in {value, ""}


@pytest.mark.parametrize("text", ["é", "é\u2028b", "é\x85b", "line\u2029" * 100])
def test_metadata_may_hold_any_text(raw, bucket, text):
    """Text that is not ASCII comes back as one encoded word, though Unicode may break a line in it."""
    given = text.encode().decode("latin-1")
    assert raw.send("PUT", f"/{bucket}/k", b"x", {"x-amz-meta-a": given}).status == 200
    answer = raw.send("GET", f"/{bucket}/k")
    assert str(make_header(decode_header(answer.headers["x-amz-meta-a"]))) == text


@pytest.mark.parametrize(
    ("params", "headers"),
    [({"x-amz-meta-a": "x\r\ny: z"}, None), (None, {"content-type": "a\r\nb"}), (None, {"x-amz-meta-a\r\nb": "c"})],
)
def test_a_parameter_that_stands_for_a_header_could_be_one(live_server, raw, bucket, params, headers):
    """A presigned URL cannot store what would break the lines of a later answer."""
    url = presigned(live_server, "PUT", f"/{bucket}/k", params=params, headers=headers)
    answer = raw.send_as_is("PUT", url, b"x", {})
    assert (answer.status, answer.code) == (400, "InvalidArgument")
    assert raw.send("HEAD", f"/{bucket}/k").status == 404


@pytest.mark.parametrize("number", ["0", "10001", "0000000199999", "-1", "²", "00000001" + MANY_DIGITS])
def test_part_numbers_are_1_to_10000(raw, bucket, number):
    """A part number is looked at whole, in the query and in the list of a Complete."""
    upload = raw.send("POST", f"/{bucket}/k?uploads").between("<UploadId>", "<")
    path = f"/{bucket}/k?uploadId={upload}"
    quoted = number.replace("²", "%C2%B2")
    assert raw.send("PUT", f"{path}&partNumber={quoted}", b"x").code == "InvalidArgument"
    part = f"<Part><PartNumber>{number}</PartNumber><ETag>a</ETag></Part>"
    document = f"<CompleteMultipartUpload>{part}</CompleteMultipartUpload>".encode()
    assert raw.send("POST", path, document).code == "MalformedXML"
    assert "<Part>" not in raw.send("GET", path).body.decode()


def test_sizes_of_too_many_digits_are_no_numbers(raw, bucket):
    """A size that no object can have is refused by the header that says it."""
    upload = raw.send("POST", f"/{bucket}/k?uploads").between("<UploadId>", "<")
    document = (
        b"<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>a</ETag></Part></CompleteMultipartUpload>"
    )
    sized = {"x-amz-mp-object-size": MANY_DIGITS}
    assert raw.send("POST", f"/{bucket}/k?uploadId={upload}", document, sized).code == "InvalidArgument"
    raw.send("PUT", f"/{bucket}/k", b"x")
    assert raw.send("DELETE", f"/{bucket}/k", headers={"x-amz-if-match-size": MANY_DIGITS}).code == "InvalidArgument"
    zeros = {"x-amz-if-match-size": "0" * 30 + "1"}
    assert raw.send("DELETE", f"/{bucket}/k", headers=zeros).status == 204
    assert raw.send("HEAD", f"/{bucket}/k").status == 404


def test_a_location_is_ascii(raw, bucket):
    """A region's name comes back in a header: letters that a header cannot hold are refused."""
    document = "<CreateBucketConfiguration><LocationConstraint>ü-€</LocationConstraint></CreateBucketConfiguration>"
    assert raw.send("PUT", f"/{bucket}-2", document.encode()).code == "InvalidLocationConstraint"
    assert raw.send("HEAD", f"/{bucket}-2").status == 404


@pytest.mark.parametrize(
    ("name", "code"), [("content-md5", "InvalidDigest"), ("x-amz-checksum-crc32", "InvalidRequest")]
)
def test_digests_are_ascii(raw, bucket, name, code):
    """A digest with letters that base64 does not have is no digest."""
    assert raw.send("PUT", f"/{bucket}/k", b"x", {name: "é"}).code == code
    assert raw.send("HEAD", f"/{bucket}/k").status == 404


@pytest.mark.parametrize("name", ["x-amz-copy-source", "X-Amz-Copy-Source"])
def test_a_copy_source_in_a_presigned_url_is_a_copy(live_server, raw, bucket, name):
    """SDKs that move headers into the URL mean a copy: the empty body beside it is never stored in its place."""
    raw.send("PUT", f"/{bucket}/source", b"bytes")
    url = presigned(live_server, "PUT", f"/{bucket}/k", params={name: f"{bucket}/source"})
    assert "<CopyObjectResult" in raw.send_as_is("PUT", url, b"", {}).body.decode()
    assert raw.send("GET", f"/{bucket}/k").body == b"bytes"


def test_a_copy_source_in_another_query_is_refused(raw, bucket):
    """A parameter that is no header of the request stores nothing."""
    answer = raw.send("PUT", f"/{bucket}/k?x-amz-copy-source={bucket}/source", b"other")
    assert (answer.status, answer.code) == (400, "InvalidRequest")
    assert raw.send("HEAD", f"/{bucket}/k").status == 404


def test_an_md5_in_a_presigned_url_is_held(live_server, raw, bucket):
    """Version 2 carries Content-MD5 as a parameter: a body that is not the one it tells of is not stored."""
    url = presigned(live_server, "PUT", f"/{bucket}/k", headers={"content-md5": "CY9rzUYh03PK3k6DJie09g=="})
    assert raw.send_as_is("PUT", url, b"other", {}).code == "BadDigest"
    assert raw.send("HEAD", f"/{bucket}/k").status == 404
    assert raw.send_as_is("PUT", url, b"test", {}).status == 200


@pytest.mark.parametrize(
    "content_type", ["text/html", "Text/HTML; charset=utf-8", "image/SVG+xml", "application/rss+xml", "text/JavaScript"]
)
def test_a_browser_runs_no_object(live_server, raw, bucket, content_type):
    """Whatever the case of its type, an active object is a download; who insists on showing it gets a sandbox."""
    path = f"/{bucket}/page"
    raw.send("PUT", path, b"<script>", {"content-type": content_type})
    assert raw.send("GET", path).headers["content-disposition"] == "attachment"
    inline = presigned(live_server, "GET", path, params={"response-content-disposition": "inline"})
    assert raw.send_as_is("GET", inline, b"", {}).headers["content-security-policy"] == "sandbox"
    raw.send("PUT", path, b"<script>", {"content-type": content_type, "content-disposition": "inline"})
    assert raw.send("GET", path).headers["content-security-policy"] == "sandbox"
    raw.send("PUT", path, b"<script>", {"content-type": "text/plain"})
    assert not {"content-disposition", "content-security-policy"} & raw.send("GET", path).headers.keys()
    named = presigned(live_server, "GET", path, params={"response-content-type": content_type})
    assert raw.send_as_is("GET", named, b"", {}).headers["content-disposition"] == "attachment"
