"""The SQL of state: its schema, and each verb as a function of a cursor. Knows no thread, no loop and no file."""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import apsw

from lakeshare.sqlite.readers import snapshot
from lakeshare.sqlite.schema import Schema
from lakeshare.state import limits
from lakeshare.state.errors import NotEmpty, ReceiptReused
from lakeshare.state.keys import Key, decode_key, encode_key, encode_prefix, range_below
from lakeshare.state.port import (
    Absent,
    Applied,
    At,
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
)
from lakeshare.state.prepared import Prepared, pack_changes, unpack_changes

MILLISECONDS = 1_000
FORGET_EVERY = 64
"""Commits after which the feed is cut to its bound: doing it by each would be one more statement for all of them."""

SCHEMA = Schema(
    application_id=0x4C53_5354,  # "LSST"
    steps=(
        """
        CREATE TABLE store(id INTEGER PRIMARY KEY CHECK (id = 1), epoch TEXT NOT NULL, base INTEGER NOT NULL) STRICT;
        INSERT INTO store VALUES (1, lower(hex(randomblob(16))), 0);
        CREATE TABLE records(key BLOB PRIMARY KEY, generation INTEGER NOT NULL, value BLOB NOT NULL)
            STRICT, WITHOUT ROWID;
        CREATE TABLE commits(generation INTEGER PRIMARY KEY, committed_at_ms INTEGER NOT NULL, changes BLOB NOT NULL,
            note BLOB NOT NULL) STRICT;
        CREATE TABLE receipts(owner TEXT NOT NULL, key TEXT NOT NULL, digest BLOB NOT NULL, answer BLOB NOT NULL,
            generation INTEGER NOT NULL, expires_at_ms INTEGER NOT NULL, PRIMARY KEY (owner, key))
            STRICT, WITHOUT ROWID;
        CREATE INDEX receipts_by_expiry ON receipts(expires_at_ms);
        """,
    ),
)
"""`commits` is the change feed; its newest row, or `base` after an import, is the newest generation."""

GET_ONE = "SELECT generation, value FROM records WHERE key = ?"
GET_MANY = "SELECT key, generation, value FROM records WHERE key IN ({})"
SCAN = "SELECT key, generation, value FROM records WHERE key > ? AND key < ? ORDER BY key LIMIT ?"
NEWEST = "SELECT epoch, coalesce((SELECT max(generation) FROM commits), base) FROM store"
COMMITS = """
    SELECT generation, committed_at_ms, changes, note FROM commits WHERE generation > ? ORDER BY generation LIMIT ?
"""
GENERATION_OF = "SELECT generation FROM records WHERE key = ?"
ANY_BETWEEN = "SELECT 1 FROM records WHERE key >= ? AND key < ? LIMIT 1"
RECORD = """
    INSERT INTO records(key, generation, value) VALUES (?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET generation = excluded.generation, value = excluded.value
"""
REMOVE = "DELETE FROM records WHERE key = ?"
COMMITTED = """
    INSERT INTO commits(generation, committed_at_ms, changes, note)
    SELECT 1 + coalesce((SELECT max(generation) FROM commits), base), ?, ?, ? FROM store
"""
FORGET = "DELETE FROM commits WHERE generation <= ?"
RECEIPT = "SELECT owner, key, digest, answer, generation, expires_at_ms FROM receipts WHERE owner = ? AND key = ?"
RECEIPTS = """
    SELECT owner, key, digest, answer, generation, expires_at_ms FROM receipts WHERE expires_at_ms > ?
    ORDER BY owner, key
"""
KEEP = "INSERT OR REPLACE INTO receipts VALUES (?, ?, ?, ?, ?, ?)"
SWEEP = """
    DELETE FROM receipts WHERE (owner, key) IN
    (SELECT owner, key FROM receipts WHERE expires_at_ms <= ? ORDER BY expires_at_ms LIMIT ?)
"""


def get(cursor: apsw.Cursor, keys: Sequence[Key]) -> Mapping[Key, Record | None]:
    """Read the records of keys with one statement, which is one moment."""
    if len(keys) == 1:
        key = keys[0]
        rows = _all(cursor, GET_ONE, (encode_key(key),))
        return {key: Record(key, rows[0][1], rows[0][0]) if rows else None}
    encoded = [encode_key(key) for key in keys]
    found = {row[0]: row for row in _all(cursor, GET_MANY.format(",".join("?" * len(encoded))), encoded)}
    return {
        key: Record(key, found[blob][2], found[blob][1]) if blob in found else None
        for key, blob in zip(keys, encoded, strict=True)
    }


def scan(cursor: apsw.Cursor, prefix: Key, after: Key | None, limit: int) -> Page:
    """Read one page under a prefix."""
    encoded_prefix = encode_prefix(prefix)
    low, high = range_below(encoded_prefix)
    shared = len(encoded_prefix)
    # No key ends with a tag, so none equals `low`, and "after" serves as "from".
    start = low if after is None else max(low, encode_key(after))
    records: list[Record] = []
    size = 0
    with closing(cursor.connection.cursor()) as rows:
        for key, generation, value in rows.execute(SCAN, (start, high, limit + 1)):
            size += len(value)
            if len(records) == limit or (records and size > limits.MAX_PAGE_BYTES):
                return Page(tuple(records), records[-1].key)
            records.append(Record(prefix + decode_key(key[shared:]), value, generation))
    return Page(tuple(records))


def newest(cursor: apsw.Cursor) -> Cursor:
    """Read the place of the newest commit."""
    return Cursor(*_all(cursor, NEWEST)[0])


def changes(cursor: apsw.Cursor, place: Cursor, limit: int, feed_entries: int) -> News | FellBehind:
    """Read the feed after a place; rows that are due to be forgotten are forgotten already."""
    with snapshot(cursor):
        now = newest(cursor)
        rows = _all(cursor, COMMITS, (place.generation, limit))
    if place == now:
        return News((), now)
    if place.epoch != now.epoch or place.generation < now.generation - feed_entries:
        return FellBehind(now)
    if not rows or rows[0][0] != place.generation + 1:
        return FellBehind(now)
    commits = tuple(Committed(row[0], row[1], tuple(unpack_changes(row[2])), row[3]) for row in rows)
    return News(commits, Cursor(now.epoch, commits[-1].generation))


def receipt(cursor: apsw.Cursor, owner: str, key: str, now_ms: int) -> KeptReceipt | None:
    """Read a receipt that has not expired."""
    rows = _all(cursor, RECEIPT, (owner, key))
    return KeptReceipt(*rows[0]) if rows and rows[0][5] > now_ms else None


def commit(cursor: apsw.Cursor, prepared: Prepared, now_ms: int, feed_entries: int) -> Outcome:
    """Check and apply a transaction within the one that is open."""
    if prepared.receipt is not None and (kept := _repeat_of(cursor, prepared.receipt, now_ms)) is not None:
        return Repeated(kept.generation, kept.answer)
    if failed := tuple([one for one, encoded in prepared.expect if not _holds(cursor, one, encoded)]):
        return Conflict(failed)
    cursor.execute(COMMITTED, (now_ms, pack_changes(prepared.changes), prepared.note))
    generation = cursor.connection.last_insert_rowid()
    for encoded, value in prepared.changes:
        if value is None:
            cursor.execute(REMOVE, (encoded,))
        else:
            cursor.execute(RECORD, (encoded, generation, value))
    if prepared.receipt is not None:
        _keep(cursor, prepared.receipt, generation, now_ms)
    if generation % FORGET_EVERY == 0:
        cursor.execute(FORGET, (generation - feed_entries,))
    return Applied(generation)


def dump(connection: apsw.Connection, now_ms: int) -> Generator[Fact, None, None]:
    """Read everything in one snapshot, which lasts until the iterator is closed."""
    with snapshot(connection.cursor()) as cursor:
        yield Head(newest(cursor).generation)
        for key, generation, value in connection.execute("SELECT key, generation, value FROM records ORDER BY key"):
            yield Record(decode_key(key), value, generation)
        for row in connection.execute(RECEIPTS, (now_ms,)):
            yield KeptReceipt(*row)


def load(cursor: apsw.Cursor, facts: Iterable[Fact], *, replace: bool) -> None:
    """Put facts in place of what is there. Raises NotEmpty."""
    if newest(cursor).generation and not replace:
        raise NotEmpty
    for table in ("records", "commits", "receipts"):
        cursor.execute(f"DELETE FROM {table}")  # noqa: S608 the names stand above
    renew_epoch(cursor)
    for fact in facts:
        match fact:
            case Head():
                cursor.execute("UPDATE store SET base = ?", (fact.generation,))
            case Record():
                cursor.execute(RECORD, (encode_key(fact.key), fact.generation, fact.value))
            case KeptReceipt():
                kept = (fact.owner, fact.key, fact.digest, fact.answer, fact.generation, fact.expires_at_ms)
                cursor.execute(KEEP, kept)


def renew_epoch(cursor: apsw.Cursor) -> None:
    """Begin another history, so that cursors of the old one are refused."""
    cursor.execute("UPDATE store SET epoch = lower(hex(randomblob(16)))")


def faults(cursor: apsw.Cursor) -> Iterator[str]:
    """Find records and commits that no commit can have written."""
    with snapshot(cursor):
        last = newest(cursor).generation
        for (key,) in _all(cursor, "SELECT key FROM records WHERE generation > ? OR generation < 1", (last,)):
            yield f"record {decode_key(key)!r} carries a generation that was never reached"
        count, first, top = _all(cursor, "SELECT count(*), min(generation), max(generation) FROM commits")[0]
        if count and top - first + 1 != count:
            yield f"the change feed holds {count} commits from {first} to {top}"


def _all(cursor: apsw.Cursor, statement: str, bindings: Sequence[int | str | bytes] = ()) -> list[Any]:
    """Read a statement to its end: one that is left open would keep its snapshot, and later reads would be old."""
    return cursor.execute(statement, bindings).fetchall()


def _repeat_of(cursor: apsw.Cursor, asked: Receipt, now_ms: int) -> KeptReceipt | None:
    kept = receipt(cursor, asked.owner, asked.key, now_ms)
    if kept is not None and kept.digest != asked.digest:
        raise ReceiptReused(asked.owner, asked.key)
    return kept


def _holds(cursor: apsw.Cursor, expectation: Expectation, encoded: bytes) -> bool:
    if isinstance(expectation, Empty):
        return not _all(cursor, ANY_BETWEEN, range_below(encoded))
    found = _all(cursor, GENERATION_OF, (encoded,))
    match expectation:
        case At():
            return found == [(expectation.generation,)]
        case Absent():
            return not found
        case Exists():
            return bool(found)


def _keep(cursor: apsw.Cursor, asked: Receipt, generation: int, now_ms: int) -> None:
    cursor.execute(SWEEP, (now_ms, limits.RECEIPT_SWEEP))
    expires_at_ms = now_ms + asked.lifetime_seconds * MILLISECONDS
    cursor.execute(KEEP, (asked.owner, asked.key, asked.digest, asked.answer, generation, expires_at_ms))
