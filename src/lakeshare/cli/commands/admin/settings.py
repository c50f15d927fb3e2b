"""admin settings: the settings of a running server."""

from collections.abc import Iterator

import click

from lakeshare.cli.commands.admin.told import Json, sheet
from lakeshare.cli.commands.arguments import on_server
from lakeshare.cli.errors import Misused
from lakeshare.cli.flags import command
from lakeshare.cli.groups import lazy_group
from lakeshare.cli.output import Record, table
from lakeshare.cli.session import Session

_HERE = "lakeshare.cli.commands.admin.settings"

settings = lazy_group(
    r"""Settings of a running server. Those that are live can be changed without a restart.

    \b
    lakeshare admin settings list lake
    lakeshare admin settings set lake log-level debug
    lakeshare admin settings reset lake log-level
    """,
    {
        "list": (f"{_HERE}:list_", "List settings."),
        "get": (_HERE, "Show a setting."),
        "set": (f"{_HERE}:set_", "Change a live setting."),
        "reset": (_HERE, "Take a change back."),
    },
    {"info": "get"},
)

_name = click.argument("name", metavar="SETTING")


def _spelled(name: str) -> str:
    """Return a setting's name as the API has it, for whoever types its flag."""
    return name.removeprefix("--").replace("-", "_")


@command("list")
@on_server
def list_(session: Session, target: str) -> Iterator[Record]:
    r"""List settings: their values, where each comes from, and whether it can be changed live.

    \b
    lakeshare admin settings list lake
    lakeshare admin settings list lake --json | jq -r 'select(.live) | .name'
    """
    found = session.admin(target).pages("settings", items="settings")
    rows = (
        ((one["name"], str(one["value"]), one["source"], "live" if one["live"] else "restart"), one) for one in found
    )
    return table(("Setting", "Value", "From", "Changes"), rows)


@command()
@on_server
@_name
def get(session: Session, target: str, name: str) -> Record:
    r"""Show a setting.

    \b
    lakeshare admin settings get lake garbage-grace
    """
    return _sheet(session.admin(target).get("settings", _spelled(name)))


@command("set")
@on_server
@_name
@click.argument("value", default=None, required=False)
def set_(session: Session, target: str, name: str, value: str | None) -> Record:
    r"""Change a live setting, for all workers at once. It stays changed after a restart.

    \b
    lakeshare admin settings set lake log-level debug
    lakeshare admin settings set lake garbage-grace=4h
    """
    if value is None:
        name, equals, value = name.partition("=")
        if not equals:
            raise Misused(f"no value is given for {name}", f"lakeshare admin settings set {target} {name} VALUE")
    changed = session.admin(target).send("PUT", "settings", _spelled(name), body={"value": value})
    return Record(changed, f"{changed['name']} is {changed['value']} now.")


@command()
@on_server
@_name
def reset(session: Session, target: str, name: str) -> Record:
    r"""Take a change of a setting back.

    \b
    lakeshare admin settings reset lake log-level
    """
    changed = session.admin(target).send("DELETE", "settings", _spelled(name)) or session.admin(target).get(
        "settings", _spelled(name)
    )
    return Record(changed, f"{changed['name']} is {changed['value']} now.")


def _sheet(one: Json) -> Record:
    rows = [
        ("Setting", one["name"]),
        ("Value", str(one["value"])),
        ("Default", str(one["default"])),
        ("From", one["source"]),
        ("Changes", "live" if one["live"] else "with a restart"),
        ("Flag", one["flag"]),
        ("Environment", ", ".join(one["environment"])),
        ("Help", one["help"]),
    ]
    return sheet(one, rows)
