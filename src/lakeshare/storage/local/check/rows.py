"""The rows, against each other: counts, sizes, small payloads. In one snapshot, and without touching a file."""

from collections.abc import Iterator

import apsw

from lakeshare.storage.hashing import crc64nvme
from lakeshare.storage.local.check.ledger import Ledger, Row
from lakeshare.storage.local.check.report import CheckReport, ProblemKind, Progress
from lakeshare.storage.local.index.rows import unsigned

EVERY = 10_000
"""Rows between two calls of the progress function."""

_COUNT = """SELECT (SELECT count(*) FROM object) + (SELECT count(*) FROM history) + (SELECT count(*) FROM part)"""
_HOLDERS = """
SELECT 'object ' || coalesce((SELECT name FROM bucket WHERE id = bucket_id), '?') || '/' || key, size, crc64, content
    FROM object
UNION ALL
SELECT 'retired ' || coalesce((SELECT name FROM bucket WHERE id = bucket_id), '?') || '/' || key, size, crc64, content
    FROM history
UNION ALL
SELECT 'part ' || number || ' of upload ' || upload_id, size, crc64, content FROM part"""


def check_rows(cursor: apsw.Cursor, ledger: Ledger, report: CheckReport, progress: Progress, *, deep: bool) -> None:
    """Add up what rows hold, and compare it with what the index counts."""
    total = int(cursor.execute(_COUNT).get)
    for label, size, crc64, content in _rows(cursor, _HOLDERS):
        report.versions += 1
        if ledger.hold(label, size, crc64, content) != size:
            report.add(ProblemKind.SIZE, label, f"its segments do not add up to {size} bytes")
        if deep and isinstance(content, int):
            _check_inline(cursor, label, content, crc64, report)
        if report.versions % EVERY == 0:
            progress("rows", report.versions, total)
    for blob, refs, size, crc64 in _rows(cursor, "SELECT id, refs, size, crc64 FROM blob"):
        ledger.add_blob(blob, refs, size, crc64)
    _compare_blobs(ledger, report)
    _compare_inline(cursor, ledger, report)
    progress("rows", total, total)


def _compare_blobs(ledger: Ledger, report: CheckReport) -> None:
    for blob, refs, holders in ledger.wrong_references():
        report.add(ProblemKind.REFERENCES, blob.hex(), f"counted {refs} times, held {holders} times")
    for blob in ledger.unknown_blobs():
        report.add(ProblemKind.REFERENCES, blob.hex(), "held by a row, and unknown to the index")
    for blob, size, extent in ledger.short_blobs():
        report.add(ProblemKind.SIZE, blob.hex(), f"has {size} bytes, and a row reads up to {extent}")


def _compare_inline(cursor: apsw.Cursor, ledger: Ledger, report: CheckReport) -> None:
    for (number,) in _rows(cursor, "SELECT id FROM inline"):
        report.inline += 1
        if (holders := ledger.inline_holders(number)) != 1:
            report.add(ProblemKind.REFERENCES, f"inline {number}", f"held {holders} times, not once")
    for number in ledger.inline_left():
        report.add(ProblemKind.MISSING, f"inline {number}", "held by a row, and not in the index")


def _check_inline(cursor: apsw.Cursor, label: str, number: int, crc64: int, report: CheckReport) -> None:
    row = cursor.execute("SELECT data FROM inline WHERE id = ?", (number,)).fetchone()
    if row is None:
        return
    report.bytes_read += len(row[0])
    if crc64nvme(row[0]) != unsigned(crc64):
        report.add(ProblemKind.CHECKSUM, label, f"inline payload {number} fails its checksum")


def _rows(cursor: apsw.Cursor, statement: str) -> Iterator[Row]:
    """Yield rows on a cursor of their own, so that the reader may ask further questions."""
    yield from cursor.connection.cursor().execute(statement)
