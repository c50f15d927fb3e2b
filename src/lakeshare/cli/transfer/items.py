"""What is there to be moved: files and objects alike, one value each, in the order of their names."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from lakeshare.cli.errors import ClientError, Missing, Misused
from lakeshare.cli.output import Failure
from lakeshare.cli.places import Local, Place
from lakeshare.cli.remote.model import Entry
from lakeshare.cli.session import Session
from lakeshare.cli.transfer.names import walk
from lakeshare.cli.units import epoch


@dataclass(frozen=True, slots=True)
class Item:
    """A file or an object: where it is, its name below the folder that was named, and what is known of it."""

    place: Place
    relative: str
    size: int
    modified: datetime
    etag: str = ""


@dataclass(frozen=True, slots=True)
class Transfer:
    """An item, and where it goes."""

    item: Item
    target: Place

    @property
    def facts(self) -> dict[str, object]:
        """Say what moves where, for programs."""
        return {"source": self.item.place.text, "target": self.target.text, "size": self.item.size}


@dataclass(frozen=True, slots=True)
class Ages:
    """Which items count, by their age."""

    now: datetime
    older_than: int | None = None
    newer_than: int | None = None

    def keep(self, modified: datetime) -> bool:
        """Say whether an item of that time counts."""
        if self.older_than is not None and modified > self.now - timedelta(seconds=self.older_than):
            return False
        return self.newer_than is None or modified >= self.now - timedelta(seconds=self.newer_than)


Found = Iterator[Item | Failure]


def one(session: Session, place: Place, version: str = "") -> Item | None:
    """Return the single file or object that a place names; None where it names a folder."""
    if isinstance(place, Local):
        return _one_file(session, place)
    if place.is_folder:
        return None
    store = session.store(place.alias)
    if version:
        facts = store.head(place.bucket, place.key, version)
    elif (found := store.find(place.bucket, place.key)) is None:
        return None
    else:
        facts = found
    return Item(place, place.key.rpartition("/")[2], facts.size, facts.modified, facts.etag)


def _one_file(session: Session, place: Local) -> Item | None:
    try:
        found = os.stat(place.path)  # noqa: PTH116 - as typed
    except OSError as reason:
        raise _no_file(session, place, reason) from None
    if stat.S_ISDIR(found.st_mode):
        return None
    if not stat.S_ISREG(found.st_mode):
        raise ClientError(f"{place.path} is no regular file", "`lakeshare pipe` writes an object from a stream.")
    return Item(place, os.path.basename(place.path), found.st_size, epoch(found.st_mtime))  # noqa: PTH119


def _no_file(session: Session, place: Local, reason: OSError) -> ClientError:
    name = place.path.partition("/")[0]
    aliases = ", ".join(sorted(session.aliases)) or "none"
    if isinstance(reason, FileNotFoundError) and "/" in place.path and name not in ("", ".", ".."):
        return Missing(f"there is no file {place.path}, and no alias {name!r}", f"Aliases there are: {aliases}.")
    if isinstance(reason, FileNotFoundError):
        return Missing(f"there is no file {place.path}")
    return ClientError(f"{place.path} cannot be read: {reason.strerror}")


def below(session: Session, place: Place) -> Found:
    """Yield what lies below a folder, by name."""
    if isinstance(place, Local):
        yield from _files_below(place)
        return
    if not place.bucket:
        raise Misused(f"{place.text} is a whole server", "Name a bucket: ALIAS/BUCKET.")
    prefix = place.as_folder().key
    for entry in session.store(place.alias).listing.objects(place.bucket, prefix):
        if isinstance(entry, Entry):
            relative = entry.key[len(prefix) :]
            yield Item(place.at(entry.key), relative, entry.size, entry.modified, entry.etag)


def _files_below(place: Local) -> Found:
    for relative, found in walk(place.path):
        path = os.path.join(place.path, relative)  # noqa: PTH118 - as typed
        item = Item(Local(path), relative, found.st_size, epoch(found.st_mtime))
        try:
            relative.encode()
        except UnicodeEncodeError:
            yield Failure(
                ClientError(f"{path!r} is not UTF-8, and a key must be", "Rename the file."), {"source": repr(path)}
            )
        else:
            yield item
