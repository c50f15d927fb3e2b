"""Tables of another S3 store, shared in place: another server of ours, and MinIO's where its binary is at hand."""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import delta_sharing
import pandas as pd
import pytest
import requests

from tests.live import ACCESS_KEY, SECRET_KEY, LiveServer, clean_environment, free_port, running
from tests.sharing.protocol.provider import DELTA, Provider, Recipient, files_of, refused, url_of

pytestmark = pytest.mark.filterwarnings("default")  # of the delta-sharing package, and of pandas below it
ROWS = pd.DataFrame({"day": [f"2024-01-0{1 + n // 10}" for n in range(30)], "n": range(30)})
START_SECONDS = 60
VECTORS = ["deletionVectors"]
HEAD = (
    {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": VECTORS, "writerFeatures": VECTORS}},
    {"metaData": {"id": "0b1c58f2-98f2-4f3a-a4a1-5d5e2c1f7a11", "format": {"provider": "parquet", "options": {}},
                  "schemaString": '{"type":"struct","fields":[]}', "partitionColumns": [], "configuration": {}}},
)  # fmt: skip


class Elsewhere:
    """Another store under the name `other`, with tables in it, and a share of them."""

    def __init__(self, here: LiveServer, other: LiveServer, stem: str) -> None:
        self.name = f"src-{stem}"
        self.far = Provider(other, f"{stem}-far")
        self.near = Provider(here, f"{stem}-near")
        self.point(other.endpoint)

    def point(self, endpoint: str, **more: str) -> None:
        """Say where the source is."""
        body = {"endpoint": endpoint, "access_key": self.far.server.access_key,
                "secret_key": self.far.server.secret_key, **more}  # fmt: skip
        held = {each["name"] for each in self.near.admin("GET", "/sources")["sources"]}
        if self.name in held:
            self.near.admin("PUT", f"/sources/{self.name}", body)
        else:
            self.near.admin("POST", "/sources", {"name": self.name, **body})

    def share(self, share: str, **tables: str) -> Recipient:
        """Share tables that lie there, and make a token."""
        specs = [
            {"schema": "default", "spec": f"{name}:remote:{self.name}:{self.far.bucket}:{path}"}
            for name, path in tables.items()
        ]
        self.near.admin("POST", "/shares", {"name": share, "tables": specs})
        return self.near.token(share)


@pytest.fixture(scope="module")
def another(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A second server of ours."""
    with running(tmp_path_factory.mktemp("another") / "data") as server:
        yield server


@pytest.fixture(scope="module")
def minio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """MinIO's server."""
    binary = os.environ.get("LAKESHARE_MINIO", "")
    if not Path(binary).is_file():
        pytest.skip("long form: runs with MinIO's server, whose binary LAKESHARE_MINIO names")
    folder, port = tmp_path_factory.mktemp("minio"), free_port()
    env = clean_environment(MINIO_ROOT_USER=ACCESS_KEY, MINIO_ROOT_PASSWORD=SECRET_KEY)
    command = [binary, "server", str(folder / "data"), "--address", f"127.0.0.1:{port}", "--quiet"]
    with (folder / "log").open("wb") as log, subprocess.Popen(command, env=env, stdout=log, stderr=log) as process:
        server = LiveServer(process, folder, folder / "log", "127.0.0.1", port, ACCESS_KEY, SECRET_KEY)
        try:
            _await(server.endpoint + "/minio/health/ready")
            yield server
        finally:
            process.kill()


def _await(url: str) -> None:
    for _ in range(START_SECONDS * 10):
        try:
            if requests.get(url, timeout=5).ok:
                return
        except requests.ConnectionError:
            pass
        time.sleep(0.1)
    pytest.fail(f"{url} does not answer")


@pytest.fixture(scope="module", params=["another", "minio"])
def elsewhere(request: pytest.FixtureRequest, live_server: LiveServer) -> Elsewhere:
    """Each of the other stores in turn."""
    other: LiveServer = request.getfixturevalue(request.param)
    return Elsewhere(live_server, other, request.param)


def _read(mine: Recipient, table: str, folder: Path, **more: object) -> pd.DataFrame:
    profile = folder / "profile.share"
    profile.write_text(json.dumps(mine.profile))
    return delta_sharing.load_as_pandas(f"{profile}#{mine.share}.default.{table}", **more)


def test_the_python_client_reads_a_table_of_another_store(elsewhere: Elsewhere, tmp_path: Path):
    """In both formats, with a checkpoint in its log, at its newest version and at an older one, and its changes."""
    far = elsewhere.far
    far.write("t", ROWS, partition_by=["day"], configuration={"delta.enableChangeDataFeed": "true"})
    far.write("t", pd.DataFrame({"day": ["2024-02-01 10:00"], "n": [99]}), mode="append")
    far.table("t").create_checkpoint()
    far.table("t").delete("n = 3")
    mine = elsewhere.share(f"{elsewhere.name}-t", t="t")
    for delta in (True, False):
        assert sorted(_read(mine, "t", tmp_path, use_delta_format=delta)["n"]) == [0, 1, 2, *range(4, 30), 99]
        assert sorted(_read(mine, "t", tmp_path, version=0, use_delta_format=delta)["n"]) == list(range(30))
    url = f"{tmp_path / 'profile.share'}#{mine.share}.default.t"
    changes = delta_sharing.load_table_changes_as_pandas(url, starting_version=1)
    assert sorted(zip(changes["_change_type"], changes["n"], strict=True)) == [("delete", 3), ("insert", 99)]


def test_a_commit_there_is_in_the_next_answer_here(elsewhere: Elsewhere):
    """Both workers list the log anew for each question."""
    far = elsewhere.far
    far.write("growing", pd.DataFrame({"n": [0]}))
    mine = elsewhere.share(f"{elsewhere.name}-growing", growing="growing")
    for version in range(1, 5):
        far.write("growing", pd.DataFrame({"n": [version]}), mode="append")
        for _ in range(3):
            answer = mine.query("growing")
            assert answer.headers["delta-table-version"] == str(version)
            assert answer.text.count('"file"') == version + 1


def test_a_table_made_again_there_is_another(elsewhere: Elsewhere):
    """The same versions over other bytes are read anew."""
    far = elsewhere.far
    far.write("again", pd.DataFrame({"n": [1, 2]}))
    mine = elsewhere.share(f"{elsewhere.name}-again", again="again")
    first = [mine.lines("again")[1]["metaData"]["id"] for _ in range(3)]
    for item in far.s3.list_objects_v2(Bucket=far.bucket, Prefix="again/")["Contents"]:
        far.s3.delete_object(Bucket=far.bucket, Key=item["Key"])
    refused(mine.query("again"), 400, "TABLE_UNREADABLE", "there is no Delta table here")
    far.write("again", pd.DataFrame({"other": ["x"]}))
    second = {mine.lines("again")[1]["metaData"]["id"] for _ in range(3)}
    assert len(second) == 1
    assert second.isdisjoint(first)


def test_links_go_straight_to_that_store_and_live_no_longer_than_they_may(elsewhere: Elsewhere):
    """They are signed for GET of one object there, for the lifetime that is set, or as long as the token lives."""
    far = elsewhere.far
    far.write("linked", pd.DataFrame({"n": [1]}))
    mine = elsewhere.share(f"{elsewhere.name}-linked", linked="linked")
    for headers in ({}, DELTA):
        url = url_of(files_of(mine.lines("linked", headers))[0])
        assert url.startswith(f"{far.server.endpoint}/{far.bucket}/linked/")
        assert parse_qs(urlsplit(url).query)["X-Amz-Expires"] == ["3600"]
        assert requests.get(url, timeout=30).content.startswith(b"PAR1")
        assert requests.head(url, timeout=30).status_code in {200, 403}  # MinIO holds a link to its method
        assert requests.put(url, data=b"x", timeout=30).status_code >= 400
        assert requests.get(url.replace("/linked/", "/other/"), timeout=30).status_code == 403
    short = elsewhere.near.token(mine.share, expires="10m")
    url = url_of(files_of(short.lines("linked"))[0])
    assert 500 < int(parse_qs(urlsplit(url).query)["X-Amz-Expires"][0]) <= 600


def test_what_goes_wrong_there_is_said(elsewhere: Elsewhere):
    """A bucket or a path that is not there, a wrong key, a store that is away: each is named, and passes."""
    far, near = elsewhere.far, elsewhere.near
    far.write("sure", pd.DataFrame({"n": [1]}))
    mine = elsewhere.share(f"{elsewhere.name}-sure", sure="sure")
    for spec, text in (
        (f"x:remote:{elsewhere.name}:{far.bucket}:nothing", "there is no Delta table at"),
        (f"x:remote:{elsewhere.name}:no-such-bucket-there:t", "there is no Delta table at"),
        ("x:remote:nobody:b:t", "source 'nobody' does not exist"),
    ):
        with pytest.raises(AssertionError, match=text):
            near.admin("POST", "/shares", {"name": "none", "tables": [{"schema": "s", "spec": spec}]})
    try:
        elsewhere.point(far.server.endpoint, secret_key="wrong")
        refused(mine.query("sure"), 503, "TEMPORARILY_UNAVAILABLE", "refuses the key of this source (403")
        elsewhere.point(f"http://127.0.0.1:{free_port()}")
        answer = mine.query("sure")
        refused(answer, 503, "TEMPORARILY_UNAVAILABLE", "it cannot be reached (ConnectionRefusedError)")
        assert "127.0.0.1" not in answer.text
    finally:
        elsewhere.point(far.server.endpoint)
    assert len(files_of(mine.lines("sure"))) == 1


def test_no_credentials_are_given_for_that_store(elsewhere: Elsewhere):
    """The key of the source is the operator's: recipients get links, never a key."""
    elsewhere.far.write("closed", pd.DataFrame({"n": [1]}))
    mine = elsewhere.share(f"{elsewhere.name}-closed", closed="closed")
    url = mine.profile["endpoint"] + mine.of("closed", "temporary-table-credentials")
    answer = requests.post(url, json={}, headers=mine.headers, timeout=30)
    refused(answer, 400, "UNSUPPORTED_OPERATION", "tables that lie in this server")
    (table,) = mine.get(f"/shares/{mine.share}/all-tables").json()["items"]
    assert "accessModes" not in table
    assert "location" not in table


def test_a_folder_there_is_shared_whole(elsewhere: Elsewhere):
    """Every table in it, those made later too, in pages."""
    far = elsewhere.far
    for name in ("a", "b"):
        far.write(f"whole/{name}", pd.DataFrame({"n": [1]}))
    far.put("whole/d/readme", b"no table")
    far.put("whole/c c+%20é/_delta_log/00000000000000000000.json", b"no name of a table")
    mine = elsewhere.share(f"{elsewhere.name}-whole", **{"*": "whole"})
    far.write("whole/e", pd.DataFrame({"n": [1]}))
    found, token = [], ""
    for _ in range(9):
        page = mine.get(f"/shares/{mine.share}/all-tables", maxResults=1, pageToken=token).json()
        found += [each["name"] for each in page.get("items", [])]
        if not (token := page.get("nextPageToken", "")):
            break
    assert found == ["a", "b", "e"]
    assert len(files_of(mine.lines("e"))) == 1


def test_a_long_log_is_listed_page_by_page(
    another: LiveServer, live_server: LiveServer, bucket_names: Callable[[str], str]
):
    """A log of more files than a page has is read whole, from its first commit to its last."""
    elsewhere = Elsewhere(live_server, another, bucket_names("long"))
    far, count = elsewhere.far, 1_005
    far.put("t/x.parquet", b"PAR1")
    far.log("t", 0, *HEAD)
    for version in range(1, count):
        vector = {"storageType": "i", "pathOrInlineDv": f"{version:040d}", "sizeInBytes": 32, "cardinality": 1}
        add = {"path": "x.parquet", "partitionValues": {}, "size": 4, "modificationTime": 1, "dataChange": True}
        far.log("t", version, {"add": {**add, "deletionVector": vector}})
    mine = elsewhere.share(f"{elsewhere.name}-long", t="t")
    answer = mine.query("t", DELTA)
    assert answer.headers["delta-table-version"] == str(count - 1)
    assert answer.text.count('{"file":') == count - 1


def test_versions_are_pinned_where_that_store_keeps_them(minio: LiveServer, live_server: LiveServer, tmp_path: Path):
    """A link serves the bytes that were signed, also when the object was replaced or deleted there meanwhile."""
    elsewhere = Elsewhere(live_server, minio, "pinned")
    far = elsewhere.far
    far.s3.put_bucket_versioning(Bucket=far.bucket, VersioningConfiguration={"Status": "Enabled"})
    far.write("t", pd.DataFrame({"n": [1, 2]}))
    far.write("t", pd.DataFrame({"n": [3]}), mode="append")
    mine = elsewhere.share("pinned", t="t")
    for delta in (True, False):
        assert sorted(_read(mine, "t", tmp_path, use_delta_format=delta)["n"]) == [1, 2, 3]
    url = url_of(files_of(mine.lines("t"))[0])
    assert "versionId" in parse_qs(urlsplit(url).query)
    before = requests.get(url, timeout=30).content
    key = urlsplit(url).path.split("/", 2)[2]
    far.put(key, b"other bytes")
    assert requests.get(url, timeout=30).content == before
    far.s3.delete_object(Bucket=far.bucket, Key=key)
    assert requests.get(url, timeout=30).content == before


def test_a_source_may_have_another_address_for_recipients(
    another: LiveServer, live_server: LiveServer, bucket_names: Callable[[str], str]
):
    """Links carry the public address of the source, and are signed for it."""
    elsewhere = Elsewhere(live_server, another, bucket_names("public"))
    elsewhere.far.write("t", pd.DataFrame({"n": [1]}))
    public = f"http://localhost:{another.port}"
    elsewhere.point(another.endpoint, public_endpoint=public)
    mine = elsewhere.share(f"{elsewhere.name}-public", t="t")
    url = url_of(files_of(mine.lines("t"))[0])
    assert url.startswith(public)
    assert requests.get(url, timeout=30).content.startswith(b"PAR1")
