"""What is in a share: schemas and tables, added, renamed, replaced and taken out."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from uuid import uuid4

from lakeshare.identity.arns import share_arn
from lakeshare.identity.caller import Need
from lakeshare.sharing.errors import NameTaken, SchemaMissing, TableMissing, TooMany
from lakeshare.sharing.model.names import WHOLE_SCHEMA, check_description, check_schema, folded
from lakeshare.sharing.model.shares import MAX_SCHEMAS, Offer, Schema, Share
from lakeshare.sharing.operations.offers import Looked, look, needs_of, with_offers
from lakeshare.sharing.operations.shown import UPDATE, ShownShare, existing, shown
from lakeshare.sharing.records import SCHEMAS, SHARES
from lakeshare.sharing.room import Room
from lakeshare.sharing.view import View
from lakeshare.state.epoch import Plan
from lakeshare.state.port import Change


@dataclass(frozen=True, slots=True)
class ChangeTables:
    """Tables added to a share and taken out of it, at one moment; `*` takes out the places shared whole.

    `description` changes the share's at the same moment; None leaves it.
    """

    share: str
    add: tuple[Offer, ...] = ()
    remove: tuple[tuple[str, str], ...] = ()
    description: str | None = None

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed: to read what is added, too."""
        return (Need(UPDATE, share_arn(self.share)), *needs_of(self.add))


async def change_tables(room: Room, call: ChangeTables) -> ShownShare:
    """Change what is in a share. Raises ShareMissing, SchemaMissing, TableMissing, NameTaken, and what `look` does."""
    view = await room.directory.current()
    existing(view, call.share)
    looked = await look(room.inspector, view, call.add)
    now = int(room.clock())

    def plan(view: View) -> Plan[ShownShare]:
        share = existing(view, call.share)
        before = {folded(schema.name): schema for schema in view.schemas(share)}
        after = with_offers(share, _without(share, before, call.remove), call.add, now)
        return put_schemas(view, _touched(share, call.description, now), before, after, looked)

    return await room.directory.change(plan)


@dataclass(frozen=True, slots=True)
class ChangeSchema:
    """A schema's new name or description; None leaves as it is."""

    share: str
    schema: str
    name: str | None = None
    description: str | None = None

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need(UPDATE, share_arn(self.share, self.schema)),)


async def change_schema(room: Room, call: ChangeSchema) -> ShownShare:
    """Rename or describe a schema; its tables keep their ids. Raises ShareMissing, SchemaMissing, NameTaken."""
    now = int(room.clock())

    def plan(view: View) -> Plan[ShownShare]:
        share = existing(view, call.share)
        before = {folded(each.name): each for each in view.schemas(share)}
        schema = _schema(share, before, call.schema)
        name = schema.name if call.name is None else check_schema(call.name)
        after = {key: each for key, each in before.items() if each is not schema}
        if folded(name) in after:
            raise NameTaken(f"schema in share {share.name!r}", after[folded(name)].name)
        text = schema.description if call.description is None else check_description(call.description)
        after[folded(name)] = replace(schema, name=name, description=text)
        return put_schemas(view, _touched(share, None, now), before, after)

    return await room.directory.change(plan)


@dataclass(frozen=True, slots=True)
class SchemaCall:
    """Anything that is asked of one schema."""

    share: str
    schema: str

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need(UPDATE, share_arn(self.share, self.schema)),)


async def remove_schema(room: Room, call: SchemaCall) -> ShownShare:
    """Take a schema with all its tables out of a share. Raises ShareMissing, SchemaMissing."""
    now = int(room.clock())

    def plan(view: View) -> Plan[ShownShare]:
        share = existing(view, call.share)
        before = {folded(each.name): each for each in view.schemas(share)}
        gone = _schema(share, before, call.schema)
        after = {key: each for key, each in before.items() if each is not gone}
        return put_schemas(view, _touched(share, None, now), before, after)

    return await room.directory.change(plan)


@dataclass(frozen=True, slots=True)
class ReplaceSchemas:
    """All schemas of a share in place of what it has. `kept` are offers that it had when the caller was allowed."""

    share: str
    description: str | None = None
    schemas: tuple[tuple[str, str], ...] = ()
    offers: tuple[Offer, ...] = ()
    kept: tuple[Offer, ...] = field(default=())

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed: to read what is new, too."""
        return (Need(UPDATE, share_arn(self.share)), *needs_of(self.offers))


async def replace_schemas(room: Room, call: ReplaceSchemas) -> ShownShare:
    """Put schemas in place of those of a share; tables that stay keep their ids. Raises as change_tables does."""
    looked = await look(room.inspector, await room.directory.current(), call.offers)
    now = int(room.clock())

    def plan(view: View) -> Plan[ShownShare]:
        share = existing(view, call.share)
        before = {folded(each.name): each for each in view.schemas(share)}
        after = _kept(share, before, call, now)
        return put_schemas(
            view, _touched(share, call.description, now), before, with_offers(share, after, call.offers, now), looked
        )

    return await room.directory.change(plan)


def put_schemas(
    view: View, share: Share, before: dict[str, Schema], after: dict[str, Schema], looked: tuple[Looked, ...] = ()
) -> Plan[ShownShare]:
    """Plan to store a share and its schemas as they shall be. Raises TooMany."""
    if len(after) > MAX_SCHEMAS:
        raise TooMany("schemas in this share", MAX_SCHEMAS)
    changes: list[Change] = [SHARES.put(share, share.id)]
    changes += [SCHEMAS.put(each, share.id, key) for key, each in after.items() if before.get(key) != each]
    changes += [SCHEMAS.delete(share.id, key) for key in before if key not in after]
    ordered = tuple(after[key] for key in sorted(after))
    return Plan(tuple(changes), ShownShare(share, ordered, shown(view, share).recipients, looked))


def _touched(share: Share, description: str | None, now: int) -> Share:
    text = share.description if description is None else check_description(description)
    return replace(share, description=text, updated_at=now)


def empty_schemas(share: Share, schemas: Iterable[tuple[str, str]], now: int) -> dict[str, Schema]:
    """Make schemas of (name, description) that hold nothing yet, by folded name. Raises NameTaken, BadName."""
    found: dict[str, Schema] = {}
    for name, description in schemas:
        if folded(check_schema(name)) in found:
            raise NameTaken("schema", name)
        found[folded(name)] = Schema(name, share.id, str(uuid4()), check_description(description), created_at=now)
    return found


def _schema(share: Share, schemas: dict[str, Schema], name: str) -> Schema:
    found = schemas.get(folded(name))
    if found is None:
        raise SchemaMissing(share.name, name)
    return found


def _without(share: Share, schemas: dict[str, Schema], remove: Iterable[tuple[str, str]]) -> dict[str, Schema]:
    """Return schemas without some tables; a schema that nothing is left of goes too."""
    found = dict(schemas)
    for schema_name, table_name in remove:
        schema = _schema(share, found, schema_name)
        if table_name == WHOLE_SCHEMA and schema.wholes:
            changed = replace(schema, whole_delta=(), whole_uniform=())
        else:
            table = schema.table(table_name)
            if table is None:
                raise TableMissing(schema.name, table_name)
            changed = schema.with_tables(each for each in schema.tables if each is not table)
        key = folded(schema_name)
        if changed.tables or changed.wholes:
            found[key] = changed
        else:
            del found[key]
    return found


def _kept(share: Share, before: dict[str, Schema], call: ReplaceSchemas, now: int) -> dict[str, Schema]:
    """Return the schemas that shall be, with those of their tables that are there already."""
    found = empty_schemas(share, call.schemas, now)
    for key, schema in found.items():
        old = before.get(key)
        if old is None:
            continue
        staying = [offer for offer in call.kept if folded(offer.schema) == key]
        names = {folded(offer.name) for offer in staying}
        places = [offer.place for offer in staying if offer.is_whole]
        found[key] = replace(
            old,
            name=schema.name,
            description=schema.description or old.description,
            whole_delta=tuple(place for place in old.whole_delta if place in places),
            whole_uniform=tuple(place for place in old.whole_uniform if place in places),
        ).with_tables(table for table in old.tables if folded(table.name) in names)
    return found
