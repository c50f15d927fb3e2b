"""The examples that AWS publishes for S3's signatures, with their known results."""

import pytest

from lakeshare.http.request import Request
from lakeshare.identity.sigv4.timestamps import parse_timestamp
from lakeshare.identity.sigv4.verified import Verified
from lakeshare.identity.sigv4.verify import verify
from tests.identity.sigv4.wire import ACCESS_KEY, EMPTY, S3, keys, request

TIMESTAMP = "20130524T000000Z"
NOW = parse_timestamp(TIMESTAMP)
SCOPE = "20130524/us-east-1/s3/aws4_request"
HOST = "https://examplebucket.s3.amazonaws.com"


def signed(method: str, url: str, names: str, signature: str, headers: dict[str, str]) -> Request:
    authorization = f"AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/{SCOPE},SignedHeaders={names},Signature={signature}"
    return request(method, url, {"x-amz-date": TIMESTAMP, **headers, "Authorization": authorization})


def check(asked: Request) -> Verified:
    found = verify(asked, keys, NOW, S3)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("method", "target", "headers", "names", "signature"),
    [
        (
            "GET",
            "/test.txt",
            {"range": "bytes=0-9", "x-amz-content-sha256": EMPTY},
            "host;range;x-amz-content-sha256;x-amz-date",
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
        ),
        (
            "PUT",
            "/test$file.text",
            {
                "date": "Fri, 24 May 2013 00:00:00 GMT",
                "x-amz-storage-class": "REDUCED_REDUNDANCY",
                "x-amz-content-sha256": "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
            },
            "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
        ),
        (
            "GET",
            "/?lifecycle",
            {"x-amz-content-sha256": EMPTY},
            "host;x-amz-content-sha256;x-amz-date",
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
        ),
        (
            "GET",
            "/?prefix=J&max-keys=2",
            {"x-amz-content-sha256": EMPTY},
            "host;x-amz-content-sha256;x-amz-date",
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
        ),
    ],
)
def test_header_examples(method: str, target: str, headers: dict[str, str], names: str, signature: str) -> None:
    """AWS's examples of the Authorization header verify, however the path and query are spelled."""
    found = check(signed(method, HOST + target, names, signature, headers))
    assert (found.access_key, found.region, found.service) == (ACCESS_KEY, "us-east-1", "s3")


def test_the_put_example_has_its_body() -> None:
    """The digest in AWS's PUT example is that of the body beside it."""
    headers = {
        "date": "Fri, 24 May 2013 00:00:00 GMT",
        "x-amz-storage-class": "REDUCED_REDUNDANCY",
        "x-amz-content-sha256": "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
    }
    names = "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class"
    signature = "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
    decoder = check(signed("PUT", HOST + "/test%24file.text", names, signature, headers)).decoder()
    assert b"".join(decoder.feed(b"Welcome to Amazon S3.")) == b"Welcome to Amazon S3."
    assert decoder.finish() == {}


def test_presigned_example() -> None:
    """AWS's example of a presigned URL verifies, for a day."""
    url = (
        f"{HOST}/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={ACCESS_KEY}%2F20130524%2Fus-east-1%2Fs3"
        f"%2Faws4_request&X-Amz-Date={TIMESTAMP}&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
        "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
    )
    found = check(request("GET", url))
    assert found.presigned
    assert found.expires_at == NOW + 86400


def test_version_2_example() -> None:
    """AWS's example of a version 2 URL verifies, with the bucket that its host names."""
    url = (
        f"https://johnsmith.s3.amazonaws.com/photos/puppy.jpg?AWSAccessKeyId={ACCESS_KEY}&Expires=1175139620"
        "&Signature=NpgCjnDzrM%2BWFzoENXmpNDUsSn8%3D"
    )
    found = verify(request("GET", url), keys, 1175139620, S3, bucket="johnsmith")
    assert found is not None
    assert (found.version, found.expires_at) == (2, 1175139620)


CHUNKED = {
    "x-amz-storage-class": "REDUCED_REDUNDANCY",
    "content-encoding": "aws-chunked",
    "x-amz-decoded-content-length": "66560",
}


def test_chunked_example() -> None:
    """AWS's example of a chunked upload verifies from its seed to its last chunk."""
    headers = {
        **CHUNKED,
        "content-length": "66824",
        "x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
    }
    names = (
        "content-encoding;content-length;host;x-amz-content-sha256;x-amz-date;x-amz-decoded-content-length"
        ";x-amz-storage-class"
    )
    seed = "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9"
    found = check(signed("PUT", "https://s3.amazonaws.com/examplebucket/chunkObject.txt", names, seed, headers))
    body = (
        b"10000;chunk-signature=ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648\r\n"
        + b"a" * 65536
        + b"\r\n400;chunk-signature=0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497\r\n"
        + b"a" * 1024
        + b"\r\n0;chunk-signature=b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9\r\n\r\n"
    )
    assert len(body) == 66824
    decoder = found.decoder()
    assert b"".join(decoder.feed(body)) == b"a" * 66560
    assert decoder.finish() == {}


def test_chunked_example_with_a_trailer() -> None:
    """AWS's example of a chunked upload with a trailer verifies from its seed to the trailer's signature."""
    headers = {
        **CHUNKED,
        "x-amz-trailer": "x-amz-checksum-crc32c",
        "x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER",
    }
    names = (
        "content-encoding;host;x-amz-content-sha256;x-amz-date;x-amz-decoded-content-length"
        ";x-amz-storage-class;x-amz-trailer"
    )
    seed = "106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e"
    found = check(signed("PUT", "https://s3.amazonaws.com/examplebucket/chunkObject.txt", names, seed, headers))
    body = (
        b"10000;chunk-signature=b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2\r\n"
        + b"a" * 65536
        + b"\r\n400;chunk-signature=1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7\r\n"
        + b"a" * 1024
        + b"\r\n0;chunk-signature=2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992\r\n"
        + b"x-amz-checksum-crc32c:sOO8/Q==\n\r\n"
        + b"x-amz-trailer-signature:d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435\r\n\r\n"
    )
    decoder = found.decoder()
    assert b"".join(decoder.feed(body)) == b"a" * 66560
    assert decoder.finish() == {"x-amz-checksum-crc32c": "sOO8/Q=="}
