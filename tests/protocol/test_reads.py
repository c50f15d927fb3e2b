"""Stretches of objects: parts by their number, and ranges that a reader goes on with."""

import pytest

PART = b"p" * (5 * 1024 * 1024)


def test_a_part_can_be_read_by_its_number(raw, bucket):
    """GET and HEAD of a part say where it lies and how many there are; an object of one PUT has one."""
    path = f"/{bucket}/k"
    upload = raw.send("POST", f"{path}?uploads").between("<UploadId>", "<")
    etags = [
        raw.send("PUT", f"{path}?partNumber={number}&uploadId={upload}", body).headers["etag"]
        for number, body in ((3, PART), (7, b"last"))
    ]
    parts = "".join(
        f"<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>"
        for number, etag in zip((3, 7), etags, strict=True)
    )
    document = f"<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>".encode()
    assert raw.send("POST", f"{path}?uploadId={upload}", document).status == 200
    last, head = (raw.send(method, f"{path}?partNumber=2") for method in ("GET", "HEAD"))
    assert (last.status, last.body, head.status, head.body) == (206, b"last", 206, b"")
    for answer in (last, head):
        assert answer.headers["x-amz-mp-parts-count"] == "2"
        assert answer.headers["content-range"] == f"bytes {len(PART)}-{len(PART) + 3}/{len(PART) + 4}"
        assert answer.headers["content-length"] == "4"
    assert raw.send("GET", f"{path}?partNumber=3").code == "InvalidPartNumber"
    assert raw.send("GET", f"{path}?partNumber=1", headers={"range": "bytes=0-1"}).code == "InvalidRequest"


def test_the_one_part_of_nothing_is_the_whole(raw, bucket):
    """An empty object has no byte that a Content-Range could name."""
    raw.send("PUT", f"/{bucket}/empty")
    for method in ("GET", "HEAD"):
        answer = raw.send(method, f"/{bucket}/empty?partNumber=1")
        assert (answer.status, answer.headers["content-length"]) == (200, "0")
        assert "content-range" not in answer.headers


@pytest.mark.parametrize("changed", [False, True])
@pytest.mark.parametrize("named", ["etag", "last-modified"])
def test_a_download_goes_on_only_with_the_same_bytes(raw, bucket, named, changed):
    """If-Range sends a range of what the reader has begun with, and the whole of anything else."""
    path = f"/{bucket}/k"
    raw.send("PUT", path, b"0123456789")
    known = raw.send("HEAD", path).headers[named]
    if changed:
        known = '"other"' if named == "etag" else "Thu, 01 Jan 2015 00:00:00 GMT"
    answer = raw.send("GET", path, headers={"range": "bytes=8-", "if-range": known})
    assert (answer.status, answer.body) == ((200, b"0123456789") if changed else (206, b"89"))


@pytest.mark.parametrize("condition", ['W/"781e5e245d69b566979b86e28d23f2c7"', "nonsense", ""])
def test_what_proves_nothing_gets_the_whole(raw, bucket, condition):
    """A weak ETag, or what is neither ETag nor date, is no proof of the same bytes."""
    path = f"/{bucket}/k"
    raw.send("PUT", path, b"0123456789")
    answer = raw.send("GET", path, headers={"range": "bytes=99-", "if-range": condition})
    assert (answer.status, answer.body) == (200, b"0123456789")
