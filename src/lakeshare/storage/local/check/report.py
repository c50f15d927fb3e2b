"""What a check found."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

MAX_PROBLEMS = 10_000
"""Problems told one by one; all are counted."""

Progress = Callable[[str, int, int], None]
"""Called with the phase, what is done and what there is to do."""


def silent(_phase: str, _done: int, _all: int) -> None:
    """Show no progress."""


class ProblemKind(Enum):
    """What can be wrong."""

    INDEX = "index"
    MISSING = "missing"
    SIZE = "size"
    CHECKSUM = "checksum"
    ORPHAN = "orphan"
    REFERENCES = "references"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong."""

    kind: ProblemKind
    subject: str
    detail: str


@dataclass(slots=True)
class CheckReport:
    """What was looked at, and what was found. `in_flight` blobs are young and have no row yet: no problem."""

    versions: int = 0
    blobs: int = 0
    inline: int = 0
    bytes_read: int = 0
    in_flight: int = 0
    problems: list[Problem] = field(default_factory=list)
    counts: Counter[ProblemKind] = field(default_factory=Counter)
    affected: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong."""
        return not self.counts

    def add(self, kind: ProblemKind, subject: str, detail: str) -> None:
        """Note a problem."""
        self.counts[kind] += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(kind, subject, detail))
