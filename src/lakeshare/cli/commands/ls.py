"""ls: what is on a server, in a bucket or below a prefix."""

from collections.abc import Iterator

import click

from lakeshare.cli.commands.arguments import REMOTE
from lakeshare.cli.errors import Missing
from lakeshare.cli.flags import command
from lakeshare.cli.output import Record, printable
from lakeshare.cli.places import Remote
from lakeshare.cli.remote.model import Bucket, Entry, Folder, Unfinished
from lakeshare.cli.remote.store import Store
from lakeshare.cli.session import Session
from lakeshare.cli.units import moment_json, moment_text, size_text

_BLANK_TIME = " " * len("2026-11-16 12:00:00 UTC")


@command()
@click.argument("targets", nargs=-1, required=True, type=REMOTE, metavar="ALIAS[/BUCKET[/PREFIX]]...")
@click.option("-r", "--recursive", is_flag=True, help="List what is in folders too.")
@click.option("--versions", is_flag=True, help="List every version of every object.")
@click.option("-I", "--incomplete", is_flag=True, help="List uploads that were not finished.")
@click.option("--summarize", is_flag=True, help="Say at the end how many there are, and their size.")
@click.option("--storage-class", "--sc", default="", help="Only objects of this storage class.")
def ls(
    session: Session,
    targets: tuple[str, ...],
    *,
    recursive: bool,
    versions: bool,
    incomplete: bool,
    summarize: bool,
    storage_class: str,
) -> Iterator[Record]:
    r"""List buckets and objects.

    \b
    lakeshare ls lake
    lakeshare ls lake/bucket/folder/
    lakeshare ls --recursive --summarize lake/bucket
    lakeshare ls --versions lake/bucket/report.csv
    lakeshare ls --json -r lake/bucket | jq -r .key
    """
    count, size = 0, 0
    for text in targets:
        place = session.remote(text)
        store = session.store(place.alias)
        for found, shown in _found(store, place, recursive=recursive, versions=versions, incomplete=incomplete):
            if storage_class and isinstance(found, Entry) and found.storage_class != storage_class:
                continue
            count, size = count + 1, size + (found.size if isinstance(found, Entry) else 0)
            yield record(store, place, found, shown, versions=versions)
    if summarize:
        text = f"\nTotal Size: {size_text(size, ' ')}\nTotal Objects: {count}"
        yield Record({"totalSize": size, "totalObjects": count}, text)


Line = tuple[Bucket | Entry | Folder | Unfinished, str]


def _found(store: Store, place: Remote, *, recursive: bool, versions: bool, incomplete: bool) -> Iterator[Line]:
    """Yield what is to be listed, each with the name that is shown for it."""
    if place.bucket:
        yield from _in_bucket(store, place, recursive=recursive, versions=versions, incomplete=incomplete)
        return
    for bucket in store.buckets():
        if not recursive:
            yield bucket, bucket.name + "/"
            continue
        inside = Remote(place.alias, bucket.name)
        for found, shown in _in_bucket(store, inside, recursive=True, versions=versions, incomplete=incomplete):
            yield found, f"{bucket.name}/{shown}"


def _in_bucket(store: Store, place: Remote, *, recursive: bool, versions: bool, incomplete: bool) -> Iterator[Line]:
    if incomplete:
        for upload in store.listing.uploads(place.bucket, place.key):
            yield upload, upload.key
        return
    list_them = store.listing.versions if versions else store.listing.objects
    prefix = _prefix(store, place)
    start = prefix.rfind("/") + 1
    delimiter = "" if recursive else "/"
    nothing = True
    for found in list_them(place.bucket, prefix, delimiter):
        nothing = False
        yield found, found.key[start:]
    if nothing and place.key:
        raise Missing(
            f"there is nothing at {place.text}", f"`lakeshare ls {place.alias}/{place.bucket}` lists the bucket."
        )


def _prefix(store: Store, place: Remote) -> str:
    """Return what to list: below a folder that was named without its slash, or whatever begins so."""
    if place.is_folder:
        return place.key
    names = {found.key for found in store.listing.objects(place.bucket, place.key, "/", limit=2)}
    return place.key + "/" if place.key not in names and place.key + "/" in names else place.key


def record(
    store: Store, place: Remote, found: Bucket | Entry | Folder | Unfinished, shown: str, *, versions: bool
) -> Record:
    """Tell of one thing in a listing."""
    url = f"{store.server.alias.url}/{place.bucket + '/' if place.bucket else ''}"
    name = printable(shown)
    match found:
        case Bucket():
            facts = {"type": "folder", "lastModified": moment_json(found.created), "size": 0, "key": shown, "url": url}
            return Record(facts, f"[{moment_text(found.created)}] {'0B':>6} {click.style(name, fg='cyan')}")
        case Folder():
            facts = {"type": "folder", "size": 0, "key": shown, "url": url}
            return Record(facts, f"[{_BLANK_TIME}] {'0B':>6} {click.style(name, fg='cyan')}")
        case Unfinished():
            facts = {"type": "upload", "lastModified": moment_json(found.started), "key": shown, "url": url}
            facts["uploadId"] = found.upload_id
            return Record(facts, f"[{moment_text(found.started)}] {name} {found.upload_id}")
        case Entry():
            return _object(found, shown, url, versions=versions)


def _object(found: Entry, shown: str, url: str, *, versions: bool) -> Record:
    facts: dict[str, object] = {
        "type": "file",
        "lastModified": moment_json(found.modified),
        "size": found.size,
        "key": shown,
        "etag": found.etag,
        "url": url,
        "storageClass": found.storage_class,
    }
    if versions:
        facts |= {"versionId": found.version, "isLatest": found.is_latest, "isDeleteMarker": found.is_delete_marker}
    kind = f" {found.version} {'DEL' if found.is_delete_marker else 'PUT'}" if versions else ""
    size = size_text(found.size)
    text = f"[{moment_text(found.modified)}] {size:>6} {found.storage_class or 'STANDARD'}{kind} {printable(shown)}"
    return Record(facts, text)
