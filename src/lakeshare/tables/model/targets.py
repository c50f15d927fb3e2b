"""What a request is about, looked up before it is known whether the caller may: the value says what must be allowed.

A table that is not there needs the same right as one that is, so that a refusal tells nobody which of the two it is.
"""

from dataclasses import dataclass

from lakeshare.identity.arns import EVERYTHING, object_arn, table_arn, view_arn, warehouse_arn
from lakeshare.identity.caller import Need
from lakeshare.state.keyspace import Stored
from lakeshare.tables.errors import NoSuchTable, NoSuchView
from lakeshare.tables.model.entries import EntryKind, Named, Pointer, Warehouse
from lakeshare.tables.model.names import Identifier, Namespace, shown
from lakeshare.tables.model.places import Place

MISSING = "missing"
"""Stands for the UUID of what is not there."""

_NAME_FACT = {EntryKind.TABLE: "s3tables:tableName", EntryKind.VIEW: "s3tables:viewName"}


@dataclass(frozen=True, slots=True)
class Found:
    """A table or view as it was read: its pointer, and what a later commit expects of it."""

    warehouse: Warehouse
    uuid: str
    name: Stored[Named]
    pointer: Stored[Pointer]

    @property
    def value(self) -> Pointer:
        """The pointer itself."""
        return self.pointer.value

    @property
    def identifier(self) -> Identifier:
        """The name it goes by."""
        return Identifier(self.value.namespace, self.value.name)


@dataclass(frozen=True, slots=True)
class Target:
    """A table or view that a request names."""

    warehouse: Warehouse
    identifier: Identifier
    kind: EntryKind
    found: Found | None

    def need(self, action: str) -> Need:
        """Say what must be allowed on it."""
        name = table_arn if self.kind is EntryKind.TABLE else view_arn
        uuid = MISSING if self.found is None else self.found.uuid
        facts = entry_facts(self.kind, self.identifier)
        return Need(f"s3tables:{action}", name(self.warehouse.name, uuid), facts)

    def entry(self) -> Found:
        """Return what was found. Raises NoSuchTable, NoSuchView."""
        if self.found is None:
            raise missing(self.kind, self.identifier)
        return self.found


def missing(kind: EntryKind, identifier: Identifier, before: str = "") -> NoSuchTable | NoSuchView:
    """Make the error for a table or view that is not there."""
    return (NoSuchTable if kind is EntryKind.TABLE else NoSuchView)(str(identifier), before)


def entry_facts(kind: EntryKind, identifier: Identifier) -> tuple[tuple[str, str], ...]:
    """Return what conditions of policies may ask of a table or view."""
    return (("s3tables:namespace", shown(identifier.namespace)), (_NAME_FACT[kind], identifier.name))


def place_needs(place: Place | None) -> tuple[Need, ...]:
    """Say what must be allowed to have a table at a place of one's choosing: all that its owner can do there by S3.

    Whoever has a table somewhere may read, write and remove what lies there. So the choice gives nobody more.
    """
    return () if place is None else _all_of(object_arn(place.bucket, f"{place.key}/"))


def reading_needs(file: Place, held: Place | None) -> tuple[Need, ...]:
    """Say what must be allowed to have a metadata file read; those of a table that is held are read anyway."""
    if held is not None and file.lies_in(held):
        return ()
    return (Need("s3:GetObject", object_arn(file.bucket, file.key)),)


def bucket_needs(bucket: str) -> tuple[Need, ...]:
    """Say what must be allowed to make a warehouse of a bucket that is there, or to remove one's ordinary objects."""
    return _all_of(object_arn(bucket, EVERYTHING))


def _all_of(resource: str) -> tuple[Need, ...]:
    return tuple(Need(action, resource) for action in ("s3:PutObject", "s3:GetObject", "s3:DeleteObject"))


def warehouse_need(action: str, warehouse: str) -> Need:
    """Say what must be allowed on a warehouse."""
    return Need(f"s3tables:{action}", warehouse_arn(warehouse))


def namespace_need(action: str, warehouse: str, namespace: Namespace) -> Need:
    """Say what must be allowed on a namespace: the warehouse's resource, with the namespace as a condition."""
    return Need(f"s3tables:{action}", warehouse_arn(warehouse), (("s3tables:namespace", shown(namespace)),))


def new_entry_need(action: str, warehouse: str, kind: EntryKind, identifier: Identifier) -> Need:
    """Say what must be allowed to make a table or view of a name."""
    return Need(f"s3tables:{action}", warehouse_arn(warehouse), entry_facts(kind, identifier))
