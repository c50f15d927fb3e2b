"""Tags of objects and buckets, and S3's rules for them."""

import re
from collections.abc import Iterable

from lakeshare.objects.errors import InvalidTag
from lakeshare.storage.port import Tags

OBJECT_TAG_LIMIT = 10
BUCKET_TAG_LIMIT = 50
KEY_LIMIT = 128
VALUE_LIMIT = 256
_LEGAL = re.compile(r"[\w\s.:/=+\-@]*\Z")


def tag_set(pairs: Iterable[tuple[str, str]], limit: int) -> Tags:
    """Return tags that keep the rules."""
    tags = tuple(pairs)
    if len(tags) > limit:
        raise InvalidTag(f"there may be at most {limit} tags")
    for key, value in tags:
        if not key or len(key) > KEY_LIMIT or not _LEGAL.match(key):
            raise InvalidTag(
                f"{key[:KEY_LIMIT]!r} cannot be a tag's key: "
                f"use 1 to {KEY_LIMIT} letters, digits, spaces and + - = . _ : / @"
            )
        if len(value) > VALUE_LIMIT or not _LEGAL.match(value):
            raise InvalidTag(
                f"the value of tag {key!r} is longer than {VALUE_LIMIT} characters or has one that tags cannot have"
            )
    if len({key for key, _ in tags}) != len(tags):
        raise InvalidTag("a tag's key may stand only once")
    return tags
