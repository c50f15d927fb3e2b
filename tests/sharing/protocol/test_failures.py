"""Failures while a recipient reads: the right rows or a clear error, never some rows taken for all."""

import json
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import delta_sharing
import pandas as pd
import pytest
import requests

from tests.sharing.protocol.provider import Provider, Recipient, files_of, lines_of, refused

METADATA = {"metaData": {"id": str(uuid.uuid4()), "format": {"provider": "parquet", "options": {}},
            "schemaString": '{"type":"struct","fields":[{"name":"n","type":"long","nullable":true,"metadata":{}}]}',
            "partitionColumns": [], "configuration": {}, "createdTime": 1}}  # fmt: skip
PROTOCOL = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
READS, MAX_REWRITES = 12, 200
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
            code = answer.json()["errorCode"]
            assert code in {"TABLE_UNREADABLE", "INVALID_PARAMETER_VALUE"}
            refused(answer, 400, code, text if code == "TABLE_UNREADABLE" else "its log was cleaned away")


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


def test_a_part_of_a_checkpoint_that_is_missing_is_no_checkpoint(provider: Provider):
    """Of a checkpoint in parts each must be there; with the commits gone as well, the reason is said."""
    for number in range(3):
        provider.write("parts", pd.DataFrame({"n": [number]}), mode="append")
    provider.table("parts").create_checkpoint()
    log = "parts/_delta_log/00000000000000000002"
    whole = provider.s3.get_object(Bucket=provider.bucket, Key=f"{log}.checkpoint.parquet")["Body"].read()
    provider.put(f"{log}.checkpoint.0000000001.0000000002.parquet", whole)
    provider.s3.delete_object(Bucket=provider.bucket, Key=f"{log}.checkpoint.parquet")
    provider.put("parts/_delta_log/_last_checkpoint", b'{"version":2,"size":5,"parts":2}')
    provider.share("parts", parts="parts")
    mine = provider.token("parts")
    for _ in range(4):
        assert len(files_of(mine.lines("parts"))) == 3
    provider.s3.delete_object(Bucket=provider.bucket, Key="parts/_delta_log/00000000000000000000.json")
    right_or_refused(mine, "parts", 3, "the table cannot be read")


@pytest.mark.parametrize(
    "hint",
    [
        b"",
        b"{",
        b'{"version":-1}',
        b'{"version":99,"size":1}',
        b'{"version":"1"}',
        b"[]",
        b"\xff\xfe",
        b'{"version":1,"parts":3}',
    ],
    ids=["empty", "torn", "negative", "ahead", "text", "list", "bytes", "parts"],
)
def test_a_hint_that_is_broken_or_stale_is_only_a_hint(provider: Provider, request: pytest.FixtureRequest, hint: bytes):
    """Whatever `_last_checkpoint` says, the table is what its log says."""
    path = f"hint-{request.node.callspec.id}"
    provider.write(path, pd.DataFrame({"n": [1]}))
    provider.write(path, pd.DataFrame({"n": [2]}), mode="append")
    provider.table(path).create_checkpoint()
    provider.write(path, pd.DataFrame({"n": [3]}), mode="append")
    provider.put(f"{path}/_delta_log/_last_checkpoint", hint)
    provider.share(path, t=path)
    mine = provider.token(path)
    for _ in range(3):
        answer = mine.query("t")
        assert answer.headers["delta-table-version"] == "2"
        assert len(files_of(lines_of(answer))) == 3


def test_a_sidecar_that_is_missing_is_named(provider: Provider):
    """A V2 checkpoint without its sidecar is passed over for the commits; without them the reason is said."""
    features = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["v2Checkpoint"],
                "writerFeatures": ["v2Checkpoint"]}  # fmt: skip
    provider.put("sided/one.parquet", b"PAR1")
    provider.log("sided", 0, {"protocol": features}, METADATA, add("one.parquet"))
    lines = [{"checkpointMetadata": {"version": 0}}, {"protocol": features}, METADATA,
             {"sidecar": {"path": "gone.parquet", "sizeInBytes": 1, "modificationTime": 1}}]  # fmt: skip
    name = f"sided/_delta_log/{0:020d}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"
    provider.put(name, "".join(json.dumps(line) + "\n" for line in lines).encode())
    provider.share("sided", sided="sided")
    mine = provider.token("sided")
    assert len(files_of(mine.lines("sided"))) == 1
    provider.log("sided", 1, add("one.parquet"))
    provider.s3.delete_object(Bucket=provider.bucket, Key=f"sided/_delta_log/{0:020d}.json")
    right_or_refused(mine, "sided", 1, "gone.parquet")


def test_a_log_that_is_not_what_its_checksum_says_is_refused(provider: Provider):
    """A checksum is held against each version that is opened; one that cannot be read says nothing."""
    provider.write("summed", pd.DataFrame({"n": [1]}))
    (name,) = (uri.split(f"{provider.bucket}/")[1] for uri in provider.table("summed").file_uris())
    size = provider.s3.head_object(Bucket=provider.bucket, Key=name)["ContentLength"]
    right = {"tableSizeBytes": size, "numFiles": 1}
    where = "summed/_delta_log/00000000000000000000.crc"
    for said, text in (
        ({**right, "numFiles": 2}, "its checksum says 2 files"),
        ({**right, "protocol": {"minReaderVersion": 1, "minWriterVersion": 1}}, "another protocol"),
        ({**right, "metadata": METADATA["metaData"]}, "other metadata"),
    ):
        provider.put(where, json.dumps(said).encode())
        with pytest.raises(AssertionError, match=text):
            provider.share("summed", summed="summed")
    for said in (b"{", json.dumps(right).encode()):
        provider.put(where, said)
        provider.share("summed", summed="summed")
        assert len(files_of(provider.token("summed").lines("summed"))) == 1
        provider.admin("DELETE", "/shares/summed")


def test_a_recipient_reads_whole_versions_while_the_table_is_rewritten_and_vacuumed(provider: Provider, tmp_path: Path):
    """Every read is of one version: all of its rows, and no others."""
    provider.write("stormy", _version(0))
    provider.share("stormy", stormy="stormy")
    profile = tmp_path / "stormy.share"
    profile.write_text(json.dumps(provider.token("stormy").profile))
    over = threading.Event()

    def rewrite() -> int:
        version = 0
        while not over.is_set() and version < MAX_REWRITES:
            version += 1
            provider.write("stormy", _version(version), mode="overwrite")
            table = provider.table("stormy")
            table.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)
            if version % 5 == 0:
                table.create_checkpoint()
        return version

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(rewrite)
        found = []
        for number in range(READS):
            rows = delta_sharing.load_as_pandas(f"{profile}#stormy.default.stormy", use_delta_format=number % 2 == 0)
            found.append(set(rows["v"]))
            assert len(found[-1]) == 1
            assert len(rows) == 10 + found[-1].pop()
        over.set()
        assert writing.result() > 1


def _version(number: int) -> pd.DataFrame:
    return pd.DataFrame({"v": [number] * (10 + number)})
