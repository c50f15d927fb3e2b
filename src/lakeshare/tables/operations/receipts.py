"""Requests that may be sent again: an Idempotency-Key leaves a receipt in the transaction of its effect."""

from dataclasses import dataclass

from lakeshare.state.errors import ReceiptReused, StateUnknown
from lakeshare.state.port import Outcome, Receipt, State, Transaction
from lakeshare.tables.errors import KeyReused

ADVERTISED = "PT30M"
LIFETIME_SECONDS = 3_600
"""Twice what is advertised (iceberg.md 1.10)."""


@dataclass(frozen=True, slots=True)
class Once:
    """A request that is to have its effect once: whose it is, its key, and the digest that tells it from another."""

    owner: str
    key: str
    digest: bytes

    @property
    def receipt(self) -> Receipt:
        """What its transaction leaves."""
        return Receipt(self.owner, self.key, self.digest, b"", LIFETIME_SECONDS)


async def is_done(state: State, once: Once | None) -> bool:
    """Say whether a request had its effect already. Raises KeyReused."""
    if once is None:
        return False
    kept = await state.receipt(once.owner, once.key)
    if kept is None:
        return False
    if kept.digest != once.digest:
        raise KeyReused(once.key)
    return True


async def commit_once(state: State, transaction: Transaction, once: Once | None) -> Outcome:
    """Commit with the receipt of a request. Raises KeyReused, and what commit raises.

    With a receipt a lost answer is asked for again: the transaction is applied once at most.
    """
    if once is None:
        return await state.commit(transaction)
    kept = Transaction(transaction.expect, transaction.changes, once.receipt, transaction.note)
    try:
        return await state.commit(kept)
    except ReceiptReused:
        raise KeyReused(once.key) from None
    except StateUnknown:
        return await state.commit(kept)
