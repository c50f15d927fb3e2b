"""Point reads: one statement for the common case, on the calling thread, since a hop to another costs more."""

import asyncio
from collections.abc import Callable, Generator
from typing import TypeGuard, TypeVar

import apsw

from lakeshare.sqlite.errors import DatabaseError
from lakeshare.sqlite.readers import Readers, first, snapshot
from lakeshare.storage.errors import ContentLost, StoreFailed
from lakeshare.storage.hashing import crc64nvme
from lakeshare.storage.local.content import InlineContent, SegmentContent
from lakeshare.storage.local.index import objects, rows
from lakeshare.storage.local.index.rows import CONTENT, CRC64, VERSION_COLUMNS, Row
from lakeshare.storage.local.layout import Layout
from lakeshare.storage.local.remembered import Remembered
from lakeshare.storage.local.segments import BLOB_ID_BYTES
from lakeshare.storage.port import LATEST, Content, ObjectInfo, Opened, VersionRef

T = TypeVar("T")

STATEMENTS_A_SLICE = 64
"""Statements of a long listing that run before other requests have their turn: well under a millisecond."""

BUCKETS_REMEMBERED = 4096
"""Buckets whose numbers are kept at hand."""

_BUCKET = "SELECT id FROM bucket WHERE name = ?"
_HEAD = f"SELECT {VERSION_COLUMNS} FROM object WHERE bucket_id = ? AND key = ?"  # noqa: S608 (constants)
_OPEN = f"""SELECT {VERSION_COLUMNS},
    CASE WHEN typeof(content) = 'integer' THEN (SELECT data FROM inline WHERE id = content) END
    FROM object WHERE bucket_id = ? AND key = ?"""  # noqa: S608 (constants)
_INLINE = "SELECT data FROM inline WHERE id = ?"


class Reads:
    """Reads of one object. A scalar subquery for the payload: a join costs three times as much.

    Numbers of buckets are remembered: a bucket is removed only when it is empty, and its number is never used again, so
    that under an old one nothing is found. Where nothing is found, everything is looked up anew.
    """

    def __init__(self, layout: Layout, readers: Readers, remembered: Remembered) -> None:
        self._layout = layout
        self._readers = readers
        self._remembered = remembered
        self._numbers: dict[str, int] = {}

    def run(self, query: Callable[[apsw.Cursor], T]) -> T:
        """Run a query on this thread. Raises StoreFailed."""
        try:
            return self._readers.read(query)
        except DatabaseError as error:
            raise StoreFailed(str(error)) from error

    async def run_in_slices(self, query: Callable[[apsw.Cursor], Generator[None, None, T]]) -> T:
        """Run a query that pauses between its statements, and let other requests have their turn meanwhile."""
        steps = self.run(query)
        while True:
            done, result = self.run(lambda _: _slice(steps))
            if done:
                return result  # type: ignore[return-value]
            await asyncio.sleep(0)

    def head(self, bucket: str, key: str, ref: VersionRef) -> ObjectInfo:
        """Return one version. Raises as the port's head does."""
        row = self._latest(_HEAD, bucket, key)
        if _meant(row, ref):
            return rows.info(bucket, row)
        found, latest = self.run(lambda cursor: objects.find(cursor, bucket, key, ref))
        return rows.info(bucket, found, latest=latest)

    def open(self, bucket: str, key: str, ref: VersionRef) -> Opened:
        """Return one version with its content. Raises as the port's open does."""
        if ref is LATEST and (held := self._remembered.get(bucket, key)) is not None:
            return held
        beat = self._remembered.beat
        row = self._latest(_OPEN, bucket, key)
        if not _meant(row, ref):
            return self.run(lambda cursor: self._open_other(cursor, bucket, key, ref))
        info = rows.info(bucket, row)
        opened = Opened(info, self._content(info, row, row[-1]))
        if isinstance(opened.content, InlineContent):
            self._remembered.keep(beat, opened)
        return opened

    def _latest(self, statement: str, bucket: str, key: str) -> Row | None:
        """Return the row of a key's latest version, if there is one; None says that it must be looked for."""
        try:
            number = self._numbers.get(bucket) or self._number(bucket)
            row = self._readers.first(statement, (number, key))
        except DatabaseError as error:
            raise StoreFailed(str(error)) from error
        if row is None:
            self._numbers.pop(bucket, None)
        return row

    def _number(self, bucket: str) -> int | None:
        row = self._readers.first(_BUCKET, (bucket,))
        if row is None:
            return None
        if len(self._numbers) >= BUCKETS_REMEMBERED:
            self._numbers.clear()
        number: int = row[0]
        self._numbers[bucket] = number
        return number

    def _open_other(self, cursor: apsw.Cursor, bucket: str, key: str, ref: VersionRef) -> Opened:
        """Open a version that is not the latest, or say what is missing."""
        with snapshot(cursor):
            found, latest = objects.find(cursor, bucket, key, ref)
            data = self._inline(cursor, found[CONTENT]) if isinstance(found[CONTENT], int) else None
        info = rows.info(bucket, found, latest=latest)
        return Opened(info, self._content(info, found, data))

    def _content(self, info: ObjectInfo, row: Row, data: bytes | None) -> Content:
        stored = row[CONTENT]
        if stored is None:
            return InlineContent(b"")
        if isinstance(stored, int):
            if data is None or crc64nvme(data) != rows.unsigned(row[CRC64]):
                raise ContentLost(info.bucket, info.key, f"inline payload {stored} is missing or fails its checksum")
            return InlineContent(data)
        content = SegmentContent(info, stored, self._layout, self._small)
        if len(stored) == BLOB_ID_BYTES:
            content.check(self._layout.path_of(stored), info.size)
        return content

    def _small(self, number: int) -> bytes | None:
        return self.run(lambda cursor: self._inline(cursor, number))

    @staticmethod
    def _inline(cursor: apsw.Cursor, number: int) -> bytes | None:
        row = first(cursor, _INLINE, (number,))
        return None if row is None else bytes(row[0])


def _slice(steps: Generator[None, None, T]) -> tuple[bool, T | None]:
    try:
        for _ in range(STATEMENTS_A_SLICE):
            next(steps)
    except StopIteration as end:
        return True, end.value
    return False, None


def _meant(row: Row | None, ref: VersionRef) -> TypeGuard[Row]:
    """Say whether the latest version's row is the one that is asked for."""
    if row is None:
        return False
    if ref is LATEST or (ref.pin is None and ref.version is None):
        return not row[6]
    return ref.pin is not None and row[8].hex() == ref.pin
