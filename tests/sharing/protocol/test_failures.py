"""Failures while a recipient reads: the right rows or a clear error, never some rows taken for all."""

import json
import socket
import uuid

import pandas as pd
import pytest
import requests

from tests.sharing.protocol.provider import Provider, Recipient, files_of, lines_of, refused

METADATA = {"metaData": {"id": str(uuid.uuid4()), "format": {"provider": "parquet", "options": {}},
            "schemaString": '{"type":"struct","fields":[{"name":"n","type":"long","nullable":true,"metadata":{}}]}',
            "partitionColumns": [], "configuration": {}, "createdTime": 1}}  # fmt: skip
PROTOCOL = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
END = {"delta-sharing-capabilities": "responseformat=parquet;includeendstreamaction=true"}


def add(path: str) -> dict:
    """Write an add action."""
    return {"add": {"path": path, "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}}


def test_a_commit_that_lands_while_an_answer_is_read_changes_nothing_in_it(provider: Provider):
    """The answer is of one version, from its first line to its last, and its URLs serve that version's bytes."""
    provider.write("racing", pd.DataFrame({"n": range(10)}))
    provider.share("racing", racing="racing")
    mine = provider.token("racing")
    url = mine.profile["endpoint"] + mine.of("racing", "query")
    with requests.post(url, json={}, headers=mine.headers, stream=True, timeout=30) as answer:
        provider.write("racing", pd.DataFrame({"n": [99]}), mode="overwrite")
        provider.table("racing").vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)
        lines = [json.loads(line) for line in answer.iter_lines()]
    assert answer.headers["delta-table-version"] == "0"
    (file,) = files_of(lines)
    assert len(requests.get(file["url"], timeout=30).content) == file["size"]
    assert mine.query("racing").headers["delta-table-version"] != "0"


def right_or_refused(mine: Recipient, table: str, files: int, text: str) -> None:
    """Hold answers to be whole, from a worker that had read the log before, or to say what is wrong with it."""
    for _ in range(4):
        answer = mine.query(table)
        if answer.status_code == 200:
            assert len(files_of(lines_of(answer))) == files
        else:
            refused(answer, 400, "TABLE_UNREADABLE", text)


def test_a_missing_commit_is_named(provider: Provider):
    """A gap in the log is no shorter table: it is refused when it is to be shared, and when it is read."""
    for number in range(4):
        provider.write("gap", pd.DataFrame({"n": [number]}), mode="append")
    provider.share("gap", gap="gap")
    mine = provider.token("gap")
    provider.s3.delete_object(Bucket=provider.bucket, Key="gap/_delta_log/00000000000000000001.json")
    right_or_refused(mine, "gap", 4, "commit 1 is missing")
    refused(mine.query("gap", version=2), 400, "TABLE_UNREADABLE", "commit 1 is missing")


def test_a_torn_checkpoint_is_passed_over_while_there_is_another_way(provider: Provider):
    """With the commits still there the rows are right; without them they are, or the reason is said."""
    provider.write("torn", pd.DataFrame({"n": [1]}))
    provider.write("torn", pd.DataFrame({"n": [2]}), mode="append")
    provider.table("torn").create_checkpoint()
    key = "torn/_delta_log/00000000000000000001.checkpoint.parquet"
    whole = provider.s3.get_object(Bucket=provider.bucket, Key=key)["Body"].read()
    provider.put(key, whole[: len(whole) // 2])
    provider.share("torn", torn="torn")
    mine = provider.token("torn")
    for _ in range(4):
        assert len(files_of(mine.lines("torn"))) == 2
    provider.s3.delete_object(Bucket=provider.bucket, Key="torn/_delta_log/00000000000000000000.json")
    right_or_refused(mine, "torn", 2, "the table cannot be read")


def test_a_data_file_that_is_gone_is_named(provider: Provider):
    """A table whose files were deleted under it is refused, and not read as a smaller one."""
    provider.write("holes", pd.DataFrame({"n": [1]}))
    provider.write("holes", pd.DataFrame({"n": [2]}), mode="append")
    provider.share("holes", holes="holes")
    mine = provider.token("holes")
    path = provider.table("holes").file_uris()[0].split(f"{provider.bucket}/")[1]
    provider.s3.delete_object(Bucket=provider.bucket, Key=path)
    for headers in ({}, END):
        refused(mine.query("holes", headers), 400, "TABLE_UNREADABLE", path)


def test_a_table_that_is_made_again_at_its_path_is_another(provider: Provider):
    """The same versions over other bytes are read anew, by both workers."""
    provider.write("again", pd.DataFrame({"n": range(5)}))
    provider.share("again", again="again")
    mine = provider.token("again")
    for _ in range(4):
        first = lines_of(mine.query("again"))
    page = provider.s3.list_objects_v2(Bucket=provider.bucket, Prefix="again/")
    for item in page["Contents"]:
        provider.s3.delete_object(Bucket=provider.bucket, Key=item["Key"])
    refused(mine.query("again"), 400, "TABLE_UNREADABLE", "there is no Delta table here")
    provider.write("again", pd.DataFrame({"other": ["x"]}))
    for _ in range(4):
        second = lines_of(mine.query("again"))
        assert second[1]["metaData"]["id"] != first[1]["metaData"]["id"]
        assert len(files_of(second)) == 1
        assert files_of(second)[0]["id"] != files_of(first)[0]["id"]


@pytest.fixture(scope="module")
def long_table(provider: Provider) -> Recipient:
    """A recipient of tables with so many files that their lines come in several steps; all names are one object's."""
    provider.put("long/part.parquet", b"PAR1")
    for number in range(30):
        names = [f"long/{number:02d}-{each:04d}.parquet" for each in range(500)]
        _copy(provider, names)
        provider.log("long", number, *([PROTOCOL, METADATA] if not number else []), *(
            add(name.removeprefix("long/")) for name in names
        ))  # fmt: skip
    provider.share("long", long="long")
    return provider.token("long")


def _copy(provider: Provider, names: list[str]) -> None:
    for name in names:
        provider.s3.copy_object(
            Bucket=provider.bucket, Key=name, CopySource={"Bucket": provider.bucket, "Key": "long/part.parquet"}
        )


@pytest.mark.long
def test_a_token_that_is_revoked_in_the_middle_ends_the_stream(provider: Provider, long_table: Recipient):
    """No further line leaves: the body is cut, or the last line says why where the client knows it."""
    mine = provider.token("long")
    with _begun(mine, {}) as stream:
        provider.admin("DELETE", f"/tokens/{mine.token_id}")
        text = _rest(stream)
    assert b"\r\n0\r\n\r\n" not in text
    mine = provider.token("long")
    with _begun(mine, END) as stream:
        provider.admin("DELETE", f"/tokens/{mine.token_id}")
        text = _rest(stream)
    assert b'"errorMessage":"the bearer token' in text
    assert text.endswith(b"0\r\n\r\n")
    assert len(files_of(long_table.lines("long"))) == 15_000


def _begun(mine: Recipient, headers: dict[str, str]) -> socket.socket:
    """Ask, and read no more than the first bytes, so that the server waits."""
    host, _, rest = mine.profile["endpoint"].removeprefix("http://").partition("/")
    name, _, port = host.partition(":")
    stream = socket.socket()
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    stream.connect((name, int(port)))
    lines = [f"POST /{rest}{mine.of('long', 'query')} HTTP/1.1", f"Host: {host}", "Content-Length: 2"]
    lines += [f"{key}: {value}" for key, value in {**mine.headers, **headers}.items()]
    stream.sendall(("\r\n".join(lines) + "\r\n\r\n{}").encode())
    assert stream.recv(64).startswith(b"HTTP/1.1 200")
    return stream


def _rest(stream: socket.socket) -> bytes:
    stream.settimeout(60)
    parts = []
    while chunk := _read(stream):
        parts.append(chunk)
        if chunk.endswith(b"0\r\n\r\n"):
            break
    return b"".join(parts)


def _read(stream: socket.socket) -> bytes:
    try:
        return stream.recv(65536)
    except ConnectionResetError:
        return b""
