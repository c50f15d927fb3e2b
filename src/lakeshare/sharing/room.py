"""What every operation on shares and recipients works with."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from lakeshare.sharing.directory import ShareDirectory
from lakeshare.sharing.inspector import TableInspector


async def _never_used(_credentials: Sequence[str]) -> dict[str, int]:
    return {}


@dataclass(frozen=True, slots=True)
class Room:
    """The directory of shares, what looks at tables, and the choices that answers depend on.

    `endpoint` is the URL that recipients reach this server by, as it is set; empty where it is not. `last_used` tells
    when credentials were last used.
    """

    directory: ShareDirectory
    inspector: TableInspector
    clock: Callable[[], float]
    endpoint: str = ""
    access_token_seconds: int = 3_600
    last_used: Callable[[Sequence[str]], Awaitable[dict[str, int]]] = field(default=_never_used)
