"""The state port: one ordered map whose only write is an atomic compare-and-swap over several keys.

Laws that every implementation keeps, and that the conformance suite checks:

- A generation is the number of one applied commit. There is one counter for the whole map, it grows by one, and a
  record carries the generation that wrote it: a key deleted and made again never repeats a generation.
- `commit` checks every expectation and applies every change at one moment, or changes nothing.
- Once `commit` has answered, every process reads what it wrote, and no crash undoes it.
- `get` and one page of `scan` each see one moment; `dump` sees one moment from its first record to its last.
- Keys sort by their parts, see `lakeshare.state.keys`. A prefix means the keys with all its parts and at least one
  more, never the key that equals it.
- A commit whose receipt is already kept changes nothing and answers what the first one answered.
"""

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from lakeshare.state.keys import Key
from lakeshare.state.limits import MAX_PAGE_ROWS


@dataclass(frozen=True, slots=True)
class Record:
    """A key, its value, and the commit that wrote it."""

    key: Key
    value: bytes
    generation: int


@dataclass(frozen=True, slots=True)
class At:
    """Expect the key to be as one commit wrote it."""

    key: Key
    generation: int


@dataclass(frozen=True, slots=True)
class Absent:
    """Expect no such key."""

    key: Key


@dataclass(frozen=True, slots=True)
class Exists:
    """Expect the key, whatever its value."""

    key: Key


@dataclass(frozen=True, slots=True)
class Empty:
    """Expect no key under the prefix."""

    prefix: Key


Expectation = At | Absent | Exists | Empty


@dataclass(frozen=True, slots=True)
class Put:
    """Set a key's value."""

    key: Key
    value: bytes


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove a key; one that is not there is no error, so expect it where that matters."""

    key: Key


Change = Put | Delete


@dataclass(frozen=True, slots=True)
class Receipt:
    """What makes a commit safe to repeat.

    `owner` and `key` name the request, `digest` tells its content from another's, `answer` is what a repeat is told.
    """

    owner: str
    key: str
    digest: bytes
    answer: bytes
    lifetime_seconds: int


@dataclass(frozen=True, slots=True)
class KeptReceipt:
    """A receipt that a commit left, until `expires_at_ms` (Unix time)."""

    owner: str
    key: str
    digest: bytes
    answer: bytes
    generation: int
    expires_at_ms: int


@dataclass(frozen=True, slots=True)
class Transaction:
    """A commit as data: what must hold, and what then changes. No key changes twice.

    `note` goes into the change feed for whoever tells others of the change.
    """

    expect: tuple[Expectation, ...] = ()
    changes: tuple[Change, ...] = ()
    receipt: Receipt | None = None
    note: bytes = b""


@dataclass(frozen=True, slots=True)
class Applied:
    """The changes are made, under this generation."""

    generation: int


@dataclass(frozen=True, slots=True)
class Repeated:
    """The request was applied before, under this generation, and this was its answer."""

    generation: int
    answer: bytes


@dataclass(frozen=True, slots=True)
class Conflict:
    """Nothing is changed: these expectations do not hold, in the order they were given."""

    failed: tuple[Expectation, ...]


Outcome = Applied | Repeated | Conflict


@dataclass(frozen=True, slots=True)
class Page:
    """Records in order of their keys. `next_after` goes on where it ends, None is the end."""

    records: Sequence[Record]
    next_after: Key | None = None


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in the history of one map. An import begins a new epoch, since what follows it is another history."""

    epoch: str
    generation: int


@dataclass(frozen=True, slots=True)
class Changed:
    """A key that a commit put or deleted."""

    key: Key
    deleted: bool


@dataclass(frozen=True, slots=True)
class Committed:
    """One applied commit as the change feed tells it."""

    generation: int
    committed_at_ms: int
    changes: tuple[Changed, ...]
    note: bytes


@dataclass(frozen=True, slots=True)
class News:
    """The commits after a cursor, oldest first, and the cursor after them."""

    commits: Sequence[Committed]
    cursor: Cursor


@dataclass(frozen=True, slots=True)
class FellBehind:
    """Commits after the cursor are forgotten: read everything again, then go on from this one, which is the newest."""

    cursor: Cursor


class State(Protocol):
    """What rooms read and change."""

    async def get(self, keys: Sequence[Key]) -> Mapping[Key, Record | None]:
        """Return the records of keys at one moment. Raises BadKey, OverLimit."""
        ...

    async def scan(self, prefix: Key, after: Key | None = None, limit: int = MAX_PAGE_ROWS) -> Page:
        """Return one page of the records under a prefix, after a key. Raises BadKey, OverLimit."""
        ...

    async def commit(self, transaction: Transaction) -> Outcome:
        """Check and apply a transaction at one moment.

        Raises BadKey, BadTransaction, OverLimit, ReceiptReused; StateUnknown when it may have been applied.
        """
        ...

    async def receipt(self, owner: str, key: str) -> KeptReceipt | None:
        """Return a receipt that is kept and has not expired."""
        ...

    async def newest(self) -> Cursor:
        """Return the place of the newest commit: as long as it is the same, so is everything else."""
        ...

    def pulse(self) -> int:
        """Return a number at once, which is another after each commit that was answered.

        Only a process that dies while it commits may leave it as it was: ask for the newest commit now and then too.
        """
        ...

    async def changes(self, cursor: Cursor, limit: int = MAX_PAGE_ROWS) -> News | FellBehind:
        """Return the commits after a cursor, at most `limit`. Raises OverLimit."""
        ...

    async def close(self) -> None:
        """Finish what is under way and let go."""
        ...


@dataclass(frozen=True, slots=True)
class Head:
    """The first thing in a dump: the newest generation."""

    generation: int


Fact = Head | Record | KeptReceipt


class Archive(State, Protocol):
    """State that can be taken out and put back whole."""

    def dump(self) -> AsyncGenerator[Sequence[Fact], None]:
        """Yield runs of facts at one moment: the head, the records by key, the receipts by owner and key."""
        ...

    async def load(self, facts: Iterable[Fact], *, replace: bool = False) -> None:
        """Take facts in the order of a dump, all or none, and begin a new epoch. Raises NotEmpty."""
        ...

    async def check(self) -> Sequence[str]:
        """Return what is wrong with what is kept, nothing when all is well."""
        ...
