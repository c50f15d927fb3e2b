"""Ingest by a real Spark into Delta and Iceberg tables of a live server: every row is written or kept aside."""

import itertools
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from lakeshare.pipeline.errors import Misused, NoSource, NoTarget, SchemaMismatch, TooManyRejected
from lakeshare.pipeline.ingest import Ingest, ingest
from lakeshare.pipeline.places import Target, parse_source, parse_target
from lakeshare.pipeline.reading import Shape
from lakeshare.pipeline.rejects import Shelf
from lakeshare.pipeline.report import IngestReport
from tests.boto import boto_client
from tests.live import LiveServer
from tests.pipeline.conftest import WAREHOUSE

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(900),  # The first session fetches about 130 MB of jars.
    pytest.mark.filterwarnings("ignore"),  # PySpark leaves sockets to the garbage collector.
]

PEOPLE = "id BIGINT, name STRING, paid DECIMAL(9,2), day DATE"
LINES = """id,name,paid,day
1,Ada,10.50,2026-01-02
2,"Ben ""B"", jr.",0.25,2026-02-28
3,,,
"""
BAD = ["x,Chi,1.00,2026-01-01", "5,Dov,1.00,2026-02-30", "6,Eve", "7,Fay,1.00,2026-01-01,more", "8,Gus,much,2026-01-01"]

_numbers = itertools.count(1)


@pytest.fixture(params=["delta", "iceberg"])
def target(request: pytest.FixtureRequest, bucket: str) -> Target:
    """A table of each format that is not there yet."""
    if request.param == "delta":
        return parse_target(f"s3://{bucket}/tables/people")
    return parse_target(f"{WAREHOUSE}.jobs.people{next(_numbers)}")


@pytest.fixture
def load(spark: Any, target: Target, tmp_path: Path) -> Callable[..., IngestReport]:
    """Ingest lines, or files, into the table of the test."""

    def run(source: str | Path, mode: str = "append", schema: str = "", **more: Any) -> IngestReport:
        if isinstance(source, str):
            path = tmp_path / f"lines-{next(_numbers)}.csv"
            path.write_text(source)
        else:
            path = source
        options = {name: more.pop(name) for name in ("header", "delimiter", "options") if name in more}
        shelf = Shelf(str(tmp_path / "rejected"))
        return ingest(
            spark, Ingest(parse_source(str(path)), target, mode, Shape(schema, **options), shelf=shelf, **more)
        )

    return run


def rows_of(spark: Any, target: Target) -> list[tuple[Any, ...]]:
    """Read the whole table."""
    if target.format == "delta":
        frame = spark.read.format("delta").load(target.url)
    else:
        frame = spark.table(".".join(["lakeshare", *target.namespace, target.name]))
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def test_a_table_is_made_appended_to_and_replaced(spark: Any, target: Target, load: Callable[..., IngestReport]):
    """Rows are counted and typed as the schema says; appending keeps the table's types; replacing changes both."""
    made = load(LINES, schema=PEOPLE)
    assert (made.created, made.rows_in, made.written.rows, made.rows_rejected) == (True, 3, 3, 0)
    assert (made.rejected_to, made.written.files > 0, made.written.size_bytes > 0) == (None, True, True)
    assert made.schema == PEOPLE
    assert rows_of(spark, target)[0][:3] == (1, "Ada", Decimal("10.50"))
    assert rows_of(spark, target)[1][1] == 'Ben "B", jr.'
    more = load("name,id\nHal,9\n")
    assert (more.created, more.rows_in, more.schema) == (False, 1, "name STRING, id BIGINT")
    assert (9, "Hal", None, None) in rows_of(spark, target)
    replaced = load("word,count\na,1\nb,2\n", mode="overwrite")
    assert (replaced.written.rows, replaced.created) == (2, False)
    assert rows_of(spark, target) == [("a", 1), ("b", 2)]
    if target.format == "delta":
        assert [made.written.version, more.written.version, replaced.written.version] == [0, 1, 2]
    else:
        ids = {made.written.snapshot_id, more.written.snapshot_id, replaced.written.snapshot_id}
        assert len(ids) == 3
        assert None not in ids


def test_bad_rows_are_kept_as_they_stood(spark: Any, target: Target, load: Callable[..., IngestReport]):
    """Each kind of bad row, in any column, is counted and kept below the first line; mended, it is ingested again."""
    report = load(LINES + "\n".join(BAD) + "\n", schema=PEOPLE)
    assert (report.rows_in, report.written.rows, report.rows_rejected) == (8, 3, 5)
    kept = Path(report.rejected_to)
    assert kept.read_text().splitlines() == ["id,name,paid,day", *BAD]
    assert len(rows_of(spark, target)) == 3
    mended = load(f"id,name,paid,day\n{BAD[0].replace('x', '4', 1)}\n")
    assert (mended.rows_in, mended.rows_rejected) == (1, 0)
    assert len(rows_of(spark, target)) == 4


def test_too_many_bad_rows_write_nothing(target: Target, load: Callable[..., IngestReport], tmp_path: Path):
    """Above the number that may be left out, or where no row is good, there is no table, and the rows are kept."""
    with pytest.raises(TooManyRejected, match="5 of 8 rows"):
        load(LINES + "\n".join(BAD) + "\n", schema=PEOPLE, max_rejected=4)
    with pytest.raises(TooManyRejected, match="no row could be read"):
        load("id,name\nx,y\n", schema="id INT, name INT")
    assert len(list((tmp_path / "rejected").iterdir())) == 2
    made = load(LINES + "\n".join(BAD) + "\n", schema=PEOPLE, max_rejected=5)
    assert made.created


def test_no_value_lands_in_another_column(target: Target, load: Callable[..., IngestReport], tmp_path: Path):
    """Files whose first lines differ, a header that is not the schema's, and columns that a table lacks are refused."""
    folder = tmp_path / "several"
    folder.mkdir()
    (folder / "a.csv").write_text("id,name\n1,Ada\n")
    (folder / "b.csv").write_text("name,id\nBen,2\n")
    with pytest.raises(SchemaMismatch, match="first lines"):
        load(folder)
    with pytest.raises(SchemaMismatch, match="the schema has name, id"):
        load("id,name\n1,2\n", schema="name INT, id INT")
    load("id,name\n1,Ada\n")
    with pytest.raises(SchemaMismatch, match="no column nick"):
        load("id,nick\n1,Ada\n")
    with pytest.raises(SchemaMismatch, match="no column nick"):
        load("nick\nAda\n", schema="nick STRING")
    with pytest.raises(Misused, match="cannot be read"):
        load("id,name\n1,Ada\n", schema="id BIG INT")


def test_a_source_without_rows_is_told(load: Callable[..., IngestReport], tmp_path: Path):
    """A path that is not there, a file without a line, or with a first line alone, writes nothing."""
    with pytest.raises(NoSource, match="has no lines"):
        load("")
    with pytest.raises(NoSource, match="there is nothing at"):
        load(tmp_path / "absent.csv")
    with pytest.raises(NoSource, match="has no rows"):
        load("id,name\n", schema="id INT, name STRING")
    (tmp_path / "false.parquet").write_bytes(b"PAR?")
    with pytest.raises(NoSource, match="not Parquet"):
        load(tmp_path / "false.parquet")


def test_csv_is_read_as_it_is_said_to_be_written(spark: Any, target: Target, load: Callable[..., IngestReport]):
    """Without a header, with another delimiter, a word for null, dates of a country and line breaks in quotes."""
    report = load(
        '1;NA;31.12.2025\n2;"two\nlines";01.01.2026\n',
        schema="id INT, text STRING, day DATE",
        header=False,
        delimiter=";",
        options={"nullValue": "NA", "dateFormat": "dd.MM.yyyy", "multiLine": "true"},
    )
    assert (report.rows_in, report.rows_rejected) == (2, 0)
    found = rows_of(spark, target)
    assert [(row[0], row[1], row[2].isoformat()) for row in found] == [
        (1, None, "2025-12-31"),
        (2, "two\nlines", "2026-01-01"),
    ]


def test_parquet_keeps_its_types_or_takes_those_that_are_asked_for(
    spark: Any, target: Target, load: Callable[..., IngestReport], tmp_path: Path
):
    """Parquet comes as it is; with a schema, a value that cannot be cast makes its row one that is kept as JSON."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"id": ["1", "x", None], "name": ["Ada", "Ben", "Chi"]}), path)
    asked = load(path, schema="name STRING, id BIGINT")
    assert (asked.rows_in, asked.written.rows, asked.rows_rejected) == (3, 2, 1)
    assert Path(asked.rejected_to).read_text() == '{"id":"x","name":"Ben"}\n'
    assert rows_of(spark, target) == [("Ada", 1), ("Chi", None)]
    as_it_is = load(path, mode="overwrite")
    assert (as_it_is.rows_in, as_it_is.schema) == (3, "id STRING, name STRING")


def test_a_table_is_partitioned_when_it_is_made(spark: Any, target: Target, load: Callable[..., IngestReport]):
    """Each value of the column has files of its own."""
    report = load("id,part\n1,a\n2,b\n3,a\n", partition_by=("part",))
    assert (report.written.rows, report.written.files) == (3, 2)
    assert rows_of(spark, target) == [(1, "a"), (2, "b"), (3, "a")]
    with pytest.raises(SchemaMismatch):
        load("id,part\n1,a\n", mode="overwrite", partition_by=("nowhere",))


def test_files_and_rejects_may_lie_on_the_server(spark: Any, target: Target, bucket: str):
    """A source in a bucket is read there, and bad rows are kept below a prefix."""
    spark.createDataFrame([("id,name",), ("1,Ada",), ("x,Ben",)], "v STRING").coalesce(1).write.text(
        f"s3a://{bucket}/raw"
    )
    source = parse_source(f"s3://{bucket}/raw/*.txt")
    job = Ingest(source, target, shape=Shape("id INT, name STRING"), shelf=Shelf("kept/aside", bucket))
    report = ingest(spark, job)
    assert (report.rows_in, report.written.rows, report.rows_rejected) == (2, 1, 1)
    assert report.rejected_to.startswith(f"s3://{bucket}/kept/aside/people")
    kept = spark.read.text(report.rejected_to.replace("s3://", "s3a://"))
    assert [row[0] for row in kept.collect()] == ["id,name", "x,Ben"]


def test_a_bucket_or_warehouse_that_is_not_there_is_told(spark: Any, tmp_path: Path):
    """The error names the target, and how it is made."""
    path = tmp_path / "a.csv"
    path.write_text("id\n1\n")
    with pytest.raises(NoTarget) as failed:
        ingest(spark, Ingest(parse_source(str(path)), parse_target("s3://no-such-bucket-here/t")))
    assert "lakeshare mb" in failed.value.next_step


def test_a_table_that_was_begun_and_left_is_made(spark: Any, bucket: str, live_server: LiveServer, tmp_path: Path):
    """A log without a commit, as a job leaves that was stopped, is no table yet."""
    client = boto_client(live_server)
    client.put_object(Bucket=bucket, Key="t/_delta_log/_staged_commits/", Body=b"")
    client.close()
    path = tmp_path / "a.csv"
    path.write_text("id\n1\n")
    assert ingest(spark, Ingest(parse_source(str(path)), parse_target(f"s3://{bucket}/t"))).created
