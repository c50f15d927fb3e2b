"""Changes over the wire: the change feed, and the files that a stream from a version goes on with."""

import json
from collections import Counter

import pandas as pd
import pytest

from tests.sharing.protocol.provider import DELTA, Provider, Recipient, lines_of, refused


def kinds(lines: list[dict]) -> list[tuple[int, str]]:
    """Return the version and the kind of each changed file, of either format."""
    found = []
    for line in lines[2:]:
        name, said = next(iter(line.items()))
        if name == "file":
            found.append((said["version"], next(iter(said["deltaSingleAction"]))))
        elif name in {"add", "remove", "cdf"}:
            found.append((said["version"], name))
    return found


def test_the_feed_names_cdc_files_where_a_commit_has_them(reader: Recipient):
    """Appends are adds; a delete that wrote what changed is that alone."""
    answer = reader.get(reader.of("people", "changes"), startingVersion=0)
    assert answer.headers["delta-table-version"] == "0"
    assert kinds(lines_of(answer)) == [(0, "add"), (1, "add"), (2, "cdf")]
    answer = reader.get(reader.of("people", "changes"), DELTA, startingVersion=0, includeHistoricalMetadata="True")
    assert kinds(lines_of(answer)) == [(0, "add"), (1, "add"), (2, "cdc")]
    assert answer.headers["delta-sharing-capabilities"] == "responseformat=delta"
    assert "version" in lines_of(answer)[1]["metaData"]


def test_a_stream_names_the_files_that_changed(reader: Recipient):
    """As Spark asks from a starting version: adds and removes with their versions and times."""
    answer = reader.query("people", startingVersion=0, endingVersion=2)
    lines = lines_of(answer)
    assert answer.headers["delta-table-version"] == "0"
    assert Counter(kinds(lines)) == Counter([(0, "add"), (1, "add"), (2, "add"), (2, "remove")])
    assert all(next(iter(line.values()))["timestamp"] > 0 for line in lines[2:])
    delta = lines_of(reader.query("people", DELTA, startingVersion=1))
    assert Counter(kinds(delta)) == Counter([(1, "add"), (2, "add"), (2, "remove")])
    removed = next(line["file"] for line in delta[2:] if "remove" in line["file"]["deltaSingleAction"])
    assert removed["deltaSingleAction"]["remove"]["size"] > 0


def test_ranges_end_where_they_are_told_to(reader: Recipient):
    """By version and by time, both ends included; an end after the newest version is the newest."""
    ask = reader.of("people", "changes")
    assert {version for version, _ in kinds(lines_of(reader.get(ask, startingVersion=1, endingVersion=1)))} == {1}
    assert {version for version, _ in kinds(lines_of(reader.get(ask, startingVersion=1, endingVersion=99)))} == {1, 2}
    times = {"startingTimestamp": "2000-01-01T00:00:00Z", "endingTimestamp": "2999-01-01T00:00:00Z"}
    assert {version for version, _ in kinds(lines_of(reader.get(ask, **times)))} == {0, 1, 2}


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ({}, "No startingVersion or startingTimestamp provided for CDF read."),
        ({"startingVersion": 0, "startingTimestamp": "2024-01-01T00:00:00Z"}, "Multiple starting arguments provided"),
        (
            {"startingVersion": 2, "endingVersion": 1},
            "CDF range from start 2 to end 1 was invalid. End cannot be before",
        ),
        ({"startingVersion": 9}, "Start version cannot be greater than the latest version of the table(2)."),
        ({"startingVersion": -1}, "startingVersion cannot be negative."),
        ({"startingTimestamp": "soon"}, "Invalid startingTimestamp: soon"),
    ],
)
def test_ranges_that_cannot_be_are_refused_in_the_words_of_the_reference(reader: Recipient, asked: dict, text: str):
    """Clients' tests look for these texts."""
    refused(reader.get(reader.of("people", "changes"), **asked), 400, "INVALID_PARAMETER_VALUE", text)


def test_a_table_without_a_feed_says_so(reader: Recipient):
    """Changes that were not recorded are not made up; its files can still be streamed."""
    text = "cdf is not enabled on table main.default.days"
    refused(reader.get(reader.of("days", "changes"), startingVersion=0), 400, "INVALID_PARAMETER_VALUE", text)
    assert len(kinds(lines_of(reader.query("days", startingVersion=0)))) == 4
    bad = reader.query("days", startingVersion=3, endingVersion=2)
    text = "startingVersion(3) must be smaller than or equal to endingVersion(2)."
    refused(bad, 400, "INVALID_PARAMETER_VALUE", text)


def test_metadata_that_changes_on_the_way_is_said_where_it_changes(provider: Provider):
    """A stream carries the schema of its start, and each new one with its version."""
    config = {"delta.enableChangeDataFeed": "true"}
    provider.write("growing", pd.DataFrame({"a": [1]}), configuration=config)
    provider.write("growing", pd.DataFrame({"a": [2], "b": ["x"]}), mode="append", schema_mode="merge")
    provider.share("growing", growing="growing")
    mine = provider.token("growing")
    for headers in ({}, DELTA):
        lines = lines_of(mine.query("growing", headers, startingVersion=0))
        schemas = [_columns(line["metaData"]) for line in lines if "metaData" in line]
        assert schemas == [(0, ["a"]), (1, ["a", "b"])]
        feed = lines_of(mine.get(mine.of("growing", "changes"), headers, startingVersion=0))
        assert [_columns(line["metaData"])[1] for line in feed if "metaData" in line] == [["a", "b"]]
        asked = {"startingVersion": 0, "includeHistoricalMetadata": "true"}
        feed = lines_of(mine.get(mine.of("growing", "changes"), headers, **asked))
        assert [_columns(line["metaData"]) for line in feed if "metaData" in line] == schemas


def test_pages_of_changes_hold_every_file_once(reader: Recipient):
    """Pages of one file go through all commits, with the head again on each."""
    ask, token, found = reader.of("people", "changes"), "", []
    for _ in range(6):
        more = {"pageToken": token} if token else {}
        lines = lines_of(reader.get(ask, startingVersion=0, maxFiles=1, **more))
        assert "protocol" in lines[0]
        found += kinds(lines[:-1])
        token = lines[-1]["endStreamAction"].get("nextPageToken", "")
        if not token:
            break
    assert found == [(0, "add"), (1, "add"), (2, "cdf")]


def _columns(metadata: dict) -> tuple[int, list[str]]:
    text = metadata["deltaMetadata"]["schemaString"] if "deltaMetadata" in metadata else metadata["schemaString"]
    return metadata["version"], [each["name"] for each in json.loads(text)["fields"]]
