"""What every operation on shares and recipients works with."""

from collections.abc import Callable
from dataclasses import dataclass

from lakeshare.sharing.directory import ShareDirectory
from lakeshare.sharing.inspector import TableInspector


@dataclass(frozen=True, slots=True)
class Room:
    """The directory of shares, what looks at tables, and the choices that answers depend on.

    `endpoint` is the URL that recipients reach this server by, as it is set; empty where it is not.
    """

    directory: ShareDirectory
    inspector: TableInspector
    clock: Callable[[], float]
    endpoint: str = ""
    access_token_seconds: int = 3_600
