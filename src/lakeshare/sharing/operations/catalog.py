"""What a recipient sees: its shares, their schemas, their tables, a page at a time; and one table by its name.

The order of pages: schemas by folded name; in each, first the tables that it names, by folded name, then those found
in the places that are shared whole, place after place, by name. A name that stands twice counts where it stands first.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass

from lakeshare.sharing.errors import NoSuchResource
from lakeshare.sharing.inspector import TableInspector
from lakeshare.sharing.model.names import folded, is_table_name
from lakeshare.sharing.model.places import Place
from lakeshare.sharing.model.shares import Schema, Share, SharedTable
from lakeshare.sharing.room import Room
from lakeshare.sharing.view import Access

MAX_RESULTS = 500
"""Largest page, and the usual one: that of the reference."""
FOLDER_PAGE = 200
FOLDER_LIMIT = 10_000
"""Folders of one place that are looked through for a name that is spelt in another case."""


@dataclass(frozen=True, slots=True)
class Located:
    """One table, and where in its share it stands."""

    share: Share
    schema: Schema
    table: SharedTable

    @property
    def full_name(self) -> str:
        """Its name as clients write it."""
        return f"{self.share.name}.{self.schema.name}.{self.table.name}"


@dataclass(frozen=True, slots=True)
class Position:
    """Where a page ended: after which schema or table. `part` 0 is the named tables, others the places shared whole."""

    schema: str = ""
    part: int = 0
    name: str = ""


START = Position()


@dataclass(frozen=True, slots=True)
class Paging:
    """How many, and after which."""

    limit: int = MAX_RESULTS
    after: Position = START


@dataclass(frozen=True, slots=True)
class SharePage:
    """Shares; `next` goes on, None is the end."""

    items: Sequence[Share]
    next: Position | None = None


@dataclass(frozen=True, slots=True)
class SchemaPage:
    """Schemas of a share."""

    share: Share
    items: Sequence[Schema]
    next: Position | None = None


@dataclass(frozen=True, slots=True)
class TablePage:
    """Tables of a schema, or of all schemas of a share."""

    items: Sequence[Located]
    next: Position | None = None


def list_shares(access: Access, paging: Paging) -> SharePage:
    """Return a page of the shares that a recipient sees."""
    rest = [share for share in access.shares if folded(share.name) > paging.after.name]
    page = rest[: paging.limit]
    return SharePage(
        page, _next_name([folded(share.name) for share in page], paging.after, more=len(rest) > paging.limit)
    )


async def list_schemas(room: Room, access: Access, share: str, paging: Paging) -> SchemaPage:
    """Return a page of the schemas of a share. Raises NoSuchResource, OAuthRequired."""
    view = await room.directory.current()
    found = view.share_for(access, share)
    rest = [schema for schema in view.schemas(found) if folded(schema.name) > paging.after.name]
    page = rest[: paging.limit]
    going = _next_name([folded(schema.name) for schema in page], paging.after, more=len(rest) > paging.limit)
    return SchemaPage(found, page, going)


async def list_tables(room: Room, access: Access, share: str, schema: str, paging: Paging) -> TablePage:
    """Return a page of the tables of a schema. Raises NoSuchResource, OAuthRequired."""
    view = await room.directory.current()
    found, inner = view.schema_for(access, share, schema)
    return await _page(room.inspector, found, (inner,), paging)


async def list_all_tables(room: Room, access: Access, share: str, paging: Paging) -> TablePage:
    """Return a page of the tables of all schemas of a share. Raises NoSuchResource, OAuthRequired."""
    view = await room.directory.current()
    found = view.share_for(access, share)
    rest = [schema for schema in view.schemas(found) if folded(schema.name) >= paging.after.schema]
    return await _page(room.inspector, found, rest, paging)


async def find_table(room: Room, access: Access, share: str, schema: str, table: str) -> Located:
    """Return one table that a recipient sees. Raises NoSuchResource, OAuthRequired."""
    view = await room.directory.current()
    named = view.table(access, share, schema, table)
    found, inner = view.schema_for(access, share, schema)
    if named is None:
        named = await discover(room.inspector, inner, table)
    if named is None:
        raise NoSuchResource(share, schema, table)
    return Located(found, inner, named)


async def discover(inspector: TableInspector, schema: Schema, table: str) -> SharedTable | None:
    """Find a table in the places that a schema shares whole: by its name as it is spelt, else whatever its case."""
    if not is_table_name(table):
        return None
    for place in schema.wholes:
        if await inspector.is_table(place.below(table)):
            return schema.discovered(table, place.below(table))
    wanted = folded(table)
    for place in schema.wholes:
        async for name in _folders(inspector, place, ""):
            if folded(name) == wanted and await inspector.is_table(place.below(name)):
                return schema.discovered(name, place.below(name))
    return None


async def _page(inspector: TableInspector, share: Share, schemas: Sequence[Schema], paging: Paging) -> TablePage:
    items: list[Located] = []
    last = paging.after
    if paging.limit == 0:
        return TablePage((), last)
    for schema in schemas:
        async for position, table in _tables(inspector, schema, paging.after):
            if len(items) == paging.limit:
                return TablePage(items, last)
            items.append(Located(share, schema, table))
            last = position
    return TablePage(items)


async def _tables(
    inspector: TableInspector, schema: Schema, after: Position
) -> AsyncIterator[tuple[Position, SharedTable]]:
    """Yield the tables of a schema after a position, each with its own."""
    here = folded(schema.name)
    start = after if after.schema == here else Position(here)
    for table in _named(schema, start):
        yield Position(here, 0, folded(table.name)), table
    for number, place in enumerate(schema.wholes, 1):
        if number < start.part:
            continue
        begin = start.name if number == start.part else ""
        async for name in _folders(inspector, place, begin):
            if await _stands_here(inspector, schema, number, name):
                yield Position(here, number, name), schema.discovered(name, place.below(name))


def _named(schema: Schema, start: Position) -> Iterator[SharedTable]:
    if start.part == 0:
        yield from (table for table in schema.by_name if folded(table.name) > start.name)


async def _stands_here(inspector: TableInspector, schema: Schema, number: int, name: str) -> bool:
    """Say whether a folder is a table, and no earlier part of the schema has one of its name."""
    if schema.table(name) is not None or not await inspector.is_table(schema.wholes[number - 1].below(name)):
        return False
    for place in schema.wholes[: number - 1]:
        if await inspector.is_table(place.below(name)):
            return False
    return True


async def _folders(inspector: TableInspector, place: Place, after: str) -> AsyncIterator[str]:
    for _ in range(FOLDER_LIMIT // FOLDER_PAGE):
        page = await inspector.folder(place, after, FOLDER_PAGE)
        for name in page.names:
            yield name
        if page.next_after is None:
            return
        after = page.next_after


def _next_name(names: Sequence[str], after: Position, *, more: bool) -> Position | None:
    if not more:
        return None
    return Position(name=names[-1]) if names else after
