"""The files of a table at one moment: those that may hold rows that are wanted, whole or a page at a time."""

from dataclasses import dataclass

from lakeshare.columnar.selection import Selection
from lakeshare.sharing.errors import InvalidParameter
from lakeshare.sharing.model.asking import Moment, QueryTable, ResponseFormat
from lakeshare.sharing.operations.catalog import Located
from lakeshare.sharing.operations.opening import OpenTable, choose_format, has_vectors, open_at, tables_of
from lakeshare.sharing.room import Room
from lakeshare.sharing.tickets import (
    PAGE_SECONDS,
    REFRESH_SECONDS,
    BadTicket,
    PageTicket,
    RefreshTicket,
    seal,
    unseal,
)
from lakeshare.sharing.view import Access, View


@dataclass(frozen=True, slots=True)
class Answer:
    """What a query found: files of a version, and what the last line says, if the client wants one."""

    opened: OpenTable
    format: ResponseFormat
    selection: Selection
    next_page: str = ""
    refresh: str = ""


async def query_table(room: Room, view: View, access: Access, asked: QueryTable) -> Answer:
    """Find the files. Raises as `open_at` does, InvalidParameter for tokens, UnsupportedTable."""
    page = _page(view, asked, room.clock())
    pinned = page or _refreshed(view, asked, room.clock())
    moment = asked.moment if pinned is None else Moment(pinned.version)
    opened = await _open(room, access, asked, moment, pinned)
    snapshot = opened.snapshot
    chosen = choose_format(asked.capabilities, snapshot.state, has_vectors=has_vectors(snapshot))
    tables = tables_of(room, opened.place)
    plain = asked.predicate is None and asked.limit is None

    def select() -> tuple[Selection, int | None]:
        found = snapshot.files.select(asked.predicate, snapshot.shape, asked.limit)
        if asked.paged.max_files is None:
            return found, None
        return found.page(None if page is None else page.after, asked.paged.max_files)

    cheap = plain and asked.paged.max_files is None
    selection, after = select() if cheap else await tables.heavy(select)
    now = int(room.clock())
    following = "" if after is None else seal(view, _next(opened, asked, after, now))
    return Answer(opened, chosen, selection, following, _refresh(view, asked, opened, now))


async def _open(
    room: Room, access: Access, asked: QueryTable, moment: Moment, pinned: PageTicket | RefreshTicket | None
) -> OpenTable:
    """Open the table; a page or a refresh is of the same version, history shared or not."""
    if pinned is None or not asked.moment.is_latest:
        return await open_at(room, access, asked.name, moment)
    opened = await open_at(room, access, asked.name, Moment())
    _check_table(opened.located, pinned)
    if opened.snapshot.version != pinned.version:
        snapshot = await tables_of(room, opened.place).open(opened.place, pinned.version)
        opened = OpenTable(opened.located, opened.place, snapshot)
    if opened.snapshot.state.metadata.id != pinned.log:
        raise InvalidParameter("The table was replaced by another since. Please restart the query.")
    return opened


def _page(view: View, asked: QueryTable, now: float) -> PageTicket | None:
    return read_page(view, asked.paged.page_token, asked.paged.digest, now)


def read_page(view: View, token: str, digest: str, now: float) -> PageTicket | None:
    """Read a page token. Raises InvalidParameter."""
    if not token:
        return None
    try:
        found = unseal(view, PageTicket, token)
    except BadTicket:
        raise InvalidParameter("Error decoding the page token: it was not made by this server.") from None
    if now >= found.expires_at:
        raise InvalidParameter("The page token has expired. Please restart the query.")
    if found.query != digest:
        raise InvalidParameter(
            "Query parameter mismatch detected for the next page query. The query parameter cannot change "
            "when querying the next page results."
        )
    return found


def _refreshed(view: View, asked: QueryTable, now: float) -> RefreshTicket | None:
    if not asked.refresh_token:
        return None
    try:
        found = unseal(view, RefreshTicket, asked.refresh_token)
    except BadTicket:
        raise InvalidParameter("Error decoding refresh token: it was not made by this server.") from None
    if now >= found.expires_at:
        raise InvalidParameter("The refresh token has expired. Please restart the query.")
    return found


def _check_table(located: Located, pinned: PageTicket | RefreshTicket) -> None:
    if located.table.id != pinned.table:
        what = "page" if isinstance(pinned, PageTicket) else "refresh"
        raise InvalidParameter(f"The table specified in the {what} token does not match the table being queried.")


def _next(opened: OpenTable, asked: QueryTable, after: int, now: int) -> PageTicket:
    return PageTicket(
        opened.located.table.id,
        opened.snapshot.state.metadata.id,
        opened.snapshot.version,
        asked.paged.digest,
        after,
        now + PAGE_SECONDS,
    )


def _refresh(view: View, asked: QueryTable, opened: OpenTable, now: int) -> str:
    if not asked.include_refresh:
        return ""
    ticket = RefreshTicket(
        opened.located.table.id,
        opened.snapshot.state.metadata.id,
        opened.snapshot.version,
        now + REFRESH_SECONDS,
    )
    return seal(view, ticket)
