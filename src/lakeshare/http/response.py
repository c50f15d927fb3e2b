"""One HTTP response: a status, headers and a body that is bytes, spans of files, or a stream."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class FileSpan:
    """A run of bytes in a file that never changes once it has its name."""

    path: str
    offset: int
    length: int


Spans = tuple["bytes | FileSpan", ...]
Body = bytes | Spans | AsyncIterator[bytes]


@dataclass(slots=True)
class Response:
    """What to answer. Headers are (lower-case name, value) pairs; a HEAD answer keeps its content-length.

    `after` is called once the answer has left or failed, with the bytes of the body that were handed to the
    connection and whether that was all of it.
    """

    status: int
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: Body = b""
    after: Callable[[int, bool], None] | None = None
