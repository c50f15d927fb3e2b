"""The directory of identities over state: who a key is, as of the newest commit of any worker, and atomic changes.

Reading needs one probe of state for each request (`current`); what follows works on values in memory. A change is
planned on one moment and committed only if no identity has changed since, so that a plan may rely on all it read.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from lakeshare.identity.caller import Caller
from lakeshare.identity.records import EPOCH, IDENTITY
from lakeshare.identity.register import Register
from lakeshare.identity.vault import Vault
from lakeshare.identity.view import RootKey, View, sealer_of
from lakeshare.settings import Secret
from lakeshare.state.decide import decide
from lakeshare.state.derived import Derived
from lakeshare.state.errors import Contended
from lakeshare.state.keys import Key
from lakeshare.state.port import Change, Put, Record, State, Transaction

T = TypeVar("T")
_READ_ATTEMPTS = 8


@dataclass(frozen=True, slots=True)
class Plan(Generic[T]):
    """Changes of identities, and what to answer once they are made."""

    changes: tuple[Change, ...]
    answer: T


class Directory:
    """Identities of one server, shared by its workers through state."""

    def __init__(self, state: State, vault: Vault, root: RootKey) -> None:
        self._state = state
        self._vault = vault
        self._root = root
        self._derived = Derived(state, (IDENTITY,), self._read)

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
        planned: list[Plan[T]] = []

        async def transaction() -> Transaction:
            view = await self.current()
            planned[:] = [plan(view)]
            return Transaction((view.register.unchanged,), (*planned[0].changes, Put(EPOCH, b"")))

        await decide(self._state, transaction)
        return planned[0].answer

    async def _read(self, state: State) -> View:
        for _ in range(_READ_ATTEMPTS):
            before = (await state.get((EPOCH,)))[EPOCH]
            records = await _records(state)
            if (await state.get((EPOCH,)))[EPOCH] == before:
                register = Register(records, before)
                return View(register, self._vault, self._root, sealer_of(register, self._vault))
        raise Contended(_READ_ATTEMPTS, (EPOCH,))


async def _records(state: State) -> dict[Key, Record]:
    records: dict[Key, Record] = {}
    after: Key | None = None
    while True:  # ends with the last page: each page begins after the one before
        page = await state.scan(IDENTITY, after)
        records.update((record.key, record) for record in page.records)
        if (after := page.next_after) is None:
            return records
