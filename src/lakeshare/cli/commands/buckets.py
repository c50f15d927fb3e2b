"""mb and rb: making and removing buckets."""

from collections.abc import Iterator

import click

from lakeshare.cli.commands.arguments import BUCKET
from lakeshare.cli.errors import DENIED, ClientError, Misused, Refused
from lakeshare.cli.flags import command
from lakeshare.cli.output import Failure, Record
from lakeshare.cli.places import Remote
from lakeshare.cli.remote.model import Entry
from lakeshare.cli.remote.multipart import Upload
from lakeshare.cli.remote.store import Doomed, Store
from lakeshare.cli.session import Session

_THERE_ALREADY = "BucketAlreadyOwnedByYou"


def bucket_place(session: Session, text: str) -> Remote:
    """Read a place that must be a bucket."""
    place = session.remote(text)
    if not place.bucket or place.key:
        raise Misused(f"{text} is no bucket", f"Write {place.alias}/BUCKET.")
    return place


@command()
@click.argument("targets", nargs=-1, required=True, type=BUCKET, metavar="ALIAS/BUCKET...")
@click.option("-p", "--ignore-existing", is_flag=True, help="Be content if the bucket is there already.")
@click.option("--region", default="", help="Region of the bucket.")
def mb(session: Session, targets: tuple[str, ...], *, ignore_existing: bool, region: str) -> Iterator[Record | Failure]:
    r"""Make buckets.

    \b
    lakeshare mb lake/testdelta
    lakeshare mb --ignore-existing lake/raw lake/clean
    """
    for text in targets:
        place = bucket_place(session, text)
        try:
            _make(session.store(place.alias), place, region)
        except Refused as error:
            if not (ignore_existing and error.code == _THERE_ALREADY):
                yield Failure(error, {"bucket": place.text})
                continue
        yield Record({"bucket": place.text, "region": region}, f"Bucket created successfully `{place.text}`.")


def _make(store: Store, place: Remote, region: str) -> None:
    """Make a bucket. S3 in us-east-1 answers one that is there as if it were new, so it is looked for first."""
    try:
        there = store.has_bucket(place.bucket)
    except Refused as error:
        if error.exit_code != DENIED:
            raise
        there = False  # who may make a bucket may not be allowed to look
    if there:
        raise Refused(409, _THERE_ALREADY, "the bucket is there already", place.text)
    store.make_bucket(place.bucket, region)


@command()
@click.argument("targets", nargs=-1, required=True, type=BUCKET, metavar="ALIAS/BUCKET...")
@click.option("--force", is_flag=True, help="Remove everything in it too.")
@click.option("--dangerous", is_flag=True, help="With --force: remove all buckets of ALIAS.")
def rb(session: Session, targets: tuple[str, ...], *, force: bool, dangerous: bool) -> Iterator[Record | Failure]:
    r"""Remove buckets. One that holds something needs --force.

    \b
    lakeshare rb lake/testdelta
    lakeshare rb --force lake/raw lake/clean
    """
    for text in targets:
        for place in _buckets(session, text, all_of_them=force and dangerous):
            try:
                if force:
                    empty(session.store(place.alias), place.bucket)
                session.store(place.alias).remove_bucket(place.bucket)
            except ClientError as error:
                yield Failure(error, {"bucket": place.text})
            else:
                yield Record({"bucket": place.text}, f"Removed `{place.text}` successfully.")


def _buckets(session: Session, text: str, *, all_of_them: bool) -> list[Remote]:
    place = session.remote(text)
    if all_of_them and not place.bucket:
        return [Remote(place.alias, bucket.name) for bucket in session.store(place.alias).buckets()]
    return [bucket_place(session, text)]


def empty(store: Store, bucket: str) -> None:
    """Remove every version of every object, and every unfinished upload."""
    doomed = (
        Doomed(entry.key, "" if entry.version == "null" else entry.version)
        for entry in store.listing.versions(bucket)
        if isinstance(entry, Entry)
    )
    for result in store.delete_many(bucket, doomed):
        if result.error:
            raise result.error
    for upload in store.listing.uploads(bucket):
        Upload(store, bucket, upload.key, upload.upload_id).abort()
