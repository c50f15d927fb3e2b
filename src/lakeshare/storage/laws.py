"""What must hold when a write is published. Pure: every store asks these in its publishing transaction."""

from dataclasses import dataclass

from lakeshare.storage.errors import ConditionFailed, NoSuchKey, WriteOnce
from lakeshare.storage.port import Condition, Put

NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Content:
    """What tells the bytes of two writes apart, and when they were written."""

    size: int
    etag: str
    crc64: int
    modified_at_ns: int = 0


def check_condition(bucket: str, key: str, condition: Condition, current: Content | None) -> None:
    """Raise ConditionFailed or NoSuchKey unless the condition holds of what the key has now."""
    if condition.absent:
        if current is not None:
            raise ConditionFailed(bucket, key, "absent")
        return
    if condition.other_than is not None and current is not None and condition.other_than == current.etag:
        raise ConditionFailed(bucket, key, "other than")
    if condition.etag is None and condition.size is None and condition.modified_at is None:
        return
    if current is None:
        raise NoSuchKey(bucket, key)
    if condition.etag not in {None, "*", current.etag}:
        raise ConditionFailed(bucket, key, "etag")
    if condition.size not in {None, current.size}:
        raise ConditionFailed(bucket, key, "size")
    if condition.modified_at not in {None, current.modified_at_ns // NANOSECONDS}:
        raise ConditionFailed(bucket, key, "modified")


def check_delete(bucket: str, key: str, condition: Condition, current: Content | None) -> None:
    """Raise ConditionFailed or NoSuchKey unless the key may be removed.

    What is not there meets every condition but an ETag: of racing deletes that name one, one alone has removed it.
    """
    if current is not None or condition.etag is not None:
        check_condition(bucket, key, condition, current)


def check_put(put: Put, current: Content | None, written: Content) -> bool:
    """Raise unless the write may be published; True if it is there already and nothing need be written."""
    check_condition(put.bucket, put.key, put.condition, current)
    if not put.write_once or current is None:
        return False
    if not same_bytes(current, written):
        raise WriteOnce(put.bucket, put.key)
    return True


def same_bytes(one: Content, other: Content) -> bool:
    """Say whether two writes hold the same bytes, by every sum that both have."""
    if one.size != other.size or one.crc64 != other.crc64:
        return False
    return one.etag == other.etag or "-" in one.etag or "-" in other.etag


def next_time(now_ns: int, current_ns: int | None) -> int:
    """Return the time of a write: now, yet after what the key has, whatever the clock does."""
    return now_ns if current_ns is None or now_ns > current_ns else current_ns + 1
