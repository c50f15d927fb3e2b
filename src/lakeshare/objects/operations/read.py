"""Reading objects: whole, in part, or only their head."""

from dataclasses import dataclass
from typing import NamedTuple

from lakeshare.http.response import Spans
from lakeshare.identity.caller import Need
from lakeshare.objects.errors import DeleteMarkerFound, InvalidPartNumber, MethodNotAllowed
from lakeshare.objects.model.conditions import UNCONDITIONAL, RangeCondition, ReadCondition
from lakeshare.objects.model.names import object_arn
from lakeshare.objects.model.ranges import Range
from lakeshare.objects.room import Room
from lakeshare.storage.port import LATEST, ObjectInfo, VersionRef


class ReadObject(NamedTuple):
    """One version of an object, or a stretch of it; `overrides` are headers that a signed reader asks to see."""

    bucket: str
    key: str
    ref: VersionRef = LATEST
    range: Range | None = None
    part: int | None = None
    condition: ReadCondition = UNCONDITIONAL
    with_checksum: bool = False
    overrides: tuple[tuple[str, str], ...] = ()
    range_condition: RangeCondition | None = None

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        action = "s3:GetObjectVersion" if self.ref.version else "s3:GetObject"
        return (Need(action, object_arn(self.bucket, self.key)),)


@dataclass(frozen=True, slots=True)
class ObjectCall:
    """Any question about one object; `action` is what it needs."""

    bucket: str
    key: str
    action: str
    ref: VersionRef = LATEST

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need(self.action, object_arn(self.bucket, self.key)),)


async def find_object(room: Room, call: ObjectCall) -> ObjectInfo:
    """Return one version, which is no delete marker."""
    info = await room.store.head(call.bucket, call.key, call.ref)
    if info.delete_marker:
        raise DeleteMarkerFound(call.key, info.version)
    return info


class Reading(NamedTuple):
    """What to send: a version, the stretch of it, and whether that is less than the whole."""

    info: ObjectInfo
    start: int
    stop: int
    partial: bool
    spans: Spans = ()


async def get_object(room: Room, call: ReadObject) -> Reading:
    """Return the stretch asked for, with its bytes."""
    opened = await room.store.open(call.bucket, call.key, call.ref)
    start, stop, partial = _stretch(call, opened.info)
    return Reading(opened.info, start, stop, partial, opened.content.spans(start, stop) if stop > start else ())


async def head_object(room: Room, call: ReadObject) -> Reading:
    """Return what get_object would, without the bytes."""
    info = await room.store.head(call.bucket, call.key, call.ref)
    return Reading(info, *_stretch(call, info))


def _stretch(call: ReadObject, info: ObjectInfo) -> tuple[int, int, bool]:
    """Return where to begin and to stop, and whether that is less than the whole, once the conditions hold."""
    if info.delete_marker:
        if call.ref.version:
            raise MethodNotAllowed("GET")
        raise DeleteMarkerFound(call.key, info.version)
    if call.condition is not UNCONDITIONAL:
        call.condition.check(info.etag, info.modified_at_ns)
    if call.part is not None:
        start, stop = _part_bounds(info, call.part)
        return start, stop, stop > start
    if call.range is None or (call.range_condition and not call.range_condition.holds(info.etag, info.modified_at_ns)):
        return 0, info.size, False
    return *call.range.within(info.size), True


def _part_bounds(info: ObjectInfo, number: int) -> tuple[int, int]:
    if not info.parts and number == 1:
        return 0, info.size
    start = 0
    for index, part in enumerate(info.parts, start=1):
        if index == number:
            return start, start + part.size
        start += part.size
    raise InvalidPartNumber(number, max(1, len(info.parts)))
