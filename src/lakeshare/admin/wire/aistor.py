"""The admin API of AIStor's table sharing, under `/minio/admin/v4/delta-sharing`, for clients that know that one."""

from typing import Any

from lakeshare.admin.room import Room
from lakeshare.admin.wire.faults import encode_fault, fault_of
from lakeshare.errors import LakeshareError
from lakeshare.http.paths import NoSuchPath
from lakeshare.http.request import Request
from lakeshare.http.response import Response


class AistorFamily:
    """AIStor's admin API."""

    def __init__(self, room: Room) -> None:
        self._room = room

    def find(self, request: Request) -> Any:
        """Return the route of a request, or refuse it."""
        raise NoSuchPath(request.raw_path)

    def refuse(self, error: LakeshareError, request: Request) -> tuple[str, Response]:
        """Write an error as JSON; also return its code."""
        fault = fault_of(error)
        return fault.code, encode_fault(error, fault, request.id)

    def finish(self, response: Response, request: Request) -> Response:
        """Add the id that every answer has."""
        response.headers.append(("x-amz-request-id", request.id))
        return response
