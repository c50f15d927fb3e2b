"""What was found of a table when it was looked at to be shared. Pure."""

from dataclasses import dataclass

SMALL_FILE_BYTES = 16 * 1024**2
"""Average size of files under which a table of many files is slow to plan."""
MANY_FILES = 100
"""Files from which their size matters."""


@dataclass(frozen=True, slots=True)
class TableReport:
    """A table as it is: its newest version, what a reader must know, and how many files of what size it has.

    What could not be found out is None. `notes` are further things that the operator should know.
    """

    version: int | None = None
    min_reader_version: int | None = None
    features: tuple[str, ...] = ()
    files: int | None = None
    size_bytes: int | None = None
    rows: int | None = None
    changes_recorded: bool | None = None
    notes: tuple[str, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Say what would make reading slow or impossible for some."""
        found = list(self.notes)
        if self.files is not None and self.size_bytes is not None and self.files >= MANY_FILES:
            average = self.size_bytes // self.files
            if average < SMALL_FILE_BYTES:
                found.append(
                    f"it has {self.files} files of {average // 1024} KiB on average: "
                    "run OPTIMIZE, or clients will be slow to plan and to read"
                )
        return tuple(found)
