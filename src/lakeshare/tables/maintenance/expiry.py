"""Snapshot expiry: an ordinary commit that removes snapshots and references, then the files that nothing else reaches.

The order is data files, manifests, manifest lists: whatever stops it, what is left can still be walked from the
metadata file of before, and is gone through again.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from lakeshare.formats.iceberg.errors import RequirementFailed
from lakeshare.formats.iceberg.metadata import TableMetadata
from lakeshare.formats.iceberg.requirements import AssertTableUuid
from lakeshare.formats.iceberg.snapshot_updates import RemoveSnapshotRef, RemoveSnapshots
from lakeshare.formats.iceberg.snapshots import Snapshot
from lakeshare.formats.iceberg.updates import Update
from lakeshare.formats.iceberg_files.manifests import FileContent, Manifest
from lakeshare.formats.iceberg_files.retention import Expiry, Retention, collects_garbage, expiry_of
from lakeshare.tables.maintenance.folder import TableFolder
from lakeshare.tables.maintenance.reach import ListedFile, Reach, tolerant_files, tolerant_manifests
from lakeshare.tables.maintenance.records import Tally
from lakeshare.tables.model.entries import EntryKind
from lakeshare.tables.model.targets import Found, Target
from lakeshare.tables.operations.commit import Commit, TableChange, commit
from lakeshare.tables.room import Room

BY = "maintenance"
"""Who commits, as the version log has it."""


@dataclass(frozen=True, slots=True)
class StillExpired:
    """What a commit is to remove must have had its time on the table as it is then, also after others changed it."""

    expiry: Expiry
    retention: Retention
    now_ms: int

    def check(self, base: TableMetadata) -> None:
        """Compare with what has had its time now. Raises RequirementFailed."""
        now = planned(base, self.retention, self.now_ms)
        if not set(self.expiry.snapshot_ids) <= set(now.snapshot_ids):
            raise RequirementFailed("a snapshot that was to be removed is kept now")
        if not set(self.expiry.ref_names) <= set(now.ref_names):
            raise RequirementFailed("a reference that was to be removed is kept now")


def planned(metadata: TableMetadata, retention: Retention, now_ms: int) -> Expiry:
    """Say what of a table has had its time; nothing where its files are not its own."""
    if not collects_garbage(metadata.properties):
        return Expiry()
    rules = retention.with_properties(metadata.properties)
    return expiry_of(metadata.snapshots, metadata.refs, rules, now_ms)


async def remove_snapshots(room: Room, found: Found, expiry: Expiry, retention: Retention, now_ms: int) -> None:
    """Commit the removal. Raises CommitFailed, RequirementFailed, NoSuchTable."""
    target = Target(found.warehouse, found.identifier, EntryKind.TABLE, found)
    updates: tuple[Update, ...] = tuple(RemoveSnapshotRef(name) for name in expiry.ref_names)
    if expiry.snapshot_ids:
        updates = (*updates, RemoveSnapshots(expiry.snapshot_ids))
    requirements = AssertTableUuid(found.uuid), StillExpired(expiry, retention, now_ms)
    await commit(room, Commit((TableChange(target, requirements, updates),), BY))


@dataclass(frozen=True, slots=True)
class Batch:
    """Keys below the table's location that go together, and what they are counted as."""

    keys: Sequence[str]
    tally: Tally


async def unreached(
    folder: TableFolder, before: TableMetadata, kept: Sequence[Snapshot], gone: Sequence[Snapshot]
) -> AsyncIterator[Batch]:
    """Yield what only snapshots reach that are gone, in the order in which it is to be deleted.

    Raises FileGone or Unreadable where it cannot be known what the kept snapshots reach.
    """
    if not gone:
        return
    reach = Reach(folder)
    await reach.add_lists(kept)
    candidates: dict[str, Manifest] = {}
    for snapshot in gone:
        found = {reach.named(each.path): each for each in await tolerant_manifests(folder, snapshot)}
        candidates.update((name, each) for name, each in found.items() if name not in reach.manifests)
    if candidates:
        await reach.add_files()
    told: set[int] = set()
    for manifest in candidates.values():
        yield _files(folder, reach, await tolerant_files(folder, manifest), told)
        yield _single(folder, manifest.path, Tally(manifests=1, bytes=manifest.length))
    for snapshot in gone:
        if snapshot.manifest_list is not None and reach.named(snapshot.manifest_list) not in reach.lists:
            yield _single(folder, snapshot.manifest_list, Tally(manifest_lists=1))
    for uri, size in _statistics(reach, before, {each.id for each in kept}):
        yield _single(folder, uri, Tally(statistics=1, bytes=size))


def _files(folder: TableFolder, reach: Reach, files: Sequence[ListedFile], told: set[int]) -> Batch:
    """Choose the files that are not reached, each once: another manifest may have told of one before."""
    held = reach.holds([each.uri for each in files])
    gone = (each for each, is_held in zip(files, held, strict=True) if not is_held)
    unique = {name: each for each in gone if hash(name := reach.named(each.uri)) not in told}
    told.update(map(hash, unique))
    owned = {key: each for each in unique.values() if (key := folder.owned_key(each.uri)) is not None}
    data = sum(1 for each in owned.values() if each.content == FileContent.DATA)
    tally = Tally(
        data_files=data,
        delete_files=len(owned) - data,
        outside=len(unique) - len(owned),
        bytes=sum(each.size for each in owned.values()),
    )
    return Batch(tuple(owned), tally)


def _single(folder: TableFolder, uri: str, tally: Tally) -> Batch:
    key = folder.owned_key(uri)
    return Batch((), Tally(outside=1)) if key is None else Batch((key,), tally)


def _statistics(reach: Reach, before: TableMetadata, kept_ids: set[int]) -> list[tuple[str, int]]:
    files = (*before.statistics, *before.partition_statistics)
    kept = {reach.named(each.path) for each in files if each.snapshot_id in kept_ids}
    gone = {each.path: each for each in files if reach.named(each.path) not in kept}
    return [(path, int(each.document.get("file-size-in-bytes") or 0)) for path, each in gone.items()]


async def delete_unreached(folder: TableFolder, batches: AsyncIterator[Batch]) -> Tally:
    """Delete files, and count them; those outside of the table's location are counted alone."""
    total = Tally()
    async for batch in batches:
        await folder.remove(batch.keys)
        total = added(total, batch.tally)
    return total


def added(one: Tally, other: Tally) -> Tally:
    """Add two tallies."""
    names = Tally.__dataclass_fields__
    return Tally(**{name: getattr(one, name) + getattr(other, name) for name in names})
