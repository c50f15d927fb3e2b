"""mirror: a folder made like another."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

import click

from lakeshare.cli.commands.arguments import PLACE, object_headers, written_headers
from lakeshare.cli.commands.cp import moved_records, parallel
from lakeshare.cli.errors import ClientError, Misused
from lakeshare.cli.flags import command
from lakeshare.cli.output import Failure, Record, printable
from lakeshare.cli.places import Local, Place, Remote
from lakeshare.cli.remote.store import Doomed
from lakeshare.cli.session import Session
from lakeshare.cli.transfer.crew import Crew, Manner
from lakeshare.cli.transfer.items import Item, Transfer, below
from lakeshare.cli.transfer.plan import aimed, require_a_server
from lakeshare.cli.transfer.progress import bar_for


@dataclass(frozen=True, slots=True)
class Extra:
    """Something that the target has and the source has not."""

    item: Item


@command()
@click.argument("source", type=PLACE)
@click.argument("target", type=PLACE)
@click.option("--overwrite", is_flag=True, help="Write over what differs; without it that is an error.")
@click.option("--remove", is_flag=True, help="Remove from TARGET what SOURCE has not.")
@click.option("--exclude", multiple=True, help="Leave out names that are so, with * and ?; may be said again.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@object_headers
@parallel
def mirror(
    session: Session,
    source: str,
    target: str,
    *,
    overwrite: bool,
    remove: bool,
    exclude: tuple[str, ...],
    dry_run: bool,
    parallel: int,
    **written: str,
) -> Iterator[Record | Failure]:
    r"""Make TARGET like SOURCE: copy what is new, and leave what is the same.

    Two files are the same if their sizes are, and the source is not newer. With --remove, what only TARGET has goes
    at the end, and only if all else succeeded.

    \b
    lakeshare mirror ./site lake/web
    lakeshare mirror --overwrite --remove ./site lake/web
    lakeshare mirror --overwrite lake/bucket/data ./data
    lakeshare mirror --dry-run --remove lake/bucket other/bucket
    """
    origin, aim = session.place(source), session.place(target)
    require_a_server(session, origin, aim)
    for place in (origin, aim):
        if isinstance(place, Remote) and not place.bucket:
            raise Misused(f"{place.text} is a whole server", f"Name a bucket: {place.alias}/BUCKET.")
    steps = _steps(session, origin, aim, exclude, overwrite=overwrite)
    extras: list[Extra] = []
    wanted, failed = _without_extras(steps, extras if remove else None), 0
    with bar_for(session.output) as bar, Crew(session, bar, Manner(written_headers(**written)), parallel) as crew:
        for told in _told(wanted) if dry_run else moved_records(crew.run(wanted), bar, "mirrored"):
            failed += isinstance(told, Failure)
            yield told
    if failed and extras:
        session.output.warn("nothing was removed, since not everything was copied")
    else:
        yield from _removed(session, aim, extras, dry_run=dry_run)


Step = Transfer | Failure | Extra


def _steps(
    session: Session, source: Place, target: Place, exclude: tuple[str, ...], *, overwrite: bool
) -> Iterator[Step]:
    """Compare two folders, both in the order of names, and yield what is to be done."""
    theirs, ours = below(session, source), _existing(session, target)
    there = next(ours, None)
    for found in theirs:
        if isinstance(found, Failure):
            yield found
            continue
        if any(fnmatchcase(found.relative, pattern) for pattern in exclude):
            continue
        while there is not None and _order(there) < _order(found):
            yield Extra(there)
            there = next(ours, None)
        old = there if there is not None and there.relative == found.relative else None
        if old is not None:
            there = next(ours, None)
        yield from _copied(found, old, target, overwrite=overwrite)
    while there is not None:
        yield Extra(there)
        there = next(ours, None)


def _copied(item: Item, old: Item | None, target: Place, *, overwrite: bool) -> Iterator[Step]:
    if old is None or (overwrite and not _same(item, old)):
        yield aimed(item, target)
    elif not _same(item, old):
        yield Failure(
            ClientError(f"{old.place.text} differs from {item.place.text}", "Say --overwrite to write over it."),
            {"source": item.place.text, "target": old.place.text},
        )


def _same(item: Item, old: Item) -> bool:
    if item.etag and old.etag and item.etag == old.etag:
        return item.size == old.size
    return item.size == old.size and item.modified <= old.modified


def _order(item: Item) -> bytes:
    return item.relative.encode("utf-8", "surrogateescape")


def _existing(session: Session, target: Place) -> Iterator[Item]:
    if isinstance(target, Local) and not target.is_folder:
        return
    for found in below(session, target):
        if isinstance(found, Item):
            yield found


def _without_extras(steps: Iterator[Step], extras: list[Extra] | None) -> Iterator[Transfer | Failure]:
    for step in steps:
        if not isinstance(step, Extra):
            yield step
        elif extras is not None:
            extras.append(step)


def _told(steps: Iterator[Transfer | Failure]) -> Iterator[Record | Failure]:
    for step in steps:
        if isinstance(step, Failure):
            yield step
        else:
            text = f"DRYRUN: `{printable(step.item.place.text)}` -> `{printable(step.target.text)}`"
            yield Record({**step.facts, "dryRun": True}, text)


def _removed(session: Session, target: Place, extras: list[Extra], *, dry_run: bool) -> Iterator[Record | Failure]:
    """Remove what only the target has, once everything else is there."""
    if dry_run:
        yield from (_gone(extra.item, dry_run=True) for extra in extras)
    elif isinstance(target, Local):
        yield from (_unlinked(extra.item) for extra in extras)
    else:
        store = session.store(target.alias)
        doomed = (Doomed(extra.item.place.key) for extra in extras if isinstance(extra.item.place, Remote))
        for extra, result in zip(extras, store.delete_many(target.bucket, doomed), strict=True):
            facts = {"key": extra.item.place.text}
            yield Failure(result.error, facts) if result.error else _gone(extra.item, dry_run=False)


def _unlinked(item: Item) -> Record | Failure:
    try:
        os.unlink(item.place.text)  # noqa: PTH108 - as typed
    except OSError as reason:
        return Failure(ClientError(f"{item.place.text} cannot be removed: {reason.strerror}"), {"key": item.place.text})
    return _gone(item, dry_run=False)


def _gone(item: Item, *, dry_run: bool) -> Record:
    verb = "DRYRUN: would remove" if dry_run else "Removed"
    return Record({"key": item.place.text, "dryRun": dry_run}, f"{verb} `{printable(item.place.text)}`.")
