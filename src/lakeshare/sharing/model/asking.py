"""What recipients ask of tables, as values."""

from dataclasses import dataclass
from enum import Enum

from lakeshare.columnar.predicate import Predicate
from lakeshare.identity.arns import share_arn
from lakeshare.identity.caller import Need


class ResponseFormat(Enum):
    """How lines are written: as Parquet files with statistics, or as the table's own actions."""

    PARQUET = "parquet"
    DELTA = "delta"

    @property
    def id_column(self) -> str:
        """Name the digest that makes ids of files."""
        return "md5" if self is ResponseFormat.PARQUET else "sha256"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a client says that it can: `reader_features` are in lower case, None where it says nothing of them."""

    formats: frozenset[ResponseFormat] = frozenset({ResponseFormat.PARQUET})
    reader_features: frozenset[str] | None = None
    end_stream: bool = False


@dataclass(frozen=True, slots=True)
class TableName:
    """A table as the path names it."""

    share: str
    schema: str
    table: str

    def needs(self, action: str) -> tuple[Need, ...]:
        """Say what must be allowed of it."""
        return (Need(action, share_arn(self.share, self.schema, self.table)),)


@dataclass(frozen=True, slots=True)
class Moment:
    """Which state of a table: the latest, that of a version, or that of a time."""

    version: int | None = None
    timestamp_ms: int | None = None

    @property
    def is_latest(self) -> bool:
        """Whether no travel in time is asked for."""
        return self.version is None and self.timestamp_ms is None


LATEST = Moment()


@dataclass(frozen=True, slots=True)
class GetVersion:
    """Which version is the newest, or was the first at or after a time."""

    name: TableName
    starting_timestamp_ms: int | None = None

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return self.name.needs("sharing:GetTableVersion")


@dataclass(frozen=True, slots=True)
class GetMetadata:
    """What a table is."""

    name: TableName
    capabilities: Capabilities
    moment: Moment = LATEST

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return self.name.needs("sharing:GetTableMetadata")


@dataclass(frozen=True, slots=True)
class Paged:
    """How an answer is cut: at most so many files, going on where a page ended. `digest` stands for the question."""

    max_files: int | None = None
    page_token: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True)
class QueryTable:
    """The files of a table at one moment that may hold rows that a predicate wants."""

    name: TableName
    capabilities: Capabilities
    id_column: str = ""
    moment: Moment = LATEST
    predicate: Predicate | None = None
    limit: int | None = None
    paged: Paged = Paged()
    include_refresh: bool = False
    refresh_token: str = ""

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return self.name.needs("sharing:QueryTable")

    @property
    def wants_end(self) -> bool:
        """Whether the client knows the last line, and so must be sent it."""
        return self.capabilities.end_stream or self.include_refresh or self.paged.max_files is not None


@dataclass(frozen=True, slots=True)
class ReadChanges:
    """What changed from one version or time to another: its change feed, or with `stream` the files alone."""

    name: TableName
    capabilities: Capabilities
    id_column: str = ""
    start: Moment = LATEST
    end: Moment = LATEST
    stream: bool = False
    historical_metadata: bool = False
    historical_protocol: bool = False
    paged: Paged = Paged()

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return self.name.needs("sharing:QueryTable" if self.stream else "sharing:ReadTableChanges")

    @property
    def wants_end(self) -> bool:
        """Whether the client knows the last line, and so must be sent it."""
        return self.capabilities.end_stream or self.paged.max_files is not None
