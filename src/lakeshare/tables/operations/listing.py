"""The tables, or the views, of a namespace."""

from bisect import bisect_right
from dataclasses import dataclass

from lakeshare.identity.caller import Need
from lakeshare.tables.catalog import Listed
from lakeshare.tables.model.entries import EntryKind, Warehouse
from lakeshare.tables.model.names import Namespace, joined
from lakeshare.tables.model.paging import Paging, token_for
from lakeshare.tables.model.targets import namespace_need
from lakeshare.tables.room import Room


@dataclass(frozen=True, slots=True)
class ListEntries:
    """All tables, or all views, of a namespace, or a page of them."""

    warehouse: Warehouse
    namespace: Namespace
    kind: EntryKind
    paging: Paging

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        action = "ListTables" if self.kind is EntryKind.TABLE else "ListViews"
        return (namespace_need(action, self.warehouse.name, self.namespace),)


async def list_entries(room: Room, call: ListEntries) -> tuple[Listed, str | None]:
    """Return names in order, and the token of the next page. Raises NoSuchNamespace, BadRequest."""
    warehouse, namespace, paging = call.warehouse, call.namespace, call.paging
    await room.catalog.the_namespace(warehouse, namespace)
    context = f"{call.kind.value}\n{warehouse.id}\n{joined(namespace)}"
    after = paging.after(context)
    listed = await room.catalog.listing(warehouse, namespace, call.kind)
    if paging.whole:
        return listed, None
    names = listed.names
    start = bisect_right(names, after) if after else 0
    page = names[start : start + paging.size]
    more = start + paging.size < len(names)
    if not start and not more:
        return listed, None
    return Listed(page), token_for(context, page[-1]) if more else None
