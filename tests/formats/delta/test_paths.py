"""The names of a Delta table's files."""

import pytest

from lakeshare.columnar.canonical import canonical
from lakeshare.formats.delta.errors import BrokenLog
from lakeshare.formats.delta.paths import (
    Absolute,
    LogKind,
    LogName,
    Relative,
    commit_name,
    is_commit,
    just_before,
    locate,
    parse_log_name,
    sidecar_name,
)

UUID = "80a083e8-7026-4e79-81be-64bd76c43a11"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("_delta_log/00000000000000000042.json", LogName(LogKind.COMMIT, 42)),
        ("00000000000000000042.crc", LogName(LogKind.CHECKSUM, 42)),
        ("00000000000000000010.checkpoint.parquet", LogName(LogKind.CHECKPOINT, 10)),
        (f"00000000000000000010.checkpoint.{UUID}.json", LogName(LogKind.V2_CHECKPOINT, 10)),
        (f"00000000000000000010.checkpoint.{UUID}.parquet", LogName(LogKind.V2_CHECKPOINT, 10)),
        (
            "00000000000000000010.checkpoint.0000000002.0000000003.parquet",
            LogName(LogKind.CHECKPOINT_PART, 10, part=2, parts=3),
        ),
        ("00000000000000000004.00000000000000000006.compacted.json", LogName(LogKind.COMPACTED, 4, last=6)),
    ],
)
def test_log_names_are_understood(name, expected):
    """Every kind of file of the log is known by its name."""
    assert parse_log_name(name) == expected


@pytest.mark.parametrize(
    "name",
    [
        "_last_checkpoint",
        ".00000000000000000042.json.crc",
        "0000000000000000042.json",
        "00000000000000000042.json.tmp",
        "00000000000000000006.00000000000000000006.compacted.json",
        "00000000000000000010.checkpoint.0000000004.0000000003.parquet",
        f"00000000000000000010.{UUID}.json",
        "_staged_commits/00000000000000000010.json",
    ],
)
def test_other_names_are_not_the_logs(name):
    """Hidden, staged, short and impossible names are no files of the log."""
    assert parse_log_name(name) is None


def test_a_commit_is_known_by_its_key():
    """Only 20 digits and .json directly under _delta_log/ make a commit."""
    assert is_commit("a/b/" + commit_name(7))
    assert not is_commit("a/_delta_log/x/00000000000000000007.json")


def test_a_listing_can_begin_at_a_version():
    """The key just before a version sorts before all of its files and after those of the version before."""
    before = just_before(10)
    assert commit_name(9) < before < "_delta_log/00000000000000000010.checkpoint.parquet"
    assert before < commit_name(10)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("part-0.parquet", Relative("part-0.parquet")),
        ("date=2024-01-01/a%20b%2525.parquet", Relative("date=2024-01-01/a b%25.parquet")),
        ("a+b.parquet", Relative("a+b.parquet")),
        ("s3://bucket/a%20b/c.parquet", Absolute("s3", "bucket", "a b/c.parquet")),
        ("S3A://bucket/c", Absolute("s3a", "bucket", "c")),
        ("file:/tmp/x", Absolute("file", "", "tmp/x")),
        ("file:///tmp/x", Absolute("file", "", "tmp/x")),
        ("/tmp/x%23", Absolute("", "", "tmp/x#")),
    ],
)
def test_data_paths_are_decoded_once(path, expected):
    """A path is a URI: relative or absolute, percent-decoded exactly once, and + is a plus."""
    assert locate(path) == expected


@pytest.mark.parametrize("path", ["../x.parquet", "a/../../x", "a/%2E%2E/x"])
def test_a_path_cannot_climb_out_of_its_table(path):
    """A relative path with .. in it is refused, however it is written."""
    with pytest.raises(BrokenLog, match="climbs out"):
        locate(path)


def test_absolute_paths_have_one_spelling():
    """The three ways to write a local path are one, and other schemes are compared in lower case."""
    assert canonical("/a/b") == canonical("file:/a/b") == canonical("file:///a/b")
    assert canonical("S3://b/k") == canonical("s3://b/k")
    assert canonical("part-0.parquet") == "part-0.parquet"


def test_a_sidecar_lies_in_its_folder():
    """A sidecar is found by its bare name, whether its checkpoint gives that or a whole URI."""
    assert sidecar_name("x.parquet") == sidecar_name("s3://b/t/_delta_log/_sidecars/x.parquet")
    assert sidecar_name("x.parquet") == "_delta_log/_sidecars/x.parquet"
