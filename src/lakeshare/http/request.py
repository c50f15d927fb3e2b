"""One HTTP request: its head as values, and the way to its body."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

from lakeshare.errors import Kind, LakeshareError

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

Block = bytes | memoryview
Sink = Callable[[Sequence[Block]], None]
"""Takes the next bytes of a body in a thread, where it may block; they are lent to it for the call."""

Pour = Callable[[Sink], Awaitable[bool]]
"""Hands a whole body to a sink, and says whether all of it came."""


class ClientGone(LakeshareError):
    """The client went away before its body was whole."""

    kind = Kind.INVALID

    def __init__(self) -> None:
        super().__init__("the connection was closed before the whole body had arrived")


class BodyTooLarge(LakeshareError):
    """A body that must fit in memory is larger than its bound."""

    kind = Kind.TOO_LARGE

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(f"the request body is larger than {limit_bytes} bytes")
        self.limit_bytes = limit_bytes


@dataclass(slots=True, eq=False)
class Request:
    """The head of one request; header names are lower-case, repeated headers are joined with a comma."""

    id: str
    method: str
    raw_path: str
    raw_query: str
    headers: Mapping[str, str]
    scheme: str
    peer: str
    receive: Receive
    pour_into: Pour | None = None
    """The way past the loop, for a large body on a connection that has one; then `chunks` need not be read."""

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives, and fail if the client leaves before its end."""
        more = True
        while more:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            more = message.get("more_body", False)
            if chunk := message.get("body", b""):
                yield chunk

    async def pour(self, sink: Sink) -> None:
        """Let a thread hand the body to a sink, and fail if the client leaves before its end."""
        if self.pour_into is None or not await self.pour_into(sink):
            raise ClientGone

    async def body(self, limit_bytes: int) -> bytes:
        """Return the whole body, which must fit the bound."""
        declared = self.headers.get("content-length", "0")
        if declared.isdigit() and int(declared) > limit_bytes:
            raise BodyTooLarge(limit_bytes)
        parts: list[bytes] = []
        size = 0
        async for chunk in self.chunks():
            size += len(chunk)
            if size > limit_bytes:
                raise BodyTooLarge(limit_bytes)
            parts.append(chunk)
        return b"".join(parts)
