"""admin accesskey: further keys of users, as wide as their user or narrower."""

import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import click

from lakeshare.cli.commands.admin.documents import read_document
from lakeshare.cli.commands.admin.told import Json, at, state
from lakeshare.cli.commands.admin.user import secret_once
from lakeshare.cli.commands.arguments import DURATION, on_server
from lakeshare.cli.errors import Misused
from lakeshare.cli.flags import command
from lakeshare.cli.groups import lazy_group
from lakeshare.cli.output import Record, pairs, table
from lakeshare.cli.remote.server import Pairs
from lakeshare.cli.session import Session

_HERE = "lakeshare.cli.commands.admin.accesskey"

accesskey = lazy_group(
    r"""Access keys: further keys of a user, with its rights or fewer.

    \b
    lakeshare admin accesskey create lake
    lakeshare admin accesskey create lake ann --policy reports.json --expiry-duration 30d
    lakeshare admin accesskey list lake --all
    """,
    {
        "create": (_HERE, "Make an access key."),
        "list": (f"{_HERE}:list_", "List access keys."),
        "info": (_HERE, "Show an access key."),
        "edit": (_HERE, "Change an access key."),
        "enable": (_HERE, "Let an access key in."),
        "disable": (_HERE, "Keep an access key out."),
        "remove": (_HERE, "Remove access keys."),
    },
    {"add": "create", "set": "edit"},
)

_key = click.argument("access_key", metavar="KEY")


def _details(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the flags that say what an access key is."""
    for option in (
        click.option("--expiry", default="", help="Day or time at which it ends, such as 2027-01-31."),
        click.option("--expiry-duration", type=DURATION, help="How long it lasts, such as 30d."),
        click.option("--description", default=None, help="What it is for."),
        click.option("--name", default=None, help="A name for people."),
        click.option("--policy", default="", help="File with a policy that narrows it; `-` is standard input."),
        click.option("--secret-key", default="", help="Its secret; one is made unless this is given."),
    ):
        function = option(function)
    return function


def _body(  # every flag is optional
    secret_key: str, policy: str, name: str | None, description: str | None, expiry_duration: int | None, expiry: str
) -> Json:
    body: Json = {}
    if secret_key:
        body["secret_key"] = secret_key
    if policy:
        body["policy"] = read_document(policy)
    if name is not None:
        body["name"] = name
    if description is not None:
        body["description"] = description
    if expiry_duration is not None and expiry:
        raise Misused("--expiry and --expiry-duration say the same thing", "Say one of them.")
    if expiry_duration is not None:
        body["expires_at"] = int(time.time()) + expiry_duration
    if expiry:
        body["expires_at"] = _epoch(expiry)
    return body


def _epoch(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Misused(f"--expiry {text!r} is no time", "Write such as 2027-01-31 or 2027-01-31T12:00:00Z.") from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


@command()
@on_server
@click.argument("user", default="", metavar="[USER]")
@click.option("--access-key", default="", help="The key itself; one is made unless this is given.")
@_details
def create(session: Session, target: str, user: str, *, access_key: str, **details: Any) -> Record:
    r"""Make an access key of one's own, or of USER. Its secret is shown this once.

    \b
    lakeshare admin accesskey create lake
    lakeshare admin accesskey create lake ann --expiry-duration 24h
    lakeshare admin accesskey create lake ann --policy reports.json --name reports
    """
    body = _body(**details)
    if user:
        body["user"] = user
    if access_key:
        body["access_key"] = access_key
    made = session.admin(target).send("POST", "access-keys", body=body)
    rows = [
        ("Expiration", at(made["expires_at"])),
        ("Name", made["name"] or ""),
        ("Description", made["description"] or ""),
    ]
    return Record(made, f"{secret_once(made['access_key'], made['secret_key'])}\n{pairs('', rows)}")


@command("list")
@on_server
@click.argument("users", nargs=-1, metavar="[USER...]")
@click.option("--all", "everybody", is_flag=True, help="The keys of all users.")
@click.option("--self", "own", is_flag=True, help="One's own keys, as without USER.")
def list_(session: Session, target: str, users: tuple[str, ...], *, everybody: bool, own: bool) -> Iterator[Record]:
    r"""List one's own access keys, those of users, or all.

    \b
    lakeshare admin accesskey list lake
    lakeshare admin accesskey list lake ann bob
    lakeshare admin accesskey list lake --all
    """
    del own
    asked: list[Pairs] = [(("user", user),) for user in users] or [(("all", "true"),) if everybody else ()]
    admin = session.admin(target)
    found = [key for query in asked for key in admin.pages("access-keys", items="access_keys", query=query)]
    if not found and not users and not everybody and not session.output.as_json:
        return iter((Record({}, "You have no access keys of your own. --all lists those of all users."),))
    rows = (
        ((state(key["enabled"]), key["access_key"], key["user"], at(key["expires_at"]), key["name"] or ""), key)
        for key in found
    )
    return table(("Status", "AccessKey", "User", "Expires", "Name"), rows)


@command()
@on_server
@_key
def info(session: Session, target: str, access_key: str) -> Record:
    r"""Show an access key: whose it is, when it ends, and its policy.

    \b
    lakeshare admin accesskey info lake KEY
    """
    return _sheet(session.admin(target).get("access-keys", access_key))


@command()
@on_server
@_key
@_details
@click.option("--no-policy", is_flag=True, help="Take its policy away: it then has all rights of its user.")
@click.option("--no-expiry", is_flag=True, help="Let it never end.")
def edit(session: Session, target: str, access_key: str, *, no_policy: bool, no_expiry: bool, **details: Any) -> Record:
    r"""Change an access key.

    \b
    lakeshare admin accesskey edit lake KEY --expiry-duration 30d
    lakeshare admin accesskey edit lake KEY --policy narrower.json
    lakeshare admin accesskey edit lake KEY --no-expiry --description "nightly job"
    """
    body = _body(**details)
    body |= {"policy": None} if no_policy else {}
    body |= {"expires_at": None} if no_expiry else {}
    if not body:
        raise Misused("nothing is to be changed", "Say what: --policy, --expiry-duration, --name, --secret-key, …")
    changed = session.admin(target).send("PATCH", "access-keys", access_key, body=body)
    return Record(changed, f"Changed access key `{access_key}` successfully.")


@command()
@on_server
@_key
def enable(session: Session, target: str, access_key: str) -> Record:
    r"""Let an access key in.

    \b
    lakeshare admin accesskey enable lake KEY
    """
    changed = session.admin(target).send("PATCH", "access-keys", access_key, body={"enabled": True})
    return Record(changed, f"Enabled access key `{access_key}` successfully.")


@command()
@on_server
@_key
def disable(session: Session, target: str, access_key: str) -> Record:
    r"""Keep an access key out, from the next request on.

    \b
    lakeshare admin accesskey disable lake KEY
    """
    changed = session.admin(target).send("PATCH", "access-keys", access_key, body={"enabled": False})
    return Record(changed, f"Disabled access key `{access_key}` successfully.")


@command()
@on_server
@click.argument("keys", nargs=-1, required=True, metavar="KEY...")
def remove(session: Session, target: str, keys: tuple[str, ...]) -> Iterator[Record]:
    r"""Remove access keys, and those that were made with them.

    \b
    lakeshare admin accesskey remove lake KEY
    """
    for key in keys:
        gone = session.admin(target).send("DELETE", "access-keys", key)
        yield Record(gone, "\n".join(f"Removed access key `{name}` successfully." for name in gone["removed"]))


def _sheet(key: Json) -> Record:
    rows = [
        ("AccessKey", key["access_key"]),
        ("User", key["user"]),
        ("Parent", key["parent"]),
        ("Status", state(key["enabled"])),
        ("Name", key["name"] or ""),
        ("Description", key["description"] or ""),
        ("Expires", at(key["expires_at"])),
        ("Created", at(key["created_at"])),
        ("Policy", "its user's" if key["policy"] is None else "its own, below"),
    ]
    own = f"\n{json.dumps(key['policy'], indent=2)}" if key["policy"] is not None else ""
    return Record(key, pairs("", rows) + own)
