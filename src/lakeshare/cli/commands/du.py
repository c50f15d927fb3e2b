"""du: how much is there."""

from collections.abc import Iterator
from dataclasses import dataclass

import click

from lakeshare.cli.commands.arguments import REMOTE
from lakeshare.cli.flags import command
from lakeshare.cli.output import Record, printable
from lakeshare.cli.places import Remote
from lakeshare.cli.remote.model import Entry
from lakeshare.cli.remote.store import Store
from lakeshare.cli.session import Session
from lakeshare.cli.units import size_text


@dataclass(slots=True)
class _Sum:
    size: int = 0
    objects: int = 0

    def add(self, size: int) -> None:
        self.size += size
        self.objects += 1


@command()
@click.argument("targets", nargs=-1, required=True, type=REMOTE, metavar="ALIAS[/BUCKET[/PREFIX]]...")
@click.option("-d", "--depth", type=click.IntRange(0), default=1, show_default=True, help="Levels that have a line.")
@click.option("-r", "--recursive", is_flag=True, help="A line for every folder.")
@click.option("--versions", is_flag=True, help="Count every version.")
def du(session: Session, targets: tuple[str, ...], *, depth: int, recursive: bool, versions: bool) -> Iterator[Record]:
    r"""Sum up sizes and numbers of objects.

    \b
    lakeshare du lake/bucket
    lakeshare du --depth 2 lake/bucket
    lakeshare du --json lake
    """
    for text in targets:
        place = session.remote(text)
        store = session.store(place.alias)
        levels = 1 << 30 if recursive else depth
        if place.bucket:
            yield from _bucket(store, place.as_folder(), levels, versions=versions)
            continue
        whole = _Sum()
        for bucket in store.buckets():
            for record in _bucket(store, Remote(place.alias, bucket.name), levels - 1, versions=versions):
                yield record
            whole.size += record.facts["size"]
            whole.objects += record.facts["objects"]
        yield _record("", whole, versions=versions, shown=place.alias)


def _bucket(store: Store, place: Remote, levels: int, *, versions: bool) -> Iterator[Record]:
    """Yield a line for each folder of the upper levels when it is through, and one for the whole at the end.

    Keys come in order, so a folder is through when a key outside it comes.
    """
    list_them = store.listing.versions if versions else store.listing.objects
    open_folders: list[tuple[str, _Sum]] = [(place.key, _Sum())]
    for entry in list_them(place.bucket, place.key):
        if not isinstance(entry, Entry):
            continue
        while not entry.key.startswith(open_folders[-1][0]):
            folder, done = open_folders.pop()
            yield _record(f"{place.bucket}/{folder}", done, versions=versions)
        _open(open_folders, entry.key, levels)
        for _, running in open_folders:
            running.add(entry.size)
    while open_folders:
        folder, done = open_folders.pop()
        yield _record(f"{place.bucket}/{folder}", done, versions=versions)


def _open(open_folders: list[tuple[str, _Sum]], key: str, levels: int) -> None:
    """Begin a sum for each folder on the way to a key, down to the last level that has a line."""
    while len(open_folders) < levels:
        folder = open_folders[-1][0]
        slash = key.find("/", len(folder))
        if slash < 0:
            return
        open_folders.append((key[: slash + 1], _Sum()))


def _record(prefix: str, found: _Sum, *, versions: bool, shown: str = "") -> Record:
    name = prefix.rstrip("/")
    facts = {"prefix": name, "size": found.size, "objects": found.objects, "isVersions": versions}
    kind = "versions" if versions else "objects"
    return Record(facts, f"{size_text(found.size)}\t{found.objects} {kind}\t{printable(name or shown)}")
