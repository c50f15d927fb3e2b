"""Whether sharing answers."""

from dataclasses import dataclass

from lakeshare.http.response import Response
from lakeshare.identity.caller import Need
from lakeshare.sharing.room import Room
from lakeshare.sharing.wire.call import Call, Route


@dataclass(frozen=True, slots=True)
class CheckHealth:
    """A look at whether sharing answers."""

    def requires(self) -> tuple[Need, ...]:
        """Need nothing."""
        return ()


async def _answer(room: Room, _call: Call, _asked: CheckHealth) -> Response:
    await room.directory.current()
    return Response(200, [("content-type", "application/json"), ("cache-control", "no-store")], b'{"status":"ok"}')


ROUTES = (Route("CheckSharing", "GET", "/health", lambda _call: CheckHealth(), _answer, is_open=True),)
