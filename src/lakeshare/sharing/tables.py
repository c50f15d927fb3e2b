"""Shared tables in the buckets of this server and of remote sources, opened for reading.

A log is listed for each question, on the event loop: an acknowledged commit is in the next answer of every worker. What
is new in it is read on a thread, by way of `Tables.heavy`; that thread asks the store through the loop.
"""

import asyncio
import sys
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from weakref import ReferenceType, WeakValueDictionary, ref

from lakeshare.columnar.source import Blob, Entry, FileGone, Unreadable, blob_of
from lakeshare.formats.delta.errors import BrokenLog, NoDeltaLog
from lakeshare.formats.delta.opening import Engine, is_known, list_log, open_snapshot, warm_since, warm_snapshot
from lakeshare.formats.delta.paths import LOG_FOLDER, just_before
from lakeshare.formats.delta.segment import LogListing, read_listing
from lakeshare.formats.delta.snapshot import Snapshot
from lakeshare.sharing.errors import SourceUnreachable, TableBroken
from lakeshare.sharing.inspector import Stores
from lakeshare.sharing.model.places import DeltaPlace
from lakeshare.storage.errors import ContentLost, NoSuchBucket, NoSuchKey
from lakeshare.storage.port import Entry as StoredEntry
from lakeshare.storage.port import Listing
from lakeshare.storage.table_store import TableStore

T = TypeVar("T")

HEAVY_THREADS = 2
"""Threads that read logs and write lines: more would only take Python's lock from the event loop."""
LOCK_SECONDS = 0.001
"""How long a thread may keep Python's lock while others wait. The loop takes it several times for a small request, each
time from threads that would keep it for five times as long."""
PAGE_ENTRIES = 1_000
MAX_LOG_ENTRIES = 2_000_000
"""Most files of one log that are listed; Delta cleans a log after thirty days."""
WAIT_SECONDS = 60.0
"""Longest time that a thread waits for the store."""
REMOTE_WAIT_SECONDS = 600.0
"""The same for a file of a remote source, which may be a large checkpoint on a slow line."""

SEEN_TABLES = 256
SEEN_ENTRIES = 256
"""Files of a listing that are remembered: more are looked through each time."""

Wait = Callable[[Coroutine[Any, Any, T]], T]


class StoreFiles:
    """The files of one table, for the engine's threads. What was listed must be what is read."""

    def __init__(self, store: TableStore, place: DeltaPlace, loop: asyncio.AbstractEventLoop) -> None:
        self._store = store
        self._place = place
        self.loop = loop
        self._etags: dict[str, str] = {}

    def expect(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Remember the ETags of files that were listed, and return them."""
        self._etags.update((entry.name, entry.etag) for entry in entries)
        return entries

    def list(self, folder: str, after: str = "") -> Sequence[Entry]:
        """Return the files directly in a folder whose names sort after `after`."""
        return self.expect(self._wait(entries_of(self._store, self._place, folder, after)))

    def read(self, name: str) -> Blob:
        """Return a file: its path where it lies whole in one, else its bytes. Raises FileGone."""
        try:
            opened = self._wait(self._store.open(self._place.bucket, self._place.prefix + name))
            spans = opened.content.spans(0, opened.info.size)
        except (NoSuchKey, NoSuchBucket, ContentLost):
            raise FileGone(name) from None
        if self._etags.get(name, opened.info.etag) != opened.info.etag:
            raise FileGone(name)
        return blob_of(name, spans)

    def pins(self, bucket: str, keys: Sequence[str]) -> Callable[[], Sequence[str | None]]:
        """Begin to look up what names the bytes of each key, and return what waits for it."""
        return partial(self._result, asyncio.run_coroutine_threadsafe(self._store.pins(bucket, keys), self.loop))

    def _wait(self, asked: Coroutine[Any, Any, T]) -> T:
        return self._result(asyncio.run_coroutine_threadsafe(asked, self.loop))

    def _result(self, waiting: "Future[T]") -> T:
        if not self._place.source:
            return waiting.result(WAIT_SECONDS)
        try:
            return waiting.result(REMOTE_WAIT_SECONDS)
        except TimeoutError:
            waiting.cancel()
            raise SourceUnreachable(self._place.source, "no answer in time") from None


@dataclass(frozen=True, slots=True)
class Seen:
    """A log as it was listed last, from a version on: nothing was new in it since if it is listed alike."""

    since: int
    latest: int
    objects: tuple[StoredEntry, ...] = ()
    opened: "ReferenceType[Snapshot] | None" = None

    @property
    def snapshot(self) -> Snapshot | None:
        """The snapshot that the log was found to be, while anybody has it."""
        return None if self.opened is None else self.opened()


class Tables:
    """The shared tables of one worker. Make it after a fork, and close it."""

    def __init__(self, stores: Stores, kept: Path | Engine, elsewhere: "Tables | None" = None) -> None:
        """Take the stores, and a folder for what is kept of large logs, which all workers share, or its engine.

        `elsewhere` opens the tables of remote sources: it has threads of its own, so that a source that is slow to
        answer holds up nobody else. What is kept, in memory too, may be kept together.
        """
        self.stores = stores
        self._elsewhere = elsewhere
        self.engine = kept if isinstance(kept, Engine) else Engine(kept)
        sys.setswitchinterval(min(sys.getswitchinterval(), LOCK_SECONDS))
        self._threads = ThreadPoolExecutor(HEAVY_THREADS, thread_name_prefix="lakeshare-tables")
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._seen: OrderedDict[str, Seen] = OrderedDict()

    def of(self, place: DeltaPlace) -> "Tables":
        """Return what opens the table at a place."""
        return self._elsewhere if place.source and self._elsewhere is not None else self

    def store_of(self, place: DeltaPlace) -> TableStore:
        """Return the store that has the table at a place. Raises SourceUnreachable."""
        return self.of(place).stores.store_of(place)

    async def heavy(self, work: Callable[[], T]) -> T:
        """Run work that takes long on a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def files(self, place: DeltaPlace) -> StoreFiles:
        """Return the files of a table, for use on a thread."""
        return StoreFiles(self.store_of(place), place, asyncio.get_running_loop())

    async def latest(self, place: DeltaPlace) -> int:
        """Return the newest version of a table. Raises TableBroken."""
        with broken(place):
            if (seen := self._seen.get(str(place))) is not None:
                found = await self._objects(place, seen.since)
                if found and found == seen.objects:
                    return seen.latest
                with suppress(NoDeltaLog):
                    newest = read_listing(_entries(place, found), seen.since).latest
                    start = place.prefix + just_before(newest)
                    self._remember(place, Seen(newest, newest, tuple(each for each in found if each.key > start)))
                    return newest
            log, _ = await self._listed(place)
            self._remember(place, Seen(log.latest, log.latest))
            return log.latest

    async def whole_log(self, place: DeltaPlace) -> LogListing:
        """List a log from its beginning. Raises TableBroken."""
        with broken(place):
            return read_listing(await entries_of(self.store_of(place), place, LOG_FOLDER))

    async def open(self, place: DeltaPlace, version: int | None = None) -> Snapshot:
        """Return a version of a table, the latest by default. Raises TableBroken, and what is wrong with the version.

        A file that went while it was read is no reason to give up: the log that no longer needs it is read instead.
        """
        with broken(place):
            try:
                return await self._opened(place, version)
            except FileGone:
                return await self._opened(place, version)

    async def close(self) -> None:
        """Finish what is under way; its threads may still ask the loop for something."""
        await asyncio.to_thread(self._threads.shutdown, cancel_futures=True)
        if self._elsewhere is not None:
            await self._elsewhere.close()

    async def _opened(self, place: DeltaPlace, version: int | None) -> Snapshot:
        table = str(place)
        if version is None and (found := await self._unchanged(place)) is not None:
            return found
        log, files = await self._listed(place) if version is None else await self._listed_whole(place)
        found = warm_snapshot(self.engine, table, log, version)
        if found is not None:
            return found
        turn = self._turns.setdefault(table, asyncio.Lock())
        async with turn:
            return await self.heavy(lambda: open_snapshot(self.engine, table, files, log, version))

    async def _unchanged(self, place: DeltaPlace) -> Snapshot | None:
        """Return the snapshot that a log was found to be if the log is listed as it was then."""
        table = str(place)
        seen = self._seen.get(table)
        if seen is None or (snapshot := seen.snapshot) is None:
            return None
        if await self._objects(place, seen.since) != seen.objects:
            return None
        self.engine.snapshots.of(table)
        return snapshot

    async def _listed(self, place: DeltaPlace) -> tuple[LogListing, StoreFiles]:
        """List a log as far back as what is warm of it; anew where nothing is, or it is another log now."""
        table, files = str(place), self.files(place)
        since = warm_since(self.engine, table)
        if since is not None:
            found = await self._objects(place, since)
            recent = read_listing(files.expect(_entries(place, found)), since)
            if is_known(self.engine, table, recent):
                self._found(place, recent, found)
                return recent, files
        return await self.heavy(lambda: list_log(files)), files

    def _found(self, place: DeltaPlace, log: LogListing, objects: tuple[StoredEntry, ...]) -> None:
        """Remember which snapshot a log is, if that is warm."""
        snapshot = warm_snapshot(self.engine, str(place), log)
        if snapshot is not None:
            self._remember(place, Seen(log.since, log.latest, objects, ref(snapshot)))

    def _remember(self, place: DeltaPlace, seen: Seen) -> None:
        table = str(place)
        self._seen.pop(table, None)
        if len(seen.objects) <= SEEN_ENTRIES:
            self._seen[table] = seen
        if len(self._seen) > SEEN_TABLES:
            self._seen.popitem(last=False)

    async def _objects(self, place: DeltaPlace, since: int) -> tuple[StoredEntry, ...]:
        return await objects_of(self.store_of(place), place, LOG_FOLDER, just_before(since))

    async def _listed_whole(self, place: DeltaPlace) -> tuple[LogListing, StoreFiles]:
        files = self.files(place)
        return read_listing(files.expect(await entries_of(self.store_of(place), place, LOG_FOLDER))), files


@contextmanager
def broken(place: DeltaPlace) -> Iterator[None]:
    """Say of a table that cannot be read that it is the table, and why."""
    try:
        yield
    except (BrokenLog, NoDeltaLog, Unreadable, FileGone) as reason:
        raise TableBroken(reason.message) from reason
    except NoSuchBucket:
        raise TableBroken(f"bucket {place.bucket!r} does not exist any more") from None


async def entries_of(store: TableStore, place: DeltaPlace, folder: str, after: str = "") -> list[Entry]:
    """List the files directly in a folder of a table, by name. Raises NoSuchBucket, Unreadable."""
    return _entries(place, await objects_of(store, place, folder, after))


async def objects_of(store: TableStore, place: DeltaPlace, folder: str, after: str = "") -> tuple[StoredEntry, ...]:
    """List the objects directly in a folder of a table, by key. Raises NoSuchBucket, Unreadable."""
    found: list[StoredEntry] = []
    start = place.prefix + after if after else ""
    while len(found) < MAX_LOG_ENTRIES:
        page = await store.list(Listing(place.bucket, place.prefix + folder, "/", start, PAGE_ENTRIES))
        found += page.objects
        if page.next_after is None:
            return tuple(found)
        start = page.next_after
    raise Unreadable(folder, f"it has more than {MAX_LOG_ENTRIES} files")


def _entries(place: DeltaPlace, objects: Sequence[StoredEntry]) -> list[Entry]:
    cut = len(place.prefix)
    return [Entry(each.key[cut:], each.size, each.etag, each.modified_at_ns) for each in objects]
