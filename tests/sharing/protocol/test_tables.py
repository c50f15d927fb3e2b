"""The version and the metadata of a table over the wire."""

import json
from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest
import requests

from tests.sharing.protocol.provider import DELTA, Provider, Recipient, lines_of, refused


def test_the_version_is_in_a_header_of_an_empty_answer(reader: Recipient):
    """GET version and the deprecated HEAD say the same."""
    answer = reader.get(reader.of("people", "version"))
    assert (answer.status_code, answer.content, answer.headers["delta-table-version"]) == (200, b"", "2")
    url = reader.profile["endpoint"] + reader.of("people")
    answer = requests.head(url, headers=reader.headers, timeout=30)
    assert (answer.status_code, answer.headers["delta-table-version"]) == (200, "2")


def test_a_starting_timestamp_means_the_first_version_from_then_on(reader: Recipient, provider: Provider):
    """A time before all is version 0, a commit's own time is that commit, and one after all is refused."""
    times = {item["version"]: item["timestamp"] for item in provider.table("people").history()}
    ask = reader.of("people", "version")
    assert reader.get(ask, startingTimestamp="2000-01-01T00:00:00Z").headers["delta-table-version"] == "0"
    first = _log_times(provider, "people")
    for version, at_ms in first.items():
        found = reader.get(ask, startingTimestamp=_iso(at_ms))
        assert found.headers["delta-table-version"] == str(version), times
        assert reader.get(ask, startingTimestamp=_iso(at_ms - 1)).headers["delta-table-version"] == str(version)
    refused(reader.get(ask, startingTimestamp="2999-01-01T00:00:00Z"), 400, "INVALID_PARAMETER_VALUE", "timestamp")
    bad = reader.get(ask, startingTimestamp="yesterday")
    refused(bad, 400, "INVALID_PARAMETER_VALUE", "Invalid startingTimestamp: yesterday")


def test_an_acknowledged_commit_is_the_next_version_on_every_worker(reader: Recipient, provider: Provider):
    """Each append is in the very next answer, whichever worker gives it."""
    provider.write("counter", pd.DataFrame({"n": [0]}))
    provider.share("counting", counter="counter")
    other = provider.token("counting")
    for version in range(1, 9):
        provider.write("counter", pd.DataFrame({"n": [version]}), mode="append")
        for _ in range(2):
            assert other.get(other.of("counter", "version")).headers["delta-table-version"] == str(version)
            assert len(other.lines("counter")) == 2 + version + 1


def test_metadata_is_two_lines_of_the_parquet_format(reader: Recipient):
    """Without capabilities: the protocol, and the metadata with its size, its files and its change feed."""
    answer = reader.get(reader.of("people", "metadata"))
    protocol, metadata = lines_of(answer)
    assert protocol == {"protocol": {"minReaderVersion": 1}}
    said = metadata["metaData"]
    assert said["format"] == {"provider": "parquet"}
    assert said["configuration"] == {"enableChangeDataFeed": "true"}
    assert [each["name"] for each in json.loads(said["schemaString"])["fields"]] == ["id", "name"]
    assert said["numFiles"] == 2
    assert said["size"] > 0
    assert answer.headers["delta-table-version"] == "2"
    assert answer.headers["delta-sharing-capabilities"] == "responseformat=parquet"


@pytest.mark.parametrize(
    "offer",
    [
        "responseformat=delta",
        "responseformat=delta,parquet",
        "responseFormat=PARQUET,DELTA;readerFeatures=deletionVectors",
    ],
)
def test_delta_is_chosen_whenever_it_is_offered(reader: Recipient, offer: str):
    """The table's own protocol and metadata are sent to who can read them, in whatever order and case it says so."""
    answer = reader.get(reader.of("people", "metadata"), {"Delta-Sharing-Capabilities": offer})
    protocol, metadata = lines_of(answer)
    assert answer.headers["delta-sharing-capabilities"] == "responseformat=delta"
    assert protocol["protocol"]["deltaProtocol"]["minReaderVersion"] == 1
    assert metadata["metaData"]["deltaMetadata"]["configuration"]["delta.enableChangeDataFeed"] == "true"
    assert metadata["metaData"]["numFiles"] == 2


@pytest.mark.parametrize("headers", [{}, DELTA])
def test_the_first_two_lines_are_the_same_bytes_everywhere(reader: Recipient, headers: dict[str, str]):
    """Metadata, queries and pages of one version begin with identical lines."""
    metadata = reader.get(reader.of("people", "metadata"), headers).text
    query = reader.query("people", headers)
    assert "".join(query.text.splitlines(keepends=True)[:2]) == metadata
    travel = reader.query("people", headers, version=2)
    assert "".join(travel.text.splitlines(keepends=True)[:2]) == metadata
    page = reader.query("people", headers, maxFiles=1)
    assert "".join(page.text.splitlines(keepends=True)[:2]) == metadata


def test_metadata_of_an_older_version(reader: Recipient, provider: Provider):
    """By version or by time, never by both."""
    ask = reader.of("people", "metadata")
    assert reader.get(ask, version=0).headers["delta-table-version"] == "0"
    at_ms = _log_times(provider, "people")[1]
    assert reader.get(ask, timestamp=_iso(at_ms)).headers["delta-table-version"] == "1"
    refused(
        reader.get(ask, version=0, timestamp=_iso(at_ms)), 400, "INVALID_PARAMETER_VALUE", "Please only provide one"
    )
    refused(reader.get(ask, version=-1), 400, "INVALID_PARAMETER_VALUE", "table version cannot be negative.")
    refused(reader.get(ask, version=99), 400, "INVALID_PARAMETER_VALUE", "the latest version is 2")


def test_without_history_there_is_no_travel(reader: Recipient, provider: Provider):
    """A table shared without history answers for its newest version alone, one with a window from its start on."""
    provider.admin("POST", "/shares", {"name": "windows", "tables": [
        provider.spec("newest", "people", history=False), provider.spec("recent", "people", start_version=1),
    ]})  # fmt: skip
    other = provider.token("windows")
    text = "history sharing is not enabled on table: windows.default.newest"
    for body in ({"version": 2}, {"timestamp": "2030-01-01T00:00:00Z"}, {"startingVersion": 0}):
        refused(other.query("newest", **body), 400, "INVALID_PARAMETER_VALUE", text)
    refused(other.get(other.of("newest", "changes"), startingVersion=0), 400, "INVALID_PARAMETER_VALUE", text)
    assert len(other.lines("newest")) == 4
    assert other.query("recent", version=1).status_code == 200
    text = "You can only query table data since version 1."
    refused(other.query("recent", version=0), 400, "INVALID_PARAMETER_VALUE", text)
    refused(other.query("recent", startingVersion=0), 400, "INVALID_PARAMETER_VALUE", text)


def _log_times(provider: Provider, path: str) -> dict[int, int]:
    page = provider.s3.list_objects_v2(Bucket=provider.bucket, Prefix=f"{path}/_delta_log/0")
    found = {}
    for item in page["Contents"]:
        version = int(item["Key"].rsplit("/", 1)[1][:20])
        found[version] = int(item["LastModified"].timestamp() * 1000)
    return found


def _iso(at_ms: int) -> str:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=at_ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
