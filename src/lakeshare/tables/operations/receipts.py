"""Requests that may be sent again: an Idempotency-Key leaves a receipt in the transaction of its effect.

A receipt remembers what a repeat must know of the effect, or that the request was refused for good.
"""

from dataclasses import dataclass

import orjson

from lakeshare.state.errors import ReceiptReused, StateUnknown
from lakeshare.state.port import Outcome, Receipt, Repeated, State, Transaction
from lakeshare.tables.errors import KeyReused, RefusedBefore

ADVERTISED = "PT30M"
LIFETIME_SECONDS = 3_600
"""Twice what is advertised (iceberg.md 1.10)."""
MAX_TEXT_CHARACTERS = 4_096
"""Of a refusal, as far as it is remembered."""
_REFUSED = b"!"
"""What the answer of a refusal begins with; no other does."""


@dataclass(frozen=True, slots=True)
class Once:
    """A request that is to have its effect once: whose it is, its key, and the digest that tells it from another."""

    owner: str
    key: str
    digest: bytes

    def receipt(self, *facts: str) -> Receipt:
        """Return what its transaction leaves, with the facts that a repeat is answered from."""
        return self._receipt(orjson.dumps(facts))

    def refusal(self, status: int, code: str, text: str) -> Receipt:
        """Return what its refusal leaves."""
        return self._receipt(_REFUSED + orjson.dumps((status, code, text[:MAX_TEXT_CHARACTERS])))

    def _receipt(self, answer: bytes) -> Receipt:
        return Receipt(self.owner, self.key, self.digest, answer, LIFETIME_SECONDS)


async def facts_of(state: State, once: Once | None) -> tuple[str, ...] | None:
    """Return the facts of a request that had its effect already; None for one that has not.

    Raises KeyReused, RefusedBefore.
    """
    if once is None:
        return None
    kept = await state.receipt(once.owner, once.key)
    if kept is None:
        return None
    if kept.digest != once.digest:
        raise KeyReused(once.key)
    return facts_in(kept.answer)


async def is_done(state: State, once: Once | None) -> bool:
    """Say whether a request had its effect already. Raises KeyReused, RefusedBefore."""
    return await facts_of(state, once) is not None


def facts_in(answer: bytes) -> tuple[str, ...]:
    """Read the facts of a receipt. Raises RefusedBefore where it is that of a refusal."""
    if answer.startswith(_REFUSED):
        raise RefusedBefore(*orjson.loads(answer[len(_REFUSED) :]))
    return tuple(orjson.loads(answer)) if answer else ()


async def commit_once(state: State, transaction: Transaction, once: Once | None, *facts: str) -> Outcome:
    """Commit with the receipt of a request. Raises KeyReused, RefusedBefore, and what commit raises.

    With a receipt a lost answer is asked for again: the transaction is applied once at most. After KeyReused and
    RefusedBefore it is certain that it was not applied.
    """
    if once is None:
        return await state.commit(transaction)
    kept = Transaction(transaction.expect, transaction.changes, once.receipt(*facts), transaction.note)
    try:
        outcome = await _committed(state, kept)
    except ReceiptReused:
        raise KeyReused(once.key) from None
    if isinstance(outcome, Repeated):
        facts_in(outcome.answer)
    return outcome


async def refuse_once(state: State, refusal: Receipt) -> bool:
    """Remember that a request was refused for good; return whether another with its key was ended before it.

    Raises StateUnknown: it may be that the other had its effect, so that nobody may be told that there was none.
    """
    try:
        outcome = await _committed(state, Transaction(receipt=refusal))
    except ReceiptReused:
        return False  # Another request had the key: this one is refused all the same.
    return isinstance(outcome, Repeated)


async def _committed(state: State, transaction: Transaction) -> Outcome:
    try:
        return await state.commit(transaction)
    except StateUnknown:
        return await state.commit(transaction)
