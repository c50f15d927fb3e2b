"""PUT of an object, and CopyObject."""

from lakeshare.http.response import Response
from lakeshare.objects.errors import InvalidArgument, NotImplementedYet
from lakeshare.objects.operations.write import CopyObject, PutObject
from lakeshare.objects.room import Room
from lakeshare.objects.wire import xml
from lakeshare.objects.wire.call import Call
from lakeshare.objects.wire.headers import (
    checksum_algorithm,
    checksum_header,
    copy_source,
    facts_of,
    policy_facts,
    read_condition,
    refuse_unoffered,
    tags_of,
    write_condition,
)
from lakeshare.storage.port import ObjectInfo

SOURCE_PREFIX = "x-amz-copy-source-"


def decode_put(call: Call) -> PutObject:
    """Read a PutObject."""
    headers = call.headers
    refuse_unoffered(headers)
    tags = tags_of(headers)
    return PutObject(
        call.bucket, call.key, facts_of(headers), tags, write_condition(headers), policy_facts(headers, tags)
    )


def encode_put(_room: Room, _call: PutObject, info: ObjectInfo) -> Response:
    """Write the answer to a PutObject."""
    headers = [("etag", f'"{info.etag}"'), *version_header(info)]
    if info.checksum:
        headers += checksum_header(info.checksum)
    return Response(200, headers)


def version_header(info: ObjectInfo) -> list[tuple[str, str]]:
    """Name the version made, where the bucket keeps versions."""
    return [] if info.version == "null" else [("x-amz-version-id", info.version)]


def decode_copy(call: Call) -> CopyObject:
    """Read a CopyObject."""
    headers = call.headers
    refuse_unoffered(headers)
    replaces = _directive(call, "x-amz-metadata-directive")
    retags = _directive(call, "x-amz-tagging-directive")
    if name := headers.get("x-amz-checksum-algorithm"):
        raise NotImplementedYet(f"another checksum ({checksum_algorithm(name, 'x-amz-checksum-algorithm')}) for a copy")
    tags = tags_of(headers) if retags else None
    return CopyObject(
        call.bucket,
        call.key,
        copy_source(headers),
        read_condition(headers, SOURCE_PREFIX),
        facts_of(headers) if replaces else None,
        tags,
        write_condition(headers),
        policy_facts(headers, tags or ()),
    )


def _directive(call: Call, name: str) -> bool:
    text = call.headers.get(name, "COPY")
    if text not in ("COPY", "REPLACE"):
        raise InvalidArgument(name, text, "it must be COPY or REPLACE")
    return text == "REPLACE"


def encode_copy(_room: Room, _call: CopyObject, info: ObjectInfo) -> Response:
    """Write the answer to a CopyObject."""
    inner = [xml.element("LastModified", xml.timestamp(info.modified_at_ns)), xml.element("ETag", f'"{info.etag}"')]
    if info.checksum:
        inner += [
            xml.element(f"Checksum{info.checksum.algorithm}", info.checksum.value),
            xml.element("ChecksumType", info.checksum.kind.value),
        ]
    return xml_response(xml.document("CopyObjectResult", inner), version_header(info))


def xml_response(body: bytes, headers: list[tuple[str, str]] | None = None) -> Response:
    """Write an answer that is a document."""
    return Response(200, [*(headers or ()), ("content-type", "application/xml")], body)
