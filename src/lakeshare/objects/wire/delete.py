"""DELETE of an object, and the bulk POST ?delete."""

from collections.abc import Sequence
from dataclasses import replace
from xml.etree.ElementTree import Element

from lakeshare.errors import LakeshareError
from lakeshare.http.response import Response
from lakeshare.objects.errors import InvalidArgument, MalformedXml
from lakeshare.objects.model.names import object_key
from lakeshare.objects.operations.delete import DeleteObjects
from lakeshare.objects.room import Room
from lakeshare.objects.wire import xml
from lakeshare.objects.wire.call import SIZE_LIMIT, Call, whole_number
from lakeshare.objects.wire.faults import fault_of, message_of
from lakeshare.objects.wire.headers import date_seconds, write_condition
from lakeshare.objects.wire.read import version_of
from lakeshare.objects.wire.write import xml_response
from lakeshare.storage.errors import NoSuchVersion
from lakeshare.storage.port import Condition, Delete, Deleted

KEY_LIMIT = 1000
"""S3 takes at most 1000 keys in one DeleteObjects."""


def decode_one(call: Call) -> DeleteObjects:
    """Read a DeleteObject."""
    condition = replace(
        write_condition(call.headers),
        size=_size(call.headers.get("x-amz-if-match-size")),
        modified_at=_time(call.headers.get("x-amz-if-match-last-modified-time")),
    )
    return DeleteObjects(call.bucket, (Delete(call.key, version_of(call).version, condition),))


def _size(text: str | None) -> int | None:
    if text is None:
        return None
    if (size := whole_number(text, SIZE_LIMIT)) is None:
        raise InvalidArgument("x-amz-if-match-size", text, "it must be a whole number")
    return size


def _time(text: str | None) -> int | None:
    if text is None:
        return None
    if (seconds := date_seconds(text)) is None:
        raise InvalidArgument("x-amz-if-match-last-modified-time", text, "it must be a date")
    return seconds


def encode_one(_room: Room, _call: DeleteObjects, done: Deleted) -> Response:
    """Write the answer to a DeleteObject."""
    headers = []
    if done.version and done.version != "null":
        headers.append(("x-amz-version-id", done.version))
    if done.delete_marker:
        headers.append(("x-amz-delete-marker", "true"))
    return Response(204, headers)


def decode_many(call: Call) -> DeleteObjects:
    """Read a DeleteObjects."""
    root = xml.parse(call.document, "Delete")
    items = xml.children(root, "Object")
    if not items or len(items) > KEY_LIMIT:
        raise MalformedXml(f"it must list 1 to {KEY_LIMIT} objects")
    quiet = (xml.child_text(root, "Quiet") or "").lower() == "true"
    return DeleteObjects(call.bucket, tuple(_delete(item) for item in items), quiet)


def _delete(item: Element) -> Delete:
    key = xml.child_text(item, "Key")
    if not key:
        raise MalformedXml("an object has no key")
    etag = xml.child_text(item, "ETag")
    condition = Condition(
        etag=etag.strip('"') if etag else None,
        size=_size(xml.child_text(item, "Size")),
        modified_at=_time(xml.child_text(item, "LastModifiedTime")),
    )
    return Delete(object_key(key), xml.child_text(item, "VersionId") or None, condition)


def encode_many(_room: Room, call: DeleteObjects, done: Sequence[Deleted | Exception]) -> Response:
    """Write the answer to a DeleteObjects: what went, unless it is quiet, and what did not."""
    inner = []
    for asked, result in zip(call.deletes, done, strict=True):
        if isinstance(result, NoSuchVersion) or (isinstance(result, Deleted) and call.quiet):
            if not call.quiet:
                inner.append(_deleted(asked, Deleted(asked.key, existed=False)))
        elif isinstance(result, Deleted):
            inner.append(_deleted(asked, result))
        else:
            inner.append(_failed(asked, result))
    return xml_response(xml.document("DeleteResult", inner))


def _deleted(asked: Delete, done: Deleted) -> str:
    marker = done.version if done.delete_marker and not asked.version else None
    return xml.group(
        "Deleted",
        xml.element("Key", asked.key),
        xml.element("VersionId", asked.version),
        xml.element("DeleteMarker", "true" if done.delete_marker else None),
        xml.element("DeleteMarkerVersionId", marker),
    )


def _failed(asked: Delete, error: Exception) -> str:
    if not isinstance(error, LakeshareError):
        raise error
    return xml.group(
        "Error",
        xml.element("Key", asked.key),
        xml.element("VersionId", asked.version),
        xml.element("Code", fault_of(error).code),
        xml.element("Message", message_of(error)),
    )
