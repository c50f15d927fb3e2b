"""One activity for one table, from what is due to how it ended; and the same without doing it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lakeshare.formats.iceberg.metadata import TableMetadata
from lakeshare.formats.iceberg_files.retention import Expiry, collects_garbage
from lakeshare.state.keyspace import Stored
from lakeshare.state.port import Conflict, Transaction
from lakeshare.storage.port import Entry
from lakeshare.tables.errors import CommitFailed, MetadataFileMissing, NoSuchTable
from lakeshare.tables.maintenance.choices import Activity, Effective
from lakeshare.tables.maintenance.expiry import added, delete_unreached, planned, remove_snapshots, unreached
from lakeshare.tables.maintenance.folder import TableFolder
from lakeshare.tables.maintenance.orphans import Current, References, unreferenced
from lakeshare.tables.maintenance.records import DUE, Due, Tally
from lakeshare.tables.model.targets import Found
from lakeshare.tables.records import VERSIONS
from lakeshare.tables.room import Room
from lakeshare.tables.territory import unguarded

SAVED_PAGES = 20
"""Pages of a listing after which the place in it is written down."""
MAX_SHOWN = 1_000
"""Most files that a dry run names; it counts all."""
NOTHING = Expiry()


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a run would remove now."""

    tally: Tally
    expiry: Expiry = NOTHING
    files: tuple[str, ...] = ()


class Displaced(CommitFailed):
    """What is due was changed by another while it was being done."""


def folder_of(room: Room, found: Found) -> TableFolder:
    """Return the files of a table."""
    return TableFolder(room.store, found.value.location, found.warehouse.bucket)


async def dry_run(room: Room, found: Found, activity: Activity, effective: Effective) -> DryRun:
    """Say what a run would remove now. Raises FileGone, Unreadable."""
    metadata = await room.files.table(found.value)
    if not collects_garbage(metadata.properties):
        return DryRun(Tally())
    if activity is Activity.UNREFERENCED:
        return await _dry_orphans(room, found, effective)
    expiry = planned(metadata, effective.retention, room.now_ms())
    gone = set(expiry.snapshot_ids)
    kept = [each for each in metadata.snapshots if each.id not in gone]
    folder = folder_of(room, found)
    total = Tally(snapshots=len(gone), refs=len(expiry.ref_names))
    shown: list[str] = []
    leaving = [each for each in metadata.snapshots if each.id in gone]
    async for batch in unreached(folder, metadata, kept, leaving):
        total = added(total, batch.tally)
        shown += [folder.uri_of(key) for key in batch.keys[: MAX_SHOWN - len(shown)]]
    return DryRun(total, expiry, tuple(shown))


async def _dry_orphans(room: Room, found: Found, effective: Effective) -> DryRun:
    folder = folder_of(room, found)
    references = await _references(room, found, folder)
    total = Tally()
    shown: list[str] = []
    async for _, found_there in unreferenced(folder, references, room.now_ms() - effective.unreferenced_age_ms):
        entries = await _free(room, folder, found_there)
        total = added(total, Tally(unreferenced=len(entries), bytes=sum(each.size for each in entries)))
        shown += [folder.uri_of(each.key) for each in entries[: MAX_SHOWN - len(shown)]]
    return DryRun(total, files=tuple(shown))


async def run(room: Room, found: Found, due: Stored[Due], effective: Effective) -> Tally:
    """Do what is due. Raises CommitFailed, RequirementFailed, FileGone, Unreadable."""
    if due.value.activity is Activity.UNREFERENCED:
        return await _run_orphans(room, found, due, effective)
    return await _run_expiry(room, found, due, effective)


async def _run_expiry(room: Room, found: Found, due: Stored[Due], effective: Effective) -> Tally:
    if due.value.base_location:
        done = await _clear_up(room, found, due, effective)
        if done.snapshots or done.refs:
            return done  # The commit of an earlier run was made: this was what it left to do.
    metadata = await room.files.table(found.value)
    now_ms = room.now_ms()
    expiry = planned(metadata, effective.retention, now_ms)
    if not expiry:
        return Tally()
    base = replace(due.value, base_location=found.value.metadata_location, base_etag=found.value.metadata_etag)
    due = await _noted(room, due, base)
    await remove_snapshots(room, found, expiry, effective.retention, now_ms)
    return await _clear_up(room, found, due, effective)


async def _clear_up(room: Room, found: Found, due: Stored[Due], effective: Effective) -> Tally:
    """Delete what those snapshots reached that had their time and are gone since the metadata file of before."""
    base = replace(found.value, metadata_location=due.value.base_location, metadata_etag=due.value.base_etag)
    try:
        before = await room.files.table(base)
    except MetadataFileMissing:
        return Tally()
    current = (await _current(room, found)).metadata
    expired = planned(before, effective.retention, room.now_ms())
    now = {each.id for each in current.snapshots}
    gone = [each for each in before.snapshots if each.id not in now and each.id in set(expired.snapshot_ids)]
    refs = sum(1 for name in expired.ref_names if name not in current.refs)
    tally = Tally(snapshots=len(gone), refs=refs)
    if not collects_garbage(current.properties):
        return tally
    left = {each.id for each in gone}
    kept = (*current.snapshots, *(each for each in before.snapshots if each.id not in now | left))
    folder = folder_of(room, found)
    return added(tally, await delete_unreached(folder, unreached(folder, before, kept, gone)))


async def _run_orphans(room: Room, found: Found, due: Stored[Due], effective: Effective) -> Tally:
    if not collects_garbage((await room.files.table(found.value)).properties):
        return Tally()
    folder = folder_of(room, found)
    references = await _references(room, found, folder)
    total, pages = Tally(), 0
    oldest_ms = room.now_ms() - effective.unreferenced_age_ms
    async for last, entries in unreferenced(folder, references, oldest_ms, due.value.cursor):
        gone = await _free(room, folder, entries)
        removed = await folder.remove_listed(gone)
        total = added(total, Tally(unreferenced=removed, bytes=sum(each.size for each in gone)))
        pages += 1
        if pages % SAVED_PAGES == 0:
            due = await _noted(room, due, replace(due.value, cursor=last))
    return total


async def _free(room: Room, folder: TableFolder, entries: Sequence[Entry]) -> list[Entry]:
    """Leave out what another table's pointer refers to: its metadata files may lie in this folder."""
    keys = set(await unguarded(room.state, folder.place.bucket, [each.key for each in entries]))
    return [each for each in entries if each.key in keys]


async def _references(room: Room, found: Found, folder: TableFolder) -> References:
    async def look() -> Current:
        return await _current(room, found)

    metadata = (await look()).metadata
    return References(folder, look, await _of_versions(room, found, metadata))


async def _of_versions(room: Room, found: Found, metadata: TableMetadata) -> list[str]:
    """Return the metadata files of those versions whose snapshot is still there."""
    kept = {each.id for each in metadata.snapshots} | {None}
    lines = VERSIONS.all(room.state, found.value.history)
    return [each.value.metadata_location async for each in lines if each.value.snapshot_id in kept]


async def _current(room: Room, found: Found) -> Current:
    pointer = await room.catalog.pointer(found.warehouse, found.uuid)
    if pointer is None or pointer.value.location != found.value.location:
        raise NoSuchTable(str(found.identifier))
    return Current(await room.files.table(pointer.value), pointer.value.metadata_location)


async def _noted(room: Room, due: Stored[Due], value: Due) -> Stored[Due]:
    """Write down how far the work has come. Raises Displaced."""
    parts = due.key[len(DUE.prefix) :]
    outcome = await room.state.commit(Transaction((due.unchanged,), (DUE.put(value, *parts),)))
    if isinstance(outcome, Conflict):
        raise Displaced("the work was taken over by another")
    return Stored(due.key, value, outcome.generation)
