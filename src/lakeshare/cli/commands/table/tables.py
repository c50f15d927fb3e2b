"""table create, list, show, rename, remove, register and history: the tables of a catalog."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from lakeshare.cli.commands.arguments import BUCKET
from lakeshare.cli.commands.table.places import Spot, entry_of, namespace_of, renamed_of
from lakeshare.cli.commands.table.shown import Json, attributes, dotted, table_text, when
from lakeshare.cli.commands.table.warehouse import ignore_existing
from lakeshare.cli.errors import Missing, Misused, Refused
from lakeshare.cli.flags import command
from lakeshare.cli.output import Record, printable, table
from lakeshare.cli.session import Session

MAX_SCHEMA_BYTES = 16 * 1024**2
MAX_HISTORY = 20

words = click.argument("words", metavar="ALIAS WAREHOUSE NAMESPACE TABLE", nargs=-1, required=True, type=BUCKET)


@command()
@words
@click.option("--schema", required=True, metavar="JSON", help="The columns, as Iceberg's JSON; @FILE reads a file.")
@click.option("--partition-spec", default="", metavar="JSON", help="How rows are partitioned; @FILE reads a file.")
@click.option("--attr", "-a", "attrs", multiple=True, metavar="NAME=VALUE", help="Set a property; may be said again.")
@click.option("--location", default="", metavar="S3PATH", help="Where it lies, inside the warehouse.")
@ignore_existing
def create(
    session: Session,
    words: tuple[str, ...],
    *,
    schema: str,
    partition_spec: str,
    attrs: tuple[str, ...],
    location: str,
    ignore_existing: bool,
) -> Record:
    r"""Make a table without rows.

    \b
    lakeshare table create lake analytics sales orders --schema \
      '{"type":"struct","fields":[{"id":1,"name":"id","type":"long","required":true}]}'
    lakeshare table create lake/analytics/sales/orders --schema @orders.json --attr format-version=3
    """
    spot = entry_of(session, words)
    body: Json = {"name": spot.name, "schema": _document(schema, "--schema"), "properties": attributes(attrs)}
    if partition_spec:
        body["partition-spec"] = _document(partition_spec, "--partition-spec")
    if location:
        body["location"] = location
    return _made(spot, body, ("tables",), "created", ignore_existing=ignore_existing)


@command("list")
@click.argument("words", metavar="ALIAS WAREHOUSE NAMESPACE", nargs=-1, required=True, type=BUCKET)
def list_(session: Session, words: tuple[str, ...]) -> Iterator[Record]:
    r"""List the tables of a namespace.

    \b
    lakeshare table list lake analytics sales
    lakeshare table ls lake/analytics/sales --json | jq -r .name
    """
    spot = namespace_of(session, words)
    for found in spot.catalog.pages(*spot.space, "tables", items="identifiers"):
        yield Record(found, printable(found["name"]))


@command()
@words
def show(session: Session, words: tuple[str, ...]) -> Record:
    r"""Show a table: where it lies, its columns, its newest snapshot, its properties.

    \b
    lakeshare table show lake analytics sales orders
    lakeshare table show lake/analytics/sales/orders --json | jq .metadata.schemas
    """
    spot = entry_of(session, words)
    found = spot.catalog.get(*spot.table)
    return Record(found, table_text(dotted(spot.identifier), found))


@command()
@click.argument("words", metavar="ALIAS WAREHOUSE NAMESPACE OLD NEW", nargs=-1, required=True, type=BUCKET)
@click.option("--to-namespace", default="", metavar="NAMESPACE", help="Move it to this namespace.")
def rename(session: Session, words: tuple[str, ...], *, to_namespace: str) -> Record:
    r"""Give a table another name; its files stay where they are. NEW is a name, or a path in the same warehouse.

    \b
    lakeshare table rename lake analytics sales orders orders_2025
    lakeshare table rename lake/analytics/sales/orders lake/analytics/archive/orders
    lakeshare table rename lake/analytics/sales/orders orders --to-namespace archive
    """
    source, target = renamed_of(session, words, to_namespace)
    body = {"source": source.identifier, "destination": target.identifier}
    source.catalog.send("POST", source.warehouse, "tables", "rename", body=body)
    return Record(body, f"Table '{_name(source)}' is now '{_name(target)}'.")


@command()
@words
@click.option("--purge", is_flag=True, help="Remove its files too; without it only the catalog forgets the table.")
def remove(session: Session, words: tuple[str, ...], *, purge: bool) -> Record:
    r"""Remove a table. Its files stay without --purge, and can be registered again.

    \b
    lakeshare table remove lake analytics sales orders
    lakeshare table rm lake/analytics/sales/orders --purge
    """
    spot = entry_of(session, words)
    spot.catalog.send("DELETE", *spot.table, query=(("purgeRequested", str(purge).lower()),))
    more = " Its files are being removed." if purge else " Its files stay."
    return Record({**spot.identifier, "purge": purge}, f"Table '{_name(spot)}' removed successfully.{more}")


@command()
@words
@click.option("--metadata-location", "-l", required=True, metavar="S3PATH", help="The metadata file of the table.")
@ignore_existing
def register(session: Session, words: tuple[str, ...], *, metadata_location: str, ignore_existing: bool) -> Record:
    r"""Give a table that lies in the warehouse a name, by its metadata file. Nothing is copied.

    \b
    lakeshare table register lake/analytics/sales/orders \
      --metadata-location s3://analytics/sales/orders-1/metadata/00003-a.metadata.json
    """
    spot = entry_of(session, words)
    body: Json = {"name": spot.name, "metadata-location": metadata_location}
    return _made(spot, body, ("register",), "registered", ignore_existing=ignore_existing)


@command()
@words
@click.option("--limit", type=click.IntRange(1), default=MAX_HISTORY, help=f"Most versions, newest; {MAX_HISTORY}.")
def history(session: Session, words: tuple[str, ...], *, limit: int) -> Iterator[Record]:
    r"""Show how a table came to be what it is: its versions, newest first.

    \b
    lakeshare table history lake analytics sales orders
    lakeshare table history lake/analytics/sales/orders --json | jq -r '."snapshot-id"'
    """
    spot = entry_of(session, words)
    versions = list(spot.catalog.pages(*spot.table, "history", items="versions"))
    newest = sorted(versions, key=lambda each: -each["version"])[:limit]
    rows = ((_version(each), each) for each in newest)
    return table(("Version", "When", "Snapshot", "Schema", "By"), rows)


def _version(found: Json) -> tuple[str, ...]:
    snapshot = "none" if found["snapshot-id"] is None else str(found["snapshot-id"])
    return str(found["version"]), when(found["timestamp-ms"]), snapshot, str(found["schema-id"]), found["committed-by"]


def _made(spot: Spot, body: Json, path: tuple[str, ...], verb: str, *, ignore_existing: bool) -> Record:
    try:
        made = spot.catalog.send("POST", *spot.space, *path, body=body)
    except Refused as error:
        found = spot.catalog.found_instead(error, *spot.table, wanted=ignore_existing)
        return Record(found, f"Table '{_name(spot)}' is there already.")
    return Record(made, f"Table '{_name(spot)}' {verb} successfully.\nLocation: {made['metadata']['location']}")


def _document(text: str, flag: str) -> Any:
    """Read a JSON object that was typed, or lies in a file."""
    if text.startswith("@"):
        text = _file(text[1:])
    try:
        found = json.loads(text)
    except ValueError as reason:
        raise Misused(f"{flag} is no JSON: {reason}", f"Write the JSON itself, or {flag} @FILE.") from None
    if not isinstance(found, dict):
        raise Misused(f"{flag} is no JSON object", 'A schema is such as {"type":"struct","fields":[…]}.')
    return found


def _file(path: str) -> str:
    try:
        with Path(path).open(encoding="utf-8") as file:
            return file.read(MAX_SCHEMA_BYTES)
    except (OSError, UnicodeDecodeError) as reason:
        raise Missing(f"{path} cannot be read: {reason}") from None


def _name(spot: Spot) -> str:
    return printable(dotted(spot.identifier))
