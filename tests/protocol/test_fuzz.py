"""Bad input of every kind: the server answers with clean errors, and keeps serving."""

import json
import random
import re
import socket
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.raw import RawClient
from tests.vectors import S3_REQUESTS, needs

FUZZ = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")
CLEAN = {200, 204, 206, 304, 400, 403, 404, 405, 409, 411, 412, 416, 431, 501, 503, 505}
MUTATIONS = 400

text = st.text(max_size=40)
header_value = st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"), max_size=60)
parameter = st.sampled_from(
    ["list-type", "prefix", "delimiter", "marker", "start-after", "continuation-token", "max-keys", "encoding-type",
     "key-marker", "version-id-marker", "upload-id-marker", "uploadId", "partNumber", "versionId", "uploads",
     "versions", "tagging", "acl", "policy", "location", "delete", "attributes", "max-parts", "part-number-marker",
     "x-lakeshare-pin", "response-content-type", "response-expires"]
)  # fmt: skip
header = st.sampled_from(
    ["range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "x-amz-copy-source",
     "x-amz-copy-source-range", "x-amz-copy-source-if-match", "x-amz-metadata-directive", "x-amz-tagging",
     "content-md5", "x-amz-checksum-crc32", "x-amz-checksum-sha256", "x-amz-checksum-algorithm", "x-amz-checksum-type",
     "x-amz-sdk-checksum-algorithm", "x-amz-trailer", "x-amz-decoded-content-length", "x-amz-meta-a", "x-amz-acl",
     "x-amz-storage-class", "x-amz-object-attributes", "x-amz-mp-object-size", "x-amz-if-match-size", "content-type",
     "content-encoding", "cache-control", "expires", "x-amz-expected-bucket-owner"]
)  # fmt: skip


def quoted(value):
    return quote(value.encode("utf-8", "surrogatepass"))


def exchange(port, data, limit=65536):
    """Send bytes, and return what comes back until the server has said its status."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        found = b""
        while len(found) < limit and (piece := connection.recv(65536)):
            found += piece
        return found


def assert_serving(raw):
    assert raw.send("GET", "/").status == 200


@FUZZ
@given(
    method=st.sampled_from(["GET", "PUT", "POST", "DELETE", "HEAD", "OPTIONS", "PATCH"]),
    key=text,
    params=st.dictionaries(parameter, text, max_size=5),
    headers=st.dictionaries(header, header_value, max_size=5),
    body=st.binary(max_size=300),
    payload=st.sampled_from(
        [None, "UNSIGNED-PAYLOAD", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "STREAMING-UNSIGNED-PAYLOAD-TRAILER"]
    ),
)
def test_signed_nonsense_gets_clean_errors(raw, bucket, method, key, params, headers, body, payload):
    """Well signed requests with any parameters, headers and bodies get S3's answers and never a 500."""
    query = "&".join(f"{name}={quoted(value)}" for name, value in params.items())
    path = f"/{bucket}/{quoted(key)}" + (f"?{query}" if query else "")
    answer = raw.send(method, path, body, {name: value.strip() for name, value in headers.items()}, payload=payload)
    assert answer.status in CLEAN, (answer, path, headers)
    if answer.status >= 400 and method != "HEAD":
        assert answer.code, answer


@FUZZ
@given(
    document=st.one_of(st.binary(max_size=400), st.recursive(text, lambda inner: st.lists(inner, max_size=4)).map(str))
)
@pytest.mark.parametrize(
    ("method", "query"),
    [
        ("POST", "delete"),
        ("PUT", "tagging"),
        ("PUT", ""),
        ("PUT", "policy"),
        ("POST", "/k?uploadId=x"),
        ("PUT", "/k?tagging"),
    ],
)
def test_documents_of_nonsense_are_refused(raw, bucket, method, query, document):
    """No document makes a route that reads one fail."""
    path = f"/{bucket}{query}" if query.startswith("/") else f"/{bucket}?{query}" if query else f"/{bucket}-x"
    body = (
        document if isinstance(document, bytes) else f"<Delete><Object><Key>{document}</Key></Object></Delete>".encode()
    )
    assert raw.send(method, path, body).status in CLEAN


@FUZZ
@given(head=st.binary(max_size=200), body=st.binary(max_size=200))
def test_bytes_that_are_no_request(live_server, raw, head, body):
    """Any bytes on a connection are answered by a clean status or by closing it."""
    found = exchange(live_server.port, head + b"\r\n\r\n" + body)
    assert not found or int(STATUS.match(found)[1]) in CLEAN
    assert_serving(raw)


def captured():
    """The requests of real clients, as raw bytes."""
    for path in sorted(S3_REQUESTS.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            record = json.loads(line)
            if "req" in record:
                head = "".join(f"{name}: {value}\r\n" for name, value in record["rh"])
                yield f"{record['req']}\r\n{head}\r\n{record['rb']}".encode("latin-1", "replace")


@needs(S3_REQUESTS)
def test_mutations_of_real_requests(live_server, raw):
    """Requests of real clients with bytes changed, cut, doubled or moved never break the server."""
    requests = list(captured())
    chance = random.Random(11)
    for _ in range(MUTATIONS):
        data = bytearray(chance.choice(requests))
        for _ in range(chance.randrange(1, 6)):
            at = chance.randrange(len(data))
            match chance.randrange(4):
                case 0:
                    data[at] = chance.randrange(256)
                case 1:
                    del data[at : at + chance.randrange(1, 40)]
                case 2:
                    data[at:at] = data[at : at + chance.randrange(1, 40)]
                case _:
                    data[at:at] = chance.randbytes(chance.randrange(1, 8))
            if not data:
                break
        found = exchange(live_server.port, bytes(data)).removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n")
        assert not found or int(STATUS.match(found)[1]) in CLEAN, bytes(data)
    assert_serving(raw)


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello",
        b"GET / HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: xchunked\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/3.0\r\nhost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: a\r\nx: " + b"y" * 100_000 + b"\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nhost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: a\r\n" + b"".join(b"x%d: y\r\n" % n for n in range(5000)) + b"\r\n",
    ],
    ids=lambda head: head[:60].decode("latin-1").replace("\r\n", "|"),
)
def test_heads_that_two_parsers_could_read_in_two_ways(live_server, raw, head):
    """Ambiguous or oversized heads are refused before anything is done."""
    found = exchange(live_server.port, head)
    assert int(STATUS.match(found)[1]) in {400, 414, 431, 501, 505}
    assert_serving(raw)


def test_a_listing_token_of_another_kind_is_refused(raw, bucket):
    """Tokens that we did not make are refused by name."""
    for token in ("x", "AAAA", "MQ", "%00", "a" * 3000, "MTA=" * 700):
        assert raw.send("GET", f"/{bucket}?list-type=2&continuation-token={token}").status in {200, 400}


def test_the_server_still_serves(live_server):
    """After all that, both workers answer."""
    for _ in range(20):
        client = RawClient.of(live_server)
        assert client.send("GET", "/").status == 200
        client.close()
