"""tree: what is there, drawn as a tree."""

from collections.abc import Iterator

import click

from lakeshare.cli.commands.arguments import REMOTE
from lakeshare.cli.errors import Missing
from lakeshare.cli.flags import command
from lakeshare.cli.output import Record, printable
from lakeshare.cli.places import Remote
from lakeshare.cli.remote.model import Entry
from lakeshare.cli.remote.store import Store
from lakeshare.cli.session import Session
from lakeshare.cli.units import moment_json

DEPTH_LIMIT = 512
"""Deepest folder that is drawn: a key of 1024 bytes has no more levels."""


@command()
@click.argument("targets", nargs=-1, required=True, type=REMOTE, metavar="ALIAS[/BUCKET[/PREFIX]]...")
@click.option("-f", "--files", is_flag=True, help="Draw objects too, not only folders.")
@click.option("-d", "--depth", type=click.IntRange(1, DEPTH_LIMIT), default=DEPTH_LIMIT, help="Most levels to draw.")
def tree(session: Session, targets: tuple[str, ...], *, files: bool, depth: int) -> Iterator[Record]:
    r"""Draw what is there as a tree.

    \b
    lakeshare tree --files lake/testdelta
    lakeshare tree --depth 2 lake
    """
    for text in targets:
        place = session.remote(text)
        root = place.as_folder() if place.bucket else place
        yield Record({"type": "folder", "key": root.text}, click.style(printable(text.rstrip("/")), fg="cyan"))
        yield from _level(session.store(place.alias), root, "", files=files, depth=depth)


def _level(store: Store, place: Remote, indent: str, *, files: bool, depth: int) -> Iterator[Record]:
    """Draw one level: its objects, then its folders and what is in them."""
    found = _children(store, place)
    entries = [item for item in found if isinstance(item, Entry) and item.key != place.key] if files else []
    folders = [item for item in found if isinstance(item, Remote)]
    if not found and place.key:
        raise Missing(f"there is nothing at {place.text}", "`lakeshare ls` lists what is there.")
    drawn: list[Entry | Remote] = [*entries, *folders]
    for number, item in enumerate(drawn, 1):
        last = number == len(drawn)
        branch = f"{indent}{'└─' if last else '├─'} "
        if isinstance(item, Entry):
            yield _object(place, item, branch)
            continue
        name = item.key[len(place.key) : -1] if item.key else item.bucket
        yield Record({"type": "folder", "key": item.text}, branch + click.style(printable(name) or "/", fg="cyan"))
        if depth > 1:
            yield from _level(store, item, indent + ("   " if last else "│  "), files=files, depth=depth - 1)


def _children(store: Store, place: Remote) -> list[Entry | Remote]:
    if not place.bucket:
        return [Remote(place.alias, bucket.name) for bucket in store.buckets()]
    found = store.listing.objects(place.bucket, place.key, "/")
    return [item if isinstance(item, Entry) else place.at(item.key) for item in found]


def _object(place: Remote, item: Entry, branch: str) -> Record:
    facts = {
        "type": "file",
        "key": place.at(item.key).text,
        "size": item.size,
        "lastModified": moment_json(item.modified),
        "etag": item.etag,
    }
    return Record(facts, branch + printable(item.key[len(place.key) :]))
