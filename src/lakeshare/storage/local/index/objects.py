"""Transactions on objects: publish, copy, delete, tag. Each runs whole inside the committer's savepoint."""

from collections.abc import Sequence
from dataclasses import dataclass

import apsw
import orjson

from lakeshare.sqlite.readers import first
from lakeshare.storage.errors import ConditionFailed, NoSuchKey, NoSuchVersion
from lakeshare.storage.ids import new_pin, parse_pin
from lakeshare.storage.laws import Content, check_delete, check_put, next_time
from lakeshare.storage.local.index import rows
from lakeshare.storage.local.index.bucket_ids import bucket_id
from lakeshare.storage.local.index.payloads import add_blob, add_inline, retain
from lakeshare.storage.local.index.rows import CONTENT, CRC64, VERSION_COLUMNS, Row
from lakeshare.storage.local.segments import Stored
from lakeshare.storage.port import NULL_VERSION, Copy, Delete, Deleted, ObjectInfo, Put, Tags, VersionRef

_CURRENT = f"SELECT {VERSION_COLUMNS} FROM object WHERE bucket_id = ? AND key = ?"  # noqa: S608 (constants)
_RETIRE = f"""INSERT INTO history (bucket_id, {VERSION_COLUMNS}, retired_ns)
    SELECT bucket_id, {VERSION_COLUMNS}, ? FROM object WHERE bucket_id = ? AND key = ?"""  # noqa: S608 (constants)
_PUBLISH = f"""INSERT OR REPLACE INTO object (bucket_id, {VERSION_COLUMNS})
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""  # noqa: S608 (constants)
_PINNED = f"""SELECT {VERSION_COLUMNS}, 1 FROM object WHERE bucket_id = ?1 AND key = ?2 AND pin = ?3
    UNION ALL SELECT {VERSION_COLUMNS}, 0 FROM history WHERE bucket_id = ?1 AND key = ?2 AND pin = ?3"""  # noqa: S608
_VERSION = f"""SELECT {VERSION_COLUMNS}, 1 FROM object WHERE bucket_id = ?1 AND key = ?2 AND version IS ?3
    UNION ALL SELECT {VERSION_COLUMNS}, 0 FROM history
    WHERE bucket_id = ?1 AND key = ?2 AND version IS ?3 AND retired_ns IS NULL"""  # noqa: S608 (constants)

_PINS = """SELECT group_concat(coalesce((SELECT hex(pin) FROM object
    WHERE bucket_id = ?2 AND object.key = wanted.value AND marker = 0), ''), ',') FROM json_each(?1) AS wanted"""


@dataclass(frozen=True, slots=True)
class SmallPayload:
    """Bytes that go into the index with their row."""

    content: Content
    data: bytes

    def keep(self, cursor: apsw.Cursor) -> Stored:
        """Write the bytes, and return what their row says of them."""
        return add_inline(cursor, self.data) if self.data else None


@dataclass(frozen=True, slots=True)
class BlobPayload:
    """Bytes that lie on disk already, under a name that nothing else has."""

    content: Content
    blob: bytes

    def keep(self, cursor: apsw.Cursor) -> Stored:
        """Note the blob, and return what its row says of it."""
        return add_blob(cursor, self.blob, self.content.size, rows.signed(self.content.crc64))


@dataclass(frozen=True, slots=True)
class SharedPayload:
    """Bytes that another row holds too."""

    content: Content
    stored: Stored

    def keep(self, cursor: apsw.Cursor) -> Stored:
        """Hold the bytes once more."""
        return retain(cursor, self.stored, self.content.size)


@dataclass(frozen=True, slots=True)
class MovedPayload:
    """Bytes whose holder gives them up in the same transaction."""

    content: Content
    stored: Stored

    def keep(self, cursor: apsw.Cursor) -> Stored:  # noqa: ARG002 (nothing changes hands but the name)
        """Return what the row says: what its holder said."""
        return self.stored


Payload = SmallPayload | BlobPayload | SharedPayload | MovedPayload


@dataclass(frozen=True, slots=True)
class Published:
    """What a write came to. `taken` is False when the same bytes were there and nothing was written."""

    info: ObjectInfo
    taken: bool = True


def content_of(row: Row) -> Content:
    """Read what tells a version's bytes apart."""
    return Content(row[1], row[2], rows.unsigned(row[CRC64]), row[3])


def current(cursor: apsw.Cursor, bucket: int, key: str) -> Row | None:
    """Return the latest version's row, unless it is a delete marker."""
    row = first(cursor, _CURRENT, (bucket, key))
    return None if row is None or row[6] else row


def publish(cursor: apsw.Cursor, put: Put, payload: Payload, now_ns: int, parts: str | None = None) -> Published:
    """Check what must hold, and make the bytes the key's latest version. Raises as the port's put does."""
    bucket = bucket_id(cursor, put.bucket)
    found = current(cursor, bucket, put.key)
    written = payload.content
    if check_put(put, None if found is None else content_of(found), written) and found is not None:
        return Published(rows.info(put.bucket, found), taken=False)
    at_ns = next_time(now_ns, None if found is None else found[3])
    if found is not None:
        cursor.execute(_RETIRE, (at_ns, bucket, put.key))
    row = (
        put.key,
        written.size,
        written.etag,
        at_ns,
        *rows.checksum_columns(put.checksum),
        0,
        None,
        new_pin(at_ns),
        rows.signed(written.crc64),
        payload.keep(cursor),
        rows.facts_text(put.facts),
        rows.tags_text(put.tags),
        parts,
    )
    cursor.execute(_PUBLISH, (bucket, *row))
    return Published(rows.info(put.bucket, row))


def copy(cursor: apsw.Cursor, copy: Copy, now_ns: int) -> ObjectInfo:
    """Publish the bytes of one version under another key, moving none of them."""
    try:
        source, _ = find(cursor, copy.source_bucket, copy.source_key, VersionRef(pin=copy.source_pin))
    except NoSuchVersion:
        raise NoSuchKey(copy.source_bucket, copy.source_key) from None
    checksum = copy.put.checksum or (None if source[4] is None else rows.checksum_of(source[4], source[5]))
    put = Put(
        copy.put.bucket,
        copy.put.key,
        copy.put.facts,
        checksum,
        copy.put.tags,
        copy.put.condition,
        copy.put.write_once,
    )
    return publish(cursor, put, SharedPayload(content_of(source), source[CONTENT]), now_ns, source[13]).info


def find(cursor: apsw.Cursor, bucket: str, key: str, ref: VersionRef) -> tuple[Row, bool]:
    """Return one version's row, and whether it is the latest. Raises as the port's head does."""
    held = bucket_id(cursor, bucket)
    if ref.pin is not None:
        row = first(cursor, _PINNED, (held, key, parse_pin(ref.pin)))
    elif ref.version is not None:
        wanted = None if ref.version == NULL_VERSION else ref.version
        row = first(cursor, _VERSION, (held, key, wanted))
    else:
        row = current(cursor, held, key)
        if row is None:
            raise NoSuchKey(bucket, key)
        return row, True
    if row is None:
        raise NoSuchVersion(bucket, key, ref.pin or ref.version or "")
    return row, bool(row[-1])


def pins(cursor: apsw.Cursor, bucket: str, keys: Sequence[str]) -> list[str | None]:
    """Return the pin of each key's latest version, in the order of the keys.

    All of them are one row: for each row Python's lock is given up and waited for.
    """
    held = bucket_id(cursor, bucket)
    row = first(cursor, _PINS, (orjson.dumps(keys).decode(), held))
    return [pin or None for pin in row[0].lower().split(",")] if row is not None and keys else []


def delete(cursor: apsw.Cursor, bucket: str, deletes: Sequence[Delete], now_ns: int) -> list[Deleted | Exception]:
    """Remove keys, each on its own: a failed condition stands in its place. Raises NoSuchBucket."""
    held = bucket_id(cursor, bucket)
    return [_delete(cursor, bucket, held, one, now_ns) for one in deletes]


def _delete(cursor: apsw.Cursor, bucket: str, held: int, delete: Delete, now_ns: int) -> Deleted | Exception:
    found = current(cursor, held, delete.key)
    if found is not None and delete.version not in {None, found[7] or NULL_VERSION}:
        found = None
    try:
        check_delete(bucket, delete.key, delete.condition, None if found is None else content_of(found))
    except (ConditionFailed, NoSuchKey) as failed:
        return failed
    if found is None:
        return Deleted(delete.key, existed=False, version=delete.version)
    cursor.execute(_RETIRE, (now_ns, held, delete.key))
    cursor.execute("DELETE FROM object WHERE bucket_id = ? AND key = ?", (held, delete.key))
    return Deleted(delete.key, existed=True, version=delete.version)


def set_tags(cursor: apsw.Cursor, bucket: str, key: str, ref: VersionRef, tags: Tags) -> ObjectInfo:
    """Replace the tags of one version. Raises as the port's head does."""
    row, latest = find(cursor, bucket, key, ref)
    table = "object" if latest else "history"
    cursor.execute(
        f"UPDATE {table} SET tags = ? WHERE bucket_id = ? AND key = ? AND pin = ?",  # noqa: S608 (constants)
        (rows.tags_text(tags), bucket_id(cursor, bucket), key, row[8]),
    )
    return rows.info(bucket, (*row[:12], rows.tags_text(tags), row[13]), latest=latest)
