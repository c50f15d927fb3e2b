"""admin user: the users of a server."""

from collections.abc import Iterator

import click

from lakeshare.cli.commands.admin.told import Json, at, names, sheet, state
from lakeshare.cli.commands.alias import asked_keys
from lakeshare.cli.commands.arguments import on_server
from lakeshare.cli.flags import command
from lakeshare.cli.groups import lazy_group
from lakeshare.cli.output import Record, table
from lakeshare.cli.session import Session

_HERE = "lakeshare.cli.commands.admin.user"
_KEYS = "lakeshare.cli.commands.admin.accesskey"

user = lazy_group(
    r"""Users: each is a name, which is its access key, and a secret. Policies say what it may.

    \b
    lakeshare admin user add lake ann
    lakeshare admin policy attach lake readwrite --user ann
    lakeshare admin user list lake
    """,
    {
        "add": (_HERE, "Make a user."),
        "list": (f"{_HERE}:list_", "List users."),
        "info": (_HERE, "Show a user."),
        "enable": (_HERE, "Let a user in."),
        "disable": (_HERE, "Keep a user out, with its access keys and sessions."),
        "secret": (_HERE, "Give a user another secret key."),
        "revoke": (_HERE, "End every session of a user."),
        "remove": (_HERE, "Remove a user with its access keys."),
        "svcacct": (f"{_KEYS}:accesskey", "The same as `admin accesskey`."),
    },
)

_user = click.argument("user", metavar="USER")


@command()
@on_server
@click.argument("user", default="", metavar="[USER]")
@click.argument("secret", default="", metavar="[SECRET]")
@click.option("--policy", "policies", multiple=True, help="Attach this policy at once; may be said again.")
def add(session: Session, target: str, user: str, secret: str, *, policies: tuple[str, ...]) -> Record:
    r"""Make a user. Without SECRET one is made, and shown this once.

    Without USER and SECRET both are asked for, or read as two lines from standard input.

    \b
    lakeshare admin user add lake ann
    lakeshare admin user add lake ann a-secret-of-hers --policy readonly
    printf '%s\n' ann a-secret-of-hers | lakeshare admin user add lake
    """
    if not user:
        user, secret = asked_keys("", "")
    body: Json = {"name": user}
    if secret:
        body["secret_key"] = secret
    if policies:
        body["policies"] = list(policies)
    made = session.admin(target).send("POST", "users", body=body)
    shown = "" if secret else f"\n{secret_once(made['name'], made['secret_key'])}"
    told = made if not secret else {name: value for name, value in made.items() if name != "secret_key"}
    return Record(told, f"Added user `{made['name']}` successfully.{shown}")


def secret_once(access_key: str, secret: str) -> str:
    """Show a key and its secret, with the warning that goes with it."""
    return f"Access Key: {access_key}\nSecret Key: {secret}\nSave the secret key: it will not be shown again."


@command("list")
@on_server
def list_(session: Session, target: str) -> Iterator[Record]:
    r"""List users.

    \b
    lakeshare admin user list lake
    lakeshare admin user list lake --json | jq -r .name
    """
    listed = session.admin(target).pages("users", items="users")
    return table(
        ("Status", "User", "Policies", "Groups"),
        (((state(one["enabled"]), one["name"], names(one["policies"]), names(one["groups"])), one) for one in listed),
    )


@command()
@on_server
@_user
def info(session: Session, target: str, user: str) -> Record:
    r"""Show a user: its state, policies and groups.

    \b
    lakeshare admin user info lake ann
    """
    return _sheet(session.admin(target).get("users", user))


@command()
@on_server
@_user
def enable(session: Session, target: str, user: str) -> Record:
    r"""Let a user in.

    \b
    lakeshare admin user enable lake ann
    """
    changed = session.admin(target).send("POST", "users", user, "enable")
    return Record(changed, f"Enabled user `{user}` successfully.")


@command()
@on_server
@_user
def disable(session: Session, target: str, user: str) -> Record:
    r"""Keep a user out, with its access keys and sessions, from the next request on.

    \b
    lakeshare admin user disable lake ann
    """
    changed = session.admin(target).send("POST", "users", user, "disable")
    return Record(changed, f"Disabled user `{user}` successfully.")


@command()
@on_server
@_user
@click.argument("secret", default="", metavar="[SECRET]")
def secret(session: Session, target: str, user: str, secret: str) -> Record:
    r"""Give a user another secret key; its sessions end. Without SECRET one is made, and shown this once.

    \b
    lakeshare admin user secret lake ann
    """
    body: Json = {"secret_key": secret} if secret else {}
    changed = session.admin(target).send("PUT", "users", user, "secret", body=body)
    if secret:
        return Record({"name": user}, f"Changed the secret of user `{user}` successfully.")
    return Record(changed, secret_once(user, changed["secret_key"]))


@command()
@on_server
@_user
def revoke(session: Session, target: str, user: str) -> Record:
    r"""End every session of a user, and of its access keys. Keys themselves stay.

    \b
    lakeshare admin user revoke lake ann
    """
    session.admin(target).send("DELETE", "users", user, "sessions")
    return Record({"name": user}, f"Ended the sessions of user `{user}` successfully.")


@command()
@on_server
@click.argument("users", nargs=-1, required=True, metavar="USER...")
def remove(session: Session, target: str, users: tuple[str, ...]) -> Iterator[Record]:
    r"""Remove users with their access keys and sessions.

    \b
    lakeshare admin user remove lake ann
    """
    for one in users:
        session.admin(target).send("DELETE", "users", one)
        yield Record({"name": one}, f"Removed user `{one}` successfully.")


def _sheet(one: Json) -> Record:
    rows = [
        ("AccessKey", one["name"]),
        ("Status", state(one["enabled"])),
        ("Policies", names(one["policies"])),
        ("MemberOf", names(one["groups"])),
        ("Created", at(one.get("created_at"))),
    ]
    return sheet(one, rows)
