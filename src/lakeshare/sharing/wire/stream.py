"""Answers of many lines: written on a thread, some thousand at a time, one step ahead of what is being sent.

A failure before the first lines is an answer like any other. One after them ends the stream so that a client must
notice: by a last line that says so where the client knows that line, else the body is cut short.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson
from isal import isal_zlib

from lakeshare.errors import LakeshareError
from lakeshare.http.exchange import Cut
from lakeshare.http.request import Request
from lakeshare.http.response import Response
from lakeshare.sharing.model.places import DeltaPlace
from lakeshare.sharing.tables import Tables, broken
from lakeshare.sharing.wire.faults import fault_of

CONTENT_TYPE = ("content-type", "application/x-ndjson; charset=utf-8")
_GZIP_WINDOW = 31
_GZIP_LEVEL = 1
_WORTH_BYTES = 1024
"""Bodies below this are sent as they are."""

Lines = Iterator[bytes]
Ending = Callable[[], bytes]


@dataclass(slots=True)
class Stream:
    """Lines on their way: `head` at once, then `lines` as they are made, then the last line, if one is wanted.

    `still` is asked before each step whether the answer may go on.
    """

    tables: Tables
    head: bytes
    lines: Lines
    ending: Ending | None = None
    still: Callable[[], Awaitable[None]] | None = None
    _pack: Any = field(default=None, init=False)

    async def response(self, request: Request, headers: list[tuple[str, str]]) -> Response:
        """Answer; what goes wrong with the first lines is raised."""
        first = await self._step()
        begun = self.head + (first or b"")
        told = [CONTENT_TYPE, ("cache-control", "no-store"), ("vary", "accept-encoding"), *headers]
        if first is None:
            return Response(200, told, begun + (b"" if self.ending is None else self.ending()))
        if _takes_gzip(request) and len(begun) > _WORTH_BYTES:
            self._pack = isal_zlib.compressobj(_GZIP_LEVEL, isal_zlib.DEFLATED, _GZIP_WINDOW)
            told.append(("content-encoding", "gzip"))
        return Response(200, told, self._body(begun))

    async def _body(self, begun: bytes) -> AsyncIterator[bytes]:
        try:
            chunk: bytes | None = begun
            while chunk is not None:
                ahead = asyncio.ensure_future(self._step())
                try:
                    yield await self._packed(chunk)
                    await self._may_go_on()
                finally:
                    chunk = await ahead
            last = b"" if self.ending is None else self.ending()
        except LakeshareError as error:
            if self.ending is None:
                raise Cut from error
            last = failure_line(error)
        if last:
            yield await self._packed(last)
        if self._pack is not None:
            yield self._pack.flush()

    async def _may_go_on(self) -> None:
        if self.still is not None:
            await self.still()

    async def _step(self) -> bytes | None:
        """Make the next lines; a step that makes none is passed over."""
        return await self.tables.heavy(lambda: next((chunk for chunk in self.lines if chunk), None))

    async def _packed(self, chunk: bytes) -> bytes:
        if self._pack is None:
            return chunk
        return await self.tables.heavy(lambda: self._compressed(chunk))

    def _compressed(self, chunk: bytes) -> bytes:
        packed: bytes = self._pack.compress(chunk) + self._pack.flush(isal_zlib.Z_SYNC_FLUSH)
        return packed


def translated(lines: Lines, place: DeltaPlace) -> Lines:
    """Say of lines that cannot be made that it is the table's fault, and why."""
    with broken(place):
        yield from lines


def end_line(expiration_ms: int, next_page: str = "", refresh: str = "") -> bytes:
    """Write the last line of an answer that is whole."""
    said: dict[str, Any] = {"minUrlExpirationTimestamp": expiration_ms}
    if refresh:
        said["refreshToken"] = refresh
    if next_page:
        said["nextPageToken"] = next_page
    return orjson.dumps({"endStreamAction": said}, option=orjson.OPT_APPEND_NEWLINE)


def failure_line(error: LakeshareError) -> bytes:
    """Write the last line of an answer that failed in the middle."""
    said = {"errorMessage": error.message, "httpStatusErrorCode": fault_of(error).status}
    return orjson.dumps({"endStreamAction": said}, option=orjson.OPT_APPEND_NEWLINE)


def _takes_gzip(request: Request) -> bool:
    return "gzip" in request.headers.get("accept-encoding", "").lower()
