"""GetObjectAttributes."""

from dataclasses import dataclass

from lakeshare.http.response import Response
from lakeshare.objects.errors import InvalidArgument
from lakeshare.objects.operations.read import ObjectCall
from lakeshare.objects.room import Room
from lakeshare.objects.wire import xml
from lakeshare.objects.wire.call import SIZE_LIMIT, Call, whole_number
from lakeshare.objects.wire.read import http_date, version_of
from lakeshare.objects.wire.write import version_header, xml_response
from lakeshare.storage.port import LATEST, ObjectInfo, VersionRef

_KNOWN = frozenset({"ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize"})
_PAGE_LIMIT = 1000


@dataclass(frozen=True, slots=True)
class AttributesCall(ObjectCall):
    """Which attributes of an object to show."""

    ref: VersionRef = LATEST
    wanted: frozenset[str] = frozenset()
    parts_after: int = 0
    parts_limit: int = _PAGE_LIMIT


def decode(call: Call) -> AttributesCall:
    """Read a GetObjectAttributes."""
    text = call.headers.get("x-amz-object-attributes", "")
    wanted = frozenset(item.strip() for item in text.split(",") if item.strip())
    if not wanted or not wanted <= _KNOWN:
        raise InvalidArgument("x-amz-object-attributes", text, f"name some of {', '.join(sorted(_KNOWN))}")
    ref = version_of(call)
    action = "s3:GetObjectVersion" if ref.version else "s3:GetObject"
    after, limit = (
        call.headers.get("x-amz-part-number-marker", "0"),
        call.headers.get("x-amz-max-parts", str(_PAGE_LIMIT)),
    )
    first, most = whole_number(after, SIZE_LIMIT), whole_number(limit, SIZE_LIMIT)
    if first is None or most is None:
        raise InvalidArgument("x-amz-max-parts", limit, "it must be a whole number")
    return AttributesCall(call.bucket, call.key, action, ref, wanted, first, min(most, _PAGE_LIMIT))


def encode(_room: Room, call: AttributesCall, info: ObjectInfo) -> Response:
    """Write the attributes asked for."""
    inner: list[str] = []
    if "ETag" in call.wanted:
        inner.append(xml.element("ETag", info.etag))
    if "Checksum" in call.wanted and info.checksum:
        value = xml.element(f"Checksum{info.checksum.algorithm}", info.checksum.value)
        inner.append(xml.group("Checksum", value, xml.element("ChecksumType", info.checksum.kind.value)))
    if "ObjectParts" in call.wanted and info.parts:
        inner.append(_parts(call, info))
    if "StorageClass" in call.wanted:
        inner.append(xml.element("StorageClass", "STANDARD"))
    if "ObjectSize" in call.wanted:
        inner.append(xml.element("ObjectSize", info.size))
    headers = [("last-modified", http_date(info.modified_at_ns // 1_000_000_000)), *version_header(info)]
    return xml_response(xml.document("GetObjectAttributesResponse", inner), headers)


def _parts(call: AttributesCall, info: ObjectInfo) -> str:
    numbered = [(number, part) for number, part in enumerate(info.parts, start=1) if number > call.parts_after]
    page = numbered[: call.parts_limit]
    shown = [
        xml.group(
            "Part",
            xml.element("PartNumber", number),
            xml.element("Size", part.size),
            xml.element(f"Checksum{part.checksum.algorithm}", part.checksum.value) if part.checksum else "",
        )
        for number, part in page
    ]
    return xml.group(
        "ObjectParts",
        xml.element("PartsCount", len(info.parts)),
        xml.element("PartNumberMarker", call.parts_after),
        xml.element("NextPartNumberMarker", page[-1][0] if page else 0),
        xml.element("MaxParts", call.parts_limit),
        xml.element("IsTruncated", "true" if len(numbered) > len(page) else "false"),
        *shown,
    )
