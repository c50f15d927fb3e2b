"""What every operation of the catalog works with."""

from collections.abc import Callable
from dataclasses import dataclass

from lakeshare.identity.directory import Directory
from lakeshare.identity.throttle import Throttle
from lakeshare.state.port import State
from lakeshare.storage.port import ObjectStore
from lakeshare.tables.catalog import Catalog
from lakeshare.tables.files import MetadataFiles
from lakeshare.tables.vendor import Vendor


@dataclass(frozen=True, slots=True)
class Room:
    """The state, the store, what is remembered of both, and the choices that answers depend on.

    `endpoint` is the URL that clients are told to reach S3 by; where it is empty they are told the one they asked by.
    """

    state: State
    store: ObjectStore
    catalog: Catalog
    files: MetadataFiles
    vendor: Vendor
    directory: Directory
    throttle: Throttle
    clock: Callable[[], float]
    region: str = "us-east-1"
    endpoint: str = ""
    token_seconds: int = 3_600

    def now_ms(self) -> int:
        """Return the time as Iceberg writes it."""
        return int(self.clock() * 1000)
