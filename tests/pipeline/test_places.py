"""What SOURCE and TARGET mean, before any server is asked."""

from pathlib import Path

import pytest

from lakeshare.pipeline.errors import Misused
from lakeshare.pipeline.places import DeltaTarget, IcebergTarget, Source, parse_source, parse_target, quoted

ALIASES = ("lake", "prod-eu")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lake/bucket/tpch/orders", DeltaTarget("bucket", "tpch/orders", "lake")),
        ("lake/bucket/tpch/orders/", DeltaTarget("bucket", "tpch/orders", "lake")),
        ("s3://bucket/orders", DeltaTarget("bucket", "orders")),
        ("s3a://bucket/orders", DeltaTarget("bucket", "orders")),
        ("testice.tpch.customer", IcebergTarget("testice", ("tpch",), "customer")),
        ("testice.a.b.customer", IcebergTarget("testice", ("a", "b"), "customer")),
        ("lake/testice.tpch.customer", IcebergTarget("testice", ("tpch",), "customer", "lake")),
        ("lake/dotted.bucket.name/orders", DeltaTarget("dotted.bucket.name", "orders", "lake")),
    ],
)
def test_a_target_is_a_table(text: str, expected: DeltaTarget | IcebergTarget):
    """A path on a server is a Delta table, and a name of at least three parts an Iceberg table."""
    assert parse_target(text, ALIASES) == expected


@pytest.mark.parametrize(
    "text",
    ["", "lake", "lake/", "lake/bucket", "lake/bucket/", "s3://bucket", "s3://", "s3:///path", "other/bucket/path",
     "./folder", "/folder/table", "table", "namespace.table", "a..b", "a.b.", ".a.b", "a.b.`c`"],
)  # fmt: skip
def test_what_is_no_table_is_refused_with_the_forms_that_are(text: str):
    """A bucket, a folder of this machine, an unknown alias or half a name is no target."""
    with pytest.raises(Misused) as refused:
        parse_target(text, ALIASES)
    assert "BUCKET" in refused.value.next_step


@pytest.mark.parametrize(
    ("text", "format_name", "url"),
    [
        ("lake/bucket/raw/a.csv", "csv", "s3a://bucket/raw/a.csv"),
        ("lake/bucket/raw/*.parquet", "parquet", "s3a://bucket/raw/*.parquet"),
        ("s3://bucket/raw/A.CSV.GZ", "csv", "s3a://bucket/raw/A.CSV.GZ"),
        ("/nowhere/a b.tsv", "csv", "file:///nowhere/a b.tsv"),
        ("/nowhere/*.csv", "csv", "file:///nowhere/*.csv"),
    ],
)
def test_a_source_is_files_here_or_there(text: str, format_name: str, url: str):
    """A source says its format by its name, and is given to Spark as a URL."""
    source = parse_source(text, ALIASES)
    assert (source.format, source.url) == (format_name, url)


def test_a_format_is_told_from_a_folder_or_said(tmp_path: Path):
    """A folder has the format of all its files; where they differ or say nothing, it must be said."""
    (tmp_path / "one.csv").touch()
    (tmp_path / "_SUCCESS").touch()
    assert parse_source(str(tmp_path)).format == "csv"
    (tmp_path / "two.parquet").touch()
    with pytest.raises(Misused, match="CSV or Parquet"):
        parse_source(str(tmp_path))
    assert parse_source(str(tmp_path), (), "parquet").format == "parquet"
    with pytest.raises(Misused, match="whole bucket"):
        parse_source("s3://bucket", (), "csv")


def test_a_file_with_the_signs_of_a_pattern_is_that_file(tmp_path: Path):
    """A path that is there is taken as it stands, not as a pattern."""
    (tmp_path / "a[1]{x}.csv").touch()
    assert parse_source(str(tmp_path / "a[1]{x}.csv")).url == f"file://{tmp_path}/a\\[1\\]\\{{x\\}}.csv"
    assert Source(str(tmp_path / "a*.csv"), "csv").url == f"file://{tmp_path}/a*.csv"


def test_names_are_quoted_for_sql():
    """A backquote in a name cannot end the name."""
    assert quoted("a`b") == "`a``b`"
    assert DeltaTarget("b", "it`s").sql == "delta.`s3a://b/it``s`"
