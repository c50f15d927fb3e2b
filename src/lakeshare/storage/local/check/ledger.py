"""Who holds what, added up in a temporary database, which spills to disk where memory would not hold it."""

from collections.abc import Iterator
from typing import Any

import apsw

from lakeshare.storage.local.segments import Stored, is_whole, unpack

Row = tuple[Any, ...]

_TABLES = """
CREATE TABLE blob (
    id BLOB PRIMARY KEY, refs INTEGER, size INTEGER, crc64 INTEGER, found INTEGER DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE held (id BLOB PRIMARY KEY, refs INTEGER, extent INTEGER) WITHOUT ROWID;
CREATE TABLE inline (id INTEGER PRIMARY KEY, refs INTEGER);
CREATE TABLE composed (label TEXT, size INTEGER, crc64 INTEGER, content BLOB);
"""
_HOLD = """INSERT INTO held (id, refs, extent) VALUES (?, 1, ?)
    ON CONFLICT DO UPDATE SET refs = refs + 1, extent = max(extent, excluded.extent)"""


class Ledger:
    """What rows hold, and what blobs there are to be. Close it."""

    def __init__(self) -> None:
        self._connection = apsw.Connection("")
        self._connection.execute(_TABLES)
        self._connection.execute("BEGIN")

    def close(self) -> None:
        """Throw it away."""
        self._connection.close()

    def hold(self, label: str, size: int, crc64: int, content: Stored) -> int:
        """Note what one row holds; return how many bytes that is."""
        total = 0
        for source, offset, length in unpack(content, size):
            total += length
            if isinstance(source, int):
                self._connection.execute(
                    "INSERT INTO inline (id, refs) VALUES (?, 1) ON CONFLICT DO UPDATE SET refs = refs + 1", (source,)
                )
            else:
                self._connection.execute(_HOLD, (source, offset + length))
        if content is not None and not is_whole(content):
            self._connection.execute("INSERT INTO composed VALUES (?, ?, ?, ?)", (label, size, crc64, content))
        return total

    def add_blob(self, blob: bytes, refs: int, size: int, crc64: int) -> None:
        """Note a blob that the index knows."""
        self._connection.execute(
            "INSERT INTO blob (id, refs, size, crc64) VALUES (?, ?, ?, ?)", (blob, refs, size, crc64)
        )

    def wrong_references(self) -> Iterator[tuple[bytes, int, int]]:
        """Yield blobs whose count differs from the rows that hold them: id, count, holders."""
        yield from self._connection.execute(
            """SELECT blob.id, blob.refs, coalesce(held.refs, 0) FROM blob LEFT JOIN held USING (id)
            WHERE blob.refs IS NOT coalesce(held.refs, 0)"""
        )

    def unknown_blobs(self) -> Iterator[bytes]:
        """Yield blobs that rows hold and the index does not know."""
        for row in self._connection.execute("SELECT id FROM held WHERE id NOT IN (SELECT id FROM blob)"):
            yield row[0]

    def short_blobs(self) -> Iterator[tuple[bytes, int, int]]:
        """Yield blobs that are shorter than what rows read of them: id, size, extent."""
        yield from self._connection.execute(
            "SELECT blob.id, blob.size, held.extent FROM blob JOIN held USING (id) WHERE held.extent > blob.size"
        )

    def inline_holders(self, number: int) -> int:
        """Return how many rows hold a small payload, and strike it off."""
        row = self._connection.execute("DELETE FROM inline WHERE id = ? RETURNING refs", (number,)).fetchone()
        return 0 if row is None else int(row[0])

    def inline_left(self) -> list[int]:
        """Return the small payloads that rows hold and that were not struck off."""
        return [int(row[0]) for row in self._connection.execute("SELECT id FROM inline")]

    def find(self, blob: bytes) -> tuple[int, int] | None:
        """Note that a blob's file is there; return the size and the sum it must have."""
        row = self._connection.execute(
            "UPDATE blob SET found = 1 WHERE id = ? RETURNING size, crc64", (blob,)
        ).fetchone()
        return None if row is None else (int(row[0]), int(row[1]))

    def not_found(self) -> list[bytes]:
        """Return the blobs whose files were not there."""
        return [row[0] for row in self._connection.execute("SELECT id FROM blob WHERE NOT found")]

    def blob_count(self) -> int:
        """Return how many blobs there are to be."""
        return int(self._connection.execute("SELECT count(*) FROM blob").get)

    def composed(self) -> Iterator[Row]:
        """Yield the rows made of several stretches: label, size, sum, content."""
        yield from self._connection.cursor().execute("SELECT label, size, crc64, content FROM composed")
