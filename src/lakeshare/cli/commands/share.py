"""share: links to objects that need no key."""

import shlex
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import click

from lakeshare.cli.commands.arguments import DURATION, REMOTE
from lakeshare.cli.commands.cat import object_place
from lakeshare.cli.errors import Missing, Misused
from lakeshare.cli.flags import command
from lakeshare.cli.groups import lazy_group
from lakeshare.cli.output import Record
from lakeshare.cli.places import Remote
from lakeshare.cli.remote.model import Entry
from lakeshare.cli.remote.store import PRESIGN_LIMIT_SECONDS, Store, path_of
from lakeshare.cli.session import Session
from lakeshare.cli.units import duration_text, moment_json

_HERE = "lakeshare.cli.commands.share"
_DEFAULT = "168h"

share = lazy_group(
    r"""Make links that need no key.

    A link does one thing, until it expires, with the rights of the alias's key. Removing the key ends it sooner.

    \b
    lakeshare share download lake/bucket/report.csv
    lakeshare share upload --expire 1h lake/bucket/inbox/report.csv
    """,
    {
        "download": (f"{_HERE}:download", "Make links that read objects."),
        "upload": (f"{_HERE}:upload", "Make a link that writes one object."),
    },
)

expire = click.option(
    "-E", "--expire", type=DURATION, default=_DEFAULT, show_default=True, help="How long it is good for, up to 7d."
)


def _life(seconds: int) -> int:
    if not 1 <= seconds <= PRESIGN_LIMIT_SECONDS:
        raise Misused("a link lives from one second to seven days", "Say such as --expire 24h.")
    return seconds


@command()
@click.argument("targets", nargs=-1, required=True, type=REMOTE, metavar="ALIAS/BUCKET/KEY...")
@click.option("-r", "--recursive", is_flag=True, help="A link for everything below a prefix.")
@click.option("--version-id", "--vid", default="", help="Link to this version.")
@expire
def download(
    session: Session, targets: tuple[str, ...], *, recursive: bool, version_id: str, expire: int
) -> Iterator[Record]:
    r"""Make links that read objects.

    \b
    lakeshare share download lake/bucket/report.csv
    lakeshare share download --expire 10m lake/bucket/report.csv
    lakeshare share download --recursive lake/bucket/reports/
    """
    life = _life(expire)
    for text in targets:
        place = session.remote(text)
        store = session.store(place.alias)
        for found in _objects(store, place, version_id, recursive=recursive):
            url = store.presign(store.call("GET", found.bucket, found.key, version_id), life)
            yield _record(store, found, url, life)


def _objects(store: Store, place: Remote, version: str, *, recursive: bool) -> Iterator[Remote]:
    if place.bucket and place.key and not place.is_folder and not recursive:
        store.head(place.bucket, place.key, version)
        yield place
        return
    if not place.bucket:
        raise Misused(f"{place.text} is a whole server", f"Name an object: {place.alias}/BUCKET/KEY.")
    prefix, delimiter, count = place.as_folder().key, "" if recursive else "/", 0
    for entry in store.listing.objects(place.bucket, prefix, delimiter):
        if isinstance(entry, Entry):
            count += 1
            yield place.at(entry.key)
    if not count:
        raise Missing(f"there is no object at {place.text}", "`lakeshare ls` lists what is there.")


@command()
@click.argument("target", type=REMOTE, metavar="ALIAS/BUCKET/KEY")
@click.option("-T", "--content-type", default="", help="Content type that the upload must have.")
@expire
def upload(session: Session, target: str, *, content_type: str, expire: int) -> Record:
    r"""Make a link that writes one object, with the command that uses it.

    \b
    lakeshare share upload lake/bucket/inbox/report.csv
    lakeshare share upload --expire 2h --content-type text/csv lake/bucket/inbox/report.csv
    """
    place = object_place(session, target)
    if place.is_folder:
        raise Misused(f"{target} is a folder, and a link writes one object", "Name the object that is to be written.")
    store, life = session.store(place.alias), _life(expire)
    headers = {"content-type": content_type} if content_type else {}
    url = store.presign(replace(store.call("PUT", place.bucket, place.key), headers=headers), life)
    told = f"-H {shlex.quote(f'Content-Type: {content_type}')} " if content_type else ""
    return _record(store, place, url, life, f"curl -f -T <FILE> {told}{shlex.quote(url)}")


def _record(store: Store, place: Remote, url: str, life: int, shown: str = "") -> Record:
    plain = store.server.alias.url + path_of(place.bucket, place.key)
    ends = moment_json((datetime.now(UTC) + timedelta(seconds=life)).replace(microsecond=0))
    facts = {"url": plain, "share": shown or url, "expires": ends, "timeLeft": life * 10**9}
    if shown:
        facts["presigned"] = url
    return Record(facts, f"URL: {plain}\nExpire: {duration_text(life)}\nShare: {shown or url}\n")
