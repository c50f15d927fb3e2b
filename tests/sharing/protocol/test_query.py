"""Queries over the wire: which files are named, in what form, and by what pages, limits and predicates."""

import gzip
import hashlib
import json

import pandas as pd
import pytest
import requests

from tests.sharing.protocol.provider import DELTA, Provider, Recipient, files_of, lines_of, refused, url_of


def leaf(name: str, kind: str, value: str, op: str = "equal") -> str:
    """Write a comparison as JSON predicates have it."""
    column = {"op": "column", "name": name, "valueType": kind}
    return json.dumps({"op": op, "children": [column, {"op": "literal", "value": value, "valueType": kind}]})


def test_a_file_line_says_all_that_clients_need(reader: Recipient):
    """Parquet: URL, id by MD5 of the path, partition, size, statistics and when the URL ends."""
    files = files_of(reader.lines("days"))
    assert len(files) == 4
    for file in files:
        path = file["url"].split("/days/")[1].split("?")[0].replace("%3D", "=")
        assert file["id"] == hashlib.md5(path.encode()).hexdigest()
        assert file["partitionValues"]["day"].startswith("2024-01-0")
        assert json.loads(file["stats"])["numRecords"] == 10
        assert len(requests.get(file["url"], timeout=30).content) == file["size"]
        assert file["expirationTimestamp"] % 1000 == 0


def test_a_delta_line_holds_the_tables_own_action(reader: Recipient):
    """Delta: the add action with a URL for its path, an id by SHA-256."""
    answer = reader.query("days", DELTA)
    assert answer.headers["delta-sharing-capabilities"] == "responseformat=delta"
    for file in files_of(lines_of(answer)):
        add = file["deltaSingleAction"]["add"]
        path = add["path"].split("/days/")[1].split("?")[0].replace("%3D", "=")
        assert file["id"] == hashlib.sha256(path.encode()).hexdigest()
        assert (add["dataChange"], add["size"] > 0, "stats" in add) == (True, True, True)


@pytest.mark.parametrize(("asked", "digest"), [("parquet", "md5"), ("Delta", "sha256")])
def test_the_client_may_choose_the_ids(reader: Recipient, asked: str, digest: str):
    """The header fileidhash is followed in both formats, and said again in lower case."""
    for headers in ({}, DELTA):
        answer = reader.query("days", {**headers, "fileidhash": asked})
        assert answer.headers["fileidhash"] == asked.lower()
        file = files_of(lines_of(answer))[0]
        path = url_of(file).split("/days/")[1].split("?")[0].replace("%3D", "=")
        assert file["id"] == hashlib.new(digest, path.encode()).hexdigest()
    refused(reader.query("days", {"fileidhash": "crc"}), 400, "INVALID_PARAMETER_VALUE", "Unsupported fileidhash: crc")


@pytest.mark.parametrize(
    ("hints", "days"),
    [
        ({"predicateHints": ["day = '2024-01-02'"]}, {"02"}),
        ({"predicateHints": ["(CAST(partitionValues.day AS STRING) >= '2024-01-03')"]}, {"03", "04"}),
        ({"predicateHints": ["n < 150", "n > 50"]}, {"01"}),
        ({"predicateHints": ["string"]}, {"01", "02", "03", "04"}),
        ({"predicateHints": ["n < 250 AND !"]}, {"01", "02", "03", "04"}),
        ({"jsonPredicateHints": leaf("day", "string", "2024-01-04")}, {"04"}),
        ({"jsonPredicateHints": leaf("n", "long", "301", "greaterThan")}, {"03", "04"}),
        ({"jsonPredicateHints": "{broken"}, {"01", "02", "03", "04"}),
        ({"jsonPredicateHints": leaf("n", "long", "300", "lessThan"), "predicateHints": ["n > 200"]}, {"02"}),
    ],
)
def test_hints_leave_out_files_that_cannot_match(reader: Recipient, hints: dict[str, object], days: set[str]):
    """Predicates on partitions and on statistics prune; what cannot be read is no error and prunes nothing."""
    found = {file["partitionValues"]["day"][-2:] for file in files_of(reader.lines("days", **hints))}
    assert found == days


def test_a_limit_needs_no_more_files_than_hold_it(reader: Recipient):
    """A limit cuts files by their row counts, and does not where a predicate cannot be proved."""
    assert len(files_of(reader.lines("days", limitHint=1))) == 1
    assert len(files_of(reader.lines("days", limitHint=11))) == 2
    assert len(files_of(reader.lines("days", limitHint=1000))) == 4
    assert len(files_of(reader.lines("days", limitHint="5"))) == 1
    assert len(files_of(reader.lines("days", limitHint=1, predicateHints=["day >= '2024-01-02'"]))) == 1
    proved = files_of(reader.lines("days", limitHint=1, predicateHints=["n > 305"]))
    assert any("2024-01-04" in file["url"] for file in proved)  # the one file in which every row fits
    assert len(files_of(reader.lines("days", limitHint=1, jsonPredicateHints="?"))) == 4
    assert len(files_of(reader.lines("days", limitHint=0))) == 0


def test_the_last_line_is_sent_to_who_asked_for_it(reader: Recipient):
    """EndStreamAction comes with includeRefreshToken, maxFiles or the capability, and never unasked."""
    assert "endStreamAction" not in reader.lines("days")[-1]
    assert "refreshToken" in reader.lines("days", includeRefreshToken=True)[-1]["endStreamAction"]
    asked = {"delta-sharing-capabilities": "responseformat=parquet;includeEndStreamAction=true"}
    answer = reader.query("days", asked)
    assert answer.headers["delta-sharing-capabilities"] == "responseformat=parquet;includeendstreamaction=true"
    end = lines_of(answer)[-1]["endStreamAction"]
    assert end == {"minUrlExpirationTimestamp": files_of(lines_of(answer))[0]["expirationTimestamp"]}
    assert "nextPageToken" not in reader.lines("days", maxFiles=100)[-1]["endStreamAction"]


def test_pages_hold_every_file_once(reader: Recipient):
    """Pages of one file go through the whole table, and their tokens are for the same question alone."""
    whole = {file["id"] for file in files_of(reader.lines("days"))}
    found: list[str] = []
    body: dict[str, object] = {"maxFiles": 1}
    for _ in range(6):
        lines = reader.lines("days", **body)
        found += [file["id"] for file in files_of(lines)]
        token = lines[-1]["endStreamAction"].get("nextPageToken")
        if token is None:
            break
        body["pageToken"] = token
    assert (len(found), set(found)) == (4, whole)
    other = reader.query("days", maxFiles=1, pageToken=body["pageToken"], limitHint=3)
    refused(other, 400, "INVALID_PARAMETER_VALUE", "Query parameter mismatch detected for the next page query")
    refused(reader.query("people", maxFiles=1, pageToken=body["pageToken"]), 400, "INVALID_PARAMETER_VALUE", "mismatch")
    refused(reader.query("days", maxFiles=1, pageToken="made-up"), 400, "INVALID_PARAMETER_VALUE", "page token")
    refused(reader.query("days", maxFiles=0), 400, "INVALID_PARAMETER_VALUE", "maxFiles must be positive.")


def test_a_refresh_is_of_the_same_version(provider: Provider):
    """Fresh URLs name the files of the version that the token was given with, whatever was committed since."""
    provider.write("moving", pd.DataFrame({"n": [1]}))
    provider.share("moving", moving="moving", other="days")
    mine = provider.token("moving")
    before = mine.lines("moving", includeRefreshToken=True)
    provider.write("moving", pd.DataFrame({"n": [2]}), mode="append")
    token = before[-1]["endStreamAction"]["refreshToken"]
    answer = mine.query("moving", refreshToken=token, includeRefreshToken=True)
    assert answer.headers["delta-table-version"] == "0"
    assert [file["id"] for file in files_of(lines_of(answer))] == [file["id"] for file in files_of(before)]
    assert lines_of(answer)[:2] == before[:2]
    assert "refreshToken" in lines_of(answer)[-1]["endStreamAction"]
    assert len(files_of(mine.lines("moving"))) == 2
    refused(mine.query("other", refreshToken=token), 400, "INVALID_PARAMETER_VALUE", "does not match")
    refused(mine.query("moving", refreshToken="x"), 400, "INVALID_PARAMETER_VALUE", "Error decoding refresh token")
    bad = mine.query("moving", version=0, includeRefreshToken=True)
    text = "includeRefreshToken cannot be used when querying a specific version."
    refused(bad, 400, "INVALID_PARAMETER_VALUE", text)


def test_time_travel_says_which_version_and_when(reader: Recipient):
    """Files of an older version carry its number and its time."""
    answer = reader.query("people", version=0)
    assert answer.headers["delta-table-version"] == "0"
    file = files_of(lines_of(answer))[0]
    assert (file["version"], file["timestamp"] > 0) == (0, True)
    assert reader.query("people", version="1").headers["delta-table-version"] == "1"
    text = "Please only provide one of: version,timestamp,startingVersion"
    refused(reader.query("people", version=0, startingVersion=1), 400, "INVALID_PARAMETER_VALUE", text)
    refused(reader.query("people", version=-1), 400, "INVALID_PARAMETER_VALUE", "table version cannot be negative.")


@pytest.mark.parametrize("body", [b"[]", b"{", b"\xff", b'{"version":"two"}', b'{"limitHint":1.5}'])
def test_bodies_that_cannot_be_read_are_refused(reader: Recipient, body: bytes):
    """What is not a JSON object, or has a number that is none, is a malformed request."""
    url = reader.profile["endpoint"] + reader.of("days", "query")
    refused(requests.post(url, data=body, headers=reader.headers, timeout=30), 400, "MALFORMED_REQUEST", "")


def test_an_answer_is_compressed_for_who_takes_that(reader: Recipient):
    """Gzip is used where it is asked for, and the same lines are in it."""
    url = reader.profile["endpoint"] + reader.of("days", "query")
    plain = requests.post(url, json={}, headers={**reader.headers, "Accept-Encoding": "identity"}, timeout=30)
    assert "content-encoding" not in plain.headers
    packed = requests.post(url, json={}, headers={**reader.headers, "Accept-Encoding": "gzip"}, timeout=30, stream=True)
    raw = packed.raw.read(decode_content=False)
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(raw).decode().splitlines()[:2] == plain.text.splitlines()[:2]
    assert len(gzip.decompress(raw).splitlines()) == len(plain.text.splitlines())
