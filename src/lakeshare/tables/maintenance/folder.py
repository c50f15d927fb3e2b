"""The files of one table in its warehouse's bucket: read anywhere in the bucket, removed below the location alone.

A table's files are named by its writers. Nobody may have the server remove what lies elsewhere by naming it.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence

from lakeshare.columnar.source import Blob, FileGone, Unreadable, blob_of
from lakeshare.storage.errors import ContentLost, NoSuchBucket, NoSuchKey
from lakeshare.storage.port import Condition, Delete, Deleted, Entry, Listing, ObjectStore
from lakeshare.tables.model.places import Place, place_of

PAGE_ENTRIES = 1_000


class TableFolder:
    """One table's location, and the bucket around it."""

    def __init__(self, store: ObjectStore, location: str, bucket: str) -> None:
        place = place_of(location.rstrip("/"))
        if place is None or place.bucket != bucket or not place.key:
            raise Unreadable(location, "it is no location inside the warehouse")
        self._store = store
        self.place: Place = place

    @property
    def prefix(self) -> str:
        """What the keys of the table begin with."""
        return self.place.key + "/"

    def key_of(self, uri: str) -> str | None:
        """Return the key of a file in the table's bucket; None where it lies elsewhere."""
        place = place_of(uri)
        return place.key if place is not None and place.bucket == self.place.bucket else None

    def uri_of(self, key: str) -> str:
        """Return the URI of a key in the table's bucket."""
        return f"s3://{self.place.bucket}/{key}"

    def owned_key(self, uri: str) -> str | None:
        """Return the key of a file below the table's location; None where it lies elsewhere."""
        key = self.key_of(uri)
        return key if key is not None and key.startswith(self.prefix) else None

    async def blob(self, uri: str) -> Blob:
        """Return the bytes of a file. Raises FileGone, Unreadable."""
        key = self.key_of(uri)
        if key is None:
            raise Unreadable(uri, f"it lies outside of the bucket {self.place.bucket}")
        try:
            opened = await self._store.open(self.place.bucket, key)
            spans = opened.content.spans(0, opened.info.size) if opened.info.size else ()
        except (NoSuchKey, NoSuchBucket, ContentLost):
            raise FileGone(uri) from None
        return await asyncio.to_thread(blob_of, uri, spans)

    async def pages(self, after: str = "") -> AsyncIterator[Sequence[Entry]]:
        """Yield all that lies below the location, by key."""
        at: str | None = after
        while at is not None:
            page = await self._store.list(Listing(self.place.bucket, self.prefix, "", at, PAGE_ENTRIES))
            if page.objects:
                yield page.objects
            at = page.next_after

    async def remove(self, keys: Sequence[str]) -> int:
        """Remove keys below the location, and return how many were there."""
        return await self._remove([Delete(key) for key in keys])

    async def remove_listed(self, entries: Sequence[Entry]) -> int:
        """Remove keys that are still as they were listed, and return how many were."""
        return await self._remove([Delete(each.key, condition=Condition(etag=each.etag)) for each in entries])

    async def _remove(self, deletes: Sequence[Delete]) -> int:
        count = 0
        for start in range(0, len(deletes), PAGE_ENTRIES):
            batch = [each for each in deletes[start : start + PAGE_ENTRIES] if each.key.startswith(self.prefix)]
            done = await self._store.delete(self.place.bucket, batch)
            count += sum(1 for each in done if isinstance(each, Deleted) and each.existed)
        return count
