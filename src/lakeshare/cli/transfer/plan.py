"""Planning a copy: which item becomes which file or object.

One folder: what lies in it goes below the target. Several: each keeps its name, unless it is written with a slash at
its end. A file goes into the target if that is a folder, and becomes it otherwise.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from lakeshare.cli.errors import DENIED, ClientError, Missing, Misused, Refused
from lakeshare.cli.output import Failure
from lakeshare.cli.places import Local, Place, Remote, unknown_alias
from lakeshare.cli.session import Session
from lakeshare.cli.transfer.items import Ages, Item, Transfer, below, one
from lakeshare.cli.transfer.names import inside

EVERY_AGE = Ages(datetime.fromtimestamp(0, UTC))

Planned = Iterator[Transfer | Failure]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which of what is named counts."""

    recursive: bool = False
    ages: Ages = EVERY_AGE
    version: str = ""


def plan(session: Session, sources: Sequence[Place], target: Place, selection: Selection) -> Planned:
    """Yield what goes where."""
    if isinstance(target, Remote) and not target.bucket:
        raise Misused(f"{target.text} is a whole server", f"Name a bucket: {target.alias}/BUCKET.")
    several = len(sources) > 1
    if several and isinstance(target, Local) and not target.is_folder:
        raise Misused(
            f"{target.path} is no folder", "Several files go into a folder: write it with a slash at its end."
        )
    for source in sources:
        require_a_server(session, source, target)
        try:
            yield from _source(session, source, target, selection, several=several)
        except ClientError as error:
            if not several:
                raise
            yield Failure(error, {"source": source.text})


def _source(session: Session, source: Place, target: Place, selection: Selection, *, several: bool) -> Planned:
    item = one(session, source, selection.version)
    if item is None and not selection.recursive:
        raise _needs_recursive(session, source)
    if item is None:
        yield from _folder(session, source, target, selection.ages, several=several)
    elif selection.ages.keep(item.modified):
        yield _to(_for_file(session, item, target, several=several), item)


def require_a_server(session: Session, source: Place, target: Place) -> None:
    """Refuse a copy that no server has a part in: an alias was probably mistyped."""
    if isinstance(source, Local) and isinstance(target, Local):
        near = [unknown_alias(place.path.partition("/")[0], session.aliases) for place in (target, source)]
        step = next((error.next_step for error in near if "Did you mean" in error.next_step), near[0].next_step)
        raise Misused(f"neither {source.path} nor {target.path} begins with an alias", step)


def _folder(session: Session, source: Place, target: Place, ages: Ages, *, several: bool) -> Planned:
    base = _joined(target, name_of(source)) if several and not source.text.endswith("/") else target
    if _overlap(session, source, base):
        raise Misused(f"{base.text} lies in {source.text}", "Copy to another folder.")
    count = 0
    for found in below(session, source):
        count += 1
        if isinstance(found, Failure):
            yield found
        elif ages.keep(found.modified):
            yield aimed(found, base)
    if not count and isinstance(source, Remote) and source.key:
        raise Missing(f"there is nothing at {source.text}", "`lakeshare ls` lists what is there.")


def aimed(item: Item, folder: Place) -> Transfer | Failure:
    """Return an item's way to its name below a folder."""
    if isinstance(folder, Remote):
        return Transfer(item, folder.at(folder.as_folder().key + item.relative))
    return _to(_inside(folder, item), item)


def _inside(folder: Local, item: Item) -> Place | ClientError:
    named = item.place.key if isinstance(item.place, Remote) else item.relative
    relative = item.relative
    if relative.endswith("/") and item.size == 0:
        relative = relative.rstrip("/")  # A marker that some tools write for a folder: it becomes one.
        if not relative:
            return Local(folder.path)
    try:
        path = inside(folder.path, relative, named)
    except ClientError as error:
        return error
    return Local(path + "/" if item.relative.endswith("/") else path)


def _to(target: Place | ClientError, item: Item) -> Transfer | Failure:
    if isinstance(target, ClientError):
        return Failure(target, {"source": item.place.text})
    return Transfer(item, target)


def _for_file(session: Session, item: Item, target: Place, *, several: bool) -> Place | ClientError:
    if isinstance(target, Local):
        return _inside(target, item) if target.is_folder else target
    if several or target.is_folder or _is_prefix(session, target):
        return target.at(target.as_folder().key + item.relative)
    return target


def _is_prefix(session: Session, target: Remote) -> bool:
    """Say whether there are objects below a target, which makes it a folder as for `cp`; not to who may only write."""
    found = session.store(target.alias).listing.objects(target.bucket, target.as_folder().key, limit=1)
    try:
        return next(found, None) is not None
    except Refused as error:
        if error.exit_code == DENIED:
            return False
        raise


def _needs_recursive(session: Session, source: Place) -> ClientError:
    if isinstance(source, Remote) and source.bucket:
        listing = session.store(source.alias).listing
        if not any(True for _ in listing.objects(source.bucket, source.as_folder().key, limit=1)) and source.key:
            return Missing(f"there is nothing at {source.text}", "`lakeshare ls` lists what is there.")
    return Misused(f"{source.text} is a folder", "Say --recursive to take what is in it.")


def _overlap(session: Session, source: Place, target: Place) -> bool:
    if isinstance(source, Local) and isinstance(target, Local):
        return (os.path.realpath(target.path) + "/").startswith(os.path.realpath(source.path) + "/")
    if isinstance(source, Remote) and isinstance(target, Remote) and same_server(session, source, target):
        return source.bucket == target.bucket and target.as_folder().key.startswith(source.as_folder().key)
    return False


def same_server(session: Session, source: Remote, target: Remote) -> bool:
    """Say whether two places are on one server, reached with one key: then it copies by itself."""
    if source.alias == target.alias:
        return True
    first, second = session.server(source.alias).alias, session.server(target.alias).alias
    return (first.url, first.access_key) == (second.url, second.access_key)


def name_of(place: Place) -> str:
    """Return the last part of a place."""
    text = place.path if isinstance(place, Local) else place.key or place.bucket
    return os.path.basename(os.path.abspath(text) if isinstance(place, Local) else text.rstrip("/"))  # noqa: PTH100, PTH119


def _joined(target: Place, name: str) -> Place:
    if isinstance(target, Local):
        return Local(os.path.join(target.path, name))  # noqa: PTH118 - as typed
    return target.at(target.as_folder().key + name)
