"""The actions of a Delta log, as values.

What the log says beyond these fields is ignored, as the protocol asks; what is wrong with one of them is a BrokenLog.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lakeshare.columnar.canonical import canonical
from lakeshare.formats.delta.vectors import DeletionVector

FileKey = tuple[str, str | None]
"""What identifies a logical file: the path of its data and the unique id of its deletion vector."""

PartitionValues = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Protocol:
    """What a client must understand to read or write the table."""

    min_reader_version: int
    min_writer_version: int
    reader_features: tuple[str, ...] | None = None
    writer_features: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Metadata:
    """The table's identity, schema, partitioning and configuration. `schema_string` is kept letter for letter."""

    id: str
    schema_string: str
    partition_columns: tuple[str, ...] = ()
    configuration: Mapping[str, str] = field(default_factory=dict)
    name: str | None = None
    description: str | None = None
    provider: str = "parquet"
    options: Mapping[str, str] = field(default_factory=dict)
    created_time: int | None = None


@dataclass(frozen=True, slots=True)
class AddFile:
    """A logical file enters the table, or its facts change."""

    path: str
    partition_values: PartitionValues
    size: int
    modification_time: int
    data_change: bool
    stats: str | None = None
    deletion_vector: DeletionVector | None = None
    tags: Mapping[str, str | None] | None = None
    base_row_id: int | None = None
    default_row_commit_version: int | None = None
    clustering_provider: str | None = None

    @property
    def key(self) -> FileKey:
        """Return what identifies the logical file."""
        return _key(self.path, self.deletion_vector)


@dataclass(frozen=True, slots=True)
class RemoveFile:
    """A logical file leaves the table. Old writers say nothing of its partition and size."""

    path: str
    data_change: bool
    deletion_timestamp: int | None = None
    partition_values: PartitionValues | None = None
    size: int | None = None
    stats: str | None = None
    deletion_vector: DeletionVector | None = None
    base_row_id: int | None = None
    default_row_commit_version: int | None = None

    @property
    def key(self) -> FileKey:
        """Return what identifies the logical file."""
        return _key(self.path, self.deletion_vector)


@dataclass(frozen=True, slots=True)
class ChangeFile:
    """A file of changed rows (`cdc`), which says all that its commit changed together with its like."""

    path: str
    partition_values: PartitionValues
    size: int


@dataclass(frozen=True, slots=True)
class Transaction:
    """How far an application has come (`txn`)."""

    app_id: str
    version: int
    last_updated: int | None = None


@dataclass(frozen=True, slots=True)
class DomainMetadata:
    """A named piece of configuration, or its tombstone."""

    domain: str
    configuration: str
    removed: bool


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """Where a commit came from. Only what decides how the table is read is kept."""

    timestamp: int | None = None
    in_commit_timestamp: int | None = None
    operation: str | None = None
    operation_metrics: Mapping[str, str] = field(default_factory=dict)


FileAction = AddFile | RemoveFile
Action = AddFile | RemoveFile | ChangeFile | Protocol | Metadata | Transaction | DomainMetadata | CommitInfo


def _key(path: str, vector: DeletionVector | None) -> FileKey:
    return canonical(path), None if vector is None else vector.unique_id
