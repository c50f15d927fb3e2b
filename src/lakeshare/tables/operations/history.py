"""The version log of a table, newest line first, and its removal once the table is gone."""

from dataclasses import dataclass

from lakeshare.identity.caller import Need
from lakeshare.state.keys import number_of, ordinal
from lakeshare.state.limits import MAX_GET_KEYS
from lakeshare.state.port import Delete, State, Transaction
from lakeshare.tables.errors import BadRequest
from lakeshare.tables.model.entries import Pointer, Version
from lakeshare.tables.model.paging import Paging, token_for
from lakeshare.tables.model.targets import Target
from lakeshare.tables.records import VERSIONS
from lakeshare.tables.room import Room

PAGE_VERSIONS = MAX_GET_KEYS
FORGOTTEN_AT_ONCE = 500
_DIGITS = 18


@dataclass(frozen=True, slots=True)
class ShowHistory:
    """A page of a table's version log."""

    target: Target
    paging: Paging

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (self.target.need("GetTable"),)


async def show_history(room: Room, call: ShowHistory) -> tuple[list[tuple[int, Version]], str | None]:
    """Return versions and their numbers, newest first, and the token of the next page. Raises NoSuchTable."""
    found = call.target.entry()
    context = f"history\n{found.value.history}"
    after = call.paging.after(context)
    if after and (not after.isdigit() or len(after) > _DIGITS):
        raise BadRequest("the pageToken is not one of this listing's")
    newest = int(after) - 1 if after else found.value.version
    size = min(call.paging.size, PAGE_VERSIONS)
    numbers = range(newest, max(newest - size, -1), -1)
    lines = await versions(room.state, found.value, numbers)
    more = bool(numbers) and numbers[-1] > 0
    return lines, token_for(context, str(numbers[-1])) if more else None


async def versions(state: State, pointer: Pointer, numbers: range) -> list[tuple[int, Version]]:
    """Return the lines of some versions, at most MAX_GET_KEYS; those that are not there are left out."""
    keys = [VERSIONS.key(pointer.history, ordinal(number)) for number in numbers]
    found = await state.get(keys) if keys else {}
    return [(number_of(key[-1]), VERSIONS.read(record).value) for key in keys if (record := found[key]) is not None]


async def forget_history(state: State, history: str) -> None:
    """Remove the version log of a table that is gone; for the job that a drop leaves."""
    while True:  # each turn removes lines, and nobody adds any
        page = await state.scan((*VERSIONS.prefix, history), None, FORGOTTEN_AT_ONCE)
        if not page.records:
            return
        await state.commit(Transaction((), tuple(Delete(record.key) for record in page.records)))
