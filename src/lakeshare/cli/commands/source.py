"""source: other S3 stores whose tables are shared in place."""

from collections.abc import Iterator

import click

from lakeshare.cli.commands.admin.told import at, sheet
from lakeshare.cli.commands.alias import asked_keys
from lakeshare.cli.commands.arguments import on_server
from lakeshare.cli.commands.table.told import Json
from lakeshare.cli.flags import command
from lakeshare.cli.groups import lazy_group
from lakeshare.cli.output import Record, table
from lakeshare.cli.session import Session

_HERE = "lakeshare.cli.commands.source"

source = lazy_group(
    r"""Remote sources: other S3 stores, read only, whose tables can be shared as they lie there.

    \b
    lakeshare source add lake archive https://s3.example.net KEY SECRET
    lakeshare table share create lake/old HR "staff:remote:archive:bucket:hr/staff/"
    """,
    {
        "add": (_HERE, "Name a source."),
        "list": (f"{_HERE}:list_", "List sources."),
        "info": (_HERE, "Show a source, never its secret."),
        "remove": (_HERE, "Remove a source that no share uses."),
    },
)

_name = click.argument("name", metavar="SOURCE")


@command()
@on_server
@_name
@click.argument("url", metavar="URL")
@click.argument("access_key", default="", metavar="[KEY]")
@click.argument("secret_key", default="", metavar="[SECRET]")
@click.option("--region", default="us-east-1", show_default=True, help="Region that requests are signed for.")
@click.option("--public-url", default="", metavar="URL", help="Where recipients reach it, if elsewhere.")
@click.option("--virtual-host", is_flag=True, help="Put the bucket into the host name.")
@click.option("--description", default="", help="What it is.")
def add(
    session: Session,
    target: str,
    name: str,
    url: str,
    access_key: str,
    secret_key: str,
    *,
    region: str,
    public_url: str,
    virtual_host: bool,
    description: str,
) -> Record:
    r"""Name a source. A key that may only read is enough, and best. Without KEY and SECRET both are asked for.

    \b
    lakeshare source add lake archive https://s3.example.net KEY SECRET
    """
    if not secret_key:
        access_key, secret_key = asked_keys(access_key, secret_key)
    body: Json = {
        "name": name,
        "endpoint": url,
        "access_key": access_key,
        "secret_key": secret_key,
        "region": region,
        "public_endpoint": public_url,
        "path_style": not virtual_host,
        "description": description,
    }
    made = session.admin(target).send("POST", "sources", body=body)
    return Record(made, f"Source '{made['name']}' created successfully.")


@command("list")
@on_server
def list_(session: Session, target: str) -> Iterator[Record]:
    r"""List sources.

    \b
    lakeshare source list lake
    """
    found = session.admin(target).get("sources")["sources"]
    rows = (((one["name"], one["endpoint"], one["access_key"], one["description"]), one) for one in found)
    return table(("Source", "URL", "Key", "Description"), rows)


@command()
@on_server
@_name
def info(session: Session, target: str, name: str) -> Record:
    r"""Show a source, never its secret.

    \b
    lakeshare source info lake archive
    """
    one = session.admin(target).get("sources", name)
    rows = [
        ("Source", one["name"]),
        ("URL", one["endpoint"]),
        ("Public URL", one["public_endpoint"] or one["endpoint"]),
        ("Key", one["access_key"]),
        ("Region", one["region"]),
        ("Description", one["description"]),
        ("Created", at(one["created_at"])),
    ]
    return sheet(one, rows)


@command()
@on_server
@click.argument("names", metavar="SOURCE...", nargs=-1, required=True)
def remove(session: Session, target: str, names: tuple[str, ...]) -> Iterator[Record]:
    r"""Remove sources that no share uses.

    \b
    lakeshare source remove lake archive
    """
    for one in names:
        session.admin(target).send("DELETE", "sources", one)
        yield Record({"name": one}, f"Source '{one}' removed successfully.")
