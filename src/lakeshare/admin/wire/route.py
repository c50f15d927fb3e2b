"""What one line of the table of routes says."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from lakeshare.admin.wire.call import Call
from lakeshare.admin.wire.shapes import Field, Shape


class Takes(Enum):
    """What an operation does with its request's body."""

    NOTHING = "nothing"
    JSON = "json"
    TEXT = "text"
    STREAM = "stream"


class Gives(Enum):
    """What an answer's body is."""

    NOTHING = "nothing"
    JSON = "json"
    LINES = "lines"


@dataclass(frozen=True, slots=True)
class Route:
    """One operation: how it is found, the permission it needs first, and how it is read, done and answered.

    `body` and `answer` are the shapes of what comes in and goes out; `query` are the parameters it takes.
    """

    name: str
    method: str
    path: str
    action: str
    summary: str
    decode: Callable[[Call], Any]
    operate: Callable[..., Awaitable[Any]]
    encode: Callable[[Any], Any] | None = None
    answer: Shape | None = None
    status: int = 200
    query: tuple[Field, ...] = ()
    body: Shape | None = None
    takes: Takes = Takes.NOTHING
    gives: Gives = Gives.JSON
