"""The delta-sharing package for Python reads what is shared, in both formats, as its users call it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import delta_sharing
import pandas as pd
import pytest
from delta_sharing.protocol import DeltaSharingProfile

from tests.clients.test_quickstart import CREATE_TABLE
from tests.live import LiveServer, clean_environment, lakeshare, running
from tests.sharing.protocol.provider import SCHEMA, Provider, Recipient

pytestmark = pytest.mark.filterwarnings("default")  # of the package's own, and of pandas below it
FORMATS = pytest.mark.parametrize("delta", [True, False], ids=["delta", "parquet"])
DAYS = pd.DataFrame({"day": [f"2024-01-0{1 + n // 10}" for n in range(40)], "n": range(40)})


@pytest.fixture(scope="module")
def provider(live_server: LiveServer, bucket_names: Callable[[str], str]) -> Provider:
    """Who shares."""
    return Provider(live_server, bucket_names("py"))


@pytest.fixture(scope="module")
def reader(provider: Provider) -> Recipient:
    """A recipient of `py`: days by partition, people with changes, all types."""
    provider.write("days", DAYS, partition_by=["day"])
    people = pd.DataFrame({"id": [1, 2, 3], "name": ["a", "b", None]})
    provider.write("people", people, configuration={"delta.enableChangeDataFeed": "true"})
    provider.table("people").update(updates={"name": "'B'"}, predicate="id = 2")
    provider.table("people").delete("id = 1")
    provider.write("people", pd.DataFrame({"id": [4], "name": ["d"]}), mode="append")
    provider.share("py", days="days", people="people")
    return provider.token("py")


@pytest.fixture(scope="module")
def profile(reader: Recipient, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The recipient's profile as a file."""
    path = tmp_path_factory.mktemp("profile") / "profile.share"
    path.write_text(json.dumps(reader.profile))
    return str(path)


def rows(frame: pd.DataFrame, *by: str) -> list[tuple[object, ...]]:
    """Return rows in order, with None for what is missing."""
    ordered = frame.sort_values(list(by)).reset_index(drop=True)
    return [tuple(None if pd.isna(each) else each for each in row) for row in ordered.itertuples(index=False)]


def test_the_client_lists_what_is_shared(profile: str):
    """Shares, schemas and tables, one by one and all together."""
    client = delta_sharing.SharingClient(profile)
    (share,) = client.list_shares()
    (schema,) = client.list_schemas(share)
    assert (share.name, schema.name) == ("py", SCHEMA)
    assert [each.name for each in client.list_tables(schema)] == ["days", "people"]
    assert [f"{each.share}.{each.schema}.{each.name}" for each in client.list_all_tables()] == [
        f"py.{SCHEMA}.days",
        f"py.{SCHEMA}.people",
    ]


@FORMATS
def test_pandas_reads_whole_tables(profile: str, delta: bool):
    """Every row, with its partition."""
    found = delta_sharing.load_as_pandas(f"{profile}#py.{SCHEMA}.days", use_delta_format=delta)
    assert rows(found[["day", "n"]], "n") == rows(DAYS, "n")
    people = delta_sharing.load_as_pandas(f"{profile}#py.{SCHEMA}.people", use_delta_format=delta)
    assert rows(people, "id") == [(2, "B"), (3, None), (4, "d")]


def test_without_being_told_the_client_takes_the_delta_format(profile: str):
    """The server chooses what Python reads fastest."""
    assert len(delta_sharing.load_as_pandas(f"{profile}#py.{SCHEMA}.days")) == len(DAYS)
    assert delta_sharing.get_table_version(f"{profile}#py.{SCHEMA}.people") == 3
    metadata = delta_sharing.get_table_metadata(f"{profile}#py.{SCHEMA}.people")
    assert "name" in metadata.schema_string
    assert delta_sharing.get_table_protocol(f"{profile}#py.{SCHEMA}.people").min_reader_version == 1


@FORMATS
def test_limits_and_time_travel(profile: str, delta: bool):
    """A limit gives that many rows, a version the rows of then."""
    url = f"{profile}#py.{SCHEMA}.days"
    assert len(delta_sharing.load_as_pandas(url, limit=7, use_delta_format=delta)) == 7
    assert len(delta_sharing.load_as_pandas(url, limit=0, use_delta_format=delta)) == 0
    people = f"{profile}#py.{SCHEMA}.people"
    old = delta_sharing.load_as_pandas(people, version=0, use_delta_format=delta)
    assert rows(old, "id") == [(1, "a"), (2, "b"), (3, None)]


@FORMATS
def test_json_predicates_leave_out_files(profile: str, delta: bool):
    """The client sends the hints on; the rows of files that cannot match are not there."""
    leaf = {"op": "column", "name": "day", "valueType": "string"}
    hints = {"op": "equal", "children": [leaf, {"op": "literal", "value": "2024-01-03", "valueType": "string"}]}
    found = delta_sharing.load_as_pandas(
        f"{profile}#py.{SCHEMA}.days", jsonPredicateHints=json.dumps(hints), use_delta_format=delta
    )
    assert set(found["day"]) == {"2024-01-03"}


@FORMATS
def test_the_change_feed_says_what_happened_to_each_row(profile: str, delta: bool):
    """Inserts, both sides of an update, and deletes, each with its version."""
    url = f"{profile}#py.{SCHEMA}.people"
    found = delta_sharing.load_table_changes_as_pandas(url, starting_version=0, use_delta_format=delta)
    told = rows(found[["_commit_version", "_change_type", "id", "name"]], "_commit_version", "_change_type", "id")
    assert told == [
        (0, "insert", 1, "a"),
        (0, "insert", 2, "b"),
        (0, "insert", 3, None),
        (1, "update_postimage", 2, "B"),
        (1, "update_preimage", 2, "b"),
        (2, "delete", 1, "a"),
        (3, "insert", 4, "d"),
    ]
    part = delta_sharing.load_table_changes_as_pandas(url, starting_version=1, ending_version=2, use_delta_format=delta)
    assert set(part["_commit_version"]) == {1, 2}


def test_the_client_shows_what_the_server_said(profile: str):
    """An error's message is what a user sees."""
    with pytest.raises(Exception, match="RESOURCE_DOES_NOT_EXIST"):
        delta_sharing.load_as_pandas(f"{profile}#py.{SCHEMA}.none")
    with pytest.raises(Exception, match="cdf is not enabled on table"):
        delta_sharing.load_table_changes_as_pandas(f"{profile}#py.{SCHEMA}.days", starting_version=0)


def test_over_tls_of_an_internal_authority_two_variables_are_enough(
    live_tls_server: LiveServer, bucket_names: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """With REQUESTS_CA_BUNDLE and SSL_CERT_FILE set, and nothing else, the client reads in both formats."""
    authority = str(live_tls_server.ca_file)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", authority)
    monkeypatch.setenv("AWS_CA_BUNDLE", authority)
    monkeypatch.setenv("SSL_CERT_FILE", authority)
    provider = Provider(live_tls_server, bucket_names("tls"))
    provider.write("days", DAYS)
    provider.share("tls", days="days")
    profile = tmp_path / "tls.share"
    profile.write_text(json.dumps(provider.token("tls").profile))
    script = (
        "import delta_sharing, sys\n"
        f"url = {str(profile)!r} + '#tls.{SCHEMA}.days'\n"
        "print(len(delta_sharing.load_as_pandas(url, use_delta_format=True)))\n"
        "print(len(delta_sharing.load_as_pandas(url, use_delta_format=False)))\n"
    )
    env = clean_environment(REQUESTS_CA_BUNDLE=authority, SSL_CERT_FILE=authority)
    env.pop("AWS_CA_BUNDLE", None)
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["40", "40"], done.stderr


READ = """\
import delta_sharing
PROFILE = "profile.share"
TABLE = f"{PROFILE}#analytics-share.HR.employees"
client = delta_sharing.SharingClient(PROFILE)
print("Available shares:")
for share in client.list_shares():
    print(f"  - {share.name}")
print("\\nAvailable tables:")
for table in client.list_all_tables():
    print(f"  - {table.share}.{table.schema}.{table.name}")
print("\\nEmployee data:")
df = delta_sharing.load_as_pandas(TABLE)
print(df)
print("\\nEngineering department:")
eng_df = df[df["department"] == "Engineering"]
print(eng_df)
"""


def test_the_quickstart_works_from_its_first_line_to_its_last(tmp_path: Path):
    """A table, a share, a token piped into a profile, and a read: as a user of table sharing types it."""
    settings = {"MINIO_ROOT_USER": "minioadmin", "MINIO_ROOT_PASSWORD": "minioadmin"}
    with running(tmp_path / "data", credentials=None, environment=settings) as server:
        env = clean_environment(HOME=str(tmp_path), PATH=f"{Path(lakeshare()).parent}:{os.environ['PATH']}")

        def typed(command: str) -> str:
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", command], env=env, cwd=tmp_path, capture_output=True, text=True,
                check=False,
            )  # fmt: skip
            assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
            return done.stdout

        (tmp_path / "create.py").write_text(CREATE_TABLE.replace("localhost:9000", f"localhost:{server.port}"))
        (tmp_path / "read.py").write_text(READ)
        typed(f"lakeshare alias set myaistor http://localhost:{server.port} minioadmin minioadmin")
        typed(f"{sys.executable} create.py")
        typed(
            "lakeshare table share create myaistor/analytics-share HR \\\n"
            '  "employees:delta:analytics:employees/" \\\n  --description "Analytics for current employees"'
        )
        program = (
            "import json,sys; p=json.load(sys.stdin)['profile']; print(p if isinstance(p, str) else json.dumps(p))"
        )
        extract = f'{sys.executable} -c "{program}"'
        typed(
            "lakeshare table share token create myaistor/analytics-share \\\n  --expires 90d \\\n"
            '  --description "Access to analytics share for HR-associated tables" \\\n'
            f"  --json | {extract} > profile.share"
        )
        said = typed(f"{sys.executable} read.py")
        assert "  - analytics-share.HR.employees" in said
        assert "110000" in said.split("Engineering department:")[1]
        assert "Bob" not in said.split("Engineering department:")[1]
        assert DeltaSharingProfile.read_from_file(str(tmp_path / "profile.share")).expiration_time
