"""The directory of shares over state: what is shared with whom as of the newest commit, and atomic changes of it.

A change is planned on one moment and committed only if nothing of sharing has changed since. A worker sees a change of
any other in its next request: a token that was revoked is not let in again.
"""

import secrets
from collections.abc import Callable
from typing import TypeVar

from lakeshare.identity.directory import Plan
from lakeshare.identity.vault import Vault
from lakeshare.sharing.records import EPOCH, KEYS, PLACE_OF_KEYS, SHARING, Keys
from lakeshare.sharing.view import View
from lakeshare.state.decide import decide
from lakeshare.state.derived import Derived
from lakeshare.state.errors import Contended
from lakeshare.state.keys import Key
from lakeshare.state.port import Change, Put, Record, State, Transaction

T = TypeVar("T")
_READ_ATTEMPTS = 8
_KEY_BYTES = 32


class ShareDirectory:
    """Shares and recipients of one server, the same for all of its workers."""

    def __init__(self, state: State, vault: Vault) -> None:
        self._state = state
        self._vault = vault
        self._last: View | None = None
        self._derived = Derived(state, (SHARING,), self._read)

    async def current(self) -> View:
        """Return all of sharing as of the newest commit."""
        return await self._derived.current()

    async def change(self, plan: Callable[[View], Plan[T]]) -> T:
        """Make the changes that a plan asks for, planning again when others came between. Raises Contended."""
        planned: list[Plan[T]] = []

        async def transaction() -> Transaction:
            view = await self.current()
            planned[:] = [plan(view)]
            return Transaction((view.unchanged,), (*planned[0].changes, *self._first_key(view), Put(EPOCH, b"")))

        await decide(self._state, transaction)
        return planned[0].answer

    def _first_key(self, view: View) -> tuple[Change, ...]:
        """Make the key that all others are derived from, along with the first change."""
        if view.key("") is not None:
            return ()
        return (KEYS.put(Keys(self._vault.seal(secrets.token_bytes(_KEY_BYTES), PLACE_OF_KEYS)), "root"),)

    async def _read(self, state: State) -> View:
        for _ in range(_READ_ATTEMPTS):
            before = (await state.get((EPOCH,)))[EPOCH]
            records = await _records(state)
            if (await state.get((EPOCH,)))[EPOCH] == before:
                self._last = View(records, before, self._vault, self._last)
                return self._last
        raise Contended(_READ_ATTEMPTS, (EPOCH,))


async def _records(state: State) -> dict[Key, Record]:
    records: dict[Key, Record] = {}
    after: Key | None = None
    while True:  # ends with the last page: each page begins after the one before
        page = await state.scan(SHARING, after)
        records.update((record.key, record) for record in page.records)
        if (after := page.next_after) is None:
            return records
