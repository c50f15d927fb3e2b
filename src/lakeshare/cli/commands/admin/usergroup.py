"""admin group: groups of users."""

from collections.abc import Iterator

import click

from lakeshare.cli.commands.admin.told import at, names, sheet, state
from lakeshare.cli.commands.arguments import on_server
from lakeshare.cli.flags import command
from lakeshare.cli.groups import lazy_group
from lakeshare.cli.output import Record, table
from lakeshare.cli.session import Session

_HERE = "lakeshare.cli.commands.admin.usergroup"

group = lazy_group(
    r"""Groups: users together. A group's policies count for each of its members.

    \b
    lakeshare admin group add lake analysts ann bob
    lakeshare admin policy attach lake readonly --group analysts
    """,
    {
        "add": (_HERE, "Make a group, or put users into it."),
        "list": (f"{_HERE}:list_", "List groups."),
        "info": (_HERE, "Show a group and its members."),
        "enable": (_HERE, "Let a group's policies count."),
        "disable": (_HERE, "Let a group's policies not count."),
        "remove": (_HERE, "Take users out of a group, or remove it."),
    },
)

_group = click.argument("group", metavar="GROUP")


@command()
@on_server
@_group
@click.argument("users", nargs=-1, metavar="[USER...]")
def add(session: Session, target: str, group: str, users: tuple[str, ...]) -> Record:
    r"""Make a group if there is none, and put users into it.

    \b
    lakeshare admin group add lake analysts
    lakeshare admin group add lake analysts ann bob
    """
    admin = session.admin(target)
    changed = admin.send("PUT", "groups", group)
    for user in users:
        changed = admin.send("PUT", "groups", group, "members", user)
    text = (
        f"Added members `{', '.join(users)}` to group `{group}` successfully."
        if users
        else f"Group `{group}` is there."
    )
    return Record(changed, text)


@command("list")
@on_server
def list_(session: Session, target: str) -> Iterator[Record]:
    r"""List groups.

    \b
    lakeshare admin group list lake
    """
    listed = session.admin(target).pages("groups", items="groups")
    return table(
        ("Status", "Group", "Policies"),
        (((state(one["enabled"]), one["name"], names(one["policies"])), one) for one in listed),
    )


@command()
@on_server
@_group
def info(session: Session, target: str, group: str) -> Record:
    r"""Show a group: its state, policies and members.

    \b
    lakeshare admin group info lake analysts
    """
    one = session.admin(target).get("groups", group)
    rows = [
        ("Group", one["name"]),
        ("Status", state(one["enabled"])),
        ("Policies", names(one["policies"])),
        ("Members", names(one["members"])),
        ("Created", at(one.get("created_at"))),
    ]
    return sheet(one, rows)


@command()
@on_server
@_group
def enable(session: Session, target: str, group: str) -> Record:
    r"""Let a group's policies count.

    \b
    lakeshare admin group enable lake analysts
    """
    changed = session.admin(target).send("POST", "groups", group, "enable")
    return Record(changed, f"Enabled group `{group}` successfully.")


@command()
@on_server
@_group
def disable(session: Session, target: str, group: str) -> Record:
    r"""Let a group's policies not count, from the next request on.

    \b
    lakeshare admin group disable lake analysts
    """
    changed = session.admin(target).send("POST", "groups", group, "disable")
    return Record(changed, f"Disabled group `{group}` successfully.")


@command()
@on_server
@_group
@click.argument("users", nargs=-1, metavar="[USER...]")
def remove(session: Session, target: str, group: str, users: tuple[str, ...]) -> Record:
    r"""Take users out of a group; without users, remove the group, which must be empty.

    \b
    lakeshare admin group remove lake analysts bob
    lakeshare admin group remove lake analysts
    """
    admin = session.admin(target)
    if not users:
        admin.send("DELETE", "groups", group)
        return Record({"name": group}, f"Removed group `{group}` successfully.")
    changed = {}
    for user in users:
        changed = admin.send("DELETE", "groups", group, "members", user)
    return Record(changed, f"Removed members `{', '.join(users)}` from group `{group}` successfully.")
