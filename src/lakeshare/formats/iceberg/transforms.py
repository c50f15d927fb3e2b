"""Partition and sort transforms: their text, and the types that each takes (specification, Partition Transforms)."""

import re
from dataclasses import dataclass

from lakeshare.formats.iceberg.documents import MAX_INT, shown
from lakeshare.formats.iceberg.errors import InvalidMetadata
from lakeshare.formats.iceberg.types import Primitive, Type

MAX_TEXT = 1_000

_WITH_WIDTH = re.compile(r"([A-Za-z0-9_]+)\[([0-9]{1,20})\]")
_DATES = frozenset({"date"})
_TIMESTAMPS = frozenset({"timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns"})
_TAKES = {
    "year": _DATES | _TIMESTAMPS,
    "month": _DATES | _TIMESTAMPS,
    "day": _DATES | _TIMESTAMPS,
    "hour": _TIMESTAMPS,
    "bucket": _DATES | _TIMESTAMPS | {"int", "long", "time", "string", "binary", "fixed", "decimal", "uuid"},
    "truncate": frozenset({"int", "long", "string", "binary", "decimal"}),
}
_NOT_COMPARABLE = frozenset({"variant", "geometry", "geography"})


@dataclass(frozen=True, slots=True)
class Transform:
    """How a partition or sort value is made of a column."""

    name: str
    width: int | None = None

    def __str__(self) -> str:
        """Write the transform as metadata has it."""
        return self.name if self.width is None else f"{self.name}[{self.width}]"

    @property
    def known(self) -> bool:
        """Say whether this version of the specification has the transform."""
        return self.name in {"identity", "void"} or (self.name in _TAKES and self._has_right_width)

    @property
    def _has_right_width(self) -> bool:
        return (self.width is not None) == (self.name in {"bucket", "truncate"})

    def takes(self, kind: Type) -> bool:
        """Say whether the transform is defined for a type; one that is not known is taken at its word."""
        if not self.known or self.name == "void":
            return True
        if not isinstance(kind, Primitive):
            return False
        return kind.kind not in _NOT_COMPARABLE if self.name == "identity" else kind.kind in _TAKES[self.name]


def parse_transform(found: str) -> Transform:
    """Read a transform; a name that the specification does not have stays as it is."""
    if not found or len(found) > MAX_TEXT:
        raise InvalidMetadata(f"{shown(found)} is no transform")
    match = _WITH_WIDTH.fullmatch(found)
    if match is None:
        lowered = found.lower()
        return Transform(lowered if Transform(lowered).known else found)
    name, width = match[1].lower(), int(match[2])
    if name not in {"bucket", "truncate"}:
        return Transform(found)
    if not 0 < width <= MAX_INT:
        raise InvalidMetadata(f"{shown(found)}: the width of a transform must be from 1 to {MAX_INT}")
    return Transform(name, width)
