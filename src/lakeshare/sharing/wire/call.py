"""One request of a recipient's as its parts, and what one line of the table of routes says."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lakeshare.http.request import Request
from lakeshare.http.response import Response
from lakeshare.sharing.errors import Unrecognised
from lakeshare.sharing.gate import RecipientAdmission
from lakeshare.sharing.room import Room
from lakeshare.sharing.view import Access, View


@dataclass(frozen=True, slots=True)
class Call:
    """What a decoder may look at; `admission` is None where the route is open to anyone."""

    request: Request
    names: Mapping[str, str]
    body: bytes = b""
    admission: RecipientAdmission | None = None

    @property
    def access(self) -> Access:
        """Return the recipient that asks."""
        if self.admission is None:
            raise Unrecognised
        return self.admission.access

    @property
    def view(self) -> View:
        """Return all of sharing as it was when the request came."""
        if self.admission is None:
            raise Unrecognised
        return self.admission.view


@dataclass(frozen=True, slots=True)
class Route:
    """One operation: how it is found, read, done and answered. An open one needs no token."""

    name: str
    method: str
    path: str
    decode: Callable[[Call], Any]
    answer: Callable[[Room, Call, Any], Awaitable[Response]]
    is_open: bool = False
    body_limit_bytes: int = 0
