"""One request of the catalog as its parts, and what one line of the table of routes says."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import unquote_to_bytes

from lakeshare.http.request import Request
from lakeshare.http.response import Response
from lakeshare.identity.authorise import Authoriser
from lakeshare.identity.caller import Caller, Need
from lakeshare.tables.errors import BadRequest
from lakeshare.tables.gate import CatalogAdmission
from lakeshare.tables.room import Room

QUERY_LIMIT = 32
"""Most parameters of a query; no route takes so many."""

BODY_LIMIT_BYTES = 16 * 1024 * 1024
"""Of a commit: a schema of thousands of columns, or thousands of snapshots to remove."""


@dataclass(frozen=True)
class Call:
    """What a decoder may look at."""

    room: Room
    request: Request
    names: Mapping[str, str]
    body: bytes
    admission: CatalogAdmission

    @property
    def caller(self) -> Caller:
        """Who asks."""
        return self.admission.caller

    def may(self, need: Need) -> bool:
        """Say whether the caller would be allowed something more, that the answer depends on."""
        return Authoriser(self.caller, self.admission.circumstances, {}).decide(need).allowed

    @cached_property
    def query(self) -> Mapping[str, str]:
        """The parameters of the query, each of which may stand once."""
        return read_query(self.request.raw_query)

    @property
    def origin(self) -> str:
        """The server's URL as the caller wrote it."""
        return f"{self.request.scheme}://{self.request.headers.get('host', '')}"

    def header(self, name: str) -> str:
        """Return a header, or nothing."""
        return self.request.headers.get(name, "")


@dataclass(frozen=True, slots=True)
class Route:
    """One operation: how it is found, read, done and answered. An open one needs no identity.

    `decode` may look names up in state, since policies name tables by UUID; it changes nothing. `endpoint` says that
    the specification has it, so that clients are told of it.
    """

    name: str
    method: str
    path: str
    action: str
    decode: Callable[[Call], Awaitable[Any]]
    answer: Callable[[Room, Call, Any], Awaitable[Response]]
    endpoint: bool = True
    is_open: bool = False
    body_limit_bytes: int = BODY_LIMIT_BYTES


def read_query(raw_query: str) -> dict[str, str]:
    """Read the parameters of a query. Raises BadRequest."""
    pairs = [pair for pair in raw_query.split("&", QUERY_LIMIT) if pair]
    if len(pairs) > QUERY_LIMIT:
        raise BadRequest(f"the query has more than {QUERY_LIMIT} parameters")
    found: dict[str, str] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        found[_decoded(name)] = _decoded(value)
    return found


def flag(query: Mapping[str, Any], name: str) -> bool:
    """Read a yes or no of a query; clients write `true`, `True` and `false` (iceberg.md 3.3). Raises BadRequest."""
    text = str(query.get(name, "")).lower()
    if text not in ("", "true", "false"):
        raise BadRequest(f"{name} must be true or false")
    return text == "true"


def _decoded(text: str) -> str:
    try:
        return unquote_to_bytes(text.replace("+", " ")).decode()
    except UnicodeDecodeError:
        raise BadRequest("the query is not UTF-8 once its percent-encoding is undone") from None
