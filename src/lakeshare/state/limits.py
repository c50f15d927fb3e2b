"""Every bound of the state port. All of them fit PostgreSQL's limits as well as SQLite's."""

MAX_KEY_PARTS = 16
MAX_KEY_BYTES = 2_048
"""Of a key as stored; PostgreSQL's index rows end at 2 704."""

MAX_VALUE_BYTES = 1024 * 1024
MAX_CHANGES = 1_000
"""Puts and deletes in one transaction."""

MAX_EXPECTATIONS = 1_000
MAX_TRANSACTION_BYTES = 8 * 1024 * 1024
"""Keys and values of one transaction together."""

MAX_NOTE_BYTES = 16 * 1024
MAX_RECEIPT_NAME_BYTES = 512
"""Of a receipt's owner, and of its key."""

MAX_DIGEST_BYTES = 64
MAX_ANSWER_BYTES = 64 * 1024
MAX_RECEIPT_SECONDS = 7 * 86_400
RECEIPT_SWEEP = 16
"""Expired receipts removed by each commit that brings one: more than arrive, so that they never pile up."""

MAX_GET_KEYS = 256
MAX_PAGE_ROWS = 1_000
MAX_PAGE_BYTES = 8 * 1024 * 1024
"""Of the values in one page; a page holds at least one record whatever its size."""

FEED_ENTRIES = 10_000
"""Commits that the change feed remembers."""
