"""Copying between keys: by the server itself where both are on one, else through this machine."""

import http.client
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from lakeshare.cli.errors import Corrupted, Misused
from lakeshare.cli.places import Remote
from lakeshare.cli.remote.body import Bytes
from lakeshare.cli.remote.model import META, ObjectFacts
from lakeshare.cli.remote.multipart import PART_BYTES, SentPart, Stretch, Upload, stretches
from lakeshare.cli.remote.store import Store
from lakeshare.cli.transfer import checks
from lakeshare.cli.transfer.items import Item
from lakeshare.cli.transfer.upload import ONE_REQUEST_BYTES

if TYPE_CHECKING:
    from lakeshare.cli.transfer.crew import Crew

COPIED_PART_BYTES = 512 * 1024**2
"""Size of a part that the server copies by itself."""


def copy_remote(crew: "Crew", item: Item, source: Remote, target: Remote) -> None:
    """Let the server copy an object."""
    if (
        (source.bucket, source.key) == (target.bucket, target.key)
        and not crew.manner.headers
        and not crew.manner.version
    ):
        raise Misused(f"{source.text} and {target.text} are the same object")
    store, given = crew.session.store(target.alias), dict(crew.manner.headers)
    if item.size <= ONE_REQUEST_BYTES:
        if any(name != "x-amz-tagging" for name in given):
            given["x-amz-metadata-directive"] = "REPLACE"
        if "x-amz-tagging" in given:
            given["x-amz-tagging-directive"] = "REPLACE"
        store.copy(target.bucket, target.key, (source.bucket, source.key), given, crew.manner.version)
        crew.bar.moved(item.size)
        return
    facts = store.head(source.bucket, source.key)
    upload = Upload.create(store, target.bucket, target.key, carried(facts, given))

    def part(stretch: Stretch) -> SentPart:
        sent = upload.copy(stretch, (source.bucket, source.key), facts.etag)
        crew.bar.moved(stretch.size)
        return sent

    _assemble(crew, upload, part, facts.size, COPIED_PART_BYTES)


def relay(crew: "Crew", item: Item, source: Remote, target: Remote) -> None:
    """Read an object from one server and write it to another, a part at a time."""
    origin, store = crew.session.store(source.alias), crew.session.store(target.alias)
    facts = origin.head(source.bucket, source.key, crew.manner.version)
    headers = carried(facts, crew.manner.headers)
    if item.size <= PART_BYTES:
        data = _fetch(origin, source, {}, crew.manner.version)
        wanted = checks.expected(facts)
        checks.require(source.text, wanted, checks.digest_of(wanted[0], [data]) if wanted else None)
        store.put(target.bucket, target.key, Bytes(data), headers, crew.bar.moved)
        return
    upload = Upload.create(store, target.bucket, target.key, headers)

    def part(stretch: Stretch) -> SentPart:
        last = stretch.offset + stretch.size - 1
        wanted = {"range": f"bytes={stretch.offset}-{last}", "if-match": f'"{facts.etag}"'}
        data = _fetch(origin, source, wanted, crew.manner.version)
        if len(data) != stretch.size:
            raise Corrupted(f"{source.text} broke off after {len(data)} of {stretch.size} bytes", "Try again.")
        return upload.put(stretch.number, Bytes(data), crew.bar.moved)

    _assemble(crew, upload, part, facts.size, PART_BYTES)


def carried(facts: ObjectFacts, given: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a new object: those of its source, and those given over them."""
    kept = {name: value for name, value in facts.headers.items() if not name.startswith("x-amz-")}
    kept |= {f"{META}{name}": value for name, value in facts.metadata.items()}
    return {"content-type": facts.content_type or "application/octet-stream", **kept, **given}


def _assemble(crew: "Crew", upload: Upload, part: Callable[[Stretch], SentPart], size: int, step: int) -> None:
    try:
        upload.complete(crew.each_part(part, stretches(size, step)))
    except BaseException:
        upload.abort()
        raise


def _fetch(store: Store, source: Remote, headers: Mapping[str, str], version: str) -> bytes:
    try:
        with store.server.open(store.get(source.bucket, source.key, headers, version)) as response:
            return response.read()
    except (OSError, http.client.HTTPException) as reason:
        raise store.server.connections.explain(reason) from None
