"""tag: tags of buckets and objects."""

from urllib.parse import parse_qsl

import click

from lakeshare.cli.commands.arguments import REMOTE
from lakeshare.cli.errors import Misused
from lakeshare.cli.flags import command
from lakeshare.cli.groups import lazy_group
from lakeshare.cli.output import Record, pairs
from lakeshare.cli.places import Remote
from lakeshare.cli.session import Session

_HERE = "lakeshare.cli.commands.tag"

tag = lazy_group(
    r"""Tags of buckets and objects.

    \b
    lakeshare tag set lake/bucket/report.csv "kind=report&year=2026"
    lakeshare tag list lake/bucket/report.csv
    lakeshare tag remove lake/bucket/report.csv
    """,
    {
        "set": (f"{_HERE}:set_", "Set the tags of a bucket or an object."),
        "list": (f"{_HERE}:list_", "List tags."),
        "remove": (f"{_HERE}:remove", "Remove all tags."),
    },
)

_target = click.argument("target", type=REMOTE, metavar="ALIAS/BUCKET[/KEY]")


def _place(session: Session, target: str) -> Remote:
    place = session.remote(target)
    if not place.bucket:
        raise Misused(f"{target} is a whole server", f"Name a bucket or an object: {place.alias}/BUCKET/KEY.")
    return place


@command("set")
@_target
@click.argument("tags", metavar="TAGS")
def set_(session: Session, target: str, tags: str) -> Record:
    r"""Set the tags of a bucket or an object, in place of those it has.

    \b
    lakeshare tag set lake/bucket "team=sales"
    lakeshare tag set lake/bucket/report.csv "kind=report&year=2026"
    """
    place = _place(session, target)
    try:
        wanted = dict(parse_qsl(tags, keep_blank_values=True, strict_parsing=True))
    except ValueError:
        raise Misused(f"{tags!r} are no tags", 'Write them as "key=value&key=value".') from None
    session.store(place.alias).set_tags(place.bucket, place.key, wanted)
    return Record({"name": place.text, "tagset": wanted}, f"Tags set for `{place.text}`.")


@command("list")
@_target
def list_(session: Session, target: str) -> Record:
    r"""List the tags of a bucket or an object.

    \b
    lakeshare tag list lake/bucket/report.csv
    """
    place = _place(session, target)
    found = session.store(place.alias).tags(place.bucket, place.key)
    return Record({"name": place.text, "tagset": found}, pairs("", [("Name", place.text), *sorted(found.items())]))


@command()
@_target
def remove(session: Session, target: str) -> Record:
    r"""Remove all tags of a bucket or an object.

    \b
    lakeshare tag remove lake/bucket/report.csv
    """
    place = _place(session, target)
    session.store(place.alias).set_tags(place.bucket, place.key, {})
    return Record({"name": place.text}, f"Tags removed for `{place.text}`.")
