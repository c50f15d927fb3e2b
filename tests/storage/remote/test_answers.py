"""What another store answers is read with care."""

import pytest

from lakeshare.storage.errors import NoSuchBucket, NoSuchKey
from lakeshare.storage.remote.answers import error_of, etag_of, modified_of, read_page
from lakeshare.storage.remote.errors import RemoteFailed

PAGE = """<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name><EncodingType>url</EncodingType>
<IsTruncated>{more}</IsTruncated>
<Contents><Key>t/a+b%2B%25.json</Key><LastModified>2024-01-02T03:04:05.678Z</LastModified><ETag>&quot;abc&quot;</ETag>
<Size>7</Size></Contents>
<CommonPrefixes><Prefix>t/z%20/</Prefix></CommonPrefixes></ListBucketResult>"""


def test_a_page_is_read_with_its_names_decoded():
    """Keys, sizes, times to the millisecond, folders, and where the next page begins."""
    page = read_page(PAGE.format(more="true").encode())
    (entry,) = page.objects
    assert (entry.key, entry.size, entry.etag) == ("t/a b+%.json", 7, "abc")
    assert entry.modified_at_ns == 1_704_164_645_678_000_000
    assert (page.prefixes, page.next_after) == (["t/z /"], "t/z /")
    assert read_page(PAGE.format(more="false").encode()).next_after is None


def test_names_that_are_not_encoded_stay_as_they_are():
    """A store that knows no encoding says so by leaving it out."""
    plain = PAGE.format(more="false").replace("<EncodingType>url</EncodingType>", "")
    assert read_page(plain.encode()).objects[0].key == "t/a+b%2B%25.json"


@pytest.mark.parametrize(
    "body",
    [
        b"<html>hello</html",
        b"",
        b'<!DOCTYPE x [<!ENTITY a "b">]><ListBucketResult>&a;</ListBucketResult>',
        b"<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>",
        b"<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
        PAGE.format(more="false").replace("&quot;abc&quot;", "").encode(),
    ],
    ids=["torn", "empty", "entities", "no facts", "goes on nowhere", "no ETag"],
)
def test_what_is_no_listing_is_refused(body: bytes):
    """Nothing is guessed: a listing that is not whole would make a table smaller than it is."""
    with pytest.raises(RemoteFailed):
        read_page(body)


def test_errors_are_told_apart_and_nothing_of_their_bodies_goes_on():
    """What is missing is missing, a refused key is the source's, and of the rest the code is said."""
    code = "<Error><Code>{}</Code><Message>secret of the inside</Message></Error>"
    assert isinstance(error_of(404, code.format("NoSuchBucket").encode(), "b", "k"), NoSuchBucket)
    assert isinstance(error_of(404, b"", "b", "k"), NoSuchKey)
    for status, name, text in (
        (403, "SignatureDoesNotMatch", "refuses the key of this source (403 SignatureDoesNotMatch)"),
        (301, "PermanentRedirect", "sends us elsewhere (301 PermanentRedirect)"),
        (400, "AuthorizationHeaderMalformed", "check the endpoint and the region"),
        (500, "Internal Error <b>", "it answers 500"),
    ):
        error = error_of(status, code.format(name).encode(), "b", "k")
        assert isinstance(error, RemoteFailed)
        assert text in error.message
        assert "inside" not in error.message


def test_heads_are_read():
    """An ETag has no quotes and must be there; a time that cannot be read is none."""
    assert etag_of({"etag": 'W/"x"'}) == "x"
    with pytest.raises(RemoteFailed):
        etag_of({})
    assert modified_of({"last-modified": "Tue, 02 Jan 2024 03:04:05 GMT"}) == 1_704_164_645_000_000_000
    assert modified_of({"last-modified": "soon"}) == 0
