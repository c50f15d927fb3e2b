"""Travel by time over the wire, and a protocol that changes on the way."""

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import requests

from tests.sharing.protocol.provider import DELTA, Provider, Recipient, files_of, lines_of, refused, url_of

START_MS = 1_700_000_000_000
STEP_MS = 60_000
"""Between two commits of the tables here, which carry their own times."""
SCHEMA = '{"type":"struct","fields":[{"name":"n","type":"long","nullable":true,"metadata":{}}]}'
CHANGES = {"delta.enableChangeDataFeed": "true"}
TIMES = {"delta.enableInCommitTimestamps": "true"}


def iso(at_ms: int, zone: timedelta = timedelta(0)) -> str:
    """Write a moment as clients do."""
    local = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=at_ms) + zone
    text = local.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return text if not zone else f"{text[:-1]}+{zone.seconds // 3600:02d}:00"


def metadata(table: str, **configuration: str) -> dict[str, Any]:
    """Write a metadata action."""
    return {"metaData": {"id": table, "format": {"provider": "parquet", "options": {}}, "schemaString": SCHEMA,
                         "partitionColumns": [], "configuration": configuration, "createdTime": 1}}  # fmt: skip


def protocol(reader: list[str] | None = None, *writer: str) -> dict[str, Any]:
    """Write a protocol action, by features where there are any."""
    if reader is None:
        return {"protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": [*writer]}}
    features = {"readerFeatures": reader, "writerFeatures": [*reader, *writer]}
    return {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}}


def add(number: int) -> dict[str, Any]:
    """Write an add action."""
    return {"add": {"path": f"{number}.parquet", "partitionValues": {}, "size": 4, "modificationTime": 1,
                    "dataChange": True}}  # fmt: skip


def at(version: int) -> dict[str, Any]:
    """Say when a version was committed."""
    return {"commitInfo": {"inCommitTimestamp": START_MS + version * STEP_MS, "timestamp": 1}}


@pytest.fixture(scope="module")
def timed(provider: Provider) -> Recipient:
    """A recipient of a table of four versions, one minute apart by its own word, whose changes are recorded."""
    for number in range(4):
        provider.put(f"timed/{number}.parquet", b"PAR1")
        features = ("inCommitTimestamp", "changeDataFeed", "appendOnly", "invariants")
        head = (protocol(None, *features), metadata(str(uuid.uuid4()), **CHANGES, **TIMES)) if not number else ()
        provider.log("timed", number, at(number), *head, add(number))
    provider.share("timed", t="timed")
    return provider.token("timed")


@pytest.mark.parametrize("headers", [{}, DELTA], ids=["parquet", "delta"])
def test_a_query_at_a_time_is_of_the_last_version_by_then(timed: Recipient, headers: Mapping[str, str]):
    """A commit's own time is that commit, and until the next it stays; in any zone; every file says when it was."""
    for version in range(4):
        moment = START_MS + version * STEP_MS
        for shift in (0, 1, STEP_MS - 1) if version < 3 else (0,):
            answer = timed.query("t", headers, timestamp=iso(moment + shift))
            assert answer.headers["delta-table-version"] == str(version)
            files = files_of(lines_of(answer))
            assert len(files) == version + 1
            assert {file["timestamp"] for file in files} == {moment}
            assert {file["version"] for file in files} == {version}
        east = timed.query("t", headers, timestamp=iso(moment, timedelta(hours=8)))
        assert east.headers["delta-table-version"] == str(version)


def test_metadata_and_version_at_a_time(timed: Recipient):
    """Metadata is of the last version by then, a starting version the first from then on."""
    for version in range(1, 4):
        moment = START_MS + version * STEP_MS
        said = timed.get(timed.of("t", "metadata"), timestamp=iso(moment))
        assert said.headers["delta-table-version"] == str(version)
        before = timed.get(timed.of("t", "metadata"), timestamp=iso(moment - 1))
        assert before.headers["delta-table-version"] == str(version - 1)
        for shift in (0, -1, 1 - STEP_MS):
            found = timed.get(timed.of("t", "version"), startingTimestamp=iso(moment + shift))
            assert found.headers["delta-table-version"] == str(version), shift


def test_changes_between_times(timed: Recipient):
    """From the first version at or after the start, to the last at or before the end, both ends included."""

    def versions(**asked: str) -> list[int]:
        lines = lines_of(timed.get(timed.of("t", "changes"), **asked))
        return [line["add"]["version"] for line in lines[2:]]

    one, two = START_MS + STEP_MS, START_MS + 2 * STEP_MS
    assert versions(startingTimestamp=iso(one), endingTimestamp=iso(two)) == [1, 2]
    assert versions(startingTimestamp=iso(one + 1), endingTimestamp=iso(two)) == [2]
    assert versions(startingTimestamp=iso(one), endingTimestamp=iso(two - 1)) == [1]
    assert versions(startingTimestamp=iso(one), endingVersion="3") == [1, 2, 3]
    assert versions(startingVersion="0", endingTimestamp=iso(one)) == [0, 1]
    assert versions(startingTimestamp=iso(START_MS - 1)) == [0, 1, 2, 3]


def test_times_out_of_the_tables_life_are_refused(timed: Recipient):
    """Before the first version and after the last there is none, and the answer says which times there are."""
    code = "INVALID_PARAMETER_VALUE"
    refused(timed.query("t", timestamp=iso(START_MS - 1)), 400, code, "before the earliest version")
    refused(timed.query("t", timestamp=iso(START_MS + 4 * STEP_MS)), 400, code, "after the latest version")
    late = iso(START_MS + 4 * STEP_MS)
    refused(timed.get(timed.of("t", "version"), startingTimestamp=late), 400, code, "after the latest version")
    refused(timed.get(timed.of("t", "changes"), startingTimestamp=late), 400, code, "after the latest version")
    refused(timed.query("t", timestamp=iso(START_MS), version=0), 400, code, "Please only provide one of")
    for text in ("2024", "now", "1700000000000", "2024-13-01T00:00:00Z", ""):
        answer = timed.query("t", timestamp=text)
        assert answer.status_code == (400 if text else 200), text


@pytest.fixture(scope="module")
def growing(provider: Provider) -> Recipient:
    """A recipient of a table whose protocol changes twice: at version 1, and at 3 together with its metadata."""
    table = str(uuid.uuid4())
    for number in range(4):
        provider.put(f"upgraded/{number}.parquet", b"PAR1")
    provider.log("upgraded", 0, protocol(None, "changeDataFeed"), metadata(table, **CHANGES), add(0))
    provider.log("upgraded", 1, protocol(["deletionVectors"], "changeDataFeed"), add(1))
    provider.log("upgraded", 2, add(2))
    both = protocol(["deletionVectors", "timestampNtz"], "changeDataFeed")
    provider.log("upgraded", 3, both, metadata(table, **CHANGES, **{"delta.appendOnly": "false"}), add(3))
    provider.share("upgraded", t="upgraded")
    return provider.token("upgraded")


def _protocols(lines: list[dict[str, Any]]) -> list[tuple[int | None, list[str]]]:
    found = [line["protocol"] for line in lines if "protocol" in line]
    return [(each.get("version"), each["deltaProtocol"].get("readerFeatures", [])) for each in found]


def test_protocols_of_the_way_are_said_to_who_asks(growing: Recipient):
    """The head is that of the start, each change stands where it happened with its version; by default none does."""
    ntz = ["deletionVectors", "timestampNtz"]
    asked = {"startingVersion": 0, "includeHistoricalProtocol": True}
    lines = lines_of(growing.query("t", DELTA, **asked))
    assert _protocols(lines) == [(None, []), (1, ["deletionVectors"]), (3, ntz)]
    order = [next(iter(line)) for line in lines]
    assert order == ["protocol", "metaData", "file", "protocol", "file", "file", "protocol", "metaData", "file"]
    assert _protocols(lines_of(growing.query("t", DELTA, startingVersion=0))) == [(None, [])]
    assert _protocols(lines_of(growing.query("t", DELTA, **asked | {"startingVersion": 2}))) == [
        (None, ["deletionVectors"]),
        (3, ntz),
    ]


def test_protocols_stand_in_the_change_feed_too(growing: Recipient):
    """With both flags the feed begins with the state of its start; Python spells truth with a capital letter."""
    asked = {"startingVersion": 0, "includeHistoricalMetadata": "True", "includeHistoricalProtocol": "True"}
    lines = lines_of(growing.get(growing.of("t", "changes"), DELTA, **asked))
    assert [version for version, _ in _protocols(lines)] == [None, 1, 3]
    assert [line["metaData"]["version"] for line in lines if "metaData" in line] == [0, 3]
    plain = lines_of(growing.get(growing.of("t", "changes"), DELTA, startingVersion=0))
    assert _protocols(plain) == [(None, ["deletionVectors", "timestampNtz"])]


# OAuth, from the client's secret to the bytes of a file.


def test_oauth_reaches_the_data_and_ends_with_its_client(provider: Provider, timed: Recipient):
    """An access token queries and its links serve, also where bearer tokens are refused, until its client goes."""
    provider.admin("POST", "/recipients", {"name": "by-oauth", "shares": [timed.share]})
    made = provider.admin("POST", "/recipients/by-oauth/tokens", {"kind": "oauth"})
    profile = made["profile"]
    grant = requests.post(
        profile["tokenEndpoint"],
        data={"grant_type": "client_credentials"},
        auth=(profile["clientId"], profile["clientSecret"]),
        timeout=30,
    ).json()
    mine = Recipient(profile | {"bearerToken": grant["access_token"]}, made["id"], timed.share)
    for headers in ({}, DELTA):
        urls = [url_of(file) for file in files_of(mine.lines("t", headers))]
        assert len(urls) == 4
        for url in urls:
            assert requests.get(url, timeout=30).content == b"PAR1"
            assert requests.put(url, data=b"x", timeout=30).status_code >= 400
    bearer = url_of(files_of(timed.lines("t"))[0])
    provider.admin("PATCH", f"/shares/{timed.share}", {"oauth_only": True})
    try:
        refused(timed.query("t"), 403, "PERMISSION_DENIED", "bearer tokens are not accepted here")
        assert requests.get(bearer, timeout=30).status_code == 403
        assert requests.get(urls[0], timeout=30).status_code == 200
    finally:
        provider.admin("PATCH", f"/shares/{timed.share}", {"oauth_only": False})
    provider.admin("DELETE", f"/tokens/{mine.token_id}")
    refused(mine.query("t"), 401, "UNAUTHENTICATED", "bearer token")
    assert requests.get(urls[0], timeout=30).status_code == 403
