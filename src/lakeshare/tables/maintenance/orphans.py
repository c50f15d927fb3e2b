"""Files below a table's location that nothing refers to: of writers that failed, or of metadata that was given up.

A file is spared while it is young, since a writer may still commit it; and while any snapshot, any metadata file of the
log, or any statistics refer to it. What is committed while files are looked through counts too: the pointer is looked
at again before anything is deleted.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass

from lakeshare.formats.iceberg.metadata import TableMetadata
from lakeshare.storage.port import Entry
from lakeshare.tables.maintenance.folder import TableFolder
from lakeshare.tables.maintenance.reach import Reach

NANOSECONDS_PER_MS = 1_000_000


@dataclass(frozen=True, slots=True)
class Current:
    """A table as it is now: its metadata, and where that lies."""

    metadata: TableMetadata
    metadata_location: str


Look = Callable[[], Awaitable[Current]]
"""Looks at the table as it is now."""


class References:
    """All that a table refers to, kept up with its commits."""

    def __init__(self, folder: TableFolder, look: Look, also: Sequence[str] = ()) -> None:
        """Take the table's folder, what looks at the table, and files that are referred to from elsewhere."""
        self._reach = Reach(folder, deleted_too=True)
        self._reach.add_paths(also)
        self._look = look
        self._seen = ""

    async def refresh(self) -> None:
        """Take in what was committed since. Raises FileGone, Unreadable."""
        current = await self._look()
        if current.metadata_location == self._seen:
            return
        metadata = current.metadata
        await self._reach.add_lists(metadata.snapshots)
        await self._reach.add_files()
        self._reach.add_paths((current.metadata_location, *referred(metadata)))
        self._reach.add_paths(each.manifest_list for each in metadata.snapshots if each.manifest_list)
        self._reach.add_paths(each.path for each in self._reach.manifests.values())
        self._seen = current.metadata_location

    def hold(self, uris: Sequence[str]) -> Sequence[bool]:
        """Say of each file whether something refers to it."""
        return self._reach.holds(uris)


def referred(metadata: TableMetadata) -> tuple[str, ...]:
    """Return the files that metadata names besides manifest lists."""
    files = (*metadata.statistics, *metadata.partition_statistics)
    return (*(each.metadata_file for each in metadata.metadata_log), *(each.path for each in files))


async def unreferenced(
    folder: TableFolder, references: References, older_than_ms: int, after: str = ""
) -> AsyncIterator[tuple[str, Sequence[Entry]]]:
    """Yield, page by page of the listing, the last key of it and the files that are old and nothing refers to."""
    await references.refresh()
    async for page in folder.pages(after):
        old = [each for each in page if each.modified_at_ns < older_than_ms * NANOSECONDS_PER_MS]
        gone = _not_held(folder, references, old)
        if gone:
            await references.refresh()
            gone = _not_held(folder, references, gone)
        yield page[-1].key, gone


def _not_held(folder: TableFolder, references: References, entries: Sequence[Entry]) -> Sequence[Entry]:
    held = references.hold([folder.uri_of(each.key) for each in entries])
    return [each for each, is_held in zip(entries, held, strict=True) if not is_held]
