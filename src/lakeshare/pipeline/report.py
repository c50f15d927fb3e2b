"""What a job did, as a value for programs and people."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Written:
    """What one commit put into a table, as the table's own log says. An Iceberg table has snapshots, Delta versions."""

    rows: int
    files: int
    size_bytes: int
    version: int | None = None
    snapshot_id: int | None = None


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an ingest read, left out and wrote."""

    source: str
    target: str
    format: str
    mode: str
    created: bool
    rows_in: int
    rows_rejected: int
    rejected_to: str | None
    written: Written
    schema: str
    seconds: float

    def facts(self) -> dict[str, Any]:
        """Return the report under the names of docs/pipeline.md."""
        found = asdict(self)
        written = found.pop("written")
        found["rows_written"] = written["rows"]
        found["files"] = written["files"]
        found["bytes"] = written["size_bytes"]
        found["version"] = written["version"]
        found["snapshot_id"] = written["snapshot_id"]
        found["seconds"] = round(self.seconds, 1)
        return found
