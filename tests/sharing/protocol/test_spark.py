"""What the JVM connectors send, request for request, and what they need of the answers."""

from pathlib import Path

import requests

from tests.formats.delta.conformance import unpack
from tests.sharing.protocol.golden import upload
from tests.sharing.protocol.provider import Provider, Recipient, files_of, lines_of, url_of
from tests.vectors import DELTA_GOLDEN, needs

AGENT = "Delta-Sharing-Spark/1.4.1 Spark/3.5.3 QueryId-0a1b2c3d  Hadoop/3.3.4 Linux/6.1 java/17 scala/2.12.18"
FEATURES = (
    "deletionVectors,columnMapping,timestampNtz,typeWidening-preview,typeWidening,variantType-preview,geospatial,"
    "variantType,variantShredding-preview,variantShredding"
)
PARQUET = {"User-Agent": AGENT, "delta-sharing-capabilities": "responseformat=parquet"}
BOTH = {"User-Agent": AGENT, "delta-sharing-capabilities": f"responseformat=parquet,delta;readerfeatures={FEATURES}"}


def ranged(url: str, size: int) -> bytes:
    """Read a file as the connector does: its last eight bytes, its footer, its data; each must be a 206."""
    tail = requests.get(url, headers={"Range": f"bytes={size - 8}-{size - 1}"}, timeout=30)
    assert (tail.status_code, tail.content[4:]) == (206, b"PAR1")
    assert tail.headers["content-range"] == f"bytes {size - 8}-{size - 1}/{size}"
    whole = requests.get(url, headers={"Range": f"bytes=0-{size - 1}"}, timeout=30)
    assert (whole.status_code, len(whole.content)) == (206, size)
    return whole.content


def test_a_batch_read_of_the_parquet_connector(reader: Recipient):
    """Metadata, then a query that wants a refresh token; the schema, the partitions and the protocol are identical."""
    metadata = reader.get(reader.of("days", "metadata"), PARQUET)
    assert len(metadata.text.splitlines()) == 2
    lines = lines_of(reader.query("days", PARQUET, predicateHints=[], includeRefreshToken=True))
    assert lines[:2] == lines_of(metadata)
    assert lines[1]["metaData"]["size"] == sum(file["size"] for file in files_of(lines))
    assert lines[-1]["endStreamAction"]["refreshToken"]
    for file in files_of(lines):
        assert ranged(file["url"], file["size"])
        assert file["expirationTimestamp"] - lines[-1]["endStreamAction"]["minUrlExpirationTimestamp"] == 0


def test_a_batch_read_of_the_delta_connector(reader: Recipient):
    """The format is chosen by the server's answer to metadata; every field that its own log needs is there."""
    metadata = reader.get(reader.of("days", "metadata"), BOTH)
    assert metadata.headers["delta-sharing-capabilities"] == "responseformat=delta"
    chosen = {"User-Agent": AGENT, "delta-sharing-capabilities": f"responseformat=delta;readerfeatures={FEATURES}"}
    lines = lines_of(reader.query("days", chosen, predicateHints=[], includeRefreshToken=True))
    assert lines[:2] == lines_of(metadata)
    assert lines[1]["metaData"]["size"] > 0
    for file in files_of(lines):
        add = file["deltaSingleAction"]["add"]
        assert {"path", "partitionValues", "size", "modificationTime", "dataChange", "stats"} <= set(add)
        assert ranged(add["path"], add["size"])


def test_a_stream_of_the_connector(reader: Recipient):
    """Two metadata, a version, the snapshot of that version, then the versions from there on."""
    for _ in range(2):
        assert reader.get(reader.of("people", "metadata"), PARQUET).status_code == 200
    newest = int(reader.get(reader.of("people", "version"), PARQUET).headers["delta-table-version"])
    body = {"predicateHints": [], "version": newest, "includeRefreshToken": False}
    snapshot = reader.query("people", PARQUET, **body)
    assert snapshot.headers["delta-table-version"] == str(newest)
    assert {file["version"] for file in files_of(lines_of(snapshot))} == {newest}
    stream = lines_of(reader.query("people", PARQUET, predicateHints=[], startingVersion=0, endingVersion=newest))
    for line in stream[2:]:
        said = next(iter(line.values()))
        assert {"url", "id", "partitionValues", "size", "timestamp", "version"} <= set(said)


def test_changes_as_the_connector_asks_for_them(reader: Recipient):
    """It sends a parameter that nobody documents; unknown ones are ignored."""
    asked = {"startingVersion": 0, "readChangeFeed": "true", "includeHistoricalMetadata": "true"}
    for headers in (PARQUET, BOTH):
        lines = lines_of(reader.get(reader.of("people", "changes"), headers, **asked))
        assert "version" in lines[1]["metaData"]
        for line in lines[2:]:
            said = next(iter(line.values()))
            assert {"version", "timestamp", "id"} <= set(said)


def test_what_concerns_the_log_alone_is_not_said(provider: Provider):
    """Row ids, in-commit times and sorts of checkpoints: a connector makes a log of our lines that has none of them."""
    features = ["rowTracking", "domainMetadata", "inCommitTimestamp"]
    settings = {"delta.enableRowTracking": "true", "delta.rowTracking.materializedRowIdColumnName": "_row",
                "delta.enableInCommitTimestamps": "true", "delta.enableChangeDataFeed": "true"}  # fmt: skip
    schema = '{"type":"struct","fields":[{"name":"n","type":"long","nullable":true,"metadata":{}}]}'
    metadata = {"id": "5a0b4c58-54b2-4c5c-8c1f-5a52bd9ce9f1", "format": {"provider": "parquet", "options": {}},
                "schemaString": schema, "partitionColumns": [], "configuration": settings}  # fmt: skip
    provider.put("rows/one.parquet", b"PAR1")
    add = {"path": "one.parquet", "partitionValues": {}, "size": 4, "modificationTime": 1, "dataChange": True}
    provider.log(
        "rows",
        0,
        {"commitInfo": {"inCommitTimestamp": 1_700_000_000_000}},
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": features}},
        {"metaData": metadata},
        {"add": {**add, "baseRowId": 0, "defaultRowCommitVersion": 0}},
    )
    provider.share("rows", t="rows")
    head, said = lines_of(provider.token("rows").get("/shares/rows/schemas/default/tables/t/metadata", BOTH))
    assert head["protocol"]["deltaProtocol"]["writerFeatures"] == ["domainMetadata"]
    assert said["metaData"]["deltaMetadata"]["configuration"] == {"delta.enableChangeDataFeed": "true"}


@needs(DELTA_GOLDEN)
def test_a_table_with_deletion_vectors(provider: Provider, tmp_path: Path):
    """The vector is an absolute one by URL, with an id of its own, read by one ranged GET; parquet is refused."""
    upload(provider, unpack(tmp_path) / "dv-partitioned-with-checkpoint", "vectors")
    provider.share("vectors", t="vectors")
    mine = provider.token("vectors")
    lines = lines_of(mine.query("t", BOTH))
    held = [file for file in files_of(lines) if "deletionVector" in file["deltaSingleAction"]["add"]]
    assert held
    for file in held:
        vector = file["deltaSingleAction"]["add"]["deletionVector"]
        assert (vector["storageType"], len(file["deletionVectorFileId"])) == ("p", 64)
        start, size = vector["offset"], vector["sizeInBytes"] + 8
        span = {"Range": f"bytes={start}-{start + size - 1}"}
        answer = requests.get(vector["pathOrInlineDv"], headers=span, timeout=30)
        assert (answer.status_code, len(answer.content)) == (206, size)
        assert int.from_bytes(answer.content[:4], "big") == vector["sizeInBytes"]
    refusal = mine.query("t", PARQUET)
    assert refusal.status_code == 400
    assert "Unsupported Delta Table Properties: deletionVectors" in refusal.json()["message"]
    unknown = mine.query("t", {"delta-sharing-capabilities": "responseformat=delta;readerfeatures=columnmapping"})
    assert unknown.status_code == 400
    assert "deletionVectors" in unknown.json()["message"]
    assert url_of(files_of(lines)[0]).startswith("http")
