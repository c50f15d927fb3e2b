"""Looking at tables before they are shared: a port, and the least that can be done, a look at the names in a bucket."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from lakeshare.formats.delta.paths import LOG_FOLDER, LogKind, parse_log_name
from lakeshare.sharing.errors import IcebergNotShared, NoTableThere, SourceUnreachable
from lakeshare.sharing.model.names import is_table_name
from lakeshare.sharing.model.places import DeltaPlace, Place
from lakeshare.sharing.model.report import TableReport
from lakeshare.storage.errors import NoSuchBucket
from lakeshare.storage.port import Listing, Page
from lakeshare.storage.table_store import TableStore

LOG_PAGES_LIMIT = 1_000
"""Pages of a log that are listed for its newest version: a million names."""
_STATES = frozenset({LogKind.COMMIT, LogKind.CHECKPOINT, LogKind.CHECKPOINT_PART, LogKind.V2_CHECKPOINT})


@dataclass(frozen=True, slots=True)
class Folder:
    """Names of folders in a place, some of which may be tables; `next_after` goes on, None is the end."""

    names: Sequence[str]
    next_after: str | None = None


class TableInspector(Protocol):
    """Tells what lies at a place."""

    async def inspect(self, place: Place) -> TableReport:
        """Look at a table. Raises NoTableThere, TableUnreadable, IcebergNotShared, SourceUnreachable."""
        ...

    async def is_table(self, place: Place) -> bool:
        """Say whether a table is there. Raises IcebergNotShared, SourceUnreachable."""
        ...

    async def folder(self, place: Place, after: str, limit: int) -> Folder:
        """List what may be tables directly below a place, by name. Raises IcebergNotShared, SourceUnreachable."""
        ...


class Stores(Protocol):
    """Which store has the bucket of a place."""

    def store_of(self, place: DeltaPlace) -> TableStore:
        """Return the store. Raises SourceUnreachable."""
        ...


@dataclass(frozen=True, slots=True)
class OwnStore:
    """The store of this server, and no other."""

    store: TableStore

    def store_of(self, place: DeltaPlace) -> TableStore:
        """Return the store of this server. Raises SourceUnreachable."""
        if place.source:
            raise SourceUnreachable(place.source, "this server reads no remote sources")
        return self.store


class LogNames:
    """An inspector that reads names only."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores

    async def inspect(self, place: Place) -> TableReport:
        """Find the newest version that the log has a file of."""
        here = delta_place(place)
        newest = -1
        after = ""
        for _ in range(LOG_PAGES_LIMIT):
            page = await self._log(here, after, 1000)
            for entry in page.objects:
                name = parse_log_name(entry.key[len(here.prefix) :])
                if name is not None and name.kind in _STATES:
                    newest = max(newest, name.version)
            if page.next_after is None:
                break
            after = page.next_after
        if newest < 0:
            raise NoTableThere(place, f"{LOG_FOLDER} holds no commit")
        return TableReport(version=newest)

    async def is_table(self, place: Place) -> bool:
        """Say whether the log has any file of a version."""
        here = delta_place(place)
        try:
            page = await self._log(here, "", 1)
        except NoTableThere:
            return False
        return bool(page.objects)

    async def folder(self, place: Place, after: str, limit: int) -> Folder:
        """List the folders below a place."""
        here = delta_place(place)
        start = f"{here.prefix}{after}/" if after else ""
        try:
            page = await self._stores.store_of(here).list(Listing(here.bucket, here.prefix, "/", start, limit))
        except NoSuchBucket:
            raise NoTableThere(place, f"bucket {here.bucket!r} does not exist") from None
        names = [prefix[len(here.prefix) : -1] for prefix in page.prefixes]
        last = page.next_after
        going = None if last is None else last[len(here.prefix) :].rstrip("/")
        return Folder([name for name in names if is_table_name(name) and f"{name}/" != LOG_FOLDER], going)

    async def _log(self, place: DeltaPlace, after: str, limit: int) -> Page:
        try:
            store = self._stores.store_of(place)
            return await store.list(Listing(place.bucket, place.prefix + LOG_FOLDER, "", after, limit))
        except NoSuchBucket:
            raise NoTableThere(place, f"bucket {place.bucket!r} does not exist") from None


def delta_place(place: Place) -> DeltaPlace:
    """Return a place in a bucket, here or at a remote source. Raises IcebergNotShared."""
    if not isinstance(place, DeltaPlace):
        raise IcebergNotShared
    return place
