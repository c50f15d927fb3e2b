"""stat: what is known of a bucket, a folder or an object."""

from collections.abc import Iterator

import click

from lakeshare.cli.commands.arguments import REMOTE
from lakeshare.cli.errors import Missing, Misused, Refused
from lakeshare.cli.flags import command
from lakeshare.cli.output import Record, pairs
from lakeshare.cli.places import Remote
from lakeshare.cli.remote.model import Bucket, Entry, ObjectFacts
from lakeshare.cli.remote.store import Store
from lakeshare.cli.session import Session
from lakeshare.cli.units import moment_json, moment_text, size_text


@command()
@click.argument("targets", nargs=-1, required=True, type=REMOTE, metavar="ALIAS/BUCKET[/KEY]...")
@click.option("-r", "--recursive", is_flag=True, help="Show every object below a prefix.")
@click.option("--version-id", "--vid", default="", help="Show this version.")
def stat(session: Session, targets: tuple[str, ...], *, recursive: bool, version_id: str) -> Iterator[Record]:
    r"""Show what is known of buckets and objects: size, time, ETag, checksum, type, metadata.

    \b
    lakeshare stat lake/bucket
    lakeshare stat lake/bucket/report.csv
    lakeshare stat --json lake/bucket/report.csv | jq .size
    """
    for text in targets:
        place = session.remote(text)
        if not place.bucket:
            raise Misused(f"{text} is a whole server", f"`lakeshare admin info {place.alias}` tells of it.")
        store = session.store(place.alias)
        if recursive:
            yield from _each(store, place)
        elif place.key:
            yield _object_or_folder(store, place, version_id)
        else:
            yield _bucket(store, place)


def _each(store: Store, place: Remote) -> Iterator[Record]:
    for entry in store.listing.objects(place.bucket, place.key):
        if isinstance(entry, Entry):
            yield _object(place.at(entry.key), store.head(place.bucket, entry.key))


def _object_or_folder(store: Store, place: Remote, version: str) -> Record:
    facts = store.head(place.bucket, place.key, version) if version else store.find(place.bucket, place.key)
    if facts is not None:
        return _object(place, facts)
    if any(True for _ in store.listing.objects(place.bucket, place.as_folder().key, limit=1)):
        folder = place.as_folder()
        return Record(
            {"name": folder.key, "type": "folder"}, pairs("", [("Name", folder.key), ("Type", "folder")]) + "\n"
        )
    raise Missing(f"there is no {place.text}", "`lakeshare ls` lists what is there.")


def _object(place: Remote, facts: ObjectFacts) -> Record:
    metadata = {"Content-Type": facts.content_type} if facts.content_type else {}
    metadata |= {name.title(): value for name, value in facts.headers.items()}
    metadata |= {f"X-Amz-Meta-{name.title()}": value for name, value in facts.metadata.items()}
    told: dict[str, object] = {
        "name": place.key,
        "lastModified": moment_json(facts.modified),
        "size": facts.size,
        "etag": facts.etag,
        "type": "file",
        "metadata": metadata,
    }
    rows = [
        ("Name", place.key),
        ("Date", moment_text(facts.modified)),
        ("Size", f"{size_text(facts.size, ' ')} ({facts.size} bytes)" if facts.size > 1023 else f"{facts.size} B"),
        ("ETag", facts.etag),
        ("Type", "file"),
    ]
    if facts.version:
        told["versionID"] = facts.version
        rows.append(("Version", facts.version))
    if facts.checksum:
        told["checksum"] = {facts.checksum.algorithm: facts.checksum.value}
        rows.append(("Checksum", f"{facts.checksum.algorithm}:{facts.checksum.value}"))
    text = pairs("", rows) + "\nMetadata\n" + pairs("", [(f"  {name}", value) for name, value in metadata.items()])
    return Record(told, text + "\n")


def _bucket(store: Store, place: Remote) -> Record:
    created = {bucket.name: bucket.created for bucket in _buckets(store)}.get(place.bucket)
    location, policy = store.location(place.bucket), _has_policy(store, place.bucket)
    facts = {"name": place.bucket, "type": "bucket", "location": location, "policy": policy}
    rows = [("Name", place.bucket)]
    if created:
        facts["lastModified"] = moment_json(created)
        rows.append(("Date", moment_text(created)))
    rows += [("Type", "bucket"), ("Location", location), ("Policy", "set" if policy else "none")]
    return Record(facts, pairs("", rows) + "\n")


def _buckets(store: Store) -> list[Bucket]:
    try:
        return store.buckets()
    except Refused:
        return []


def _has_policy(store: Store, bucket: str) -> bool:
    """Say whether a bucket has a policy; not where the key may not know."""
    try:
        return store.policy(bucket) is not None
    except Refused:
        return False
