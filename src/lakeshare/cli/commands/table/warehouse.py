"""table warehouse: buckets that hold tables."""

from collections.abc import Iterator

import click

from lakeshare.cli.commands.arguments import BUCKET
from lakeshare.cli.commands.table.places import catalog_of, warehouse_of
from lakeshare.cli.commands.table.shown import Json, when
from lakeshare.cli.errors import Misused, Refused
from lakeshare.cli.flags import command
from lakeshare.cli.groups import lazy_group
from lakeshare.cli.output import Record, pairs, table
from lakeshare.cli.session import Session

_HERE = "lakeshare.cli.commands.table.warehouse"

warehouse = lazy_group(
    r"""Warehouses: buckets that hold Iceberg tables.

    \b
    lakeshare table warehouse create lake analytics
    lakeshare table warehouse list lake
    """,
    {
        "create": (_HERE, "Make a warehouse, or make a bucket one."),
        "list": (f"{_HERE}:list_", "List warehouses."),
        "info": (_HERE, "Show a warehouse."),
        "remove": (_HERE, "Remove a warehouse; its bucket stays without --purge."),
        "maintenance": ("lakeshare.cli.commands.table.maintenance", "The same as `table maintenance`."),
    },
)

words = click.argument("words", metavar="ALIAS WAREHOUSE", nargs=-1, required=True, type=BUCKET)
ignore_existing = click.option("--ignore-existing", "-p", is_flag=True, help="Do nothing if it is there already.")


@command()
@words
@ignore_existing
@click.option("--upgrade-existing", is_flag=True, help="Let it be a bucket that holds objects; they stay.")
def create(session: Session, words: tuple[str, ...], *, ignore_existing: bool, upgrade_existing: bool) -> Record:
    r"""Make a warehouse with a bucket of its name. An empty bucket that is there becomes the warehouse.

    \b
    lakeshare table warehouse create lake analytics
    lakeshare table warehouse create lake/landing --upgrade-existing
    """
    spot = warehouse_of(session, words)
    body = {"name": spot.warehouse, "upgrade-existing": upgrade_existing}
    try:
        made = spot.catalog.send("POST", "warehouses", body=body)
    except Refused as error:
        made = spot.catalog.found_instead(_explained(error), "warehouses", spot.warehouse, wanted=ignore_existing)
        return Record(made, f"Warehouse '{spot.warehouse}' is there already.")
    return Record(made, f"Warehouse '{spot.warehouse}' created successfully.")


@command("list")
@click.argument("words", metavar="ALIAS", nargs=-1, required=True, type=BUCKET)
def list_(session: Session, words: tuple[str, ...]) -> Iterator[Record]:
    r"""List warehouses.

    \b
    lakeshare table warehouse list lake
    lakeshare table warehouse list lake --json | jq -r .name
    """
    spot = catalog_of(session, words)
    found = spot.catalog.pages("warehouses", items="warehouses")
    rows = ((_cells(each), each) for each in found)
    return table(("Warehouse", "Created", "By"), rows)


@command()
@words
def info(session: Session, words: tuple[str, ...]) -> Record:
    r"""Show a warehouse.

    \b
    lakeshare table warehouse info lake analytics
    """
    spot = warehouse_of(session, words)
    found = spot.catalog.get("warehouses", spot.warehouse)
    rows = [
        ("UUID", found["uuid"]),
        ("Bucket", found["bucket"]),
        ("Location", found["location"]),
        ("Created", when(found["created-at-ms"])),
        ("By", found["created-by"] or "unknown"),
        ("Also takes objects", "yes" if found["upgraded"] else "no"),
    ]
    return Record(found, pairs(f"Warehouse: {spot.warehouse}", rows))


@command()
@words
@click.option("--purge", is_flag=True, help="Remove its tables, all objects and the bucket too; needs --force.")
@click.option("--force", is_flag=True, help="Say that --purge is meant.")
def remove(session: Session, words: tuple[str, ...], *, purge: bool, force: bool) -> Record:
    r"""Remove a warehouse that has no namespaces; its bucket stays. With --purge --force everything goes.

    \b
    lakeshare table warehouse remove lake analytics
    lakeshare table warehouse rm lake/analytics --purge --force
    """
    spot = warehouse_of(session, words)
    if purge and not force:
        raise Misused(
            f"--purge would remove every table and object of {spot.warehouse}, and its bucket",
            "Say --purge --force if that is meant.",
        )
    query = (("purge", "true"), ("force", "true")) if purge else ()
    spot.catalog.send("DELETE", "warehouses", spot.warehouse, query=query)
    facts: Json = {"name": spot.warehouse, "purge": purge}
    more = " Its tables and objects are being removed." if purge else ""
    return Record(facts, f"Warehouse '{spot.warehouse}' removed successfully.{more}")


def _cells(found: Json) -> tuple[str, ...]:
    return found["name"], when(found["created-at-ms"]), found["created-by"]


def _explained(error: Refused) -> Refused:
    """Say what to do where a bucket is in the way."""
    step = error.next_step
    if "upgrade-existing" in error.said:
        step = "Say --upgrade-existing to make it a warehouse and keep its objects."
    return Refused(error.status, error.code, error.said, "", step)
