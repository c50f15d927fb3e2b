"""Buckets and their documents in the index."""

from collections.abc import Mapping, Sequence
from typing import Any

import apsw

from lakeshare.sqlite.readers import first
from lakeshare.storage.errors import BucketExists, BucketNotEmpty, NoSuchBucket, NoSuchDocument
from lakeshare.storage.keys import successor
from lakeshare.storage.local.index import uploads
from lakeshare.storage.local.index.bucket_ids import bucket_id
from lakeshare.storage.local.index.rows import Row
from lakeshare.storage.port import Bucket

AFTER_ALL_TEXT = b""
"""SQLite sorts every blob after every text: the bound of a scan that has none."""


def find(cursor: apsw.Cursor, name: str) -> Bucket:
    """Return a bucket. Raises NoSuchBucket."""
    row = first(cursor, "SELECT name, created_ns, region FROM bucket WHERE name = ?", (name,))
    if row is None:
        raise NoSuchBucket(name)
    return Bucket(*row)


def page(cursor: apsw.Cursor, prefix: str, after: str, limit: int) -> Sequence[Bucket]:
    """Return buckets in order of their names."""
    bound: Any = successor(prefix) or AFTER_ALL_TEXT
    rows = cursor.execute(
        "SELECT name, created_ns, region FROM bucket WHERE name >= ? AND name < ? AND name > ? ORDER BY name LIMIT ?",
        (prefix, bound, after, limit),
    )
    return [Bucket(*row) for row in rows]


def create(cursor: apsw.Cursor, bucket: Bucket, documents: Mapping[str, bytes]) -> Bucket:
    """Make a bucket, with its first documents. Raises BucketExists."""
    cursor.execute(
        "INSERT INTO bucket (name, created_ns, region) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (bucket.name, bucket.created_at_ns, bucket.region),
    )
    if not cursor.connection.changes():
        raise BucketExists(bucket.name)
    for name, value in documents.items():
        set_document(cursor, bucket.name, name, value)
    return bucket


def delete(cursor: apsw.Cursor, name: str, now_ns: int) -> None:
    """Remove an empty bucket, its documents and its unfinished uploads. Raises NoSuchBucket, BucketNotEmpty."""
    held = bucket_id(cursor, name)
    kept = """SELECT EXISTS (SELECT 1 FROM object WHERE bucket_id = ?1)
        OR EXISTS (SELECT 1 FROM history WHERE bucket_id = ?1 AND retired_ns IS NULL)"""
    if cursor.execute(kept, (held,)).get:
        raise BucketNotEmpty(name)
    unfinished: list[Row] = cursor.execute("SELECT key, id FROM upload WHERE bucket_id = ?", (held,)).fetchall()
    for key, upload_id in unfinished:
        uploads.forget(cursor, held, key, upload_id, now_ns)
    cursor.execute("DELETE FROM document WHERE bucket_id = ?", (held,))
    cursor.execute("DELETE FROM bucket WHERE id = ?", (held,))


def document(cursor: apsw.Cursor, bucket: str, name: str) -> bytes:
    """Return a configuration document. Raises NoSuchBucket, NoSuchDocument."""
    held = bucket_id(cursor, bucket)
    row = first(cursor, "SELECT value FROM document WHERE bucket_id = ? AND name = ?", (held, name))
    if row is None:
        raise NoSuchDocument(bucket, name)
    return bytes(row[0])


def set_document(cursor: apsw.Cursor, bucket: str, name: str, value: bytes | None) -> None:
    """Set a configuration document, or remove it. Raises NoSuchBucket."""
    held = bucket_id(cursor, bucket)
    if value is None:
        cursor.execute("DELETE FROM document WHERE bucket_id = ? AND name = ?", (held, name))
    else:
        cursor.execute("INSERT OR REPLACE INTO document (bucket_id, name, value) VALUES (?, ?, ?)", (held, name, value))
