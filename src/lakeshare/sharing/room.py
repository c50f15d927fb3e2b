"""What every operation on shares and recipients works with."""

from collections.abc import Callable
from dataclasses import dataclass

from lakeshare.sharing.directory import ShareDirectory
from lakeshare.sharing.inspector import TableInspector
from lakeshare.sharing.tables import Tables
from lakeshare.sharing.usage import Counts, Subject
from lakeshare.state.port import State


@dataclass(frozen=True, slots=True)
class Room:
    """The directory of shares, what looks at tables, and the choices that answers depend on.

    `state` is asked for usage alone; all else of sharing comes from the directory. `endpoint` is the URL that
    recipients reach this server by, as it is set; empty where it is not. `tables` opens tables, and `count` hears what
    was read of them: a room that serves recipients has both.
    """

    directory: ShareDirectory
    inspector: TableInspector
    state: State
    clock: Callable[[], float]
    endpoint: str = ""
    access_token_seconds: int = 3_600
    url_seconds: int = 3_600
    tables: Tables | None = None
    count: Callable[[Subject, Counts], None] | None = None
