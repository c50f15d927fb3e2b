"""Multipart uploads on the wire."""

from xml.etree.ElementTree import Element

from lakeshare.http.response import Response
from lakeshare.objects.errors import InvalidArgument, InvalidRequest, MalformedXml
from lakeshare.objects.model.assembly import PART_LIMIT, NamedPart
from lakeshare.objects.model.checksums import DIGEST_BYTES, kind_for
from lakeshare.objects.operations.listing import ListUploads
from lakeshare.objects.operations.multipart import CompleteUpload, CopyPart, CreateUpload, UploadCall
from lakeshare.objects.room import Room
from lakeshare.objects.wire import xml
from lakeshare.objects.wire.call import SIZE_LIMIT, Call, whole_number
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
from lakeshare.objects.wire.listing import owner_element
from lakeshare.objects.wire.write import SOURCE_PREFIX, version_header, xml_response
from lakeshare.storage.port import Checksum, ChecksumKind, ObjectInfo, Part, Upload, UploadListing, UploadPage

_PAGE_LIMIT = 1000


def decode_create(call: Call) -> CreateUpload:
    """Read a CreateMultipartUpload."""
    refuse_unoffered(call.headers)
    name, asked = call.headers.get("x-amz-checksum-algorithm"), call.headers.get("x-amz-checksum-type")
    algorithm = checksum_algorithm(name, "x-amz-checksum-algorithm") if name else None
    if asked and not algorithm:
        raise InvalidRequest("x-amz-checksum-type needs x-amz-checksum-algorithm beside it")
    kind = kind_for(algorithm, asked) if algorithm else None
    upload = Upload(call.bucket, call.key, "", facts_of(call.headers), 0, tags_of(call.headers), algorithm, kind)
    return CreateUpload(upload, policy_facts(call.headers, upload.tags))


def encode_create(_room: Room, _call: CreateUpload, upload: Upload) -> Response:
    """Write the answer to a CreateMultipartUpload."""
    headers = []
    if upload.algorithm and upload.checksum_kind:
        headers = [
            ("x-amz-checksum-algorithm", upload.algorithm),
            ("x-amz-checksum-type", upload.checksum_kind.value),
        ]
    inner = [xml.element("Bucket", upload.bucket), xml.element("Key", upload.key), xml.element("UploadId", upload.id)]
    return xml_response(xml.document("InitiateMultipartUploadResult", inner), headers)


def decode_part(call: Call) -> UploadCall:
    """Read an UploadPart."""
    refuse_unoffered(call.headers)
    return _upload_call(call, "s3:PutObject", part=_part_number(call))


def _part_number(call: Call) -> int:
    text = call.params.get("partNumber", "")
    if not (number := whole_number(text, PART_LIMIT)):
        raise InvalidArgument(
            "partNumber", text, f"part number must be an integer between 1 and {PART_LIMIT}, inclusive"
        )
    return number


def _upload_call(call: Call, action: str, part: int = 0, limit: int = _PAGE_LIMIT) -> UploadCall:
    upload_id, facts = call.params.get("uploadId", ""), policy_facts(call.headers)
    return UploadCall(call.bucket, call.key, upload_id, action, part, limit, facts)


def encode_part(_room: Room, _call: UploadCall, part: Part) -> Response:
    """Write the answer to an UploadPart."""
    headers = [("etag", f'"{part.etag}"')]
    if part.checksum:
        headers.append(checksum_header(part.checksum)[0])
    return Response(200, headers)


def decode_part_copy(call: Call) -> CopyPart:
    """Read an UploadPartCopy."""
    return CopyPart(
        decode_part(call),
        copy_source(call.headers),
        read_condition(call.headers, SOURCE_PREFIX),
        call.headers.get("x-amz-copy-source-range"),
    )


def encode_part_copy(_room: Room, _call: CopyPart, part: Part) -> Response:
    """Write the answer to an UploadPartCopy."""
    inner = [xml.element("LastModified", xml.timestamp(part.modified_at_ns)), xml.element("ETag", f'"{part.etag}"')]
    return xml_response(xml.document("CopyPartResult", [*inner, *_checksum(part.checksum)]))


def decode_complete(call: Call) -> CompleteUpload:
    """Read a CompleteMultipartUpload."""
    items = xml.children(xml.parse(call.document, "CompleteMultipartUpload"), "Part")
    if not items or len(items) > PART_LIMIT:
        raise MalformedXml(f"it must list 1 to {PART_LIMIT} parts")
    told = call.headers.get("x-amz-mp-object-size")
    size = None if told is None else whole_number(told, SIZE_LIMIT)
    if told is not None and size is None:
        raise InvalidArgument("x-amz-mp-object-size", told, "it must be a whole number")
    return CompleteUpload(
        call.bucket,
        call.key,
        call.params.get("uploadId", ""),
        tuple(_named_part(item) for item in items),
        write_condition(call.headers),
        _expected(call),
        size,
    )


def _named_part(item: Element) -> NamedPart:
    number = whole_number(xml.child_text(item, "PartNumber") or "", PART_LIMIT)
    etag = xml.child_text(item, "ETag")
    if not number or not etag:
        raise MalformedXml("a part needs a PartNumber and an ETag")
    texts = ((name, xml.child_text(item, f"Checksum{name}")) for name in DIGEST_BYTES)
    return NamedPart(number, etag.strip('"'), tuple((name, text) for name, text in texts if text))


def _expected(call: Call) -> Checksum | None:
    kind = (
        ChecksumKind.COMPOSITE if call.headers.get("x-amz-checksum-type") == "COMPOSITE" else ChecksumKind.FULL_OBJECT
    )
    for name in DIGEST_BYTES:
        if text := call.headers.get(f"x-amz-checksum-{name.lower()}"):
            return Checksum(name, text, kind)
    return None


def encode_complete(_room: Room, call: CompleteUpload, info: ObjectInfo) -> Response:
    """Write the answer to a CompleteMultipartUpload."""
    inner = [
        xml.element("Location", f"/{call.bucket}/{xml.url_encoded(call.key)}"),
        xml.element("Bucket", call.bucket),
        xml.element("Key", call.key),
        xml.element("ETag", f'"{info.etag}"'),
        *_checksum(info.checksum),
        xml.element("ChecksumType", info.checksum.kind.value if info.checksum else None),
    ]
    return xml_response(xml.document("CompleteMultipartUploadResult", inner), version_header(info))


def decode_abort(call: Call) -> UploadCall:
    """Read an AbortMultipartUpload."""
    return _upload_call(call, "s3:AbortMultipartUpload")


def encode_abort(_room: Room, _call: UploadCall, _nothing: None) -> Response:
    """Write the answer to an AbortMultipartUpload."""
    return Response(204)


def decode_list_parts(call: Call) -> UploadCall:
    """Read a ListParts."""
    marker = call.number("part-number-marker", 0, 0, PART_LIMIT)
    return _upload_call(
        call, "s3:ListMultipartUploadParts", marker, call.number("max-parts", _PAGE_LIMIT, 0, _PAGE_LIMIT)
    )


def encode_list_parts(room: Room, call: UploadCall, upload: Upload) -> Response:
    """Write a page of an upload's parts."""
    rest = [part for part in upload.parts if part.number > call.part]
    page = rest[: call.limit]
    inner = [
        xml.element("Bucket", upload.bucket),
        xml.element("Key", upload.key),
        xml.element("UploadId", upload.id),
        owner_element(room).replace("Owner>", "Initiator>"),
        owner_element(room),
        xml.element("StorageClass", "STANDARD"),
        xml.element("ChecksumAlgorithm", upload.algorithm),
        xml.element("ChecksumType", upload.checksum_kind.value if upload.checksum_kind else None),
        xml.element("PartNumberMarker", call.part),
        xml.element("NextPartNumberMarker", page[-1].number if page else 0),
        xml.element("MaxParts", call.limit),
        xml.element("IsTruncated", "true" if len(rest) > len(page) and call.limit else "false"),
        *(_part(part) for part in page),
    ]
    return xml_response(xml.document("ListPartsResult", inner))


def _part(part: Part) -> str:
    return xml.group(
        "Part",
        xml.element("PartNumber", part.number),
        xml.element("LastModified", xml.timestamp(part.modified_at_ns)),
        xml.element("ETag", f'"{part.etag}"'),
        *_checksum(part.checksum),
        xml.element("Size", part.size),
    )


def _checksum(checksum: Checksum | None) -> list[str]:
    return [xml.element(f"Checksum{checksum.algorithm}", checksum.value)] if checksum else []


def decode_list_uploads(call: Call) -> ListUploads:
    """Read a ListMultipartUploads."""
    kind = call.param("encoding-type")
    if kind not in (None, "url"):
        raise InvalidArgument("encoding-type", kind or "", "it must be url")
    key = call.param("key-marker") or ""
    listing = UploadListing(
        call.bucket,
        call.param("prefix") or "",
        call.param("delimiter") or "",
        key,
        (call.param("upload-id-marker") or "") if key else "",
        call.number("max-uploads", _PAGE_LIMIT, 0, _PAGE_LIMIT),
    )
    return ListUploads(listing, kind == "url")


def encode_list_uploads(room: Room, call: ListUploads, page: UploadPage) -> Response:
    """Write a page of uploads."""
    write = xml.url_encoded if call.url_encoded else xml.escape
    listing, after = call.listing, page.next_after or ("", "")
    inner = [
        xml.element("Bucket", listing.bucket),
        f"<KeyMarker>{write(listing.after_key)}</KeyMarker>",
        xml.element("UploadIdMarker", listing.after_id),
        f"<NextKeyMarker>{write(after[0])}</NextKeyMarker>",
        xml.element("NextUploadIdMarker", after[1]),
        f"<Prefix>{write(listing.prefix)}</Prefix>",
        f"<Delimiter>{write(listing.delimiter)}</Delimiter>" if listing.delimiter else "",
        "<EncodingType>url</EncodingType>" if call.url_encoded else "",
        xml.element("MaxUploads", listing.limit),
        xml.element("IsTruncated", "false" if page.next_after is None else "true"),
        *(_upload(room, upload, write(upload.key)) for upload in page.uploads),
        *(f"<CommonPrefixes><Prefix>{write(prefix)}</Prefix></CommonPrefixes>" for prefix in page.prefixes),
    ]
    return xml_response(xml.document("ListMultipartUploadsResult", inner))


def _upload(room: Room, upload: Upload, key: str) -> str:
    return xml.group(
        "Upload",
        f"<Key>{key}</Key>",
        xml.element("UploadId", upload.id),
        owner_element(room).replace("Owner>", "Initiator>"),
        owner_element(room),
        xml.element("StorageClass", "STANDARD"),
        xml.element("Initiated", xml.timestamp(upload.created_at_ns)),
        xml.element("ChecksumAlgorithm", upload.algorithm),
    )
