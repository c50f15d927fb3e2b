"""The transactions by which tables and views appear, move on and go: what each expects, and what it changes. Pure.

Whatever changes together stands in one transaction: the name, the pointer, the claim of its location, the guard of its
metadata file, the line of its version log, and the job that a drop leaves.
"""

import uuid as uuids
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from lakeshare.formats.iceberg.table import TableMetadata
from lakeshare.formats.iceberg.view import ViewMetadata
from lakeshare.state.keys import ordinal
from lakeshare.state.port import Absent, At, Change, Empty, Exists, Expectation, Put, Transaction
from lakeshare.tables.catalog import namespace_parts
from lakeshare.tables.errors import AlreadyExists, BadRequest, NoSuchNamespace, NoSuchWarehouse, TablesError
from lakeshare.tables.files import Written
from lakeshare.tables.model.entries import EntryKind, Guarded, Located, Named, Pointer, Version, Warehouse
from lakeshare.tables.model.jobs import JOBS, Job, JobKind
from lakeshare.tables.model.names import Identifier, joined, shown
from lakeshare.tables.model.places import MAX_SEGMENTS, Place, file_place, folders_beside, table_place
from lakeshare.tables.model.targets import Found, Target
from lakeshare.tables.operations.jobs import new_job_id
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

Metadata = TableMetadata | ViewMetadata


@dataclass(frozen=True, slots=True)
class Plan:
    """What a transaction expects and changes, and the pointer that it makes or moves."""

    expect: tuple[Expectation, ...]
    changes: tuple[Change, ...]
    pointer: Pointer


@dataclass(frozen=True, slots=True)
class Creation:
    """A table or view that is to appear under a name."""

    warehouse: Warehouse
    identifier: Identifier
    kind: EntryKind
    metadata: Metadata
    written: Written
    by: str
    now_ms: int
    foreign: bool = False

    @property
    def target(self) -> Target:
        """What it is to be found as."""
        return Target(self.warehouse, self.identifier, self.kind, None)

    @property
    def uuid(self) -> str:
        """The UUID that state knows it by."""
        return self.metadata.uuid.lower()

    @property
    def place(self) -> Place:
        """Where it lies. Raises BadRequest."""
        return table_place(self.metadata.location, self.warehouse.bucket)


def create(new: Creation) -> Plan:
    """Plan the appearance of a table or view."""
    identifier, warehouse = new.identifier, new.warehouse
    pointer = Pointer(
        kind=new.kind,
        namespace=identifier.namespace,
        name=identifier.name,
        location=new.metadata.location,
        metadata_location=new.written.location,
        metadata_etag=new.written.etag,
        metadata_bytes=new.written.size_bytes,
        history=str(uuids.uuid4()),
        version=0,
        created_at_ms=new.now_ms,
        updated_at_ms=new.now_ms,
        created_by=new.by,
        foreign=new.foreign,
        folders=_folders(new.metadata, warehouse),
    )
    pointer, line = _logged(pointer, None, new.metadata, new.by, new.now_ms)
    expect = (
        WAREHOUSES.exists(warehouse.name),
        NAMESPACES.exists(*namespace_parts(warehouse, identifier.namespace)),
        NAMES.absent(warehouse.id, joined(identifier.namespace), identifier.name),
        POINTERS.absent(warehouse.id, new.uuid),
        *_free(new.place),
        *_outside(new.written, new.place),
    )
    changes = (
        NAMES.put(Named(new.kind, new.uuid), warehouse.id, joined(identifier.namespace), identifier.name),
        POINTERS.put(pointer, warehouse.id, new.uuid),
        _claim(new.place, warehouse, new.uuid, pointer),
        _guard(new.written, warehouse, new.uuid),
        *line,
    )
    return Plan(expect, changes, pointer)


def move(  # noqa: PLR0913 - a commit has as many sides
    found: Found, base: Metadata, new: Metadata, written: Written, *, by: str, now_ms: int, foreign: bool = False
) -> Plan:
    """Plan a pointer's move to another metadata file."""
    held, warehouse = found.value, found.warehouse
    pointer = replace(
        held,
        location=new.location,
        metadata_location=written.location,
        metadata_etag=written.etag,
        metadata_bytes=written.size_bytes,
        updated_at_ms=now_ms,
        foreign=foreign,
        folders=_folders(new, warehouse),
    )
    pointer, line = _logged(pointer, base, new, by, now_ms)
    relocated = _relocated(found, new.location, pointer)
    changes = (
        POINTERS.put(pointer, warehouse.id, found.uuid),
        *(() if held.metadata_location == written.location else _unguarded(held, warehouse)),
        _guard(written, warehouse, found.uuid),
        *line,
        *relocated[1],
    )
    beside: tuple[Expectation, ...] = ()
    if _folder(held.metadata_location) != _folder(written.location):
        beside = _outside(written, table_place(new.location, warehouse.bucket))
    return Plan((found.pointer.unchanged, *relocated[0], *beside), changes, pointer)


def rename(found: Found, to: Identifier) -> Plan:
    """Plan another name for a table or view."""
    warehouse, held = found.warehouse, found.value
    pointer = replace(held, namespace=to.namespace, name=to.name)
    expect = (
        NAMESPACES.exists(*namespace_parts(warehouse, to.namespace)),
        found.name.unchanged,
        found.pointer.unchanged,
        NAMES.absent(warehouse.id, joined(to.namespace), to.name),
    )
    changes = (
        NAMES.delete(warehouse.id, joined(held.namespace), held.name),
        NAMES.put(found.name.value, warehouse.id, joined(to.namespace), to.name),
        POINTERS.put(pointer, warehouse.id, found.uuid),
        _claim(table_place(held.location, warehouse.bucket), warehouse, found.uuid, pointer),
    )
    return Plan(expect, changes, pointer)


def drop(found: Found, by: str, now_ms: int, *, purge: bool) -> Plan:
    """Plan the end of a table or view, and the job that clears up behind it."""
    warehouse, held = found.warehouse, found.value
    job = Job(
        id=new_job_id(now_ms),
        kind=JobKind.PURGE_TABLE if purge else JobKind.FORGET_TABLE,
        warehouse=warehouse.name,
        warehouse_id=warehouse.id,
        bucket=warehouse.bucket,
        created_at_ms=now_ms,
        created_by=by,
        uuid=found.uuid,
        name=str(found.identifier),
        history=held.history,
        location=held.location,
        metadata_location=held.metadata_location,
        metadata_etag=held.metadata_etag,
        is_view=held.kind is EntryKind.VIEW,
    )
    changes = (
        NAMES.delete(warehouse.id, joined(held.namespace), held.name),
        POINTERS.delete(warehouse.id, found.uuid),
        LOCATIONS.delete(warehouse.bucket, *table_place(held.location, warehouse.bucket).segments),
        *_unguarded(held, warehouse),
        REPORTS.delete(warehouse.id, found.uuid),
        JOBS.put(job, job.id),
    )
    return Plan((found.name.unchanged, found.pointer.unchanged), changes, held)


def replaced(gone: Plan, new: Plan) -> Transaction:
    """Plan that one table takes the place of another under the same name."""
    changed = {change.key for change in new.changes}
    changes = (*(change for change in gone.changes if change.key not in changed), *new.changes)
    freed = {change.key for change in gone.changes}
    expect = tuple(each for each in new.expect if not (isinstance(each, Absent) and each.key in freed))
    return Transaction((*gone.expect, *expect), changes)


def creation_refused(new: Creation, failed: tuple[Expectation, ...], taken: EntryKind | None) -> TablesError:
    """Say why a table or view could not appear; `taken` is what has its name, if something has."""
    identifier, warehouse = new.identifier, new.warehouse
    if WAREHOUSES.exists(warehouse.name) in failed:
        return NoSuchWarehouse(warehouse.name)
    if NAMES.absent(warehouse.id, joined(identifier.namespace), identifier.name) in failed:
        return name_taken(new.kind, taken or new.kind, identifier)
    if NAMESPACES.exists(*namespace_parts(warehouse, identifier.namespace)) in failed:
        return NoSuchNamespace(shown(identifier.namespace))
    if POINTERS.absent(warehouse.id, new.uuid) in failed:
        return AlreadyExists(f"a {new.kind.value} with the UUID {new.uuid} is in this warehouse already")
    return place_taken(new.metadata.location)


def place_taken(location: str) -> BadRequest:
    """Say that a place cannot be had, for a table or for its metadata files."""
    return BadRequest(f"the location {location} lies inside another table's, or around it, or its metadata folder does")


def crossing(plans: Sequence[Plan]) -> str | None:
    """Return a location that plans of one transaction give to two tables, or that lies inside another's; else None."""
    claims = [change.key for plan in plans for change in plan.changes if isinstance(change, Put)]
    places = sorted(key for key in claims if key[: len(LOCATIONS.prefix)] == LOCATIONS.prefix)
    for above, below in pairwise(places):
        if below[: len(above)] == above:
            return "/".join(map(str, below[len(LOCATIONS.prefix) :]))
    return None


def is_taken(plan: Plan, failed: tuple[Expectation, ...]) -> bool:
    """Say whether a plan failed because another has the place that it leads to."""
    places = (each for each in failed if each in plan.expect and not isinstance(each, At | Exists))
    keys = (each.prefix if isinstance(each, Empty) else each.key for each in places)
    return any(key[: len(LOCATIONS.prefix)] == LOCATIONS.prefix for key in keys)


def name_taken(wanted: EntryKind, taken: EntryKind, identifier: Identifier) -> AlreadyExists:
    """Say what has a name that a table or view was to have."""
    if wanted is taken:
        return AlreadyExists(f"{wanted.value.capitalize()} already exists: {identifier}")
    return AlreadyExists(f"{taken.value.capitalize()} with same name already exists: {identifier}")


def _logged(
    pointer: Pointer, base: Metadata | None, new: Metadata, by: str, now_ms: int
) -> tuple[Pointer, tuple[Change, ...]]:
    """Append a line to the version log, if readers of the table would see a difference (iceberg.md 5.7)."""
    if not isinstance(new, TableMetadata):
        return pointer, ()
    if isinstance(base, TableMetadata) and _seen(base) == _seen(new):
        return pointer, ()
    number = 0 if base is None else pointer.version + 1
    snapshot = new.current_snapshot
    when = now_ms if snapshot is None else max(snapshot.timestamp_ms, _last_moved(new))
    moved = snapshot is not None and (not isinstance(base, TableMetadata) or base.current_snapshot_id != snapshot.id)
    timestamp = max(when if moved else now_ms, pointer.versioned_at_ms + 1)
    line = Version(
        timestamp_ms=timestamp,
        metadata_location=pointer.metadata_location,
        metadata_etag=pointer.metadata_etag,
        snapshot_id=new.current_snapshot_id,
        schema_id=new.current_schema_id,
        spec_id=new.default_spec_id,
        committed_by=by,
    )
    put = VERSIONS.put(line, pointer.history, ordinal(number))
    return replace(pointer, version=number, versioned_at_ms=timestamp), (put,)


def _last_moved(metadata: TableMetadata) -> int:
    log = metadata.snapshot_log
    return log[-1].timestamp_ms if log else 0


def _seen(metadata: TableMetadata) -> tuple[int | None, int, int, Mapping[str, str], str]:
    return (
        metadata.current_snapshot_id,
        metadata.current_schema_id,
        metadata.default_spec_id,
        metadata.properties,
        metadata.location,
    )


def _free(place: Place) -> tuple[Absent | Empty, ...]:
    """Expect that no table lies above a place, at it, or below it."""
    parts = place.segments
    above = tuple(LOCATIONS.absent(place.bucket, *parts[: end + 1]) for end in range(len(parts)))
    return (*above, LOCATIONS.empty(place.bucket, *parts))


def _folders(metadata: Metadata, warehouse: Warehouse) -> tuple[str, ...]:
    if not isinstance(metadata, TableMetadata):
        return ()
    return folders_beside(metadata.location, metadata.properties, warehouse.bucket)


def _folder(uri: str) -> str:
    return uri.rpartition("/")[0]


def _outside(written: Written, place: Place) -> tuple[Absent, ...]:
    """Expect that a metadata file outside of its table's location does not lie inside another's."""
    file = file_place(written.location, place.bucket)
    if file.key.startswith(f"{place.key}/"):
        return ()
    parts = file.segments[:-1][:MAX_SEGMENTS]
    return tuple(LOCATIONS.absent(place.bucket, *parts[: end + 1]) for end in range(len(parts)))


def _relocated(found: Found, location: str, pointer: Pointer) -> tuple[tuple[Expectation, ...], tuple[Change, ...]]:
    warehouse = found.warehouse
    if location == found.value.location:
        return (), ()
    old, new = table_place(found.value.location, warehouse.bucket), table_place(location, warehouse.bucket)
    if old == new:
        return (), ()
    own = LOCATIONS.absent(old.bucket, *old.segments)
    expect = tuple(each for each in _free(new) if each != own)
    changes = LOCATIONS.delete(old.bucket, *old.segments), _claim(new, warehouse, found.uuid, pointer)
    return expect, changes


def _claim(place: Place, warehouse: Warehouse, uuid: str, pointer: Pointer) -> Change:
    located = Located(warehouse.name, uuid, pointer.kind, pointer.namespace, pointer.name)
    return LOCATIONS.put(located, place.bucket, *place.segments)


def _guard(written: Written, warehouse: Warehouse, uuid: str) -> Change:
    place = file_place(written.location, warehouse.bucket)
    return METADATA_FILES.put(Guarded(warehouse.name, uuid), place.bucket, place.key)


def _unguarded(held: Pointer, warehouse: Warehouse) -> tuple[Change, ...]:
    place = file_place(held.metadata_location, warehouse.bucket)
    return (METADATA_FILES.delete(place.bucket, place.key),)


def missing_namespace(failed: tuple[Expectation, ...]) -> bool:
    """Say whether a transaction failed for want of a namespace."""
    return any(isinstance(each, Exists) and each.key[: len(NAMESPACES.prefix)] == NAMESPACES.prefix for each in failed)
