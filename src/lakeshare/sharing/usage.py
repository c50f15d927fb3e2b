"""What each recipient read of each table, and when each credential was last used.

A worker counts in memory and writes now and then, a bounded number of facts at once, under keys of its own: no two
workers write the same one, and nothing is committed for a request. What a crash takes is what was counted since.
These keys lie beside those of sharing, so that a count is no change of what is shared.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace

from lakeshare.errors import LakeshareError
from lakeshare.sharing.view import Access, View
from lakeshare.state.keyspace import Keyspace
from lakeshare.state.port import Change, Delete, State, Transaction

FLUSH_SECONDS = 10.0
BATCH = 250
"""Facts of each kind written by one commit: as many as state reads at once."""
KEPT = 10_000
"""Facts that wait in memory; of more tables than that, what is read between two flushes counts for their share."""
USED_STEP_SECONDS = 30
"""How exactly it is known when a credential was last used."""
SWEEPER = 0
"""The worker that clears what belongs to nobody any more."""
SWEEP_SECONDS = 3_600.0
REMEMBERED_SECONDS = 400 * 86_400
"""How long it is known what a recipient read that is not there any more: a year's bill can be written."""
FEW = 50
"""Credentials that are looked up one by one; of more, all are read."""
OTHERS = "*"
"""Stands for the tables for which there was no room."""
_log = logging.getLogger("lakeshare.sharing")


@dataclass(frozen=True, slots=True)
class Counts:
    """What was read: queries answered, files named in them, the bytes of those files; and the names of then."""

    queries: int = 0
    files: int = 0
    bytes: int = 0
    last_at: int = 0
    table: str = ""
    share: str = ""
    recipient: str = ""

    def plus(self, other: "Counts") -> "Counts":
        """Add two counts."""
        return Counts(
            self.queries + other.queries,
            self.files + other.files,
            self.bytes + other.bytes,
            max(self.last_at, other.last_at),
            other.table or self.table,
            other.share or self.share,
            other.recipient or self.recipient,
        )


@dataclass(frozen=True, slots=True)
class Use:
    """When, and from where, a credential was last used."""

    at: int
    peer: str = ""


@dataclass(frozen=True, slots=True)
class Subject:
    """Who read what, by their ids."""

    recipient: str
    share: str
    table: str


COUNTS = Keyspace(("usage", "sharing"), Counts)
"""By recipient, share, table and worker."""
USES = Keyspace(("usage", "credential"), Use)
"""By credential and worker."""


class Ledger:
    """What one worker has counted, and writes down."""

    def __init__(self, state: State, worker: int, current: Callable[[], Awaitable[View]] | None = None) -> None:
        """Take state, the worker's number, and what tells which credentials and recipients there are."""
        self._state = state
        self._worker = str(worker)
        self._current = current if worker == SWEEPER else None
        self._swept_at = 0.0
        self._counts: dict[Subject, Counts] = {}
        self._uses: dict[str, Use] = {}
        self._written: dict[str, int] = {}

    def count(self, subject: Subject, counts: Counts) -> None:
        """Count what a recipient read."""
        if subject not in self._counts and len(self._counts) >= KEPT:
            subject, counts = replace(subject, table=OTHERS), replace(counts, table=OTHERS)
        self._counts[subject] = self._counts.get(subject, Counts()).plus(counts)

    def used(self, access: Access, now: float, peer: str) -> None:
        """Note that a credential was used; not oftener than is worth writing."""
        credential = access.credential.id
        if now - self._written.get(credential, 0) < USED_STEP_SECONDS:
            return
        if len(self._written) >= KEPT:
            self._written.clear()
        if len(self._uses) < KEPT:
            self._written[credential] = int(now)
            self._uses[credential] = Use(int(now), peer)

    async def flush(self) -> None:
        """Write down what was counted since; what cannot be written now is kept for the next time."""
        counts, self._counts = self._counts, {}
        uses, self._uses = self._uses, {}
        try:
            while counts or uses:
                await self._write(counts, uses)
        except LakeshareError as error:
            _log.warning("usage was not written", extra={"reason": error.message})
            for subject, held in counts.items():
                self.count(subject, held)
            self._uses = uses | self._uses

    async def _write(self, counts: dict[Subject, Counts], uses: dict[str, Use]) -> None:
        """Write one batch, and take it out of what waits."""
        subjects, credentials = list(counts)[:BATCH], list(uses)[:BATCH]
        parts = [(each.recipient, each.share, each.table, self._worker) for each in subjects]
        keys = [COUNTS.prefix + each for each in parts]
        held = await self._state.get(keys) if keys else {}
        changes: list[Change] = []
        for subject, each, key in zip(subjects, parts, keys, strict=True):
            record = held[key]
            before = Counts() if record is None else COUNTS.read(record).value
            changes.append(COUNTS.put(before.plus(counts[subject]), *each))
        changes += [USES.put(uses[each], each, self._worker) for each in credentials]
        await self._state.commit(Transaction(changes=tuple(changes)))
        for subject in subjects:
            del counts[subject]
        for credential in credentials:
            del uses[credential]

    @asynccontextmanager
    async def kept(self) -> AsyncIterator["Ledger"]:
        """Flush every now and then for as long as the block lasts, and once at its end."""
        stopping = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep(stopping))
            try:
                yield self
            finally:
                stopping.set()

    async def _keep(self, stopping: asyncio.Event) -> None:
        while not stopping.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), FLUSH_SECONDS)
            await self.flush()
            if self._current is not None and time.monotonic() - self._swept_at > SWEEP_SECONDS:
                self._swept_at = time.monotonic()
                with suppress(LakeshareError):
                    await clear_gone(self._state, await self._current(), time.time())


async def last_used(state: State, credentials: Sequence[str]) -> dict[str, int]:
    """Return when credentials were last used, as far as it is written down."""
    found: dict[str, int] = {}
    wanted = frozenset(credentials)
    for part in [(each,) for each in wanted] if len(wanted) <= FEW else [()]:
        async for stored in USES.all(state, *part):
            credential = str(stored.key[-2])
            if credential in wanted:
                found[credential] = max(found.get(credential, 0), stored.value.at)
    return found


async def clear_gone(state: State, view: View, now: float) -> int:
    """Clear the uses of credentials that are gone, and old counts of recipients that are; say how many."""
    gone: list[Change] = []
    async for use in USES.all(state):
        credential = str(use.key[-2])
        if view.token(credential) is None and view.client(credential) is None:
            gone.append(Delete(use.key))
    async for counted in COUNTS.all(state):
        recipient = str(counted.key[len(COUNTS.prefix)])
        if counted.value.last_at + REMEMBERED_SECONDS < now and view.recipient_by_id(recipient) is None:
            gone.append(Delete(counted.key))
    for start in range(0, len(gone), BATCH):
        await state.commit(Transaction(changes=tuple(gone[start : start + BATCH])))
    return len(gone)


async def totals(state: State) -> dict[Subject, Counts]:
    """Return what each recipient read of each table, over all workers."""
    found: dict[Subject, Counts] = {}
    async for stored in COUNTS.all(state):
        recipient, share, table = (str(part) for part in stored.key[len(COUNTS.prefix) : -1])
        subject = Subject(recipient, share, table)
        found[subject] = found.get(subject, Counts()).plus(stored.value)
    return found
