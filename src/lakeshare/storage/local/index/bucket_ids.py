"""A bucket's number, by which rows name it: never used twice, so that nothing of a removed bucket is found again."""

import apsw

from lakeshare.sqlite.readers import first
from lakeshare.storage.errors import NoSuchBucket


def bucket_id(cursor: apsw.Cursor, name: str) -> int:
    """Return a bucket's number. Raises NoSuchBucket."""
    row = first(cursor, "SELECT id FROM bucket WHERE name = ?", (name,))
    if row is None:
        raise NoSuchBucket(name)
    return int(row[0])
