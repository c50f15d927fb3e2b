"""pipeline: Spark jobs on a server's tables. The jobs live in lakeshare.pipeline; here they are asked for and told."""

import glob
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lakeshare.cli.aliases import Alias
from lakeshare.cli.commands.arguments import PLACE
from lakeshare.cli.errors import DENIED, FAILED, MISSING, UNREACHABLE, ClientError, Missing, Misused, Refused
from lakeshare.cli.flags import command
from lakeshare.cli.groups import lazy_group
from lakeshare.cli.output import Output, Record, pairs
from lakeshare.cli.places import unknown_alias
from lakeshare.cli.remote.catalog import Catalog
from lakeshare.cli.remote.server import Call, Server
from lakeshare.cli.remote.trust import Trust
from lakeshare.cli.session import Session
from lakeshare.cli.units import size_text
from lakeshare.errors import Kind
from lakeshare.pipeline import errors as faults
from lakeshare.pipeline.conf import Wanted
from lakeshare.pipeline.connection import CATALOG_PATH, Connection
from lakeshare.pipeline.ingest import Ingest
from lakeshare.pipeline.ingest import ingest as run_ingest
from lakeshare.pipeline.places import (
    DeltaTarget,
    IcebergTarget,
    Source,
    Target,
    parse_place,
    parse_source,
    parse_target,
)
from lakeshare.pipeline.progress import SILENT, Told
from lakeshare.pipeline.reading import Shape
from lakeshare.pipeline.rejects import FOLDER, Shelf
from lakeshare.pipeline.report import IngestReport
from lakeshare.pipeline.session import spark_session

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from lakeshare.cli.remote.store import Store

_PATTERN = re.compile(r"[*?\[{]")
_HERE = "lakeshare.cli.commands.pipeline"
SCHEMA_LIMIT_CHARACTERS = 1024**2
"""Longest schema that is read from a file."""
_EXIT = {
    Kind.MISSING: MISSING, Kind.DENIED: DENIED, Kind.UNAUTHENTICATED: DENIED, Kind.UNAVAILABLE: UNREACHABLE,
}  # fmt: skip

pipeline = lazy_group(
    r"""Run Spark jobs on a server's tables.

    Spark runs on this machine unless --master names a cluster. Java and the jars that it needs are found, or fetched
    once; PySpark comes with `pip install 'lakeshare[spark]'`.

    \b
    lakeshare pipeline ingest orders.csv lake/bucket/tpch/orders
    """,
    {"ingest": (f"{_HERE}:ingest", "Load CSV or Parquet files into a Delta or an Iceberg table.")},
)


class JobError(ClientError):
    """A job ended with an error of the pipeline."""

    def __init__(self, error: faults.PipelineError) -> None:
        super().__init__(error.message, error.next_step)
        self.code = type(error).__name__
        self.exit_code = _EXIT.get(error.kind, FAILED)
        if isinstance(error, faults.Misused):
            self.exit_code = Misused.exit_code
        elif isinstance(error, faults.NoSpark):
            self.exit_code = FAILED


@contextmanager
def told_as_client_error() -> Iterator[None]:
    """Give errors of the pipeline the exit codes of the command line."""
    try:
        yield
    except faults.PipelineError as error:
        raise JobError(error) from error


@command()
@click.argument("source", metavar="SOURCE", type=PLACE)
@click.argument("target", metavar="TARGET", type=PLACE)
@click.option("--alias", "alias_name", default="", help="The server, where neither SOURCE nor TARGET names it.")
@click.option("--mode", type=click.Choice(["append", "overwrite"]), default="append", show_default=True,
              help="Add to the table, or put the rows in place of all that it holds.")  # fmt: skip
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["csv", "parquet"]),
    help="Format of the files, where their names do not tell.",
)
@click.option(
    "--schema",
    default="",
    metavar="DDL|@FILE",
    help="Columns and types, such as 'id BIGINT, day DATE'. Without it: the table's, or inferred.",
)
@click.option("--header/--no-header", default=True, help="Whether the first line of a CSV file names the columns.")
@click.option("--delimiter", default=",", show_default=True, help=r"What is between the fields of CSV; \t is a tab.")
@click.option(
    "--null", "null_text", default="", metavar="TEXT", help="What stands for no value in CSV, besides nothing."
)
@click.option("--multiline", is_flag=True, help="A quoted field of CSV may hold line breaks.")
@click.option("--encoding", default="", help="Encoding of CSV, if it is not UTF-8.")
@click.option("--date-format", default="", metavar="PATTERN", help="Dates in CSV, such as dd.MM.yyyy.")
@click.option("--timestamp-format", default="", metavar="PATTERN", help="Times in CSV, such as 'dd.MM.yyyy HH:mm'.")
@click.option("--partition-by", default="", metavar="COLUMN,...", help="Partition a table that is made, or replaced.")
@click.option(
    "--rejects",
    default=FOLDER,
    show_default=True,
    metavar="PLACE",
    help="Folder for rows that cannot be read: here, or on the server.",
)
@click.option("--max-rejected", type=click.IntRange(min=0), help="Write nothing if more rows than this cannot be read.")
@click.option(
    "--master", default="local[*]", show_default=True, help="Where Spark runs: local[N], spark://..., yarn, k8s://..."
)
@click.option("--driver-memory", default="1g", show_default=True, help="Memory of Spark's driver.")
@click.option(
    "--conf", "more", multiple=True, metavar="NAME=VALUE", help="A further setting of Spark; may be repeated."
)
def ingest(session: Session, source: str, target: str, *, alias_name: str, mode: str, format_name: str | None,
           schema: str, header: bool, delimiter: str, null_text: str, multiline: bool, encoding: str, date_format: str,
           timestamp_format: str, partition_by: str, rejects: str, max_rejected: int | None, master: str,
           driver_memory: str, more: tuple[str, ...]) -> Record:  # fmt: skip
    r"""Load CSV or Parquet files into a Delta or an Iceberg table, in one commit.

    SOURCE is a file, a folder or a pattern here, or on the server: ALIAS/BUCKET/KEY or s3://BUCKET/KEY. TARGET is a
    Delta table, ALIAS/BUCKET/PATH or s3://BUCKET/PATH, or an Iceberg table, WAREHOUSE.NAMESPACE.TABLE. A table that
    is not there is made. Rows that cannot be read are counted and kept in a file, and the others are written.

    \b
    lakeshare pipeline ingest orders.csv lake/bucket/tpch/orders
    lakeshare pipeline ingest 'days/*.parquet' s3://bucket/days --alias lake --mode overwrite --partition-by day
    lakeshare pipeline ingest customer.csv testice.tpch.customer --schema 'custkey BIGINT, name STRING'
    lakeshare pipeline ingest lake/bucket/raw/ lake/bucket/clean --format csv --max-rejected 100 --json
    """
    options = {
        "nullValue": null_text, "multiLine": "true" if multiline else "", "encoding": encoding,
        "dateFormat": date_format, "timestampFormat": timestamp_format,
    }  # fmt: skip
    with told_as_client_error():
        places = _source(source, session.aliases, format_name or ""), _target(target, session.aliases)
        shelf_alias, *shelf = parse_place(rejects, session.aliases)
        alias = _alias(session, [alias_name, places[0].alias, places[1].alias, shelf_alias])
        job = Ingest(
            *places,
            mode,
            Shape(
                _schema(schema), header, _delimiter(delimiter), {name: text for name, text in options.items() if text}
            ),
            tuple(filter(None, (name.strip() for name in partition_by.split(",")))),
            Shelf(shelf[1] if shelf[0] else rejects, shelf[0]),
            max_rejected,
        )
        wanted = Wanted(master, driver_memory, _warehouse(job.target), "lakeshare pipeline ingest", _pairs(more))
        server = _connection(session, alias)
        _check(session, alias, job.source, job.target)
        with (
            telling(session.output) as told,
            spark_session(server, wanted, session.environ, told) as spark,
        ):
            report = run_ingest(spark, job, told)
    if report.rows_rejected:
        session.output.warn(f"{report.rows_rejected} rows could not be read; they are in {report.rejected_to}")
    return _record(report)


def _source(text: str, aliases: Collection[str], format_name: str) -> Source:
    """Read where rows come from; that nothing is there is said before that its format cannot be told."""
    here = not parse_place(text, aliases)[1]
    if here and text and not Path(text).expanduser().exists() and next(glob.iglob(text), None) is None:  # noqa: PTH207
        raise Missing(f"there is nothing at {text}", "Look at the path, and at where you are.")
    return parse_source(text, aliases, format_name)


def _target(text: str, aliases: Collection[str]) -> Target:
    try:
        return parse_target(text, aliases)
    except faults.NoAlias as error:
        raise unknown_alias(error.alias, aliases) from None


def _alias(session: Session, named: list[str]) -> Alias:
    """Find the one server that a job is about."""
    names = {name for name in named if name}
    if len(names) > 1:
        raise Misused(
            f"a job is about one server, and {' and '.join(sorted(names))} were named",
            "Copy the files first: lakeshare cp --recursive",
        )
    if not names and len(session.aliases) == 1:
        names = set(session.aliases)
    if not names:
        there = f"Those there are: {', '.join(sorted(session.aliases))}." if session.aliases else ""
        raise Misused("it is not said which server is meant", f"Say --alias ALIAS. {there}".strip())
    name = names.pop()
    if name not in session.aliases:
        raise unknown_alias(name, session.aliases)
    return session.aliases[name]


def _connection(session: Session, alias: Alias) -> Connection:
    if not alias.access_key:
        step = f"Set it again with a key: lakeshare alias set {alias.name} {alias.url} KEY SECRET"
        raise Misused(f"the alias {alias.name} has no key, and Spark signs what it asks for", step)
    trust = Trust.of(session.choices.ca_cert or alias.ca_cert, session.environ, insecure=session.choices.insecure)
    if trust.insecure and alias.url.startswith("https://"):
        raise Misused("Spark checks certificates always", "Name the authority: --ca-cert FILE")
    ca_file = trust.bundle if alias.url.startswith("https://") else ""
    return Connection(alias.url, alias.access_key, alias.secret, alias.session_token, alias.region, ca_file)


def _schema(text: str) -> str:
    """Return a schema, read from a file where it is written as @FILE."""
    if not text.startswith("@"):
        return text
    try:
        with Path(text[1:]).expanduser().open(encoding="utf-8") as file:
            return file.read(SCHEMA_LIMIT_CHARACTERS).strip()
    except (OSError, UnicodeDecodeError) as reason:
        raise Missing(
            f"the schema {text[1:]} cannot be read: {reason}", "Name a file of text: --schema @FILE"
        ) from None


def _delimiter(text: str) -> str:
    if not text:
        raise Misused("the delimiter is empty", r"Say such as --delimiter ';' or --delimiter '\t'.")
    return text.replace("\\t", "\t")


def _pairs(more: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for pair in more:
        name, equals, value = pair.partition("=")
        if not equals or not name.startswith("spark."):
            raise Misused(f"--conf has {pair!r}", "Write it as --conf spark.sql.shuffle.partitions=8.")
        found[name] = value
    return found


def _warehouse(target: Target) -> str:
    return target.warehouse if isinstance(target, IcebergTarget) else ""


def _check(session: Session, alias: Alias, source: Source, target: Target) -> None:
    """Look, before Spark is started, whether the server answers and what is named is there."""
    store = session.store(alias.name)
    if isinstance(target, IcebergTarget):
        _check_warehouse(store.server, target.warehouse)
    else:
        _holds(store, target.bucket, target.path)
        _check_bucket(store.server, target)
    if source.bucket and not _holds(store, source.bucket, _PATTERN.split(source.path)[0]):
        raise Missing(f"there is nothing at {source.text}", f"`lakeshare ls {alias.name}/{source.bucket}` lists.")


def _holds(store: "Store", bucket: str, prefix: str) -> bool:
    """Say whether anything lies below a prefix of a bucket, which must be there."""
    try:
        return next(iter(store.listing.objects(bucket, prefix, "/")), None) is not None
    except Refused as error:
        if error.code != "NoSuchBucket":
            raise
        step = f"Make it: lakeshare mb {store.name}/{bucket}"
        raise Missing(f"there is no bucket {bucket} at {store.name}", step) from None


def _check_warehouse(server: Server, warehouse: str) -> None:
    name = server.alias.name
    try:
        server.ask(Call("GET", f"{CATALOG_PATH}/v1/config", (("warehouse", warehouse),), named=f"{name} {warehouse}"))
    except Refused as error:
        if error.status != 404:
            raise
        step = f"Make it: lakeshare table warehouse create {name} {warehouse}"
        raise Missing(f"there is no warehouse {warehouse} at {name}", step) from None


def _check_bucket(server: Server, target: DeltaTarget) -> None:
    """Stop where a Delta table would be made among Iceberg tables: their paths are typed alike elsewhere."""
    try:
        found = Catalog(server).get("warehouses", target.bucket)
    except Refused:
        return  # It is no warehouse, or this key may not know.
    if not found.get("upgraded"):
        meant = ".".join([target.bucket, *target.path.split("/")])
        raise Misused(
            f"{target.bucket} is a warehouse, and a path in it would be a Delta table among its Iceberg tables",
            f"Write {server.alias.name}/{meant} for an Iceberg table, or name another bucket for a Delta table.",
        )


def _record(report: IngestReport) -> Record:
    written = report.written
    commit = f"version {written.version}" if written.version is not None else f"snapshot {written.snapshot_id}"
    text = pairs(
        f"{'Created' if report.created else 'Wrote'} {report.target} from {report.source}.",
        [
            ("Rows", f"{report.rows_in} read, {written.rows} written, {report.rows_rejected} rejected"),
            *([("Rejected", report.rejected_to)] if report.rejected_to else []),
            ("Commit", f"{commit}, {report.mode}"),
            ("Files", f"{written.files}, {size_text(written.size_bytes, ' ')}"),
            ("Time", f"{report.seconds:.1f} s"),
        ],
    )
    return Record(report.facts(), text)


class Bar:
    """A step of a job, drawn as far as it is."""

    def __init__(self, progress: "Progress", task: "TaskID") -> None:
        self._progress, self._task = progress, task

    def step(self, text: str) -> None:
        """A new step begins."""
        self._progress.update(self._task, description=text, completed=0, total=None)

    def at(self, done: int, total: int) -> None:
        """So much of the step is done."""
        self._progress.update(self._task, completed=done, total=total)


@contextmanager
def telling(output: Output) -> Iterator[Told]:
    """Yield whom a job tells how far it is: a bar, if somebody is there to see it."""
    if not output.draws:
        yield SILENT
        return
    from rich.console import Console  # noqa: PLC0415 - loads slowly, and only a terminal needs it
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    console = Console(stderr=True, no_color=output.color is False)
    with Progress(*columns, console=console, transient=True) as progress:
        output.bar_is_shown = True
        try:
            yield Bar(progress, progress.add_task("looking at the server", total=None))
        finally:
            output.bar_is_shown = False
