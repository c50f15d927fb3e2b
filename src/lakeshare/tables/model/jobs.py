"""Work that a change leaves behind, put into state by the transaction of the change itself.

A drop puts a job and so does the removal of a warehouse: a crash loses neither. Whoever runs jobs takes them in the
order of their ids, may do each of them more than once, and removes its record when it is done. A file that is already
gone is no failure: some clients delete files themselves.
"""

from dataclasses import dataclass
from enum import Enum

from lakeshare.state.keyspace import Keyspace


class JobKind(Enum):
    """What is to be done."""

    FORGET_TABLE = "forget table"
    """The entry is gone and its files stay: remove what state still keeps below `history` and `uuid`."""
    PURGE_TABLE = "purge table"
    """As FORGET_TABLE, and remove the files that the metadata at `metadata_location` reaches."""
    PURGE_WAREHOUSE = "purge warehouse"
    """Remove all entries, all objects, the bucket and then the record of the warehouse."""


@dataclass(frozen=True, slots=True)
class Job:
    """One piece of work. `attempts` and `last_error` are the runner's own notes."""

    id: str
    kind: JobKind
    warehouse: str
    """The warehouse's name."""
    warehouse_id: str
    bucket: str
    created_at_ms: int
    created_by: str = ""
    uuid: str = ""
    """Of the table or view, as in its pointer's key."""
    name: str = ""
    """The table's name with its namespace, for people."""
    history: str = ""
    """The id that the version log lay under."""
    location: str = ""
    metadata_location: str = ""
    metadata_etag: str = ""
    is_view: bool = False
    attempts: int = 0
    last_error: str = ""
    not_before_ms: int = 0


JOBS = Keyspace(("tables", "job"), Job)
"""By id; ids begin with the time in milliseconds, so that they sort in the order they were made."""
