"""Transactions of the collector, each bounded: what is over goes from the rows to the garbage list, never further."""

from collections.abc import Sequence

import apsw

from lakeshare.storage.local.index import uploads
from lakeshare.storage.local.index.payloads import release
from lakeshare.storage.local.index.rows import Row

BATCH = 500
"""Rows in one transaction of the collector: writers wait a few milliseconds for it at most."""


def retire_history(cursor: apsw.Cursor, before_ns: int, now_ns: int) -> int:
    """Let go of versions whose grace is over; return how many."""
    found: list[Row] = cursor.execute(
        "SELECT bucket_id, key, pin, content, size FROM history WHERE retired_ns < ? ORDER BY retired_ns LIMIT ?",
        (before_ns, BATCH),
    ).fetchall()
    for bucket, key, pin, content, size in found:
        release(cursor, content, size, now_ns)
        cursor.execute("DELETE FROM history WHERE bucket_id = ? AND key = ? AND pin = ?", (bucket, key, pin))
    return len(found)


def expire_uploads(cursor: apsw.Cursor, before_ns: int, now_ns: int) -> int:
    """Forget uploads that nobody finished; return how many."""
    found: list[Row] = cursor.execute(
        """SELECT bucket_id, key, id FROM upload
        WHERE completed_ns IS NULL AND created_ns < ? ORDER BY created_ns LIMIT ?""",
        (before_ns, BATCH),
    ).fetchall()
    for bucket, key, upload_id in found:
        uploads.forget(cursor, bucket, key, upload_id, now_ns)
    return len(found)


def forget_completions(cursor: apsw.Cursor, before_ns: int) -> int:
    """Forget that uploads were completed; return how many."""
    cursor.execute(
        """DELETE FROM upload WHERE (bucket_id, key, id) IN (
            SELECT bucket_id, key, id FROM upload
            WHERE completed_ns IS NOT NULL AND completed_ns < ? ORDER BY completed_ns LIMIT ?)""",
        (before_ns, BATCH),
    )
    return cursor.connection.changes()


def garbage(cursor: apsw.Cursor) -> list[bytes]:
    """Return blobs whose files may go: no row names them any more, nor ever will."""
    found: list[Row] = cursor.execute("SELECT blob FROM garbage ORDER BY since_ns LIMIT ?", (BATCH,)).fetchall()
    return [row[0] for row in found]


def forget_garbage(cursor: apsw.Cursor, blobs: Sequence[bytes]) -> None:
    """Forget blobs whose files are gone."""
    cursor.executemany("DELETE FROM garbage WHERE blob = ?", [(blob,) for blob in blobs])


def is_known(cursor: apsw.Cursor, blob: bytes) -> bool:
    """Say whether any row names a blob, or will have it removed."""
    return bool(
        cursor.execute(
            "SELECT EXISTS (SELECT 1 FROM blob WHERE id = ?1) OR EXISTS (SELECT 1 FROM garbage WHERE blob = ?1)",
            (blob,),
        ).get
    )
