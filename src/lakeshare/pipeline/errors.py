"""What can go wrong in a job, and what to do next."""

from lakeshare.errors import Kind, LakeshareError


class PipelineError(LakeshareError):
    """A job cannot do what it was asked for."""

    kind = Kind.INVALID

    def __init__(self, message: str, next_step: str = "") -> None:
        super().__init__(message)
        self.next_step = next_step


class Misused(PipelineError):
    """What was asked for cannot be meant."""


class NoAlias(Misused):
    """What is to be a server's name is none that is known here."""

    def __init__(self, alias: str, text: str, next_step: str) -> None:
        super().__init__(f"{text!r} is no table: {alias!r} is no alias", next_step)
        self.alias = alias


class NoSpark(PipelineError):
    """PySpark, its Java or its jars are not on this machine."""

    kind = Kind.UNAVAILABLE


class NoSource(PipelineError):
    """There is nothing to read."""

    kind = Kind.MISSING


class NoTarget(PipelineError):
    """The bucket, or the warehouse, that is to be written is not there."""

    kind = Kind.MISSING


class Denied(PipelineError):
    """The server does not know the key, or the key may not do this."""

    kind = Kind.DENIED


class Unreachable(PipelineError):
    """The server does not answer."""

    kind = Kind.UNAVAILABLE


class SchemaMismatch(PipelineError):
    """The rows do not have the shape that the table, or the schema, asks for."""


class TooManyRejected(PipelineError):
    """More rows cannot be read than may be left out."""

    def __init__(self, rejected: int, rows: int, allowed: int, kept: str) -> None:
        said = "no row could be read" if rejected == rows else f"{rejected} of {rows} rows could not be read"
        more = "" if rejected == rows else f", and no more than {allowed} may be left out"
        super().__init__(
            f"{said}{more}; nothing was written",
            f"They are in {kept}. Mend them, give another --schema, or say --max-rejected {rejected}."
            if rejected < rows
            else f"They are in {kept}. Look at the delimiter, the header and the schema: --delimiter, --schema.",
        )
        self.rejected = rejected
        self.rows = rows


class Conflict(PipelineError):
    """Somebody else changed the table, or the source, at the same time."""

    kind = Kind.CONFLICT


class JobFailed(PipelineError):
    """Spark stopped with an error that has no word of its own here."""

    kind = Kind.INTERNAL
