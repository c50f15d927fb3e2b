"""What Spark, Delta, Iceberg and S3A throw, in words that say what to do next. The only file that reads their texts."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from lakeshare.pipeline.errors import (
    Conflict,
    Denied,
    JobFailed,
    NoSource,
    NoTarget,
    PipelineError,
    SchemaMismatch,
    Unreachable,
)

_SAID_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class Fault:
    """A sign in what was thrown, and what it means."""

    sign: re.Pattern[str]
    error: type[PipelineError]
    message: str
    next_step: str


def _fault(sign: str, error: type[PipelineError], message: str, next_step: str) -> Fault:
    return Fault(re.compile(sign), error, message, next_step)


FAULTS = (
    _fault(
        r"OutOfMemoryError|Answer from Java side is empty|Error while sending or receiving|Java side is down",
        JobFailed, "Java ran out of memory, or was ended", "Give it more: --driver-memory 4g",
    ),
    _fault(
        r"Connection refused|UnknownHostException|NoRouteToHost|Unable to execute HTTP request|ConnectTimeout",
        Unreachable, "the server does not answer",
        "Is it running, and is its URL right? `lakeshare alias list` shows the URL.",
    ),
    _fault(
        r"PKIX path building failed|SSLHandshakeException|CertificateException",
        Unreachable, "the server's certificate is not trusted",
        "Give the authority that signed it: --ca-cert FILE, or set the alias again with it.",
    ),
    _fault(
        r"InvalidAccessKeyId|SignatureDoesNotMatch|NotAuthorizedException|ExpiredToken|InvalidToken",
        Denied, "the server does not take the key",
        "Set the alias again with a key that the server knows: lakeshare alias set ALIAS URL KEY SECRET",
    ),
    _fault(
        r"AccessDenied|ForbiddenException|Status Code: 403",
        Denied, "the key may not do this with {target} or {source}",
        "A policy gives it rights: lakeshare admin policy attach",
    ),
    _fault(
        r"NoSuchBucket|UnknownStoreException", NoTarget, "a bucket of {target} or {source} is not there",
        "Make it: lakeshare mb ALIAS/BUCKET",
    ),
    _fault(
        r"NoSuchWarehouseException|[Ww]arehouse .*(does not exist|not found)",
        NoTarget, "the warehouse of {target} is not there",
        "Make it: lakeshare table warehouse create ALIAS WAREHOUSE",
    ),
    _fault(
        r"PATH_NOT_FOUND|Path does not exist|FAILED_READ_FILE.FILE_NOT_EXIST",
        NoSource, "there is nothing at {source}", "Look at the path. A pattern such as data/*.csv is taken too.",
    ),
    _fault(
        r"UNABLE_TO_INFER_SCHEMA", NoSource, "{source} holds no file with rows",
        "Look at the path and at --format.",
    ),
    _fault(
        r"is not a Parquet file|CANNOT_READ_FILE_FOOTER|Could not read footer",
        NoSource, "{source} holds a file that is not Parquet", "Say --format csv if it is CSV, or remove that file.",
    ),
    _fault(
        r"DELTA_INVALID_CHARACTERS_IN_COLUMN_NAME", SchemaMismatch,
        "a column's name has a space or one of ,;{{}}()= in it, which Delta does not take",
        "Rename it in the files' first line, or give --schema with --no-header.",
    ),
    _fault(
        r"CSV header does not conform|column(s)? in CSV header is not equal", SchemaMismatch,
        "the first lines of {source} differ, or name a column twice or not at all",
        "Give every file the same first line, with a name for each column, or say --no-header with --schema.",
    ),
    _fault(
        r"COLUMN_ALREADY_EXISTS|DELTA_DUPLICATE_COLUMNS", SchemaMismatch, "two columns have one name",
        "Rename one of them in the files.",
    ),
    _fault(
        r"DELTA_FAILED_TO_MERGE_FIELDS|DELTA_MERGE_INCOMPATIBLE_DATATYPE|A schema mismatch|"
        r"INCOMPATIBLE_DATA_FOR_TABLE|INSERT_COLUMN_ARITY_MISMATCH|DELTA_METADATA_MISMATCH",
        SchemaMismatch, "the rows do not fit the columns of {target}",
        "Give the columns that the table has: --schema, or replace the table: --mode overwrite",
    ),
    _fault(
        r"DELTA_CONCURRENT|ConcurrentAppendException|ConcurrentModification|CommitFailedException|MetadataChangedException",
        Conflict, "somebody else changed {target} at the same time", "Nothing was written. Run it again.",
    ),
    _fault(
        r"UNRESOLVED_COLUMN|DELTA_COLUMN_NOT_FOUND|Cannot find source column|partition column .* not found",
        SchemaMismatch, "a column that was named is not there", "Look at --partition-by and --schema.",
    ),
)  # fmt: skip
"""In the order in which they are looked for."""


@contextmanager
def translated(source: str, target: str) -> Iterator[None]:
    """Raise what the block throws from Spark as an error of ours."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - pyspark is an extra
    from pyspark.errors import PySparkException  # noqa: PLC0415

    try:
        yield
    except (PySparkException, Py4JError) as thrown:
        raise meaning(_text(thrown), source, target) from thrown


def _text(thrown: Exception) -> str:
    """Return what was thrown as text; Java writes that text, and may be gone."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - pyspark is an extra

    try:
        return str(thrown)
    except (Py4JError, OSError):
        return "Java side is down"


def meaning(text: str, source: str, target: str) -> PipelineError:
    """Say what a text of Spark means."""
    for fault in FAULTS:
        if fault.sign.search(text):
            message = fault.message.format(source=source, target=target)
            return fault.error(f"{message}. Spark said: {gist(text)}", fault.next_step)
    return JobFailed(f"Spark stopped: {gist(text)}", "Its log is spark.log in the cache folder (docs/pipeline.md).")


def gist(text: str) -> str:
    """Return what a long text of Spark says, without the stack."""
    lines = [line.strip() for line in text.splitlines()]
    kept = [
        line for line in lines if line and not line.startswith(("at ", "... ", "JVM stacktrace", "An error occurred"))
    ]
    causes = [line for line in kept if line.startswith("Caused by:")]
    return " ".join([*kept[:2], *causes[-1:]])[:_SAID_CHARACTERS]
