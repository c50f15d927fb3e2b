"""The records of the catalog: what a warehouse, a namespace, a name and a pointer are."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class EntryKind(Enum):
    """What a name stands for; tables and views share one name space."""

    TABLE = "table"
    VIEW = "view"


@dataclass(frozen=True, slots=True)
class Warehouse:
    """A bucket that holds tables. `shared` says that it takes ordinary objects outside of table locations.

    `removing` says that it is being purged: it is there for nobody but the job that removes it.
    """

    name: str
    id: str
    bucket: str
    created_at_ms: int
    created_by: str = ""
    shared: bool = False
    removing: bool = False


@dataclass(frozen=True, slots=True)
class NamespaceRecord:
    """What is known of a namespace besides its name."""

    created_at_ms: int
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Named:
    """What a name leads to."""

    kind: EntryKind
    uuid: str


@dataclass(frozen=True, slots=True)
class Pointer:
    """The one mutable fact of a table or view: which metadata file is current, and the ETag that it must have.

    `version` is the number of the newest line in its version log, which lies under `history`. `foreign` says that
    the file was written by another hand (register), and may have to be brought into our form before it is shown.
    """

    kind: EntryKind
    namespace: tuple[str, ...]
    name: str
    location: str
    metadata_location: str
    metadata_etag: str
    metadata_bytes: int
    history: str
    version: int
    created_at_ms: int
    updated_at_ms: int
    created_by: str = ""
    foreign: bool = False
    versioned_at_ms: int = 0
    """The time of the newest line of the version log."""
    folders: tuple[str, ...] = ()
    """Keys of folders outside of the location that the table's properties have files written to."""


@dataclass(frozen=True, slots=True)
class Version:
    """One line of a table's version log (iceberg.md 5.7): what was current from `timestamp_ms` on.

    Versions are dense and begin with 0. A line is written by every commit that moves main or changes the current
    schema, default spec or properties; `snapshot_id` is None while the table has no snapshot.
    """

    timestamp_ms: int
    metadata_location: str
    metadata_etag: str
    snapshot_id: int | None = None
    schema_id: int = 0
    spec_id: int = 0
    committed_by: str = ""


@dataclass(frozen=True, slots=True)
class Located:
    """Whose a folder of a bucket is."""

    warehouse: str
    uuid: str
    kind: EntryKind
    namespace: tuple[str, ...]
    name: str


@dataclass(frozen=True, slots=True)
class Guarded:
    """A metadata file that a pointer refers to, by the bucket and key it lies under."""

    warehouse: str
    uuid: str


@dataclass(frozen=True, slots=True)
class Report:
    """One metrics report as a client sent it."""

    received_at_ms: int
    reported_by: str
    text: str


@dataclass(frozen=True, slots=True)
class Reports:
    """The newest reports of a table, newest first."""

    reports: tuple[Report, ...] = ()
