"""What it takes to share a table: the right to read it, a look at it, and its place in a schema."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

from lakeshare.identity.arns import bucket_arn, object_arn, source_arn
from lakeshare.identity.caller import Need
from lakeshare.sharing.errors import IcebergNotShared, NameTaken, SourceMissing, TooMany
from lakeshare.sharing.inspector import TableInspector
from lakeshare.sharing.model.names import folded
from lakeshare.sharing.model.places import DeltaPlace, Place, UniformPlace
from lakeshare.sharing.model.report import TableReport
from lakeshare.sharing.model.shares import MAX_SCHEMAS, Offer, Schema, Share, table_at
from lakeshare.sharing.view import View

SHARING_ACTION = "admin:DeltaSharing"
MAX_OFFERS = 200
"""Tables that one request shares: each is looked at."""
MAX_WHOLES = 20
"""Places that one schema shares whole."""
LOOK_IN = 50
"""Folders of a place shared whole that are looked at for a first table."""


@dataclass(frozen=True, slots=True)
class Looked:
    """A table that was looked at, under the names it is shared by."""

    schema: str
    name: str
    place: Place
    report: TableReport

    @property
    def warnings(self) -> tuple[str, ...]:
        """Say what the operator should know of it."""
        return tuple(f"{self.schema}/{self.name}: {text}" for text in self.report.warnings)


def needs_of(offers: Iterable[Offer]) -> tuple[Need, ...]:
    """Say what who shares tables must be allowed: to read them; of a remote source, to administer sharing."""
    needs: dict[Need, None] = {}
    for offer in offers:
        if not isinstance(offer.place, DeltaPlace):
            continue
        if offer.place.source:
            needs[Need(SHARING_ACTION, source_arn(offer.place.source))] = None
        else:
            prefix = offer.place.prefix
            needs[Need("s3:ListBucket", bucket_arn(offer.place.bucket), (("s3:prefix", prefix),))] = None
            needs[Need("s3:GetObject", object_arn(offer.place.bucket, f"{prefix}*"))] = None
    return tuple(needs)


async def look(inspector: TableInspector, view: View, offers: Sequence[Offer]) -> tuple[Looked, ...]:
    """Look at all that is to be shared. Raises NoTableThere, TableUnreadable, IcebergNotShared, SourceMissing."""
    if len(offers) > MAX_OFFERS:
        raise TooMany("tables in one request", MAX_OFFERS)
    found: list[Looked] = []
    for offer in offers:
        if isinstance(offer.place, UniformPlace):
            raise IcebergNotShared
        if offer.place.source and view.source(offer.place.source) is None:
            raise SourceMissing(offer.place.source)
        report = await (_look_in(inspector, offer.place) if offer.is_whole else inspector.inspect(offer.place))
        found.append(Looked(offer.schema, offer.name, offer.place, report))
    return tuple(found)


def with_offers(share: Share, schemas: Mapping[str, Schema], offers: Iterable[Offer], now: int) -> dict[str, Schema]:
    """Return schemas, by folded name, with what is offered in them. Raises NameTaken, TooMany."""
    found = dict(schemas)
    for offer in offers:
        key = folded(offer.schema)
        schema = found.get(key) or Schema(offer.schema, share.id, str(uuid4()), created_at=now)
        found[key] = _with_whole(schema, offer.place) if offer.is_whole else _with_table(schema, offer, now)
    if len(found) > MAX_SCHEMAS:
        raise TooMany("schemas in this share", MAX_SCHEMAS)
    return found


async def _look_in(inspector: TableInspector, place: DeltaPlace) -> TableReport:
    page = await inspector.folder(place, "", LOOK_IN)
    for name in page.names:
        if await inspector.is_table(place.below(name)):
            return TableReport()
    return TableReport(notes=(f"there is no table in {place} yet",))


def _with_table(schema: Schema, offer: Offer, now: int) -> Schema:
    if (held := schema.table(offer.name)) is not None:
        raise NameTaken(f"table in schema {schema.name!r}", held.name)
    table = replace(
        table_at(offer.name, str(uuid4()), offer.place, now), history=offer.history, start_version=offer.start_version
    )
    return schema.with_tables((*schema.tables, table))


def _with_whole(schema: Schema, place: Place) -> Schema:
    if len(schema.wholes) >= MAX_WHOLES:
        raise TooMany("places that this schema shares whole", MAX_WHOLES)
    if isinstance(place, DeltaPlace):
        return replace(schema, whole_delta=tuple(dict.fromkeys((*schema.whole_delta, place))))
    return replace(schema, whole_uniform=tuple(dict.fromkeys((*schema.whole_uniform, place))))
