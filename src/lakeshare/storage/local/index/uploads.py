"""Transactions on multipart uploads: begin, keep a part, complete, forget."""

from dataclasses import dataclass, replace

import apsw

from lakeshare.sqlite.readers import first
from lakeshare.storage.errors import NoSuchKey, NoSuchUpload, NoSuchVersion, PartChanged
from lakeshare.storage.hashing import combine_crc64nvme
from lakeshare.storage.ids import new_pin, parse_pin
from lakeshare.storage.laws import Content
from lakeshare.storage.local.index import objects, rows
from lakeshare.storage.local.index.bucket_ids import bucket_id
from lakeshare.storage.local.index.objects import MovedPayload, Payload
from lakeshare.storage.local.index.payloads import release, retain, retain_stretch
from lakeshare.storage.local.index.rows import PART_COLUMNS, PART_CONTENT, PART_CRC64, UPLOAD_COLUMNS, Row
from lakeshare.storage.local.segments import Stored, pack, stretch, unpack
from lakeshare.storage.port import Assembly, Checksum, ObjectInfo, Part, Put, Upload, VersionRef

_UPLOAD = f"SELECT {UPLOAD_COLUMNS} FROM upload WHERE bucket_id = ? AND key = ? AND id = ?"  # noqa: S608 (constants)
_PARTS = f"SELECT {PART_COLUMNS} FROM part WHERE upload_id = ? ORDER BY number"  # noqa: S608 (constants)
_KEEP = f"INSERT OR REPLACE INTO part (upload_id, {PART_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608


def create(cursor: apsw.Cursor, upload: Upload) -> Upload:
    """Begin an upload whose id and time are chosen."""
    kind = upload.checksum_kind
    cursor.execute(
        """INSERT INTO upload (bucket_id, key, id, created_ns, algorithm, checksum_kind, facts, tags)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            bucket_id(cursor, upload.bucket),
            upload.key,
            upload.id,
            upload.created_at_ns,
            upload.algorithm,
            None if kind is None else kind.value,
            rows.facts_text(upload.facts),
            rows.tags_text(upload.tags),
        ),
    )
    return upload


def find(cursor: apsw.Cursor, bucket: str, key: str, upload_id: str) -> Upload:
    """Return an upload with its parts. Raises NoSuchBucket, NoSuchUpload."""
    row = first(cursor, _UPLOAD, (bucket_id(cursor, bucket), key, upload_id))
    if row is None:
        raise NoSuchUpload(upload_id)
    parts = tuple(rows.part(found) for found in _parts(cursor, upload_id))
    return rows.upload(bucket, row, parts)


@dataclass(frozen=True, slots=True)
class NewPart:
    """A part to be kept."""

    number: int
    payload: Payload
    checksum: Checksum | None


def keep_part(cursor: apsw.Cursor, upload: Upload, new: NewPart, now_ns: int) -> Part:
    """Keep bytes as a part, in place of one of the same number. Raises NoSuchUpload."""
    _under_way(cursor, upload)
    _release_part(cursor, upload.id, new.number, now_ns)
    written = new.payload.content
    row = (
        new.number,
        written.size,
        written.etag,
        now_ns,
        *rows.checksum_columns(new.checksum),
        new_pin(now_ns),
        rows.signed(written.crc64),
        new.payload.keep(cursor),
    )
    cursor.execute(_KEEP, (upload.id, *row))
    return rows.part(row)


def share_stretch(cursor: apsw.Cursor, source: ObjectInfo, start: int, stop: int, content: Content) -> MovedPayload:
    """Hold a stretch of a version's bytes for a part. Raises NoSuchKey when it was collected meanwhile."""
    try:
        row, _ = objects.find(cursor, source.bucket, source.key, VersionRef(pin=source.pin))
    except NoSuchVersion:
        raise NoSuchKey(source.bucket, source.key) from None
    stored: Stored = row[rows.CONTENT]
    if start == 0 and stop == row[1]:
        return MovedPayload(content, retain(cursor, stored, row[1]))
    return MovedPayload(content, retain_stretch(cursor, list(stretch(stored, row[1], start, stop))))


def complete(cursor: apsw.Cursor, upload: Upload, assembly: Assembly, put: Put, now_ns: int) -> ObjectInfo:
    """Publish an upload as an object: its parts' bytes change hands, and none is moved."""
    bucket = _under_way(cursor, upload)
    kept = {row[0]: row for row in _parts(cursor, upload.id)}
    chosen = [_chosen(kept, wanted) for wanted in assembly.parts]
    payload = MovedPayload(_sum(chosen, assembly.etag), _concatenated(chosen))
    put = replace(put, checksum=assembly.checksum)
    published = objects.publish(cursor, put, payload, now_ns, rows.parts_text(chosen))
    if published.taken:
        used = {row[0] for row in chosen}
        unused = [row for number, row in kept.items() if number not in used]
    else:
        unused = list(kept.values())
    for row in unused:
        release(cursor, row[PART_CONTENT], row[1], now_ns)
    cursor.execute("DELETE FROM part WHERE upload_id = ?", (upload.id,))
    cursor.execute(
        "UPDATE upload SET completed_pin = ?, completed_ns = ? WHERE bucket_id = ? AND key = ? AND id = ?",
        (parse_pin(published.info.pin), now_ns, bucket, upload.key, upload.id),
    )
    return published.info


def abort(cursor: apsw.Cursor, upload: Upload, now_ns: int) -> None:
    """Forget an upload that is under way. Raises NoSuchUpload."""
    forget(cursor, _under_way(cursor, upload), upload.key, upload.id, now_ns)


def forget(cursor: apsw.Cursor, bucket: int, key: str, upload_id: str, now_ns: int) -> None:
    """Let go of an upload and its parts."""
    for row in _parts(cursor, upload_id):
        release(cursor, row[PART_CONTENT], row[1], now_ns)
    cursor.execute("DELETE FROM part WHERE upload_id = ?", (upload_id,))
    cursor.execute("DELETE FROM upload WHERE bucket_id = ? AND key = ? AND id = ?", (bucket, key, upload_id))


def _parts(cursor: apsw.Cursor, upload_id: str) -> list[Row]:
    return cursor.execute(_PARTS, (upload_id,)).fetchall()


def _under_way(cursor: apsw.Cursor, upload: Upload) -> int:
    bucket = bucket_id(cursor, upload.bucket)
    row = cursor.execute(_UPLOAD, (bucket, upload.key, upload.id)).fetchone()
    if row is None or row[-1] is not None:
        raise NoSuchUpload(upload.id)
    return bucket


def _release_part(cursor: apsw.Cursor, upload_id: str, number: int, now_ns: int) -> None:
    row = cursor.execute(
        "SELECT content, size FROM part WHERE upload_id = ? AND number = ?", (upload_id, number)
    ).fetchone()
    if row is not None:
        release(cursor, row[0], row[1], now_ns)


def _chosen(kept: dict[int, Row], wanted: Part) -> Row:
    row = kept.get(wanted.number)
    if row is None or row[6] != parse_pin(wanted.pin):
        raise PartChanged(wanted.number)
    return row


def _sum(chosen: list[Row], etag: str) -> Content:
    size, crc64 = 0, 0
    for row in chosen:
        crc64 = (
            combine_crc64nvme(crc64, rows.unsigned(row[PART_CRC64]), row[1]) if size else rows.unsigned(row[PART_CRC64])
        )
        size += row[1]
    return Content(size, etag, crc64)


def _concatenated(chosen: list[Row]) -> Stored:
    filled = [row for row in chosen if row[1]]
    if len(filled) == 1:
        stored: Stored = filled[0][PART_CONTENT]
        return stored
    return pack([segment for row in filled for segment in unpack(row[PART_CONTENT], row[1])])
