"""Read, decide, commit; and again from the start when others came between."""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable

from lakeshare.state.errors import Contended, StateUnknown
from lakeshare.state.port import Applied, Conflict, Expectation, Outcome, Repeated, State, Transaction

MAX_ATTEMPTS = 16
MAX_REPEATS = 3
FIRST_PAUSE_SECONDS = 0.001
LONGEST_PAUSE_SECONDS = 0.05
"""After a conflict, deciders wait a random while, twice as long each time, so that the same one does not always win."""


async def decide(
    state: State, plan: Callable[[], Awaitable[Transaction]], attempts: int = MAX_ATTEMPTS
) -> Applied | Repeated:
    """Commit what `plan` makes of the facts it reads, planning afresh after each conflict.

    `plan` must read what it relies on, expect that it is unchanged, and raise its room's error when the facts say so.
    Raises Contended, and what commit raises.
    """
    failed: tuple[Expectation, ...] = ()
    pause = FIRST_PAUSE_SECONDS
    for _ in range(attempts):
        outcome = await state.commit(await plan())
        if not isinstance(outcome, Conflict):
            return outcome
        failed = outcome.failed
        await asyncio.sleep(random.uniform(0, pause))  # noqa: S311 no secret hangs on it
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
    raise Contended(attempts, failed)


async def commit_surely(state: State, transaction: Transaction, repeats: int = MAX_REPEATS) -> Outcome:
    """Commit a transaction that has a receipt, repeating it when its answer is lost: it is applied once at most.

    Raises StateUnknown when every answer is lost, or at once when there is no receipt.
    """
    for _ in range(repeats if transaction.receipt is not None else 0):
        with contextlib.suppress(StateUnknown):
            return await state.commit(transaction)
    return await state.commit(transaction)
