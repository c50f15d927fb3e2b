"""Byte ranges: what was asked for, and what that means for an object of a size."""

import re
from dataclasses import dataclass

from lakeshare.objects.errors import InvalidArgument, InvalidRange

_RANGE = re.compile(r"bytes=\s*([0-9]{0,19})\s*-\s*([0-9]{0,19})\s*\Z")


@dataclass(frozen=True, slots=True)
class Range:
    """A range as asked for: from `first` to `last` inclusive, or the last `suffix` bytes."""

    text: str
    first: int | None = None
    last: int | None = None
    suffix: int | None = None

    @classmethod
    def parse(cls, text: str) -> "Range | None":
        """Read a Range header; None if it asks for nothing served apart, so that the whole is sent (RFC 9110 14.2)."""
        match = _RANGE.match(text)
        if match is None or match[1] == match[2] == "":
            return None
        if match[1] == "":
            return cls(text, suffix=int(match[2]))
        first, last = int(match[1]), int(match[2]) if match[2] else None
        if last is not None and last < first:
            return None
        return cls(text, first=first, last=last)

    def within(self, size: int) -> tuple[int, int]:
        """Return start and stop (exclusive) in an object of that size."""
        if self.suffix is not None:
            if self.suffix == 0 or size == 0:
                raise InvalidRange(self.text, size)
            return max(0, size - self.suffix), size
        first = self.first or 0
        if first >= size:
            raise InvalidRange(self.text, size)
        return first, size if self.last is None else min(self.last + 1, size)


def copy_range(text: str, size: int) -> tuple[int, int]:
    """Return start and stop of an x-amz-copy-source-range, which must lie within the source."""
    match = _RANGE.match(text)
    if match is None or not match[1] or not match[2] or int(match[2]) < int(match[1]):
        raise InvalidArgument("x-amz-copy-source-range", text, "write bytes=FIRST-LAST")
    if int(match[2]) >= size:
        raise InvalidRange(text, size)
    return int(match[1]), int(match[2]) + 1
