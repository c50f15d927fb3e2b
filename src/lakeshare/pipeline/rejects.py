"""Where bad rows are kept, as they stood in the source: in a file on this machine, or below a prefix on the server."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lakeshare.pipeline.errors import Misused
from lakeshare.pipeline.reading import Rows

FOLDER = "rejected"
"""The folder of bad rows where none was chosen."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """A folder for bad rows: on this machine, or in a bucket."""

    path: str = FOLDER
    bucket: str = ""

    def keep(self, session: Any, rows: Rows, name: str) -> str:
        """Keep the bad rows, and say where."""
        if self.bucket:
            return self._keep_there(session, rows, name)
        return self._keep_here(rows, name)

    def _keep_here(self, rows: Rows, name: str) -> str:
        path = Path(self.path).expanduser() / f"{name}.{rows.suffix}"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(f"{line}\n" for line in _heading(rows))
                file.writelines(f"{row[0]}\n" for row in rows.rejected.toLocalIterator())
        except OSError as reason:
            raise Misused(f"bad rows cannot be kept in {path}: {reason.strerror}", "Choose: --rejects FOLDER") from None
        return str(path.absolute())

    def _keep_there(self, session: Any, rows: Rows, name: str) -> str:
        place = "/".join(part for part in (self.path.strip("/"), f"{name}.{rows.suffix}") if part)
        lines = rows.rejected
        if heading := _heading(rows):
            lines = session.createDataFrame([(line,) for line in heading], "value STRING").coalesce(1).union(lines)
        lines.coalesce(1).write.text(f"s3a://{self.bucket}/{place}")
        return f"s3://{self.bucket}/{place}"


def _heading(rows: Rows) -> Sequence[str]:
    return [rows.heading] if rows.heading is not None else []
