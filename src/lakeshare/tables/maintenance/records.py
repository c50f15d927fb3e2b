"""How maintenance lies in state: what was chosen, what is to be run, and how the last run of each table ended."""

from dataclasses import dataclass

from lakeshare.state.keyspace import Keyspace
from lakeshare.tables.maintenance.choices import Activity, Choices


@dataclass(frozen=True, slots=True)
class Due:
    """Something to do for one table. It stays until it is done, through restarts.

    `cursor` is the last key that was looked at. `base_location` is the metadata file from before snapshots were
    removed: as long as it is here, files of those snapshots may still be to be deleted.
    """

    activity: Activity
    asked_at_ms: int
    asked_by: str = ""
    cursor: str = ""
    base_location: str = ""
    base_etag: str = ""
    attempts: int = 0
    not_before_ms: int = 0
    last_error: str = ""


@dataclass(frozen=True, slots=True)
class Tally:
    """What was removed, or would be: numbers of files by kind, and bytes where they are known."""

    snapshots: int = 0
    refs: int = 0
    data_files: int = 0
    delete_files: int = 0
    manifests: int = 0
    manifest_lists: int = 0
    statistics: int = 0
    unreferenced: int = 0
    outside: int = 0
    """Files that the table refers to and that lie outside of its location: they are left alone."""
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Ended:
    """How the last run for a table ended; a failure says why."""

    activity: Activity
    started_at_ms: int
    ended_at_ms: int
    tally: Tally
    failure: str = ""


CHOICES = Keyspace(("tables", "maintenance", "choices"), Choices)
"""By ("server",), ("warehouse", id), ("namespace", id, joined) or ("table", id, UUID)."""
DUE = Keyspace(("tables", "maintenance", "due"), Due)
"""By warehouse name, UUID, activity."""
ENDED = Keyspace(("tables", "maintenance", "ended"), Ended)
"""By warehouse id, UUID, activity."""
