"""Which version a table has, or had at a time."""

from lakeshare.sharing.model.asking import GetVersion
from lakeshare.sharing.operations.opening import check_history, found_at, tables_of, times_of
from lakeshare.sharing.room import Room
from lakeshare.sharing.tables import broken
from lakeshare.sharing.view import Access


async def get_version(room: Room, access: Access, asked: GetVersion) -> int:
    """Return the newest version, or the first that was committed at or after a time.

    Raises NoSuchResource, HistoryNotShared, TimestampTooLate, TableBroken.
    """
    located, place = await found_at(room, access, asked.name)
    tables = tables_of(room, place)
    if asked.starting_timestamp_ms is None:
        return await tables.latest(place)
    check_history(located)
    at_ms = asked.starting_timestamp_ms
    with broken(place):
        times = await times_of(tables, place)
        found = await tables.heavy(lambda: times.version_from(at_ms))
    return max(found, located.table.start_version)
