"""Bodies as clients frame them, and bodies that are not what they say."""

import hashlib
import re
import socket
import time
import zlib

import pytest

from lakeshare.objects.model.checksums import digest_whole
from tests.raw import UNSIGNED_CHUNKS_TRAILER, base64_digest, unsigned_trailer

CHUNKED = bytes(range(256)) * 700
"""A body that the loop takes."""

POURED = bytes(range(256)) * 6000
"""A body that a thread takes from the socket."""


@pytest.fixture(params=[CHUNKED, POURED], ids=["by the loop", "by a thread"])
def data(request):
    return request.param


def crc32(data):
    return base64_digest(zlib.crc32(data).to_bytes(4, "big"))


def stored(raw, path):
    return raw.send("GET", path).body


def test_a_digest_in_the_head(raw, bucket, data):
    """A plain body with its SHA-256 signed is stored."""
    assert raw.send("PUT", f"/{bucket}/k", data).status == 200
    assert stored(raw, f"/{bucket}/k") == data


def test_an_unsigned_payload(raw, bucket, data):
    """A plain body without a digest is stored, over plain HTTP too."""
    assert raw.send("PUT", f"/{bucket}/k", data, payload="UNSIGNED-PAYLOAD").status == 200
    assert stored(raw, f"/{bucket}/k") == data


def test_signed_chunks(raw, bucket, data):
    """Signed chunks are stored without their framing, though no Content-Encoding names it."""
    answer = raw.send_chunks(f"/{bucket}/k", [data[:65536], data[65536:]])
    assert (answer.status, answer.headers["etag"]) == (200, f'"{hashlib.md5(data).hexdigest()}"')
    assert stored(raw, f"/{bucket}/k") == data


def test_signed_chunks_with_a_trailer(raw, bucket, data):
    """Signed chunks with a signed trailer are stored with the trailer's checksum."""
    answer = raw.send_chunks(f"/{bucket}/k", [data], ("x-amz-checksum-crc32", crc32(data)))
    assert (answer.status, answer.headers["x-amz-checksum-crc32"]) == (200, crc32(data))


@pytest.mark.parametrize("transfer", [True, False], ids=["chunked transfer", "content length"])
def test_unsigned_chunks_with_a_trailer(raw, bucket, data, transfer):
    """Unsigned chunks with a trailer are stored, with Transfer-Encoding and no Content-Length too."""
    body = unsigned_trailer(data, "x-amz-checksum-crc32", crc32(data))
    headers = {
        "content-encoding": "aws-chunked",
        "x-amz-trailer": "x-amz-checksum-crc32",
        "x-amz-decoded-content-length": str(len(data)),
    }
    unsigned = {"transfer-encoding": "chunked"} if transfer else {}
    answer = raw.send("PUT", f"/{bucket}/k", body, headers, payload=UNSIGNED_CHUNKS_TRAILER, unsigned=unsigned)
    assert answer.status == 200
    found = raw.send("GET", f"/{bucket}/k")
    assert found.body == data
    assert "content-encoding" not in found.headers


def test_a_content_encoding_beside_the_framing_is_kept(raw, bucket, data):
    """`aws-chunked,gzip` is stored as `gzip`."""
    body = unsigned_trailer(data, "x-amz-checksum-crc32", crc32(data))
    headers = {
        "content-encoding": "aws-chunked,gzip",
        "x-amz-trailer": "x-amz-checksum-crc32",
        "x-amz-decoded-content-length": str(len(data)),
    }
    assert raw.send("PUT", f"/{bucket}/k", body, headers, payload=UNSIGNED_CHUNKS_TRAILER).status == 200
    assert raw.send("HEAD", f"/{bucket}/k").headers["content-encoding"] == "gzip"


@pytest.mark.parametrize("algorithm", ["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"])
def test_every_checksum_is_kept_and_shown_when_asked(raw, bucket, data, algorithm):
    """A checksum of any algorithm is checked, kept, and shown to readers that ask, in any case."""
    name, value = f"x-amz-checksum-{algorithm.lower()}", base64_digest(digest_whole(algorithm, data))
    assert raw.send("PUT", f"/{bucket}/k", data, {name: value}).headers[name] == value
    for mode in ("ENABLED", "enabled"):
        assert raw.send("HEAD", f"/{bucket}/k", headers={"x-amz-checksum-mode": mode}).headers[name] == value
    assert name not in raw.send("HEAD", f"/{bucket}/k").headers
    ranged = raw.send("GET", f"/{bucket}/k", headers={"x-amz-checksum-mode": "ENABLED", "range": "bytes=0-9"})
    assert (ranged.status, name in ranged.headers) == (206, False)


def wrong_bodies(data):
    other = base64_digest(zlib.crc32(b"other").to_bytes(4, "big"))
    sha = hashlib.sha256(b"other").hexdigest()
    yield "digest", lambda raw, path: raw.send("PUT", path, data, payload=sha), "XAmzContentSHA256Mismatch", 400
    yield (
        "md5",
        lambda raw, path: raw.send("PUT", path, data, {"content-md5": base64_digest(b"0" * 16)}),
        "BadDigest",
        400,
    )
    yield "no md5", lambda raw, path: raw.send("PUT", path, data, {"content-md5": "x"}), "InvalidDigest", 400
    yield "checksum", lambda raw, path: raw.send("PUT", path, data, {"x-amz-checksum-crc32": other}), "BadDigest", 400
    yield "trailer", lambda raw, path: raw.send_chunks(path, [data], ("x-amz-checksum-crc32", other)), "BadDigest", 400
    yield "chunk", lambda raw, path: raw.send_chunks(path, [data], signature="0" * 64), "SignatureDoesNotMatch", 403
    yield "length", lambda raw, path: raw.send_chunks(path, [data], length=str(len(data) + 1)), "IncompleteBody", 400
    length = {"x-amz-decoded-content-length": "9"}
    yield (
        "framing",
        lambda raw, path: raw.send("PUT", path, b"zz\r\n", length, payload=UNSIGNED_CHUNKS_TRAILER),
        None,
        400,
    )
    yield "no length", lambda raw, path: raw.send("PUT", path, b"0\r\n", payload=UNSIGNED_CHUNKS_TRAILER), None, 411
    yield (
        "two checksums",
        lambda raw, path: raw.send(
            "PUT", path, data, {"x-amz-checksum-crc32": crc32(data), "x-amz-checksum-sha1": base64_digest(b"0" * 20)}
        ),
        "InvalidRequest",
        400,
    )
    yield "unknown", lambda raw, path: raw.send("PUT", path, data, payload="STREAMING-NONSENSE"), "InvalidArgument", 400


@pytest.mark.parametrize("case", [case[0] for case in wrong_bodies(b"")])
def test_a_body_that_is_not_what_it_says_is_not_stored(raw, bucket, data, case):
    """A wrong digest, trailer, chunk or length gets S3's error, and nothing is stored."""
    _, send, code, status = next(found for found in wrong_bodies(data) if found[0] == case)
    answer = send(raw, f"/{bucket}/k")
    assert answer.status == status
    assert code is None or answer.code == code
    assert raw.send("HEAD", f"/{bucket}/k").status == 404


@pytest.mark.parametrize("chunked", [False, True], ids=["content length", "chunked transfer"])
def test_a_body_that_ends_early_is_not_stored(raw, bucket, data, chunked):
    """A client that goes away in the middle of a body leaves nothing behind."""
    path = f"/{bucket}/early"
    payload = "UNSIGNED-PAYLOAD"
    headers = raw.signer.headers("PUT", raw.url(path), time.time(), {}, payload)
    framing = "transfer-encoding: chunked" if chunked else f"content-length: {len(data)}"
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    with socket.create_connection(("127.0.0.1", raw.port)) as connection:
        connection.sendall(f"PUT {path} HTTP/1.1\r\n{head}{framing}\r\n\r\n".encode())
        connection.sendall((b"%x\r\n" % len(data) if chunked else b"") + data[:-1])
    time.sleep(0.2)
    assert raw.send("HEAD", path).status == 404


def test_an_upload_without_a_length_is_refused(raw, bucket):
    """A PUT that says no length, in no way, is answered 411."""
    path = f"/{bucket}/k"
    headers = raw.signer.headers("PUT", raw.url(path), time.time(), {}, "UNSIGNED-PAYLOAD")
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    with socket.create_connection(("127.0.0.1", raw.port), timeout=10) as connection:
        connection.sendall(f"PUT {path} HTTP/1.1\r\n{head}\r\n".encode())
        answer = connection.recv(4096)
    assert b" 411 " in answer.partition(b"\r\n")[0]


def test_a_large_part_is_stored(raw, bucket):
    """Parts of an upload come by a thread too, and the object is theirs put together."""
    path = f"/{bucket}/parts"
    upload = re.search(rb"<UploadId>([^<]+)<", raw.send("POST", f"{path}?uploads").body)[1].decode()
    etag = raw.send("PUT", f"{path}?partNumber=1&uploadId={upload}", POURED * 4).headers["etag"]
    last = raw.send_chunks(f"{path}?partNumber=2&uploadId={upload}", [POURED, POURED[:9]]).headers["etag"]
    parts = [f"<Part><PartNumber>{n}</PartNumber><ETag>{tag}</ETag></Part>" for n, tag in enumerate((etag, last), 1)]
    document = f"<CompleteMultipartUpload>{''.join(parts)}</CompleteMultipartUpload>".encode()
    assert raw.send("POST", f"{path}?uploadId={upload}", document).status == 200
    assert stored(raw, path) == POURED * 5 + POURED[:9]
