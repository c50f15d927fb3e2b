"""What real clients send besides bodies: each of these was seen on the wire."""

import hashlib
import http.client
import time
from urllib.parse import quote

import pytest

from lakeshare.objects.model.checksums import digest_whole
from tests.raw import base64_digest

PART = 5 * 1024 * 1024
NAMESPACE = ' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'


def test_a_bucket_path_may_end_with_a_slash(raw):
    """`/bucket` and `/bucket/` are the same, for every verb."""
    assert raw.send("PUT", "/slashed/").status == 200
    assert raw.send("HEAD", "/slashed").status == raw.send("HEAD", "/slashed/").status == 200
    assert raw.send("GET", "/slashed/?location=").status == 200
    assert raw.send("GET", "/slashed?list-type=2").body == raw.send("GET", "/slashed/?list-type=2").body
    assert raw.send("DELETE", "/slashed/").status == 204


def test_empty_parameters_are_absent(raw, bucket):
    """`prefix=&delimiter=` asks for nothing, and `uploads=` is `uploads`."""
    raw.send("PUT", f"/{bucket}/a/b", b"x")
    bare = raw.send("GET", f"/{bucket}?list-type=2")
    empty = raw.send("GET", f"/{bucket}?list-type=2&prefix=&delimiter=&start-after=&continuation-token=&encoding-type=")
    assert bare.between("<Contents>", "</Contents>") == empty.between("<Contents>", "</Contents>") != ""
    assert raw.send("POST", f"/{bucket}/k?uploads=").status == raw.send("POST", f"/{bucket}/k?uploads").status == 200


def test_an_unlikely_bucket_is_simply_missing(raw):
    """The bucket name that one client asks for first is a clean 404, not a bad name."""
    assert raw.send("HEAD", "/%24extremelyunlikelytoexist%24").status == 404


@pytest.mark.parametrize("attribute", ["", NAMESPACE])
def test_bulk_deletes_with_any_proof(raw, bucket, attribute):
    """MD5, every checksum, or the signed digest alone prove a bulk delete; a namespace may be there or not."""
    document = f"<Delete{attribute}><Quiet>true</Quiet><Object><Key>k</Key></Object></Delete>".encode()
    proofs = [{"content-md5": base64_digest(hashlib.md5(document).digest())}, {}]
    proofs += [
        {f"x-amz-checksum-{name.lower()}": base64_digest(digest_whole(name, document))}
        for name in ("CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256")
    ]
    for headers in proofs:
        assert raw.send("POST", f"/{bucket}?delete", document, headers).status == 200
    for headers in proofs[:1] + proofs[2:]:
        assert raw.send("POST", f"/{bucket}/?delete=", document, headers, payload="UNSIGNED-PAYLOAD").status == 200


def test_a_bulk_delete_without_any_proof_is_refused(raw, bucket):
    """A bulk delete that nothing proves is refused, and one with a wrong proof too."""
    document = b"<Delete><Object><Key>k</Key></Object></Delete>"
    raw.send("PUT", f"/{bucket}/k", b"x")
    assert raw.send("POST", f"/{bucket}?delete", document, payload="UNSIGNED-PAYLOAD").code == "InvalidRequest"
    wrong = {"content-md5": base64_digest(b"0" * 16)}
    assert raw.send("POST", f"/{bucket}?delete", document, wrong).code == "BadDigest"
    assert raw.send("HEAD", f"/{bucket}/k").status == 200


def test_a_range_need_not_be_signed(raw, bucket):
    """A Range header that the signature does not cover counts."""
    raw.send("PUT", f"/{bucket}/k", b"0123456789")
    answer = raw.send("GET", f"/{bucket}/k", unsigned={"range": "bytes=2-4"})
    assert (answer.status, answer.body, answer.headers["content-range"]) == (206, b"234", "bytes 2-4/10")


def test_a_copy_needs_no_content_length(raw, bucket):
    """CopyObject without a body and without a Content-Length is a copy."""
    raw.send("PUT", f"/{bucket}/a", b"abc")
    headers = raw.signer.headers("PUT", raw.url(f"/{bucket}/b"), time.time(), {"x-amz-copy-source": f"{bucket}/a"})
    connection = http.client.HTTPConnection("127.0.0.1", raw.port, timeout=10)
    connection.putrequest("PUT", f"/{bucket}/b", skip_host=True, skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    assert connection.getresponse().status == 200
    connection.close()
    assert raw.send("GET", f"/{bucket}/b").body == b"abc"


def begin(raw, path, **headers):
    answer = raw.send("POST", path + "?uploads", headers={name.replace("_", "-"): v for name, v in headers.items()})
    return answer.between("<UploadId>", "<")


def complete(raw, path, upload, etags, attribute=""):
    parts = "".join(f"<Part><PartNumber>{n}</PartNumber><ETag>{etag}</ETag></Part>" for n, etag in etags)
    document = f"<CompleteMultipartUpload{attribute}>{parts}</CompleteMultipartUpload>".encode()
    return raw.send("POST", f"{path}?uploadId={upload}", document)


@pytest.mark.parametrize("attribute", ["", NAMESPACE])
@pytest.mark.parametrize("quoted", [True, False], ids=["quoted", "unquoted"])
def test_parts_in_any_order_and_size(raw, bucket, attribute, quoted):
    """Parts arrive in any order and size, with ETags quoted or not in the list, with a namespace or without."""
    path = f"/{bucket}/parts"
    upload = begin(raw, path)
    bodies = {3: b"tail", 1: b"a" * PART, 2: b"b" * (PART + 12345)}
    etags = {}
    for number, body in bodies.items():
        etags[number] = raw.send("PUT", f"{path}?partNumber={number}&uploadId={upload}", body).headers["etag"]
    listed = [(number, etags[number] if quoted else etags[number].strip('"')) for number in (1, 2, 3)]
    assert complete(raw, path, upload, listed, attribute).status == 200
    assert raw.send("GET", path).body == bodies[1] + bodies[2] + bodies[3]


def test_part_checksums_that_the_upload_did_not_declare(raw, bucket):
    """Parts with checksums are taken by an upload that declared none."""
    path = f"/{bucket}/undeclared"
    upload = begin(raw, path)
    value = base64_digest(digest_whole("CRC32", b"only"))
    part = raw.send("PUT", f"{path}?partNumber=1&uploadId={upload}", b"only", {"x-amz-checksum-crc32": value})
    assert (part.status, part.headers["x-amz-checksum-crc32"]) == (200, value)
    assert complete(raw, path, upload, [(1, part.headers["etag"])]).status == 200
    found = raw.send("HEAD", path, headers={"x-amz-checksum-mode": "ENABLED"}).headers
    assert (found["x-amz-checksum-crc32"], found["x-amz-checksum-type"]) == (value, "FULL_OBJECT")


def test_a_repeated_complete_gets_the_same_answer(raw, bucket):
    """A Complete that is sent again after a lost answer is answered as before."""
    path = f"/{bucket}/again"
    upload = begin(raw, path)
    etag = raw.send("PUT", f"{path}?partNumber=1&uploadId={upload}", b"x").headers["etag"]
    first, second = (complete(raw, path, upload, [(1, etag)]) for _ in range(2))
    assert first.status == second.status == 200
    assert first.between("<ETag>", "<") == second.between("<ETag>", "<") != ""
    assert complete(raw, path, upload, [(1, "0" * 32)]).code == "InvalidPart"


def test_probes_are_answered_in_s3s_words(raw, bucket):
    """What clients ask a bucket first is answered by S3's own code for none, or by an empty document."""
    expected = {
        "object-lock": "ObjectLockConfigurationNotFoundError",
        "policy": "NoSuchBucketPolicy",
        "tagging": "NoSuchTagSet",
        "lifecycle": "NoSuchLifecycleConfiguration",
        "encryption": "ServerSideEncryptionConfigurationNotFoundError",
        "replication": "ReplicationConfigurationNotFoundError",
        "cors": "NoSuchCORSConfiguration",
    }
    for marker, code in expected.items():
        answer = raw.send("GET", f"/{bucket}/?{marker}=")
        assert (answer.status, answer.code) == (404, code)
    for marker in ("versioning", "notification"):
        assert raw.send("GET", f"/{bucket}/?{marker}=").status == 200
    for marker in ("versioning", "cors", "lifecycle", "encryption", "object-lock", "notification", "replication"):
        assert raw.send("PUT", f"/{bucket}?{marker}", b"<x/>").code == "NotImplemented"


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"x-amz-server-side-encryption": "AES256"}, "NotImplemented"),
        ({"x-amz-server-side-encryption-customer-algorithm": "AES256"}, "NotImplemented"),
        ({"x-amz-acl": "public-read"}, "AccessControlListNotSupported"),
        ({"x-amz-grant-read": "id=x"}, "AccessControlListNotSupported"),
        ({"x-amz-object-lock-mode": "GOVERNANCE"}, "InvalidRequest"),
        ({"x-amz-storage-class": "GLACIER"}, "InvalidStorageClass"),
        ({"x-amz-website-redirect-location": "/x"}, "NotImplemented"),
        ({"x-amz-write-offset-bytes": "3"}, "NotImplemented"),
    ],
)
def test_what_comes_later_is_never_ignored(raw, bucket, headers, code):
    """A header that asks for a feature that is not there is refused by S3's error, and nothing is stored."""
    assert raw.send("PUT", f"/{bucket}/k", b"x", headers).code == code
    assert raw.send("HEAD", f"/{bucket}/k").status == 404


def test_keys_are_plain_text(raw, bucket):
    """`a`, `a/b`, `a//b`, dots, spaces and Unicode are all keys, and listed in the order of their bytes."""
    keys = [
        "a",
        "a/b",
        "a//b",
        "../../etc/passwd",
        "./x",
        "spa ce",
        "plus+plus",
        "ä/ö",
        "日本",
        "q?x=y&z",
        "h#sh",
        "p%25",
    ]
    for key in keys:
        path = f"/{bucket}/{quote(key, safe='/')}"
        assert raw.send("PUT", path, key.encode()).status == 200
        assert raw.send("GET", path).body == key.encode()
    listed = raw.send("GET", f"/{bucket}?list-type=2").body.decode().split("<Key>")[1:]
    names = [item.partition("<")[0].replace("&amp;", "&") for item in listed]
    assert names == sorted(keys, key=str.encode)
