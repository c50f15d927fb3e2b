"""table share: shares, and what is in them."""

from collections.abc import Iterator

import click

from lakeshare.cli.commands.admin.told import at
from lakeshare.cli.commands.arguments import ALIAS
from lakeshare.cli.commands.table.told import Json, share_place, share_tree, told
from lakeshare.cli.errors import Misused
from lakeshare.cli.flags import command
from lakeshare.cli.groups import lazy_group
from lakeshare.cli.output import Record, table
from lakeshare.cli.session import Session
from lakeshare.cli.units import size_text

_HERE = "lakeshare.cli.commands.table.share"

share = lazy_group(
    r"""Shares: tables under names of your choice, for whoever has a token.

    \b
    lakeshare table share create lake/sales HR "employees:delta:analytics:employees/"
    lakeshare table share update lake/sales --add "HR:offices:delta:analytics:offices/"
    lakeshare table share token create lake/sales --expires 90d --json | jq -r .profile > profile.share
    """,
    {
        "create": (_HERE, "Make a share with its first table."),
        "list": (f"{_HERE}:list_", "List shares."),
        "info": (_HERE, "Show a share with its schemas and tables."),
        "update": (_HERE, "Add and remove tables, or describe a share."),
        "remove": (_HERE, "Remove a share; its tokens end at once."),
        "schema": (f"{_HERE}:schema", "Rename and remove schemas."),
        "token": ("lakeshare.cli.commands.table.token", "Tokens of shares."),
        "query": ("lakeshare.cli.commands.table.query", "Show rows as a recipient gets them."),
        "usage": (_HERE, "Show who read how much."),
    },
)

_share = click.argument("target", metavar="ALIAS/SHARE", type=ALIAS)
_description = click.option("--description", default=None, help="What it is for.")
_history = click.option("--no-history", is_flag=True, help="Share the newest version only, and no changes.")
_start = click.option("--start-version", type=int, default=0, help="Share no version older than this.")


@command()
@_share
@click.argument("schema", metavar="SCHEMA")
@click.argument("specs", metavar="TABLESPEC...", nargs=-1, required=True)
@_description
@click.option("--oauth-only", is_flag=True, help="Refuse bearer tokens: recipients need OAuth clients.")
@_history
@_start
def create(
    session: Session,
    target: str,
    schema: str,
    specs: tuple[str, ...],
    *,
    description: str | None,
    oauth_only: bool,
    no_history: bool,
    start_version: int,
) -> Record:
    r"""Make a share with a schema and its first tables.

    A TABLESPEC is NAME:delta:BUCKET:PATH, or NAME:remote:SOURCE:BUCKET:PATH for a table of another S3 store. With * for
    NAME every table below PATH is shared, those that are made later too.

    \b
    lakeshare table share create lake/sales HR "employees:delta:analytics:employees/" --description "Employees"
    lakeshare table share create lake/all HR "*:delta:analytics:hr/"
    """
    alias, name = share_place(session, target)
    tables = [_offer(schema, spec, no_history=no_history, start_version=start_version) for spec in specs]
    body = {"name": name, "description": description or "", "oauth_only": oauth_only, "tables": tables}
    made = told(session, session.admin(alias).send("POST", "shares", body=body))
    return Record(made, "\n".join([f"Share '{made['name']}' created successfully.", *_reports(made)]))


@command("list")
@click.argument("target", metavar="ALIAS[/SHARE]", type=ALIAS)
def list_(session: Session, target: str) -> Iterator[Record]:
    r"""List shares, or one of them.

    \b
    lakeshare table share list lake
    lakeshare table share list lake --json | jq -r .name
    """
    place = session.remote(target)
    listed = session.admin(place.alias).pages("shares", items="shares")
    wanted = (one for one in listed if not place.bucket or one["name"].casefold() == place.bucket.casefold())
    return table(("Share", "Schemas", "Tables", "Updated", "Description"), ((_line(one), one) for one in wanted))


@command()
@_share
def info(session: Session, target: str) -> Record:
    r"""Show a share with its schemas and tables.

    \b
    lakeshare table share info lake/sales
    """
    alias, name = share_place(session, target)
    found = session.admin(alias).get("shares", name)
    return Record(found, share_tree(found))


@command()
@_share
@click.option("--add", "adds", multiple=True, metavar="SCHEMA:TABLESPEC", help="Add this table; may be said again.")
@click.option(
    "--remove",
    "removes",
    multiple=True,
    metavar="SCHEMA/TABLE[,…]",
    help="Take these out; * is what is shared whole.",
)
@_description
@click.option("--rename", default="", metavar="NAME", help="Give the share another name.")
@click.option("--oauth-only/--no-oauth-only", default=None, help="Refuse bearer tokens, or take them again.")
@_history
@_start
def update(
    session: Session,
    target: str,
    *,
    adds: tuple[str, ...],
    removes: tuple[str, ...],
    description: str | None,
    rename: str,
    oauth_only: bool | None,
    no_history: bool,
    start_version: int,
) -> Record:
    r"""Add and remove tables, or describe a share. Whoever reads meanwhile is not disturbed.

    \b
    lakeshare table share update lake/sales --add "HR:offices:delta:analytics:offices/"
    lakeshare table share update lake/sales --remove "HR/offices,HR/employees"
    lakeshare table share update lake/sales --description ""
    """
    alias, name = share_place(session, target)
    admin = session.admin(alias)
    changed: Json = {}
    if adds or removes:
        body: Json = {
            "add": [_added(text, no_history=no_history, start_version=start_version) for text in adds],
            "remove": [_removed(text) for group in removes for text in group.split(",") if text],
        }
        changed = told(session, admin.send("POST", "shares", name, "tables", body=body))
    asked = {"description": description, "name": rename or None, "oauth_only": oauth_only}
    rest = {field: value for field, value in asked.items() if value is not None}
    if rest:
        changed = admin.send("PATCH", "shares", name, body=rest)
    if not changed:
        raise Misused("there is nothing to change", "Say --add, --remove, --description, --rename or --oauth-only.")
    return Record(changed, "\n".join([f"Share '{changed['name']}' updated successfully.", *_reports(changed)]))


@command()
@_share
def remove(session: Session, target: str) -> Record:
    r"""Remove a share. Its tokens end at once; tables, and other shares of its recipients, stay.

    \b
    lakeshare table share remove lake/sales
    """
    alias, name = share_place(session, target)
    gone = session.admin(alias).send("DELETE", "shares", name)
    ended = f" {gone['tokens']} {'token' if gone['tokens'] == 1 else 'tokens'} ended." if gone["tokens"] else ""
    return Record(gone, f"Share '{gone['name']}' removed successfully.{ended}")


schema = lazy_group(
    r"""Rename and remove schemas of a share.

    \b
    lakeshare table share schema rename lake/sales HR people
    lakeshare table share schema remove lake/sales people
    """,
    {
        "rename": (f"{_HERE}:rename_schema", "Give a schema another name."),
        "remove": (f"{_HERE}:remove_schema", "Take a schema with its tables out of a share."),
    },
)


@command("rename")
@_share
@click.argument("schema", metavar="SCHEMA")
@click.argument("name", metavar="NAME")
def rename_schema(session: Session, target: str, schema: str, name: str) -> Record:
    r"""Give a schema another name; its tables stay as they are.

    \b
    lakeshare table share schema rename lake/sales HR people
    """
    alias, share_name = share_place(session, target)
    changed = session.admin(alias).send("PATCH", "shares", share_name, "schemas", schema, body={"name": name})
    return Record(changed, f"Schema '{schema}' is now '{name}'.")


@command("remove")
@_share
@click.argument("schema", metavar="SCHEMA")
def remove_schema(session: Session, target: str, schema: str) -> Record:
    r"""Take a schema with its tables out of a share.

    \b
    lakeshare table share schema remove lake/sales HR
    """
    alias, share_name = share_place(session, target)
    changed = session.admin(alias).send("DELETE", "shares", share_name, "schemas", schema)
    return Record(changed, f"Schema '{schema}' removed successfully.")


@command()
@click.argument("target", metavar="ALIAS[/SHARE]", type=ALIAS)
@click.option("--recipient", default="", help="Only what this recipient read.")
def usage(session: Session, target: str, *, recipient: str) -> Iterator[Record]:
    r"""Show how often, how many files and how many bytes each recipient read of each table.

    \b
    lakeshare table share usage lake
    lakeshare table share usage lake/sales --recipient acme
    """
    place = session.remote(target)
    query = tuple(pair for pair in (("recipient", recipient), ("share", place.bucket)) if pair[1])
    found = session.admin(place.alias).get("sharing", "usage", query=query)["usage"]
    rows = (
        (
            (
                one["recipient"],
                one["share"],
                one["table"],
                str(one["queries"]),
                str(one["files"]),
                size_text(one["bytes"]),
                at(one["last_at"]),
            ),
            one,
        )
        for one in found
    )
    return table(("Recipient", "Share", "Table", "Queries", "Files", "Size", "Last"), rows)


def _offer(schema: str, spec: str, *, no_history: bool, start_version: int) -> Json:
    offer: Json = {"schema": schema, "spec": spec}
    if no_history:
        offer["history"] = False
    if start_version:
        offer["start_version"] = start_version
    return offer


def _added(text: str, *, no_history: bool, start_version: int) -> Json:
    schema_name, colon, spec = text.partition(":")
    if not colon:
        raise Misused(f"--add has {text!r}", 'Write it as "SCHEMA:NAME:delta:BUCKET:PATH".')
    return _offer(schema_name, spec, no_history=no_history, start_version=start_version)


def _removed(text: str) -> Json:
    schema_name, slash, name = text.partition("/")
    if not slash:
        raise Misused(f"--remove has {text!r}", 'Write it as "SCHEMA/TABLE,SCHEMA/TABLE".')
    return {"schema": schema_name, "table": name}


def _line(one: Json) -> tuple[str, ...]:
    return one["name"], str(one["schemas"]), str(one["tables"]), at(one["updated_at"]), one["description"]


def _reports(made: Json) -> Iterator[str]:
    for one in made.get("reports", ()):
        facts = [f"version {one['version']}"] if one["version"] is not None else []
        facts += [f"{one['files']} {'file' if one['files'] == 1 else 'files'}"] if one["files"] is not None else []
        facts += [size_text(one["bytes"])] if one["bytes"] is not None else []
        facts += [f"features {', '.join(one['features'])}"] if one["features"] else []
        if facts:
            yield f"  {one['schema']}/{one['table']}: {', '.join(facts)}"
