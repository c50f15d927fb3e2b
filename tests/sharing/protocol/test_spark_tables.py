"""Tables that Spark writes with every reader feature: through a share they are what Spark itself reads, or refused."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import delta_sharing
import pytest

from tests.live import LiveServer
from tests.sharing.protocol.golden import EVERY, upload
from tests.sharing.protocol.provider import Provider, Recipient, lines_of, refused
from tests.sharing.protocol.spark_process import SparkProcess, spark_process, write_changes, write_snapshot
from tests.sharing.protocol.spark_tables import CHANGES, TABLES, rows_of
from tests.spark import java_for_spark

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(1800),  # Spark writes two dozen tables: two minutes, and many more on a busy machine.
    pytest.mark.filterwarnings("ignore"),  # PySpark leaves sockets to the garbage collector.
]
REFUSED = {"cloned": "names a file outside of its folder"}
TO_PYTHON = {"widened": "typeWidening", "variant": "variantType"}
"""What the delta-sharing package for Python does not say it can read."""
PARQUET = {"plain", "changes", "clustered", "parts", "typed_stats", "times_inside", "times_later", "guarded",
           "v2_json"}  # fmt: skip
"""What has no feature that the parquet format cannot say."""
FEED_TO_PYTHON = {"everything": "timestampNtz"}
"""What that package does not say it can read of a change feed."""
FEEDS = [name for name, steps in TABLES.items() if CHANGES in " ".join(steps)]


@dataclass(frozen=True)
class Written:
    """The tables, what Spark read of them, and a recipient of a share of them all."""

    spark: SparkProcess
    told: dict[str, Any]
    reader: Recipient
    profile: str

    def url(self, table: str) -> str:
        """Name a table to the Python client."""
        return f"{self.profile}#{self.reader.share}.default.{table}"


@pytest.fixture(scope="module")
def written(
    live_server: LiveServer,
    bucket_names: Callable[[str], str],
    cache: Path,
    repository: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Written]:
    """Write all tables in one go, and share them."""
    java = java_for_spark(cache.resolve())
    folder = tmp_path_factory.mktemp("spark") / "tables"
    folder.mkdir()
    provider = Provider(live_server, bucket_names("spark"))
    with spark_process(folder, cache.resolve(), java, repository) as spark:
        told = spark.ask("write")
        for name in TABLES:
            upload(provider, folder / name, name)
        provider.share("spark", **{name: name for name in TABLES})
        reader = provider.token("spark")
        profile = folder.parent / "profile.share"
        profile.write_text(json.dumps(reader.profile))
        yield Written(spark, told, reader, str(profile))


@pytest.mark.parametrize("table", [name for name in TABLES if name not in REFUSED])
def test_what_the_share_says_is_what_spark_reads(written: Written, table: str, tmp_path: Path):
    """A log made of the answer, as the JVM connector makes one, gives Spark the same rows."""
    lines = lines_of(written.reader.query(table, EVERY))
    assert written.spark.ask("rows", folder=write_snapshot(lines, tmp_path / "t")) == written.told[table]["rows"]


@pytest.mark.parametrize("table", [name for name in TABLES if name not in REFUSED])
def test_the_python_client_reads_what_spark_reads(written: Written, table: str):
    """In the delta format, and in the parquet format where that can say the table; else the reason is said."""
    if table in TO_PYTHON:
        with pytest.raises(Exception, match=TO_PYTHON[table]):
            delta_sharing.load_as_pandas(written.url(table), use_delta_format=True)
    else:
        found = delta_sharing.load_as_pandas(written.url(table), use_delta_format=True)
        assert rows_of(found.to_dict("records")) == written.told[table]["rows"]
    if table in PARQUET:
        found = delta_sharing.load_as_pandas(written.url(table), use_delta_format=False)
        assert rows_of(found.to_dict("records")) == written.told[table]["rows"]
    else:
        refused(written.reader.query(table), 400, "UNSUPPORTED_OPERATION", "Unsupported Delta Table Properties")


@pytest.mark.parametrize("table", FEEDS)
def test_the_change_feed_is_the_one_that_spark_reads(written: Written, table: str, tmp_path: Path):
    """With deletion vectors and column mapping too: by a log made of the answer, and by the Python client."""
    answer = written.reader.get(written.reader.of(table, "changes"), EVERY, startingVersion=1)
    lines = lines_of(answer)
    newest = int(written.reader.get(written.reader.of(table, "version")).headers["delta-table-version"])
    expected = written.told[table]["changes"]
    assert written.spark.ask("changes", folder=write_changes(lines, tmp_path / "t", 1, newest), start=1) == expected
    if table in FEED_TO_PYTHON:
        with pytest.raises(Exception, match=FEED_TO_PYTHON[table]):
            delta_sharing.load_table_changes_as_pandas(written.url(table), starting_version=1, use_delta_format=True)
        return
    found = delta_sharing.load_table_changes_as_pandas(written.url(table), starting_version=1, use_delta_format=True)
    assert rows_of(found.drop(columns="_commit_timestamp").to_dict("records")) == expected


def test_a_shallow_clone_is_refused(written: Written):
    """Its files are another table's, which is not shared by it."""
    for headers in ({}, EVERY):
        refused(written.reader.query("cloned", headers), 400, "UNSUPPORTED_OPERATION", REFUSED["cloned"])


def test_features_are_reported_to_who_shares(written: Written):
    """Every reader feature that there is occurs among these tables."""
    found = set()
    for table in TABLES:
        head = lines_of(written.reader.get(written.reader.of(table, "metadata"), EVERY))[0]
        found |= set(head["protocol"]["deltaProtocol"].get("readerFeatures", []))
    assert {"deletionVectors", "columnMapping", "typeWidening", "timestampNtz", "variantType"} <= found
