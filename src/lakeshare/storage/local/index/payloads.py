"""Who holds which bytes: small payloads by owner, blobs by count. Called inside a transaction."""

import apsw

from lakeshare.storage.local.segments import Segment, Stored, is_whole, pack, unpack


def add_inline(cursor: apsw.Cursor, data: bytes) -> int:
    """Keep a small payload in a row of its own, and return its number."""
    cursor.execute("INSERT INTO inline (data) VALUES (?)", (data,))
    return cursor.connection.last_insert_rowid()


def add_blob(cursor: apsw.Cursor, blob: bytes, size: int, crc64: int) -> bytes:
    """Note a blob that lies on disk, held once."""
    cursor.execute("INSERT INTO blob (id, refs, size, crc64) VALUES (?, 1, ?, ?)", (blob, size, crc64))
    return blob


def retain(cursor: apsw.Cursor, stored: Stored, size: int) -> Stored:
    """Hold the same bytes once more: blobs are shared, small payloads copied. Return what the new row says."""
    held = [_retain(cursor, segment) for segment in unpack(stored, size)]
    return held[0].source if is_whole(stored) else pack(held)


def retain_stretch(cursor: apsw.Cursor, segments: list[Segment]) -> Stored:
    """Hold a stretch of bytes once more."""
    return pack([_retain(cursor, segment) for segment in segments])


def release(cursor: apsw.Cursor, stored: Stored, size: int, now_ns: int) -> None:
    """Let go of what a row held; a blob that nothing holds becomes garbage."""
    for segment in unpack(stored, size):
        if isinstance(segment.source, int):
            cursor.execute("DELETE FROM inline WHERE id = ?", (segment.source,))
        else:
            _release_blob(cursor, segment.source, now_ns)


def _retain(cursor: apsw.Cursor, segment: Segment) -> Segment:
    source, offset, length = segment
    if isinstance(source, int):
        cursor.execute(
            "INSERT INTO inline (data) SELECT substr(data, ?, ?) FROM inline WHERE id = ?", (offset + 1, length, source)
        )
        return Segment(cursor.connection.last_insert_rowid(), 0, length)
    cursor.execute("UPDATE blob SET refs = refs + 1 WHERE id = ?", (source,))
    return segment


def _release_blob(cursor: apsw.Cursor, blob: bytes, now_ns: int) -> None:
    refs = cursor.execute("UPDATE blob SET refs = refs - 1 WHERE id = ? RETURNING refs", (blob,)).fetchone()
    if refs is not None and refs[0] <= 0:
        cursor.execute("DELETE FROM blob WHERE id = ?", (blob,))
        cursor.execute("INSERT OR REPLACE INTO garbage (blob, since_ns) VALUES (?, ?)", (blob, now_ns))
