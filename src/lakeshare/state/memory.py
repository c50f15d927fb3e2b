"""State in memory, for one process and one event loop: for tests, and for a server that keeps nothing."""

import time
from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from itertools import islice
from uuid import uuid4

from lakeshare.state import limits
from lakeshare.state.errors import NotEmpty, ReceiptReused
from lakeshare.state.keys import Key, decode_key, encode_key, range_below, range_under
from lakeshare.state.port import (
    Absent,
    Applied,
    At,
    Changed,
    Committed,
    Conflict,
    Cursor,
    Empty,
    Exists,
    Expectation,
    Fact,
    FellBehind,
    Head,
    KeptReceipt,
    News,
    Outcome,
    Page,
    Receipt,
    Record,
    Repeated,
    Transaction,
)
from lakeshare.state.prepared import Prepared, check_page, prepare, within

MILLISECONDS = 1_000


class MemoryState:
    """An Archive that lives as long as this value. No method suspends, so each is one moment."""

    def __init__(self, *, clock: Callable[[], float] = time.time, feed_entries: int = limits.FEED_ENTRIES) -> None:
        self._clock = clock
        self._epoch = uuid4().hex
        self._generation = 0
        self._order: list[bytes] = []
        self._records: dict[bytes, Record] = {}
        self._receipts: dict[tuple[str, str], KeptReceipt] = {}
        self._feed: deque[Committed] = deque(maxlen=feed_entries)

    async def get(self, keys: Sequence[Key]) -> Mapping[Key, Record | None]:
        """Return the records of keys."""
        within("keys read at once", len(keys), limits.MAX_GET_KEYS)
        return {key: self._records.get(encode_key(key)) for key in keys}

    async def scan(self, prefix: Key, after: Key | None = None, limit: int = limits.MAX_PAGE_ROWS) -> Page:
        """Return one page of the records under a prefix."""
        check_page(limit)
        low, high = range_under(prefix)
        start = bisect_left(self._order, low)
        if after is not None:
            start = max(start, bisect_right(self._order, encode_key(after)))
        stop = bisect_left(self._order, high)
        records: list[Record] = []
        size = 0
        for encoded in islice(self._order, start, min(stop, start + limit)):
            if records and size + len(self._records[encoded].value) > limits.MAX_PAGE_BYTES:
                break
            records.append(self._records[encoded])
            size += len(records[-1].value)
        return Page(tuple(records), records[-1].key if start + len(records) < stop else None)

    async def commit(self, transaction: Transaction) -> Outcome:
        """Check and apply a transaction."""
        prepared = prepare(transaction)
        if prepared.receipt is not None and (kept := self._repeat_of(prepared.receipt)) is not None:
            return Repeated(kept.generation, kept.answer)
        if failed := tuple(one for one, encoded in prepared.expect if not self._holds(one, encoded)):
            return Conflict(failed)
        self._generation += 1
        self._apply(prepared)
        return Applied(self._generation)

    async def receipt(self, owner: str, key: str) -> KeptReceipt | None:
        """Return a receipt that is kept and has not expired."""
        kept = self._receipts.get((owner, key))
        return kept if kept is not None and kept.expires_at_ms > self._now_ms() else None

    async def newest(self) -> Cursor:
        """Return the place of the newest commit."""
        return Cursor(self._epoch, self._generation)

    def pulse(self) -> int:
        """Return a number that every commit changes."""
        return hash((self._epoch, self._generation))

    async def changes(self, cursor: Cursor, limit: int = limits.MAX_PAGE_ROWS) -> News | FellBehind:
        """Return the commits after a cursor."""
        check_page(limit)
        missed = self._generation - cursor.generation
        if cursor.epoch != self._epoch or not 0 <= missed <= len(self._feed):
            return FellBehind(Cursor(self._epoch, self._generation))
        start = len(self._feed) - missed
        commits = tuple(islice(self._feed, start, start + limit))
        return News(commits, Cursor(self._epoch, cursor.generation + len(commits)))

    async def close(self) -> None:
        """Do nothing: there is nothing to let go of."""

    async def dump(self) -> AsyncGenerator[Sequence[Fact], None]:
        """Yield all facts, as they are when the first is asked for."""
        now = self._now_ms()
        records = [self._records[encoded] for encoded in self._order]
        kept = [self._receipts[name] for name in sorted(self._receipts, key=_by_bytes)]
        yield (Head(self._generation),)
        for start in range(0, len(records), limits.MAX_PAGE_ROWS):
            yield records[start : start + limits.MAX_PAGE_ROWS]
        yield [one for one in kept if one.expires_at_ms > now]

    async def load(self, facts: Iterable[Fact], *, replace: bool = False) -> None:
        """Take all facts, or none when one is wrong."""
        if self._generation and not replace:
            raise NotEmpty
        generation, records, receipts = 0, dict[bytes, Record](), dict[tuple[str, str], KeptReceipt]()
        for fact in facts:
            match fact:
                case Head():
                    generation = fact.generation
                case Record():
                    records[encode_key(fact.key)] = fact
                case KeptReceipt():
                    receipts[fact.owner, fact.key] = fact
        self._epoch, self._generation = uuid4().hex, generation
        self._records, self._order, self._receipts = records, sorted(records), receipts
        self._feed.clear()

    async def check(self) -> Sequence[str]:
        """Find nothing wrong: memory keeps what it was given."""
        return ()

    def _now_ms(self) -> int:
        return int(self._clock() * MILLISECONDS)

    def _repeat_of(self, receipt: Receipt) -> KeptReceipt | None:
        kept = self._receipts.get((receipt.owner, receipt.key))
        if kept is None or kept.expires_at_ms <= self._now_ms():
            return None
        if kept.digest != receipt.digest:
            raise ReceiptReused(receipt.owner, receipt.key)
        return kept

    def _holds(self, expectation: Expectation, encoded: bytes) -> bool:
        found = self._records.get(encoded)
        match expectation:
            case At():
                return found is not None and found.generation == expectation.generation
            case Absent():
                return found is None
            case Exists():
                return found is not None
            case Empty():
                low, high = range_below(encoded)
                return bisect_left(self._order, low) == bisect_left(self._order, high)

    def _apply(self, prepared: Prepared) -> None:
        for encoded, value in prepared.changes:
            if value is None:
                if self._records.pop(encoded, None) is not None:
                    del self._order[bisect_left(self._order, encoded)]
                continue
            if encoded not in self._records:
                insort(self._order, encoded)
            self._records[encoded] = Record(decode_key(encoded), value, self._generation)
        if prepared.receipt is not None:
            self._keep(prepared.receipt)
        changes = tuple(Changed(decode_key(encoded), value is None) for encoded, value in prepared.changes)
        self._feed.append(Committed(self._generation, self._now_ms(), changes, prepared.note))

    def _keep(self, receipt: Receipt) -> None:
        now = self._now_ms()
        expired = [name for name, kept in self._receipts.items() if kept.expires_at_ms <= now]
        for name in expired[: limits.RECEIPT_SWEEP]:
            del self._receipts[name]
        self._receipts[receipt.owner, receipt.key] = KeptReceipt(
            receipt.owner,
            receipt.key,
            receipt.digest,
            receipt.answer,
            self._generation,
            now + receipt.lifetime_seconds * MILLISECONDS,
        )


def _by_bytes(name: tuple[str, str]) -> tuple[bytes, bytes]:
    return name[0].encode(), name[1].encode()
