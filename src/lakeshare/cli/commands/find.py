"""find: objects by name, age and size."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from fnmatch import fnmatchcase

import click

from lakeshare.cli.commands.arguments import DURATION, REMOTE, SIZE
from lakeshare.cli.errors import Misused
from lakeshare.cli.flags import command
from lakeshare.cli.output import Record, printable
from lakeshare.cli.places import Remote
from lakeshare.cli.remote.model import Entry
from lakeshare.cli.session import Session
from lakeshare.cli.transfer.items import Ages
from lakeshare.cli.units import moment_json

Test = Callable[[Entry, str], bool]


@command()
@click.argument("target", type=REMOTE, metavar="ALIAS[/BUCKET[/PREFIX]]")
@click.option("--name", default="", help="Last part of the name, with * and ?.")
@click.option("--path", "whole", default="", help="Whole name below TARGET, with * and ?.")
@click.option("--regex", default="", help="Regular expression that the name below TARGET has.")
@click.option("--ignore", default="", help="Leave out whole names below TARGET that are so, with * and ?.")
@click.option("--older-than", "--older", type=DURATION, help="Only what is older, such as 7d10h.")
@click.option("--newer-than", "--newer", type=DURATION, help="Only what is newer, such as 24h.")
@click.option("--larger", type=SIZE, help="Only what is larger, such as 1MiB.")
@click.option("--smaller", type=SIZE, help="Only what is smaller, such as 1MiB.")
@click.option("--maxdepth", type=click.IntRange(1), help="Most levels below TARGET.")
def find(session: Session, target: str, **asked: object) -> Iterator[Record]:
    r"""Find objects by name, age and size.

    \b
    lakeshare find lake/bucket --name '*.parquet'
    lakeshare find lake/bucket/logs --older-than 90d --larger 1GiB
    lakeshare find lake --regex 'part-[0-9]+' --json
    """
    place = session.remote(target)
    store = session.store(place.alias)
    tests = _tests(**asked)  # type: ignore[arg-type]
    roots = [place] if place.bucket else [Remote(place.alias, bucket.name) for bucket in store.buckets()]
    for root in roots:
        prefix = root.as_folder().key
        for entry in store.listing.objects(root.bucket, prefix):
            if isinstance(entry, Entry) and all(test(entry, entry.key[len(prefix) :]) for test in tests):
                yield _record(root.at(entry.key), entry)


def _record(place: Remote, entry: Entry) -> Record:
    facts = {
        "type": "file",
        "key": place.text,
        "size": entry.size,
        "lastModified": moment_json(entry.modified),
        "etag": entry.etag,
    }
    return Record(facts, printable(place.text))


def _tests(
    *,
    name: str,
    whole: str,
    regex: str,
    ignore: str,
    older_than: int | None,
    newer_than: int | None,
    larger: int | None,
    smaller: int | None,
    maxdepth: int | None,
) -> list[Test]:
    """Return what an object must pass, given it and its name below the target."""
    ages = Ages(datetime.now(UTC), older_than, newer_than)
    tests: list[Test] = [lambda entry, _: ages.keep(entry.modified)]
    if name:
        tests.append(lambda _, shown: fnmatchcase(shown.rpartition("/")[2], name))
    if whole:
        tests.append(lambda _, shown: fnmatchcase(shown, whole))
    if ignore:
        tests.append(lambda _, shown: not fnmatchcase(shown, ignore))
    if regex:
        pattern = _pattern(regex)
        tests.append(lambda _, shown: pattern.search(shown) is not None)
    if larger is not None:
        tests.append(lambda entry, _: entry.size > larger)
    if smaller is not None:
        tests.append(lambda entry, _: entry.size < smaller)
    if maxdepth is not None:
        tests.append(lambda _, shown: shown.count("/") < maxdepth)
    return tests


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as reason:
        raise Misused(f"--regex {text!r} cannot be read: {reason}", "Write it in Python's syntax.") from None
