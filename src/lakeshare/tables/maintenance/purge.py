"""What a drop and the removal of a warehouse leave to do: entries of state, and files.

Files go by listing what lies below the table's location, so that nothing is read and nothing is remembered: a job that
is stopped begins again with what is left. The location is claimed for as long as that takes: one that has become
another table's is never touched, and none becomes one while its files go.
"""

import logging
from collections.abc import Sequence

from lakeshare.errors import Kind, LakeshareError
from lakeshare.formats.iceberg_files.retention import collects_garbage
from lakeshare.state.keys import Key
from lakeshare.state.port import Change, Conflict, Delete, Expectation, Transaction
from lakeshare.storage.errors import NoSuchBucket
from lakeshare.storage.port import Delete as Removal
from lakeshare.storage.port import Listing
from lakeshare.tables.errors import MetadataFileMissing
from lakeshare.tables.maintenance.folder import PAGE_ENTRIES, TableFolder
from lakeshare.tables.maintenance.records import CHOICES, DUE, ENDED
from lakeshare.tables.model.entries import EntryKind, Located, Pointer
from lakeshare.tables.model.jobs import Job
from lakeshare.tables.model.places import Place
from lakeshare.tables.records import (
    LOCATIONS,
    METADATA_FILES,
    NAMES,
    NAMESPACES,
    POINTERS,
    REPORTS,
    VERSIONS,
    WAREHOUSES,
)
from lakeshare.tables.room import Room
from lakeshare.tables.territory import unguarded

CHANGES_AT_ONCE = 500
MAX_PASSES = 1_000_000
"""Pages of one purge: a thousand million objects."""

_log = logging.getLogger("lakeshare.tables")


class LocationInUse(LakeshareError):
    """Files that were to be purged lie where another table is now."""

    kind = Kind.CONFLICT

    def __init__(self, location: str) -> None:
        super().__init__(f"{location} is another table's now: its files are left alone")


async def forget_table(room: Room, job: Job) -> None:
    """Remove what state keeps of a table that is gone; one that was registered again keeps what goes by its UUID."""
    if job.history:
        await _empty(room, VERSIONS.key(job.history))
    if job.uuid and await POINTERS.get(room.state, job.warehouse_id, job.uuid) is None:
        await _empty(room, ENDED.key(job.warehouse_id, job.uuid))
        await _empty(room, DUE.key(job.warehouse, job.uuid))
        gone = CHOICES.delete("table", job.warehouse_id, job.uuid), REPORTS.delete(job.warehouse_id, job.uuid)
        await room.state.commit(Transaction(changes=gone))


async def purge_table(room: Room, job: Job) -> int:
    """Remove a table's files and what state keeps of it; return how many files went. Raises LocationInUse."""
    folder = TableFolder(room.store, job.location, job.bucket)
    place, removed = folder.place, 0
    await _claim(room, job, place)
    if job.is_view or await _is_own(room, job):
        removed = await _remove_below(room, place.bucket, folder.prefix)
    await room.state.commit(Transaction(changes=(LOCATIONS.delete(place.bucket, *place.segments),)))
    await forget_table(room, job)
    return removed


async def purge_warehouse(room: Room, job: Job) -> int:
    """Remove a warehouse with its tables, its objects and its bucket; return how many objects went."""
    async for pointer in POINTERS.all(room.state, job.warehouse_id):
        await _empty(room, VERSIONS.key(pointer.value.history))
    prefixes: list[Key] = [space.key(job.warehouse_id) for space in (NAMES, POINTERS, REPORTS, NAMESPACES, ENDED)]
    prefixes += [LOCATIONS.key(job.bucket), METADATA_FILES.key(job.bucket), DUE.key(job.warehouse)]
    prefixes += [CHOICES.key("table", job.warehouse_id), CHOICES.key("namespace", job.warehouse_id)]
    for prefix in prefixes:
        await _empty(room, prefix)
    removed = 0
    try:
        removed = await _remove_below(room, job.bucket, "")
        await room.store.delete_bucket(job.bucket)
    except NoSuchBucket:
        pass
    gone = CHOICES.delete("warehouse", job.warehouse_id), WAREHOUSES.delete(job.warehouse)
    await room.state.commit(Transaction(changes=gone))
    return removed


async def _claim(room: Room, job: Job, place: Place) -> None:
    """Take a location for the time of a purge, unless an earlier run did. Raises LocationInUse."""
    parts = place.segments
    kind = EntryKind.VIEW if job.is_view else EntryKind.TABLE
    mine = Located(job.warehouse, f"purge-{job.id}", kind, (), job.name)
    held = await LOCATIONS.get(room.state, place.bucket, *parts)
    if held is not None and held.value == mine:
        return
    free = tuple(LOCATIONS.absent(place.bucket, *parts[: end + 1]) for end in range(len(parts)))
    expect: tuple[Expectation, ...] = (*free, LOCATIONS.empty(place.bucket, *parts))
    outcome = await room.state.commit(Transaction(expect, (LOCATIONS.put(mine, place.bucket, *parts),)))
    if isinstance(outcome, Conflict):
        raise LocationInUse(place.uri)


async def _is_own(room: Room, job: Job) -> bool:
    """Say whether a table's files may go: one that shares them with others says `gc.enabled=false`."""
    pointer = Pointer(
        EntryKind.TABLE, (), job.name, job.location, job.metadata_location, job.metadata_etag, 0, job.history, 0, 0, 0
    )
    try:
        metadata = await room.files.table(pointer)
    except MetadataFileMissing:
        return True  # An earlier run, or the client, has removed it: then files were to go.
    if not collects_garbage(metadata.properties):
        _log.info("files of a dropped table stay", extra={"table": job.name, "reason": "gc.enabled is false"})
        return False
    return True


async def _remove_below(room: Room, bucket: str, prefix: str) -> int:
    """Remove all objects below a prefix, the metadata files last: they say what the table was."""
    removed = 0
    for spares_metadata in (True, False):
        after = ""
        for _ in range(MAX_PASSES):
            page = await room.store.list(Listing(bucket, prefix, "", after, PAGE_ENTRIES))
            keys = [each.key for each in page.objects if not (spares_metadata and is_metadata(each.key))]
            keys = await unguarded(room.state, bucket, keys)
            if keys:
                await room.store.delete(bucket, [Removal(key) for key in keys])
                removed += len(keys)
            if page.next_after is None:
                break
            after = page.next_after
    return removed


def is_metadata(key: str) -> bool:
    """Say whether a key is a metadata file's, by its name."""
    return key.endswith((".metadata.json", ".metadata.json.gz"))


async def _empty(room: Room, prefix: Key) -> None:
    """Remove everything that state has under a prefix."""
    for _ in range(MAX_PASSES):
        page = await room.state.scan(prefix, None, CHANGES_AT_ONCE)
        changes: Sequence[Change] = [Delete(record.key) for record in page.records]
        if not changes:
            return
        await room.state.commit(Transaction(changes=tuple(changes)))
