"""Failures in the middle of an answer: the client must notice, whether it knows of a last line or not."""

import json
import socket
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.sharing.protocol.provider import DELTA, Provider, Recipient, files_of

FILES = 40_000
"""More than two steps of lines: one is on its way, one is ready, and one is still to be made."""
SCHEMA = '{"type":"struct","fields":[{"name":"n","type":"long","nullable":true,"metadata":{}}]}'
FEATURE = ["deletionVectors"]
END = {"delta-sharing-capabilities": DELTA["delta-sharing-capabilities"] + ";includeendstreamaction=true"}


@pytest.fixture(scope="module")
def make(provider: Provider) -> Callable[[str], Recipient]:
    """Share a table of many lines. Each is the same object with another deletion vector, so that it is quickly made."""

    def made(name: str) -> Recipient:
        provider.put(f"{name}/part.parquet", b"PAR1")
        protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": FEATURE, "writerFeatures": FEATURE}
        metadata = {"id": str(uuid.uuid4()), "format": {"provider": "parquet", "options": {}}, "schemaString": SCHEMA,
                    "partitionColumns": [], "configuration": {}}  # fmt: skip
        adds = [_add(number) for number in range(FILES)]
        lines = [json.dumps(each) for each in ({"protocol": protocol}, {"metaData": metadata}, *adds)]
        provider.put(f"{name}/_delta_log/{0:020d}.json", "\n".join(lines).encode())
        provider.share(name, t=name)
        return provider.token(name)

    return made


def _add(number: int) -> dict:
    vector = {"storageType": "i", "pathOrInlineDv": f"{number:040d}", "sizeInBytes": 32, "cardinality": 1}
    return {"add": {"path": "part.parquet", "partitionValues": {}, "size": 4, "modificationTime": 1,
                    "dataChange": True, "deletionVector": vector}}  # fmt: skip


@contextmanager
def begun(mine: Recipient, headers: dict[str, str]) -> Iterator[socket.socket]:
    """Ask, and read no more than the first bytes, so that the server waits."""
    host, _, rest = mine.profile["endpoint"].removeprefix("http://").partition("/")
    name, _, port = host.partition(":")
    with socket.socket() as stream:
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stream.connect((name, int(port)))
        lines = [f"POST /{rest}{mine.of('t', 'query')} HTTP/1.1", f"Host: {host}", "Content-Length: 2"]
        lines += [f"{key}: {value}" for key, value in {**mine.headers, **headers}.items()]
        stream.sendall(("\r\n".join(lines) + "\r\n\r\n{}").encode())
        stream.settimeout(60)
        assert stream.recv(64).startswith(b"HTTP/1.1 200")
        yield stream


def rest_of(stream: socket.socket) -> bytes:
    """Read on to the end, or to where it is cut."""
    parts = [b""]
    while chunk := _read(stream):
        parts.append(chunk)
        if (parts[-2] + chunk).endswith(b"\r\n0\r\n\r\n"):
            break
    return b"".join(parts)


def _read(stream: socket.socket) -> bytes:
    try:
        return stream.recv(1 << 20)
    except ConnectionResetError:
        return b""


def cut_or_said(mine: Recipient, happen: Callable[[], None], text: bytes, headers: dict[str, str]) -> None:
    """Hold an answer to be cut where its client knows no last line, and else to end with one that says why."""
    with begun(mine, headers) as stream:
        happen()
        told = rest_of(stream)
    assert told.count(b'{"file":') < FILES
    if headers is END:
        assert told.endswith(b"\r\n0\r\n\r\n")
        assert text in told.rsplit(b"\n{", 1)[1]
        assert b"errorMessage" in told
    else:
        assert not told.endswith(b"\r\n0\r\n\r\n")
        assert b"errorMessage" not in told


ENDINGS = pytest.mark.parametrize("headers", [DELTA, END], ids=["cut", "said"])


@ENDINGS
def test_a_token_that_is_revoked(
    provider: Provider, make: Callable[[str], Recipient], request: pytest.FixtureRequest, headers: dict[str, str]
):
    """No further line leaves, and another token's answer is whole."""
    name = f"revoked-{request.node.callspec.id}"
    mine = make(name)
    cut_or_said(mine, lambda: provider.admin("DELETE", f"/tokens/{mine.token_id}"), b"the bearer token", headers)
    assert len(files_of(provider.token(name).lines("t", headers))) == FILES


@ENDINGS
def test_a_share_that_is_removed(
    provider: Provider, make: Callable[[str], Recipient], request: pytest.FixtureRequest, headers: dict[str, str]
):
    """What is shared no more is sent no further."""
    name = f"removed-{request.node.callspec.id}"
    mine = make(name)
    cut_or_said(mine, lambda: provider.admin("DELETE", f"/shares/{name}"), b"errorMessage", headers)


@ENDINGS
def test_a_data_file_that_goes(
    provider: Provider, make: Callable[[str], Recipient], request: pytest.FixtureRequest, headers: dict[str, str]
):
    """A file that is deleted under an answer ends it: no line is left out."""
    name = f"gone-{request.node.callspec.id}"
    mine = make(name)

    def happen() -> None:
        provider.s3.delete_object(Bucket=provider.bucket, Key=f"{name}/part.parquet")

    cut_or_said(mine, happen, b"part.parquet is not there", headers)


def test_a_commit_that_lands(provider: Provider, make: Callable[[str], Recipient]):
    """The answer goes on with the version that it began with, and the next one has the new."""
    mine = make("landing")
    with begun(mine, END) as stream:
        provider.log("landing", 1, {"remove": {**_add(0)["add"], "deletionTimestamp": 1}}, _add(FILES))
        told = rest_of(stream)
    assert told.endswith(b"\r\n0\r\n\r\n")
    assert told.count(b'{"file":') == FILES
    assert f"{FILES:040d}".encode() not in told
    answer = mine.query("t", DELTA)
    assert answer.headers["delta-table-version"] == "1"
    assert f"{FILES:040d}" in answer.text
    assert f'"{0:040d}"' not in answer.text
