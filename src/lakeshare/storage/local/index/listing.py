"""Listings: keys in order by prefix, rolled up at a delimiter; uploads and versions the same way.

A flat page is one statement. With a delimiter the scan seeks past each long common prefix (`storage/keys.py`).
"""

from collections.abc import Callable, Generator
from functools import partial
from operator import itemgetter

import apsw

from lakeshare.sqlite.readers import first
from lakeshare.storage.ids import PIN_BYTES
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
    WHERE bucket_id = ? AND key {} ? AND key < ? AND marker = 0 ORDER BY key LIMIT ?"""
_FROM, _AFTER = _KEYS.format(">="), _KEYS.format(">")
_UPLOADS = f"""SELECT {UPLOAD_COLUMNS} FROM upload
    WHERE bucket_id = ? AND (key, id) > (?, ?) AND key < ? AND completed_ns IS NULL
    ORDER BY key, id LIMIT ?"""  # noqa: S608 (constants)
_OLDER = "bucket_id = ?1 AND key >= ?2 AND key < ?4 AND (key > ?2 OR pin < ?3)"
_VERSIONS = f"""SELECT {VERSION_COLUMNS}, 1 AS latest FROM object WHERE {_OLDER}
    UNION ALL SELECT {VERSION_COLUMNS}, 0 FROM history WHERE {_OLDER} AND retired_ns IS NULL
    ORDER BY key, pin DESC LIMIT ?5"""  # noqa: S608 (constants)
_PIN_OF = f"SELECT max(pin) FROM ({_VERSIONS}) WHERE key = ?2 AND version IS ?6"  # noqa: S608 (constants)

_NEWEST, _OLDEST = b"\xff" * (PIN_BYTES + 1), b""
_FIRST_ID, _LAST_ID = "", "~"
"""Around every id, which is hexadecimal."""

_key: Callable[[Row], str] = itemgetter(0)
entry: Callable[[Row], Entry] = partial(tuple.__new__, Entry)
"""Make an Entry of a row of `_KEYS`; `Entry._make` costs twice as much, and a page calls it a thousand times."""


def keys(cursor: apsw.Cursor, listing: Listing) -> Generator[None, None, Page]:
    """List the latest versions, with a pause after every statement. Raises NoSuchBucket."""
    bucket = bucket_id(cursor, listing.bucket)
    bound = successor(listing.prefix) or AFTER_ALL_TEXT
    start = start_of(listing.prefix, listing.delimiter, listing.after)
    if start is None:
        return Page((), ())

    def fetch(place: Start, count: int) -> list[Row]:
        return cursor.execute(_FROM if place.inclusive else _AFTER, (bucket, place.key, bound, count)).fetchall()

    if not listing.delimiter:
        return _flat(fetch(start, listing.limit + 1), listing.limit)
    roll: Roll[Row, Start] = Roll(
        listing.prefix,
        listing.delimiter,
        listing.limit,
        _key,
        fetch,
        lambda row: Start(row[0], inclusive=False),
        lambda key: Start(key, inclusive=True),
    )
    page = yield from roll.steps(start)
    last = page.prefixes[-1] if page.ends_in_prefix else page.rows[-1][0] if page.rows else None
    return Page(list(map(entry, page.rows)), page.prefixes, last if page.more else None)


def _flat(found: list[Row], limit: int) -> Page:
    if len(found) <= limit:
        return Page(list(map(entry, found)), ())
    found.pop()
    return Page(list(map(entry, found)), (), found[-1][0] if found else None)


def uploads(cursor: apsw.Cursor, listing: UploadListing) -> UploadPage:
    """List the uploads under way. Raises NoSuchBucket."""
    bucket = bucket_id(cursor, listing.bucket)
    bound = successor(listing.prefix) or AFTER_ALL_TEXT
    start = start_of(listing.prefix, listing.delimiter, listing.after_key)
    if start is None:
        return UploadPage((), ())

    def fetch(place: tuple[str, str], count: int) -> list[Row]:
        return cursor.execute(_UPLOADS, (bucket, *place, bound, count)).fetchall()

    roll: Roll[Row, tuple[str, str]] = Roll(
        listing.prefix,
        listing.delimiter,
        listing.limit,
        _key,
        fetch,
        lambda row: (row[0], row[1]),
        lambda key: (key, _FIRST_ID),
    )
    page = roll.page((start.key, _FIRST_ID if start.inclusive else listing.after_id or _LAST_ID))
    found = [rows.upload(listing.bucket, row) for row in page.rows]
    if not page.more:
        return UploadPage(found, page.prefixes)
    last = (page.prefixes[-1], "") if page.ends_in_prefix else (found[-1].key, found[-1].id)
    return UploadPage(found, page.prefixes, last)


def versions(cursor: apsw.Cursor, listing: VersionListing) -> VersionPage:
    """List all versions and delete markers, the newest of each key first. Raises NoSuchBucket."""
    bucket = bucket_id(cursor, listing.bucket)
    bound = successor(listing.prefix) or AFTER_ALL_TEXT
    start = start_of(listing.prefix, listing.delimiter, listing.after_key)
    if start is None:
        return VersionPage((), ())

    def fetch(place: tuple[str, bytes], count: int) -> list[Row]:
        return cursor.execute(_VERSIONS, (bucket, *place, bound, count)).fetchall()

    roll: Roll[Row, tuple[str, bytes]] = Roll(
        listing.prefix,
        listing.delimiter,
        listing.limit,
        _key,
        fetch,
        lambda row: (row[0], row[8]),
        lambda key: (key, _NEWEST),
    )
    first = _NEWEST if start.inclusive else _pin_of(cursor, bucket, start.key, listing.after_version)
    page = roll.page((start.key, first))
    found = [rows.info(listing.bucket, row, latest=bool(row[-1])) for row in page.rows]
    if not page.more:
        return VersionPage(found, page.prefixes)
    last = (page.prefixes[-1], "") if page.ends_in_prefix else (found[-1].key, found[-1].version)
    return VersionPage(found, page.prefixes, last)


def _pin_of(cursor: apsw.Cursor, bucket: int, key: str, version: str) -> bytes:
    """Return the pin behind which a key's older versions follow: that of the version named, else none follow."""
    if not version:
        return _OLDEST
    wanted = None if version == NULL_VERSION else version
    row = first(cursor, _PIN_OF, (bucket, key, _NEWEST, AFTER_ALL_TEXT, -1, wanted))
    return _OLDEST if row is None or row[0] is None else bytes(row[0])
