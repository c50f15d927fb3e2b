"""What a request that was found a route has, whichever JSON API it is of."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Generic, Protocol, TypeVar

from lakeshare.http.request import Request


class Named(Protocol):
    """A line of a table of routes."""

    @property
    def name(self) -> str:
        """What its operation is called."""
        ...


RoomT = TypeVar("RoomT")
RouteT = TypeVar("RouteT", bound=Named)


@dataclass(slots=True)
class RouteMatch(Generic[RoomT, RouteT]):
    """A request, its route, and the names that stand in its path. No host name of these APIs holds a bucket."""

    host_bucket: ClassVar[str] = ""

    room: RoomT
    request: Request
    route: RouteT
    names: Mapping[str, str]

    @property
    def name(self) -> str:
        """Name the operation."""
        return self.route.name

    @property
    def origin(self) -> str:
        """The server's URL as the caller wrote it."""
        return f"{self.request.scheme}://{self.request.headers.get('host', '')}"
