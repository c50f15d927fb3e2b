"""What reading tables in place needs of a store: to list, to open, and to pin. Every ObjectStore has it."""

from collections.abc import Sequence
from typing import Protocol

from lakeshare.storage.port import Listing, Opened, Page


class TableStore(Protocol):
    """Buckets with tables in them, to be read."""

    async def list(self, listing: Listing) -> Page:
        """List the latest objects. Raises NoSuchBucket, and RemoteFailed of another store."""
        ...

    async def open(self, bucket: str, key: str) -> Opened:
        """Return an object with its content. Raises NoSuchBucket, NoSuchKey, ContentLost, RemoteFailed."""
        ...

    async def pins(self, bucket: str, keys: Sequence[str]) -> Sequence[str | None]:
        """Return what pins the bytes of each key: empty where nothing does, None where a key is not there."""
        ...
