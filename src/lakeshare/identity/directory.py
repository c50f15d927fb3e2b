"""The directory of identities over state: who a key is, as of the newest commit of any worker, and atomic changes.

Reading needs one probe of state for each request (`current`); what follows works on values in memory. A change is
planned on one moment and committed only if no identity has changed since, so that a plan may rely on all it read.
"""

from collections.abc import Callable
from typing import TypeVar

from lakeshare.identity.caller import Caller
from lakeshare.identity.records import EPOCH
from lakeshare.identity.register import Register
from lakeshare.identity.vault import Vault
from lakeshare.identity.view import RootKey, View, sealer_of
from lakeshare.settings import Secret
from lakeshare.state.derived import Derived
from lakeshare.state.epoch import Plan
from lakeshare.state.port import Absent, At, State

T = TypeVar("T")


class Directory:
    """Identities of one server, shared by its workers through state."""

    def __init__(self, state: State, vault: Vault, root: RootKey) -> None:
        self._state = state
        self._vault = vault
        self._root = root
        self._derived = Derived(state, (EPOCH.prefix,), self._read)

    def at_hand(self) -> View | None:
        """Return all identities as of the newest commit, if that needs no question to state."""
        return self._derived.at_hand()

    async def current(self) -> View:
        """Return all identities as of the newest commit."""
        return await self._derived.current()

    @property
    def reuse(self) -> tuple[int, int]:
        """Return how often identities were at hand, and how often they were read."""
        return self._derived.reused, self._derived.made

    async def secret_of(self, access_key: str, session_token: Secret | None = None) -> Secret | None:
        """Return the secret that a key signs with, see `View.secret_of`."""
        return (await self.current()).secret_of(access_key, session_token)

    async def resolve(self, access_key: str, session_token: Secret | None, now: float) -> Caller:
        """Return the caller that a key stands for, see `View.resolve`."""
        return (await self.current()).resolve(access_key, session_token, now)

    async def change(self, plan: Callable[[View], Plan[T]]) -> T:
        """Make the changes that a plan asks for, planning again when others came between. Raises Contended."""

        async def planned() -> tuple[At | Absent, Plan[T]]:
            view = await self.current()
            return view.register.unchanged, plan(view)

        return await EPOCH.change(self._state, planned)

    async def _read(self, state: State) -> View:
        register = Register(*await EPOCH.read(state))
        return View(register, self._vault, self._root, sealer_of(register, self._vault))
