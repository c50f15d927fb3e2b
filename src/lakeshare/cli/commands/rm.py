"""rm: removing objects."""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime

import click

from lakeshare.cli.commands.arguments import DURATION, REMOTE
from lakeshare.cli.errors import ClientError, Missing, Misused
from lakeshare.cli.flags import command
from lakeshare.cli.output import Failure, Record, printable
from lakeshare.cli.places import Remote
from lakeshare.cli.remote.model import Entry
from lakeshare.cli.remote.multipart import Upload
from lakeshare.cli.remote.store import Doomed, Store
from lakeshare.cli.session import Session
from lakeshare.cli.transfer.items import Ages

Told = Iterator[Record | Failure]


@command()
@click.argument("targets", nargs=-1, type=REMOTE, metavar="ALIAS/BUCKET/KEY...")
@click.option("-r", "--recursive", is_flag=True, help="Remove everything below a prefix; needs --force.")
@click.option("--force", is_flag=True, help="Mean it, and be content if an object is not there.")
@click.option("--dangerous", is_flag=True, help="With -r --force: let ALIAS stand for all its buckets.")
@click.option("--versions", is_flag=True, help="Remove every version.")
@click.option("--version-id", "--vid", default="", help="Remove this version.")
@click.option("-I", "--incomplete", is_flag=True, help="Remove uploads that were not finished.")
@click.option("--older-than", "--older", type=DURATION, help="Only what is older, such as 90d.")
@click.option("--newer-than", "--newer", type=DURATION, help="Only what is newer, such as 24h.")
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
@click.option("--stdin", is_flag=True, help="Read further targets from standard input, one a line.")
def rm(session: Session, targets: tuple[str, ...], *, stdin: bool, **asked: object) -> Told:
    r"""Remove objects. There is no way back.

    \b
    lakeshare rm lake/bucket/report.csv
    lakeshare rm --recursive --force lake/bucket/tmp/
    lakeshare rm -r --force --older-than 90d lake/bucket/logs/
    lakeshare rm -r --force --dry-run lake/bucket/
    lakeshare find lake/bucket --name '*.tmp' | lakeshare rm --stdin --force
    """
    if not targets and not stdin:
        raise Misused("nothing is named to be removed", "Name objects, or say --stdin.")
    removal = _Removal(session, **asked)  # type: ignore[arg-type]
    for text in (*targets, *(line.rstrip("\n") for line in (sys.stdin if stdin else ()))):
        if text:
            yield from removal.of(text)


class _Removal:
    def __init__(
        self,
        session: Session,
        *,
        recursive: bool,
        force: bool,
        dangerous: bool,
        versions: bool,
        version_id: str,
        incomplete: bool,
        older_than: int | None,
        newer_than: int | None,
        dry_run: bool,
    ) -> None:
        self._session, self._force, self._dangerous = session, force, dangerous
        self._recursive, self._versions, self._version = recursive, versions, version_id
        self._incomplete, self._dry_run = incomplete, dry_run
        self._ages = Ages(datetime.now(UTC), older_than, newer_than)

    def of(self, text: str) -> Told:
        """Remove what one target names."""
        place = self._session.remote(text)
        store = self._session.store(place.alias)
        if not place.bucket:
            yield from self._everywhere(store, place)
        elif self._recursive or self._incomplete:
            self._require_force(text)
            yield from self._below(store, place)
        elif place.is_folder:
            raise Misused(f"{text} is a folder", "Say --recursive --force to remove everything in it.")
        else:
            yield self._one(store, place)

    def _require_force(self, text: str) -> None:
        if not self._force and not self._dry_run:
            raise Misused(
                f"{text}: a recursive removal cannot be undone", "Say --force if you mean it, or try --dry-run."
            )

    def _everywhere(self, store: Store, place: Remote) -> Told:
        if not (self._recursive and self._force and self._dangerous):
            raise Misused(f"{place.text} is a whole server", "Say -r --force --dangerous to remove all its objects.")
        for bucket in store.buckets():
            yield from self._below(store, Remote(place.alias, bucket.name))

    def _one(self, store: Store, place: Remote) -> Record | Failure:
        try:
            if not self._force:
                found = store.head(place.bucket, place.key, self._version)
                if not self._ages.keep(found.modified):
                    return Record({"key": place.text, "skipped": True}, f"Kept `{place.text}`.", detail=True)
            if not self._dry_run:
                store.delete(place.bucket, place.key, self._version)
        except ClientError as error:
            return Failure(error, {"key": place.text})
        return self._record(place, self._version)

    def _below(self, store: Store, place: Remote) -> Told:
        prefix = self._prefix(store, place)
        if self._incomplete:
            yield from self._uploads(store, place, prefix)
            return
        list_them = store.listing.versions if self._versions else store.listing.objects
        doomed = (
            Doomed(entry.key, "" if entry.version == "null" else entry.version)
            for entry in list_them(place.bucket, prefix)
            if isinstance(entry, Entry) and self._ages.keep(entry.modified)
        )
        if self._dry_run:
            yield from (self._record(place.at(item.key), item.version) for item in doomed)
            return
        for result in store.delete_many(place.bucket, doomed):
            where = place.at(result.key)
            yield Failure(result.error, {"key": where.text}) if result.error else self._record(where, result.version)

    def _prefix(self, store: Store, place: Remote) -> str:
        """Return the folder's prefix; a name that is only an object's stands for that object alone."""
        if place.is_folder or self._incomplete:
            return place.key
        if any(True for _ in store.listing.objects(place.bucket, place.as_folder().key, limit=1)):
            return place.as_folder().key
        if store.find(place.bucket, place.key) is None and not self._force:
            raise Missing(f"there is nothing at {place.text}", "`lakeshare ls` lists what is there.")
        return place.key

    def _uploads(self, store: Store, place: Remote, prefix: str) -> Told:
        for upload in store.listing.uploads(place.bucket, prefix):
            if self._ages.keep(upload.started):
                if not self._dry_run:
                    Upload(store, place.bucket, upload.key, upload.upload_id).abort()
                yield self._record(place.at(upload.key), "")

    def _record(self, place: Remote, version: str) -> Record:
        facts = {"key": place.text, "versionID": version, "dryRun": self._dry_run}
        verb = "DRYRUN: would remove" if self._dry_run else "Removed"
        return Record(facts, f"{verb} `{printable(place.text)}`" + (f" (version {version})." if version else "."))
