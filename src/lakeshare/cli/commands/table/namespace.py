"""table namespace: what tables are sorted into."""

from collections.abc import Iterator

import click

from lakeshare.cli.commands.arguments import BUCKET
from lakeshare.cli.commands.table.places import Spot, namespace_of
from lakeshare.cli.commands.table.shown import Json, attributes, property_lines
from lakeshare.cli.commands.table.warehouse import ignore_existing
from lakeshare.cli.errors import Misused, Refused
from lakeshare.cli.flags import command
from lakeshare.cli.groups import lazy_group
from lakeshare.cli.output import Record, pairs, printable
from lakeshare.cli.remote.catalog import joined
from lakeshare.cli.session import Session

_HERE = "lakeshare.cli.commands.table.namespace"
MAX_LEVELS = 16
"""Deepest namespace that a server takes."""

namespace = lazy_group(
    r"""Namespaces: what tables of a warehouse are sorted into.

    \b
    lakeshare table namespace create lake analytics sales
    lakeshare table namespace create lake/analytics/sales/eu
    """,
    {
        "create": (_HERE, "Make a namespace."),
        "list": (f"{_HERE}:list_", "List namespaces."),
        "info": (_HERE, "Show a namespace and its properties."),
        "update": (_HERE, "Set and remove properties of a namespace."),
        "remove": (_HERE, "Remove an empty namespace."),
    },
)

words = click.argument("words", metavar="ALIAS WAREHOUSE NAMESPACE", nargs=-1, required=True, type=BUCKET)


@command()
@words
@click.option("--attr", "-a", "attrs", multiple=True, metavar="NAME=VALUE", help="Set a property; may be said again.")
@ignore_existing
def create(session: Session, words: tuple[str, ...], *, attrs: tuple[str, ...], ignore_existing: bool) -> Record:
    r"""Make a namespace; one that is deeper needs the one above it.

    \b
    lakeshare table namespace create lake analytics sales
    lakeshare table namespace create lake/analytics/sales/eu --attr owner=ann
    """
    spot = namespace_of(session, words)
    body = {"namespace": list(spot.namespace), "properties": attributes(attrs)}
    try:
        made = spot.catalog.send("POST", spot.warehouse, "namespaces", body=body)
    except Refused as error:
        found = spot.catalog.found_instead(error, *spot.space, wanted=ignore_existing)
        return Record(found, f"Namespace '{_name(spot)}' is there already.")
    return Record(made, f"Namespace '{_name(spot)}' created successfully.")


@command("list")
@click.argument("words", metavar="ALIAS WAREHOUSE [NAMESPACE]", nargs=-1, required=True, type=BUCKET)
@click.option("--recursive", "-r", is_flag=True, help="List those below them too.")
def list_(session: Session, words: tuple[str, ...], *, recursive: bool) -> Iterator[Record]:
    r"""List the namespaces of a warehouse, or those below another.

    \b
    lakeshare table namespace list lake analytics
    lakeshare table namespace ls lake/analytics/sales --recursive
    """
    spot = namespace_of(session, words, or_none=True)
    for levels in _below(spot, spot.namespace, recursive=recursive):
        facts: Json = {"namespace": list(levels), "warehouse": spot.warehouse}
        yield Record(facts, printable("/".join(levels)))


@command()
@words
def info(session: Session, words: tuple[str, ...]) -> Record:
    r"""Show a namespace and its properties.

    \b
    lakeshare table namespace info lake analytics sales
    """
    spot = namespace_of(session, words)
    found = spot.catalog.get(*spot.space)
    return Record(found, pairs(f"Namespace: {_name(spot)}", property_lines(found.get("properties") or {})))


@command()
@words
@click.option("--set", "sets", multiple=True, metavar="NAME=VALUE", help="Set a property; may be said again.")
@click.option("--remove", "removes", multiple=True, metavar="NAME", help="Remove a property; may be said again.")
def update(session: Session, words: tuple[str, ...], *, sets: tuple[str, ...], removes: tuple[str, ...]) -> Record:
    r"""Set and remove properties of a namespace, all at once.

    \b
    lakeshare table namespace update lake analytics sales --set owner=ann --remove draft
    """
    spot = namespace_of(session, words)
    if not sets and not removes:
        raise Misused("there is nothing to change", "Say --set NAME=VALUE or --remove NAME.")
    body = {"updates": attributes(sets, "--set"), "removals": list(removes)}
    done = spot.catalog.send("POST", *spot.space, "properties", body=body)
    absent = done.get("missing") or []
    more = f" It had no {', '.join(absent)}." if absent else ""
    return Record(done, f"Namespace '{_name(spot)}' updated successfully.{more}")


@command()
@words
def remove(session: Session, words: tuple[str, ...]) -> Record:
    r"""Remove a namespace that holds nothing.

    \b
    lakeshare table namespace remove lake analytics sales
    """
    spot = namespace_of(session, words)
    spot.catalog.send("DELETE", *spot.space)
    facts: Json = {"namespace": list(spot.namespace), "warehouse": spot.warehouse}
    return Record(facts, f"Namespace '{_name(spot)}' removed successfully.")


def _below(spot: Spot, parent: tuple[str, ...], *, recursive: bool) -> Iterator[tuple[str, ...]]:
    query = (("parent", joined(parent)),) if parent else ()
    for found in spot.catalog.pages(spot.warehouse, "namespaces", items="namespaces", query=query):
        levels = tuple(found)
        yield levels
        if recursive and len(levels) < MAX_LEVELS:
            yield from _below(spot, levels, recursive=True)


def _name(spot: Spot) -> str:
    return printable("/".join(spot.namespace))
