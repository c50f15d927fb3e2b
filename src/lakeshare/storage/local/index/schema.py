"""The tables, and the steps that lead from each version of them to the next.

- `object` holds the latest version of each key, slim enough to list fast: what a listing never reads stands last,
  where a long value spills to pages that a listing skips.
- `history` holds every other version that can still be read: noncurrent ones (`retired_ns` is NULL, once a bucket
  keeps versions), and overwritten or deleted ones until their grace ends.
- `content` is NULL for no bytes, an integer for a row of `inline`, 16 bytes for one whole blob, else packed segments
  (`local/segments.py`).
- `blob.refs` counts the segments that name a blob; at none its id moves to `garbage`, and then the file goes.
"""

from lakeshare.sqlite.schema import Schema

APPLICATION_ID = 0x4C4B5331
"""`LKS1`."""

_VERSION_COLUMNS = """
    bucket_id INTEGER NOT NULL,
    key TEXT NOT NULL,
    size INTEGER NOT NULL,
    etag TEXT NOT NULL,
    mtime_ns INTEGER NOT NULL,
    algorithm TEXT,
    checksum TEXT,
    marker INTEGER NOT NULL DEFAULT 0,
    version TEXT,
    pin BLOB NOT NULL,
    crc64 INTEGER NOT NULL,
    content,
    facts TEXT,
    tags TEXT,
    parts TEXT,
"""

_STEP_1 = f"""
CREATE TABLE bucket (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    created_ns INTEGER NOT NULL,
    region TEXT NOT NULL,
    versioning INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE document (
    bucket_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (bucket_id, name)
) WITHOUT ROWID;
CREATE TABLE object ({_VERSION_COLUMNS}
    PRIMARY KEY (bucket_id, key)
) WITHOUT ROWID;
CREATE TABLE history ({_VERSION_COLUMNS}
    retired_ns INTEGER,
    PRIMARY KEY (bucket_id, key, pin)
) WITHOUT ROWID;
CREATE INDEX history_retired ON history (retired_ns) WHERE retired_ns IS NOT NULL;
CREATE INDEX history_kept ON history (bucket_id, key, pin) WHERE retired_ns IS NULL;
CREATE TABLE inline (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    data BLOB NOT NULL
);
CREATE TABLE blob (
    id BLOB PRIMARY KEY,
    refs INTEGER NOT NULL,
    size INTEGER NOT NULL,
    crc64 INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE garbage (
    blob BLOB PRIMARY KEY,
    since_ns INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE upload (
    bucket_id INTEGER NOT NULL,
    key TEXT NOT NULL,
    id TEXT NOT NULL,
    created_ns INTEGER NOT NULL,
    algorithm TEXT,
    checksum_kind TEXT,
    facts TEXT,
    tags TEXT,
    completed_pin BLOB,
    completed_ns INTEGER,
    PRIMARY KEY (bucket_id, key, id)
) WITHOUT ROWID;
CREATE INDEX upload_created ON upload (created_ns) WHERE completed_ns IS NULL;
CREATE INDEX upload_completed ON upload (completed_ns) WHERE completed_ns IS NOT NULL;
CREATE TABLE part (
    upload_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    size INTEGER NOT NULL,
    etag TEXT NOT NULL,
    mtime_ns INTEGER NOT NULL,
    algorithm TEXT,
    checksum TEXT,
    pin BLOB NOT NULL,
    crc64 INTEGER NOT NULL,
    content,
    PRIMARY KEY (upload_id, number)
) WITHOUT ROWID;
"""

INDEX = Schema(APPLICATION_ID, (_STEP_1,))
