"""Uploading a file: small ones in one request, large ones in parts side by side.

Each body is signed with its SHA-256, which the server checks: what it keeps is what was read.
"""

import hashlib
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from lakeshare.cli.errors import ClientError
from lakeshare.cli.places import Local, Remote
from lakeshare.cli.remote.body import Slice
from lakeshare.cli.remote.multipart import PART_BYTES, SentPart, Stretch, Upload, stretches
from lakeshare.cli.remote.store import Store

if TYPE_CHECKING:
    from lakeshare.cli.transfer.crew import Crew

ONE_REQUEST_BYTES = 5 * 1024**3
"""Largest object in one request, by S3's limit."""


def upload(crew: "Crew", source: Local, target: Remote) -> None:
    """Write a file to a key."""
    store = crew.session.store(target.alias)
    headers = {"content-type": content_type(source.path), **crew.manner.headers}
    before = os.stat(source.path)  # noqa: PTH116 - as typed
    whole = Slice(source.path, 0, before.st_size)
    if whole.size <= PART_BYTES or (not crew.manner.multipart and whole.size <= ONE_REQUEST_BYTES):
        store.put(target.bucket, target.key, whole, headers, crew.bar.moved)
    else:
        _in_parts(crew, store, whole, target, headers)
    after = os.stat(source.path)  # noqa: PTH116
    if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
        raise ClientError(f"{source.path} changed while it was read", "Copy it again when nobody writes to it.")


def content_type(name: str) -> str:
    """Guess what a file holds by its name."""
    import mimetypes  # noqa: PLC0415 - reads the system's tables

    guessed, encoding = mimetypes.guess_type(name, strict=False)
    if encoding:
        return {"gzip": "application/gzip", "bzip2": "application/x-bzip2", "xz": "application/x-xz"}.get(
            encoding, "application/octet-stream"
        )
    return guessed or "application/octet-stream"


def _in_parts(crew: "Crew", store: Store, whole: Slice, target: Remote, headers: Mapping[str, str]) -> None:
    begun = _unfinished(store, target) if crew.manner.resume else None
    upload = begun or Upload.create(store, target.bucket, target.key, headers)
    try:
        there = {part.number: part for part in upload.sent()} if begun else {}

        def send(stretch: Stretch) -> SentPart:
            body = Slice(whole.path, stretch.offset, stretch.size)
            if _is_there(body, there.get(stretch.number)):
                crew.bar.moved(stretch.size)
                return there[stretch.number]
            return upload.put(stretch.number, body, crew.bar.moved)

        upload.complete(crew.each_part(send, stretches(whole.size)))
    except BaseException:
        if not crew.manner.resume:
            upload.abort()
        raise


def _unfinished(store: Store, target: Remote) -> Upload | None:
    """Return the newest unfinished upload of a key."""
    found = [item for item in store.listing.uploads(target.bucket, target.key) if item.key == target.key]
    if not found:
        return None
    newest = max(found, key=lambda item: item.started)
    return Upload(store, target.bucket, target.key, newest.upload_id)


def _is_there(body: Slice, part: SentPart | None) -> bool:
    """Say whether the server has this part already, by its size and its MD5."""
    if part is None or part.size != body.size:
        return False
    digest = hashlib.md5(usedforsecurity=False)
    for chunk in body.chunks():
        digest.update(chunk)
    return digest.hexdigest() == part.etag
