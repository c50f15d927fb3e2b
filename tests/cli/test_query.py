"""Rows of shared tables from the command line, as a recipient gets them."""

import json
from collections.abc import Callable
from pathlib import Path

import delta_sharing
import pandas as pd
import pytest

from tests.cli.conftest import Cli, Typed
from tests.formats.delta.conformance import unpack
from tests.live import LiveServer
from tests.sharing.protocol.cells import cell
from tests.sharing.protocol.golden import upload
from tests.sharing.protocol.provider import Provider
from tests.vectors import DELTA_GOLDEN, needs

pytestmark = pytest.mark.filterwarnings("default")  # of the delta-sharing package, and of pandas below it
GOLDEN = ("dv-partitioned-with-checkpoint", "dv-with-columnmapping", "data-reader-primitives", "data-reader-map",
          "data-reader-timestamp_ntz-id-mode", "data-reader-nested-struct", "data-reader-partition-values",
          "type-widening")  # fmt: skip


@pytest.fixture
def shared(live_server: LiveServer, bucket_names: Callable[[str], str]) -> tuple[Provider, str]:
    """A share of `t`, three files of ten rows each."""
    provider, name = Provider(live_server, bucket_names("query")), bucket_names("query-share")
    for day in range(3):
        frame = pd.DataFrame({"day": [f"2024-01-0{day + 1}"] * 10, "n": range(day * 10, day * 10 + 10)})
        provider.write("t", frame, mode="append", partition_by=["day"])
    provider.share(name, t="t")
    return provider, name


def test_rows_are_shown_as_a_table_and_as_lines(quick: Typed, shared: tuple[Provider, str]):
    """Ten rows unless told otherwise, with headings for people, and one object a row for programs."""
    place = f"lake/{shared[1]}/default/t"
    shown = quick("table", "share", "query", place)
    assert shown.lines[0].split() == ["day", "n"]
    assert len(shown.lines) == 11
    rows = [each["row"] for each in quick("table", "share", "query", place, "--limit", "100", "--json").records]
    assert sorted(row["n"] for row in rows) == list(range(30))
    assert {row["day"] for row in rows} == {"2024-01-01", "2024-01-02", "2024-01-03"}
    assert quick("table", "share", "query", place, "--limit", "0").out == ""


def test_a_predicate_leaves_out_files_and_a_version_is_of_then(quick: Typed, shared: tuple[Provider, str]):
    """As the server answers a recipient that sends the same."""
    place = f"lake/{shared[1]}/default/t"
    found = quick("table", "share", "query", place, "--predicate", "day = '2024-01-02'", "--limit", "99", "--json")
    assert {each["row"]["day"] for each in found.records} == {"2024-01-02"}
    old = quick("table", "share", "query", place, "--version", "0", "--limit", "99", "--json").records
    assert len(old) == 10


def test_no_token_is_left_behind(quick: Typed, shared: tuple[Provider, str]):
    """The token of a preview ends with it, also where the table is not there."""
    provider, name = shared
    quick("table", "share", "query", f"lake/{name}/default/t")
    quick("table", "share", "query", f"lake/{name}/default/none", code=3)
    assert provider.admin("GET", f"/shares/{name}/tokens")["tokens"] == []
    provider.admin("PATCH", f"/shares/{name}", {"oauth_only": True})
    assert len(quick("table", "share", "query", f"lake/{name}/default/t", "--json").records) == 10


def test_a_profile_is_enough(cli: Cli, shared: tuple[Provider, str]):
    """Whoever has the file needs no alias; what the server refuses is said."""
    provider, name = shared
    mine = provider.token(name)
    (cli.home / "profile.share").write_text(json.dumps(mine.profile))
    found = cli("table", "share", "query", f"profile.share#{name}.default.t", "--limit", "3", "--json").records
    assert len(found) == 3
    provider.admin("DELETE", f"/tokens/{mine.token_id}")
    refused = cli("table", "share", "query", f"profile.share#{name}.default.t", code=4)
    assert "the bearer token is missing or not valid" in refused.err
    assert "no profile" in _no_profile(cli)


def _no_profile(cli: Cli) -> str:
    (cli.home / "other.share").write_text("{}")
    cli("table", "share", "query", "gone.share#a.b.c", code=2)
    cli("table", "share", "query", "lake/only/two", code=2)
    return cli("table", "share", "query", "other.share#a.b.c", code=2).err


@needs(DELTA_GOLDEN)
def test_tables_of_every_shape_are_shown_as_the_python_client_reads_them(
    cli: Cli, live_server: LiveServer, bucket_names: Callable[[str], str], tmp_path: Path
):
    """Deletion vectors, mapped and nested names, partitions and types."""
    provider, name = Provider(live_server, bucket_names("shapes")), bucket_names("shapes-share")
    folder = unpack(tmp_path / "golden")
    for number, table in enumerate(GOLDEN):
        upload(provider, folder / table, f"t{number}")
    provider.share(name, **{f"t{number}": f"t{number}" for number in range(len(GOLDEN))})
    profile = cli.home / "profile.share"
    profile.write_text(json.dumps(provider.token(name).profile))
    for number, table in enumerate(GOLDEN):
        url = f"{name}.default.t{number}"
        rows = [
            each["row"]
            for each in cli("table", "share", "query", f"profile.share#{url}", "--limit", "5000", "--json").records
        ]
        if table == "type-widening":
            assert len(rows) == 2
            continue
        frame = delta_sharing.load_as_pandas(f"{profile}#{url}", use_delta_format=True)
        assert len(rows) == len(frame), table
        assert set(rows[0]) == set(frame.columns), table
        for column in frame.columns:
            if frame[column].dtype.kind in "iu":
                ours = sorted(str(cell(row[column])) for row in rows)
                assert ours == sorted(str(cell(each)) for each in frame[column]), (table, column)
