"""The directory of shares over state: what is shared with whom as of the newest commit, and atomic changes of it.

A change is planned on one moment and committed only if nothing of sharing has changed since. A worker sees a change of
any other in its next request: a token that was revoked is not let in again.
"""

import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from lakeshare.identity.vault import Vault
from lakeshare.sharing.records import EPOCH, KEYS, PLACE_OF_KEYS, Keys
from lakeshare.sharing.view import View
from lakeshare.state.derived import Derived
from lakeshare.state.epoch import Plan
from lakeshare.state.port import Absent, At, Change, State

T = TypeVar("T")
_KEY_BYTES = 32


class ShareDirectory:
    """Shares and recipients of one server, the same for all of its workers."""

    def __init__(self, state: State, vault: Vault) -> None:
        self._state = state
        self._vault = vault
        self._last: View | None = None
        self._derived = Derived(state, (EPOCH.prefix,), self._read)

    async def current(self) -> View:
        """Return all of sharing as of the newest commit."""
        return await self._derived.current()

    async def change(self, plan: Callable[[View], Plan[T]]) -> T:
        """Make the changes that a plan asks for, planning again when others came between. Raises Contended."""

        async def planned() -> tuple[At | Absent, Plan[T]]:
            view = await self.current()
            asked = plan(view)
            return view.unchanged, replace(asked, changes=(*asked.changes, *self._first_key(view)))

        return await EPOCH.change(self._state, planned)

    def _first_key(self, view: View) -> tuple[Change, ...]:
        """Make the key that all others are derived from, along with the first change."""
        if view.key("") is not None:
            return ()
        return (KEYS.put(Keys(self._vault.seal(secrets.token_bytes(_KEY_BYTES), PLACE_OF_KEYS)), "root"),)

    async def _read(self, state: State) -> View:
        records, epoch = await EPOCH.read(state)
        self._last = View(records, epoch, self._vault, self._last)
        return self._last
