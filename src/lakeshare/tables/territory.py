"""What the catalog claims of buckets: under a table's location S3 follows the rights over the table.

Outside of table locations a warehouse belongs to its tables to come (staged ones), unless it was a bucket with objects
before. Two things nobody may do by S3, root neither: write over or delete the metadata file that a pointer refers to,
and remove a warehouse's bucket.
"""

from collections.abc import Sequence

from lakeshare.identity.arns import TABLES, bucket_and_key, table_arn, view_arn
from lakeshare.identity.caller import Need
from lakeshare.identity.claims import NO_CLAIMS, Claim, Claims, is_write
from lakeshare.identity.errors import AccessDenied
from lakeshare.state.limits import MAX_GET_KEYS
from lakeshare.state.port import State
from lakeshare.tables.catalog import Catalog
from lakeshare.tables.model.entries import EntryKind, Located, Warehouse
from lakeshare.tables.model.names import Identifier
from lakeshare.tables.model.places import MAX_SEGMENTS, Place
from lakeshare.tables.model.targets import entry_facts
from lakeshare.tables.records import LOCATIONS, METADATA_FILES

STAGED = "staged"
"""Stands for the UUID of a table that is not committed yet."""
LOOKED_AT = 2
"""Tables below a place that are looked at: one may be the table in question, a second is another."""
_PREFIX = "s3:prefix"
_DELETE_BUCKET = "s3:DeleteBucket"


class CatalogTerritory:
    """The claims of one server's warehouses."""

    def __init__(self, state: State, catalog: Catalog) -> None:
        self._state = state
        self._catalog = catalog

    async def claims(self, needs: Sequence[Need]) -> Claims:
        """Return the claims over what a request needs. Raises AccessDenied."""
        named = [(need, place) for need in needs if (place := bucket_and_key(need.resource)) is not None]
        if not named or not (warehouses := await self._catalog.warehouses()):
            return NO_CLAIMS
        found: list[Claim] = []
        for need, (bucket, key) in named:
            if (warehouse := warehouses.get(bucket)) is not None:
                found += await self._over(need, warehouse, key)
        return Claims(found) if found else NO_CLAIMS

    async def _over(self, need: Need, warehouse: Warehouse, key: str) -> list[Claim]:
        if not key:
            if need.action == _DELETE_BUCKET:
                raise AccessDenied(need.action, need.resource)
            key = next((value for name, value in need.facts if name == _PREFIX), "")
        elif is_write(need) and await METADATA_FILES.get(self._state, warehouse.bucket, key) is not None:
            raise AccessDenied(need.action, need.resource)
        found = [] if warehouse.shared else [_unclaimed(warehouse)]
        return [*found, *await self._tables(warehouse, key)]

    async def _tables(self, warehouse: Warehouse, key: str) -> list[Claim]:
        folders = key.split("/")[:-1][:MAX_SEGMENTS]
        keys = [LOCATIONS.key(warehouse.bucket, *folders[: end + 1]) for end in range(len(folders))]
        if not keys:
            return []
        records = await self._state.get(keys)
        found = [(keys[at], record) for at in range(len(keys)) if (record := records[keys[at]]) is not None]
        return [
            _claim(warehouse, "/".join(map(str, where[len(LOCATIONS.prefix) + 1 :])), LOCATIONS.read(record).value)
            for where, record in found
        ]


async def belongs_to(state: State, place: Place, uuid: str) -> bool:
    """Say whether no other table than one lies above a place, at it, or below it."""
    parts = place.segments
    keys = [LOCATIONS.key(place.bucket, *parts[: end + 1]) for end in range(len(parts))]
    records = [record for record in (await state.get(keys)).values() if record is not None]
    below = (await state.scan(LOCATIONS.key(place.bucket, *parts), None, LOOKED_AT)).records
    return all(LOCATIONS.read(record).value.uuid == uuid for record in (*records, *below))


async def unguarded(state: State, bucket: str, keys: Sequence[str]) -> list[str]:
    """Leave out the metadata files that pointers refer to: what the server removes itself is bound by that too."""
    found: list[str] = []
    for start in range(0, len(keys), MAX_GET_KEYS):
        some = keys[start : start + MAX_GET_KEYS]
        guards = await state.get([METADATA_FILES.key(bucket, key) for key in some])
        found += [key for key in some if guards[METADATA_FILES.key(bucket, key)] is None]
    return found


def _claim(warehouse: Warehouse, prefix: str, located: Located) -> Claim:
    name = table_arn if located.kind is EntryKind.TABLE else view_arn
    return Claim(
        warehouse.bucket,
        prefix,
        name(warehouse.name, located.uuid),
        entry_facts(located.kind, Identifier(located.namespace, located.name)),
    )


def _unclaimed(warehouse: Warehouse) -> Claim:
    return Claim(warehouse.bucket, "", f"{TABLES}{warehouse.name}/table/{STAGED}")
