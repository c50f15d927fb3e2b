"""A state whose commits go wrong as planned: what rooms test themselves against.

    faulty = Faulty(MemoryState(), [Fault.NONE, Fault.DROP_ANSWER])

The first commit passes, the answer of the second is lost, and all that follow pass. Reads always pass, but nothing
does after a crash until `restart`.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum

from lakeshare.state.errors import StateUnavailable, StateUnknown
from lakeshare.state.keys import Key
from lakeshare.state.limits import MAX_PAGE_ROWS
from lakeshare.state.port import Cursor, FellBehind, KeptReceipt, News, Outcome, Page, Record, State, Transaction


class Fault(Enum):
    """What happens to one commit."""

    NONE = "it is applied and answered"
    DROP_ANSWER = "it is applied, and the answer is lost"
    DROP_REQUEST = "it never arrives, and no answer comes"
    DELAY = "it waits until `release`, while others overtake it"
    DUPLICATE = "it arrives twice, and the second answer comes back"
    CRASH_BEFORE = "the process dies before it is applied"
    CRASH_AFTER = "the process dies after it is applied"


class Crashed(BaseException):
    """The process is gone: no handler of the code under test may live on to catch it."""


class Faulty:
    """A State around another, with a plan of faults for its commits."""

    def __init__(self, state: State, plan: Iterable[Fault] = ()) -> None:
        self._state = state
        self._plan = iter(plan)
        self._released = asyncio.Event()
        self._crashed = False
        self.applied = 0
        """Commits that reached the state inside."""

    async def get(self, keys: Sequence[Key]) -> Mapping[Key, Record | None]:
        self._check_alive()
        return await self._state.get(keys)

    async def scan(self, prefix: Key, after: Key | None = None, limit: int = MAX_PAGE_ROWS) -> Page:
        self._check_alive()
        return await self._state.scan(prefix, after, limit)

    async def receipt(self, owner: str, key: str) -> KeptReceipt | None:
        self._check_alive()
        return await self._state.receipt(owner, key)

    async def newest(self) -> Cursor:
        self._check_alive()
        return await self._state.newest()

    async def changes(self, cursor: Cursor, limit: int = MAX_PAGE_ROWS) -> News | FellBehind:
        self._check_alive()
        return await self._state.changes(cursor, limit)

    async def close(self) -> None:
        await self._state.close()

    async def commit(self, transaction: Transaction) -> Outcome:
        self._check_alive()
        match next(self._plan, Fault.NONE):
            case Fault.NONE:
                return await self._pass(transaction)
            case Fault.DROP_ANSWER:
                await self._pass(transaction)
                raise StateUnknown("the answer was lost")
            case Fault.DROP_REQUEST:
                raise StateUnknown("no answer came")
            case Fault.DELAY:
                await self._released.wait()
                return await self._pass(transaction)
            case Fault.DUPLICATE:
                await self._pass(transaction)
                return await self._pass(transaction)
            case Fault.CRASH_BEFORE:
                self._crash()
            case Fault.CRASH_AFTER:
                await self._pass(transaction)
                self._crash()
        raise AssertionError("unreachable")

    def release(self) -> None:
        """Let delayed commits, and those to come, go on."""
        self._released.set()

    def restart(self) -> None:
        """Come back after a crash with what was applied."""
        self._crashed = False

    async def _pass(self, transaction: Transaction) -> Outcome:
        self.applied += 1
        return await self._state.commit(transaction)

    def _crash(self) -> None:
        self._crashed = True
        raise Crashed

    def _check_alive(self) -> None:
        if self._crashed:
            raise StateUnavailable("the process is gone; call restart")
