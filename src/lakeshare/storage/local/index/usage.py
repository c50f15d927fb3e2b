"""How much each bucket holds. It reads every row of the index once: for an operator's question, not for a request's."""

from collections.abc import Sequence

import apsw

from lakeshare.storage.port import Bucket, BucketUsage

_TALLY = """SELECT bucket.name, bucket.created_ns, bucket.region, count(object.key), coalesce(sum(object.size), 0)
    FROM bucket LEFT JOIN object ON object.bucket_id = bucket.id AND object.marker = 0
    GROUP BY bucket.id ORDER BY bucket.name"""


def tally(cursor: apsw.Cursor) -> Sequence[BucketUsage]:
    """Count the objects that each bucket shows, and their bytes, by bucket name."""
    return [BucketUsage(Bucket(*row[:3]), row[3], row[4]) for row in cursor.execute(_TALLY)]
