"""cat, head and pipe: the bytes of objects on standard output, and standard input as an object."""

import http.client
import sys
from collections.abc import Iterator
from typing import BinaryIO

import click

from lakeshare.cli.commands.arguments import REMOTE, object_headers, written_headers
from lakeshare.cli.errors import Misused, Unreachable
from lakeshare.cli.flags import command
from lakeshare.cli.output import Record
from lakeshare.cli.places import Remote
from lakeshare.cli.remote.body import CHUNK_BYTES, Bytes
from lakeshare.cli.remote.model import ObjectFacts
from lakeshare.cli.remote.multipart import PART_BYTES, PARTS_LIMIT, Upload
from lakeshare.cli.session import Session
from lakeshare.cli.transfer import checks
from lakeshare.cli.transfer.download import CHECKED
from lakeshare.cli.transfer.upload import content_type
from lakeshare.cli.units import size_text

ENOUGH_PARTS = 1000
"""After so many parts of one size, a stream's parts grow: nobody knows how long it will be."""


def object_place(session: Session, text: str) -> Remote:
    """Read a place that must be one object."""
    place = session.remote(text)
    if not place.bucket or not place.key:
        raise Misused(f"{text} is no object", f"Write {place.alias}/{place.bucket or 'BUCKET'}/KEY.")
    return place


@command()
@click.argument("targets", nargs=-1, required=True, type=REMOTE, metavar="ALIAS/BUCKET/KEY...")
@click.option("--version-id", "--vid", default="", help="Print this version.")
@click.option("--offset", type=click.IntRange(0), default=0, help="Begin after so many bytes.")
def cat(session: Session, targets: tuple[str, ...], *, version_id: str, offset: int) -> None:
    r"""Print objects, one after the other.

    \b
    lakeshare cat lake/bucket/report.csv
    lakeshare cat lake/bucket/part-*.gz | gunzip
    lakeshare cat --offset 1048576 lake/bucket/disk.img > rest
    """
    for text in targets:
        place = object_place(session, text)
        for chunk in chunks_of(session, place, version_id, offset):
            sys.stdout.buffer.write(chunk)
    sys.stdout.buffer.flush()


@command()
@click.argument("targets", nargs=-1, required=True, type=REMOTE, metavar="ALIAS/BUCKET/KEY...")
@click.option("-n", "--lines", type=click.IntRange(0), default=10, show_default=True, help="How many lines.")
@click.option("--version-id", "--vid", default="", help="Print this version.")
def head(session: Session, targets: tuple[str, ...], *, lines: int, version_id: str) -> None:
    r"""Print the first lines of objects. No more is read than is printed, and a little.

    \b
    lakeshare head lake/bucket/report.csv
    lakeshare head -n 1 lake/bucket/report.csv
    """
    for text in targets:
        place, left = object_place(session, text), lines
        for chunk in chunks_of(session, place, version_id, step=8 * 1024):
            kept = chunk.splitlines(keepends=True)[:left]
            sys.stdout.buffer.write(b"".join(kept))
            left -= sum(line.endswith(b"\n") for line in kept)
            if left <= 0:
                break
    sys.stdout.buffer.flush()


def chunks_of(
    session: Session, place: Remote, version: str = "", offset: int = 0, step: int = CHUNK_BYTES
) -> Iterator[bytes]:
    """Yield an object's bytes; read from its start to its end, they are checked."""
    store = session.store(place.alias)
    headers = {"range": f"bytes={offset}-"} if offset else CHECKED
    with store.server.open(store.get(place.bucket, place.key, headers, version)) as response:
        facts = ObjectFacts.of({name.lower(): value for name, value in response.getheaders()})
        wanted = None if offset else checks.expected(facts)
        running = checks.Running(wanted[0]) if wanted else None
        count = 0
        while chunk := _read(response, step):
            count += len(chunk)
            if running:
                running.update(chunk)
            yield chunk
    if count != facts.size:
        raise Unreachable(f"{place.text} broke off after {count} of {facts.size} bytes", "Try again.")
    checks.require(place.text, wanted, running.digest() if running else None)


def _read(response: http.client.HTTPResponse, step: int) -> bytes:
    try:
        return response.read(step)
    except (OSError, http.client.HTTPException):
        return b""


@command()
@click.argument("target", type=REMOTE, metavar="ALIAS/BUCKET/KEY")
@object_headers
def pipe(session: Session, target: str, **written: str) -> Record:
    r"""Write an object from standard input.

    \b
    pg_dump sales | gzip | lakeshare pipe lake/backup/sales.sql.gz
    tar c ./folder | lakeshare pipe --tags "kind=backup" lake/backup/folder.tar
    """
    place = object_place(session, target)
    if place.is_folder:
        raise Misused(f"{target} is a folder", "Name the object that is to be written.")
    headers = {"content-type": content_type(place.key), **written_headers(**written)}
    size = _pipe(session, place, sys.stdin.buffer, headers)
    facts = {"source": "-", "target": place.text, "size": size}
    return Record(facts, f"{size_text(size, ' ')} -> `{place.text}`")


def _pipe(session: Session, place: Remote, stream: BinaryIO, headers: dict[str, str]) -> int:
    """Send a stream: in one request if it is short, else in parts."""
    store = session.store(place.alias)
    first = stream.read(PART_BYTES)
    if len(first) < PART_BYTES:
        store.put(place.bucket, place.key, Bytes(first), headers)
        return len(first)
    upload, parts, chunk = Upload.create(store, place.bucket, place.key, headers), [], first
    try:
        for number in range(1, PARTS_LIMIT + 1):
            parts.append(upload.put(number, Bytes(chunk)))
            chunk = stream.read(PART_BYTES * (1 + number // ENOUGH_PARTS))
            if not chunk:
                break
        upload.complete(parts)
    except BaseException:
        upload.abort()
        raise
    return sum(part.size for part in parts)
