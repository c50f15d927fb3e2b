"""table view: queries that are kept in a catalog, for several engines."""

import json
import time
from collections.abc import Iterator

import click

from lakeshare.cli.commands.arguments import BUCKET
from lakeshare.cli.commands.table.places import entry_of, namespace_of, renamed_of
from lakeshare.cli.commands.table.shown import Json, attributes, dotted, view_text
from lakeshare.cli.commands.table.warehouse import ignore_existing
from lakeshare.cli.errors import Missing, Misused, Refused
from lakeshare.cli.flags import command
from lakeshare.cli.groups import lazy_group
from lakeshare.cli.output import Record, printable
from lakeshare.cli.session import Session

_HERE = "lakeshare.cli.commands.table.view"
DIALECT = "spark"
DIALECTS = ("spark", "trino", "duckdb", "presto", "hive", "flink", "snowflake", "starrocks", "dremio", "clickhouse")
"""Words before a colon that are taken for a dialect; any other is part of the SQL."""

view = lazy_group(
    r"""Views: queries under a name, with SQL for each engine that reads them.

    \b
    lakeshare table view create lake analytics sales big --sql "SELECT * FROM sales.orders WHERE total > 1000"
    lakeshare table view show lake/analytics/sales/big
    """,
    {
        "create": (_HERE, "Make a view."),
        "list": (f"{_HERE}:list_", "List views."),
        "show": (_HERE, "Show the SQL of a view."),
        "exists": (_HERE, "Say whether a view is there."),
        "rename": (_HERE, "Give a view another name."),
        "remove": (_HERE, "Remove a view."),
    },
    {"drop": "remove"},
)

words = click.argument("words", metavar="ALIAS WAREHOUSE NAMESPACE VIEW", nargs=-1, required=True, type=BUCKET)


@command()
@words
@click.option("--sql", "sqls", multiple=True, required=True, metavar="[DIALECT:]SQL", help="The query; once a dialect.")
@click.option("--schema", default="", metavar="JSON", help="Its columns, as Iceberg's JSON.")
@click.option("--attr", "-a", "attrs", multiple=True, metavar="NAME=VALUE", help="Set a property; may be said again.")
@ignore_existing
def create(
    session: Session,
    words: tuple[str, ...],
    *,
    sqls: tuple[str, ...],
    schema: str,
    attrs: tuple[str, ...],
    ignore_existing: bool,
) -> Record:
    r"""Make a view. SQL without a dialect is Spark's.

    \b
    lakeshare table view create lake analytics sales big --sql "SELECT * FROM sales.orders WHERE total > 1000"
    lakeshare table view create lake/analytics/sales/recent \
      --sql "spark:SELECT * FROM sales.orders WHERE day > date_sub(current_date(), 7)" \
      --sql "trino:SELECT * FROM sales.orders WHERE day > current_date - INTERVAL '7' DAY"
    """
    spot = entry_of(session, words, "view")
    body = _body(spot.name, spot.namespace, sqls, schema, attrs)
    try:
        made = spot.catalog.send("POST", *spot.space, "views", body=body)
    except Refused as error:
        made = spot.catalog.found_instead(error, *spot.view, wanted=ignore_existing)
        return Record(made, f"View '{printable(dotted(spot.identifier))}' is there already.")
    return Record(made, f"View '{printable(dotted(spot.identifier))}' created successfully.")


@command("list")
@click.argument("words", metavar="ALIAS WAREHOUSE NAMESPACE", nargs=-1, required=True, type=BUCKET)
def list_(session: Session, words: tuple[str, ...]) -> Iterator[Record]:
    r"""List the views of a namespace.

    \b
    lakeshare table view list lake analytics sales
    """
    spot = namespace_of(session, words)
    for found in spot.catalog.pages(*spot.space, "views", items="identifiers"):
        yield Record(found, printable(found["name"]))


@command()
@words
def show(session: Session, words: tuple[str, ...]) -> Record:
    r"""Show a view: its SQL in every dialect, and its columns.

    \b
    lakeshare table view show lake analytics sales big
    """
    spot = entry_of(session, words, "view")
    found = spot.catalog.get(*spot.view)
    return Record(found, view_text(dotted(spot.identifier), found))


@command()
@words
def exists(session: Session, words: tuple[str, ...]) -> Record:
    r"""Say whether a view is there; ends with 3 if it is not.

    \b
    lakeshare table view exists lake analytics sales big && echo yes
    """
    spot = entry_of(session, words, "view")
    if not spot.catalog.exists(*spot.view):
        step = f"See `lakeshare table view list {spot.parent}`."
        raise Missing(f"there is no view {dotted(spot.identifier)}", step)
    return Record({**spot.identifier, "exists": True}, f"View '{printable(dotted(spot.identifier))}' is there.")


@command()
@click.argument("words", metavar="ALIAS WAREHOUSE NAMESPACE OLD NEW", nargs=-1, required=True, type=BUCKET)
@click.option("--to-namespace", default="", metavar="NAMESPACE", help="Move it to this namespace.")
def rename(session: Session, words: tuple[str, ...], *, to_namespace: str) -> Record:
    r"""Give a view another name. NEW is a name, or a path in the same warehouse.

    \b
    lakeshare table view rename lake analytics sales big large
    """
    source, target = renamed_of(session, words, to_namespace, "view")
    body = {"source": source.identifier, "destination": target.identifier}
    source.catalog.send("POST", source.warehouse, "views", "rename", body=body)
    return Record(body, f"View '{dotted(source.identifier)}' is now '{dotted(target.identifier)}'.")


@command()
@words
def remove(session: Session, words: tuple[str, ...]) -> Record:
    r"""Remove a view; the tables that it reads stay.

    \b
    lakeshare table view remove lake analytics sales big
    lakeshare table view drop lake/analytics/sales/big
    """
    spot = entry_of(session, words, "view")
    spot.catalog.send("DELETE", *spot.view)
    return Record(spot.identifier, f"View '{printable(dotted(spot.identifier))}' removed successfully.")


def _body(name: str, namespace: tuple[str, ...], sqls: tuple[str, ...], schema: str, attrs: tuple[str, ...]) -> Json:
    try:
        columns = json.loads(schema) if schema else {"type": "struct", "schema-id": 0, "fields": []}
    except ValueError as reason:
        raise Misused(f"--schema is no JSON: {reason}", 'A schema is such as {"type":"struct","fields":[…]}.') from None
    version = {
        "version-id": 1,
        "timestamp-ms": int(time.time() * 1000),
        "schema-id": columns.get("schema-id", 0),
        "summary": {"engine-name": "lakeshare"},
        "default-namespace": list(namespace),
        "representations": [_representation(sql) for sql in sqls],
    }
    return {"name": name, "schema": columns, "view-version": version, "properties": attributes(attrs)}


def _representation(text: str) -> Json:
    word, colon, rest = text.partition(":")
    known = bool(colon) and word.strip().lower() in DIALECTS
    dialect, sql = (word.strip().lower(), rest) if known else (DIALECT, text)
    return {"type": "sql", "sql": sql.strip(), "dialect": dialect}
