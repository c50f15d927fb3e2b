"""Listings: keys in order by prefix, rolled up at a delimiter; uploads and versions the same way.

A flat page is one statement. With a delimiter the scan steps through a few rows of each common prefix and then seeks
past all of it, so that a page costs the same whatever lies under its prefixes.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import apsw

from lakeshare.storage.keys import Roll, Start, start_of, successor
from lakeshare.storage.local.index import rows
from lakeshare.storage.local.index.bucket_ids import bucket_id
from lakeshare.storage.local.index.buckets import AFTER_ALL_TEXT
from lakeshare.storage.local.index.rows import UPLOAD_COLUMNS, VERSION_COLUMNS, Row
from lakeshare.storage.port import (
    NULL_VERSION,
    Entry,
    Listing,
    Page,
    UploadListing,
    UploadPage,
    VersionListing,
    VersionPage,
)

_KEYS = """SELECT key, size, etag, mtime_ns, algorithm, checksum FROM object
    WHERE bucket_id = ? AND key {0} ? AND key < ? AND marker = 0 ORDER BY key LIMIT ?"""
_UPLOADS = f"""SELECT {UPLOAD_COLUMNS} FROM upload
    WHERE bucket_id = ? AND (key, id) > (?, ?) AND key < ? AND completed_ns IS NULL ORDER BY key, id"""  # noqa: S608
_VERSIONS = f"""SELECT {VERSION_COLUMNS}, 1 AS latest FROM object WHERE bucket_id = ?1 AND key >= ?2 AND key < ?3
    UNION ALL SELECT {VERSION_COLUMNS}, 0 FROM history
    WHERE bucket_id = ?1 AND key >= ?2 AND key < ?3 AND retired_ns IS NULL
    ORDER BY key, pin DESC"""  # noqa: S608 (constants)
_NO_LIMIT = -1

entry = partial(tuple.__new__, Entry)
"""Make an Entry of a row of `_KEYS`; `Entry._make` costs twice as much, and a page calls it a thousand times."""


def keys(cursor: apsw.Cursor, listing: Listing) -> Page:
    """List the latest versions. Raises NoSuchBucket."""
    bucket = bucket_id(cursor, listing.bucket)
    start = start_of(listing.prefix, listing.delimiter, listing.after)
    if start is None or listing.limit <= 0:
        return Page((), ())
    if not listing.delimiter:
        return _flat(cursor, bucket, listing, start)
    roll: Roll[Row] = Roll(
        listing.prefix,
        listing.delimiter,
        listing.limit,
        _first,
        lambda key: _scan_keys(cursor, bucket, listing.prefix, Start(key, inclusive=True)),
    )
    page = roll.page(_scan_keys(cursor, bucket, listing.prefix, start))
    last = page.prefixes[-1] if page.ends_in_prefix else page.rows[-1][0] if page.rows else None
    return Page(list(map(entry, page.rows)), page.prefixes, last if page.more else None)


def uploads(cursor: apsw.Cursor, listing: UploadListing) -> UploadPage:
    """List the uploads under way. Raises NoSuchBucket."""
    bucket = bucket_id(cursor, listing.bucket)
    start = start_of(listing.prefix, listing.delimiter, listing.after_key)
    if start is None:
        return UploadPage((), ())
    first = (start.key, "") if start.inclusive else (start.key, listing.after_id or _AFTER_EVERY_ID)

    def scan(key: str, upload_id: str) -> Iterator[Row]:
        bound = successor(listing.prefix) or AFTER_ALL_TEXT
        return _rows(cursor.connection, _UPLOADS, (bucket, key, upload_id, bound))

    roll: Roll[Row] = Roll(listing.prefix, listing.delimiter, listing.limit, _first, lambda key: scan(key, ""))
    page = roll.page(scan(*first))
    found = [rows.upload(listing.bucket, row) for row in page.rows]
    if not page.more:
        return UploadPage(found, page.prefixes)
    last = (page.prefixes[-1], "") if page.ends_in_prefix else (found[-1].key, found[-1].id)
    return UploadPage(found, page.prefixes, last)


_AFTER_EVERY_ID = "~"
"""Ids are hexadecimal."""


def versions(cursor: apsw.Cursor, listing: VersionListing) -> VersionPage:
    """List all versions and delete markers, the newest of each key first. Raises NoSuchBucket."""
    bucket = bucket_id(cursor, listing.bucket)
    start = start_of(listing.prefix, listing.delimiter, listing.after_key)
    if start is None:
        return VersionPage((), ())

    def scan(key: str) -> Iterator[Row]:
        bound = successor(listing.prefix) or AFTER_ALL_TEXT
        return _rows(cursor.connection, _VERSIONS, (bucket, key, bound))

    roll: Roll[Row] = Roll(listing.prefix, listing.delimiter, listing.limit, _first, scan)
    page = roll.page(_after_version(scan(start.key), start, listing.after_version))
    found = [rows.info(listing.bucket, row, latest=bool(row[-1])) for row in page.rows]
    if not page.more:
        return VersionPage(found, page.prefixes)
    last = (page.prefixes[-1], "") if page.ends_in_prefix else (found[-1].key, found[-1].version)
    return VersionPage(found, page.prefixes, last)


def _after_version(scanned: Iterator[Row], start: Start, version: str) -> Iterator[Row]:
    """Leave out what a page before has shown: all of the key, or its versions down to the one named."""
    passed = start.inclusive
    for row in scanned:
        if row[0] != start.key or start.inclusive or passed:
            yield row
        elif version and (row[7] or NULL_VERSION) == version:
            passed = True


def _flat(cursor: apsw.Cursor, bucket: int, listing: Listing, start: Start) -> Page:
    bound = successor(listing.prefix) or AFTER_ALL_TEXT
    statement = _KEYS.format(">=" if start.inclusive else ">")
    found = list(map(entry, cursor.execute(statement, (bucket, start.key, bound, listing.limit + 1))))
    if len(found) <= listing.limit:
        return Page(found, ())
    found.pop()
    return Page(found, (), found[-1].key)


def _scan_keys(cursor: apsw.Cursor, bucket: int, prefix: str, start: Start) -> Iterator[Row]:
    bound = successor(prefix) or AFTER_ALL_TEXT
    statement = _KEYS.format(">=" if start.inclusive else ">")
    return _rows(cursor.connection, statement, (bucket, start.key, bound, _NO_LIMIT))


def _rows(connection: apsw.Connection, statement: str, bindings: tuple[Any, ...]) -> Iterator[Row]:
    """Yield rows, and end the statement however the reader leaves: one left open would hold back checkpoints."""
    cursor = connection.cursor()
    try:
        yield from cursor.execute(statement, bindings)
    finally:
        cursor.close(force=True)


def _first(row: Row) -> str:
    key: str = row[0]
    return key
