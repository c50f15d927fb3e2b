"""admin policy: policies, and who has them."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from lakeshare.cli.commands.admin.documents import read_document
from lakeshare.cli.commands.admin.told import Json, at, names
from lakeshare.cli.commands.arguments import on_server
from lakeshare.cli.errors import ClientError, Misused, Refused
from lakeshare.cli.flags import command
from lakeshare.cli.groups import lazy_group
from lakeshare.cli.output import Record, pairs, table
from lakeshare.cli.remote.admin import Admin
from lakeshare.cli.session import Session

_HERE = "lakeshare.cli.commands.admin.policy"

policy = lazy_group(
    r"""Policies in AWS's syntax, and who has them.

    \b
    lakeshare admin policy create lake reports reports.json
    lakeshare admin policy attach lake reports --user ann
    lakeshare admin policy entities lake --policy reports
    """,
    {
        "create": (_HERE, "Make or replace a policy."),
        "list": (f"{_HERE}:list_", "List policies."),
        "info": (_HERE, "Show a policy."),
        "attach": (_HERE, "Give policies to a user or a group."),
        "detach": (_HERE, "Take policies from a user or a group."),
        "entities": (_HERE, "Say who has which policy."),
        "remove": (_HERE, "Remove a policy that nobody has."),
    },
    {"add": "create"},
)


@command()
@on_server
@click.argument("name", metavar="POLICY")
@click.argument("file", metavar="FILE", type=click.Path())
def create(session: Session, target: str, name: str, file: str) -> Record:
    r"""Make a policy from a file, or replace it; `-` is standard input.

    \b
    lakeshare admin policy create lake reports reports.json
    jq . reports.json | lakeshare admin policy create lake reports -
    """
    document = read_document(file)
    try:
        made = session.admin(target).send("PUT", "policies", name, body=document)
    except Refused as error:
        if error.code != "MalformedPolicy":
            raise
        raise Refused(error.status, error.code, error.said, file) from None
    for warning in made.get("warnings", []):
        session.output.warn(warning)
    return Record(made, f"Created policy `{name}` successfully.")


@command("list")
@on_server
def list_(session: Session, target: str) -> Iterator[Record]:
    r"""List policies, the built-in ones too.

    \b
    lakeshare admin policy list lake
    """
    listed = session.admin(target).pages("policies", items="policies")
    rows = (((one["name"], "built-in" if one["built_in"] else at(one.get("updated_at"))), one) for one in listed)
    return table(("Policy", "Changed"), rows)


@command()
@on_server
@click.argument("name", metavar="POLICY")
@click.option("-f", "--policy-file", default="", help="Write the policy to this file.")
def info(session: Session, target: str, name: str, *, policy_file: str) -> Record:
    r"""Show a policy, and who has it.

    \b
    lakeshare admin policy info lake readonly
    lakeshare admin policy info lake reports --policy-file reports.json
    """
    one = session.admin(target).get("policies", name)
    document = json.dumps(one["policy"], indent=2)
    if policy_file:
        _write(policy_file, document)
    rows = [
        ("Policy", one["name"]),
        ("Kind", "built-in" if one["built_in"] else "own"),
        ("Users", names(one["users"])),
        ("Groups", names(one["groups"])),
    ]
    return Record(one, f"{pairs('', rows)}\n{document}")


def _write(path: str, text: str) -> None:
    try:
        Path(path).expanduser().write_text(text + "\n", encoding="utf-8")
    except OSError as reason:
        raise ClientError(f"{path} cannot be written: {reason.strerror}") from None


_entity = (
    click.option("-u", "--user", default="", help="The user."),
    click.option("-g", "--group", default="", help="The group."),
)


def _change(
    session: Session, target: str, policies: Sequence[str], user: str, group: str, method: str
) -> tuple[Json, str]:
    """Return what changed, and whose it is."""
    if bool(user) == bool(group):
        raise Misused("name one user or one group", "Say --user USER, or --group GROUP.")
    admin, (kind, name) = session.admin(target), ("users", user) if user else ("groups", group)
    changed: Json = {}
    for one in policies:
        changed = admin.send(method, kind, name, "policies", one)
    whose = "user" if user else "group"
    return {"policies": list(policies), whose: name, "attached": changed.get("policies", [])}, f"{whose} `{name}`"


@command()
@on_server
@click.argument("policies", nargs=-1, required=True, metavar="POLICY...")
@_entity[0]
@_entity[1]
def attach(session: Session, target: str, policies: tuple[str, ...], *, user: str, group: str) -> Record:
    r"""Give policies to a user or a group.

    \b
    lakeshare admin policy attach lake readonly --user ann
    lakeshare admin policy attach lake readwrite diagnostics --group analysts
    """
    facts, whom = _change(session, target, policies, user, group, "PUT")
    return Record(facts, f"Attached Policies: [{' '.join(policies)}]\nTo {whom}")


@command()
@on_server
@click.argument("policies", nargs=-1, required=True, metavar="POLICY...")
@_entity[0]
@_entity[1]
def detach(session: Session, target: str, policies: tuple[str, ...], *, user: str, group: str) -> Record:
    r"""Take policies from a user or a group.

    \b
    lakeshare admin policy detach lake readonly --user ann
    """
    facts, whom = _change(session, target, policies, user, group, "DELETE")
    return Record(facts, f"Detached Policies: [{' '.join(policies)}]\nFrom {whom}")


@command()
@on_server
@click.option("-u", "--user", "users", multiple=True, help="Policies of this user; may be said again.")
@click.option("-g", "--group", "groups", multiple=True, help="Policies of this group; may be said again.")
@click.option("-p", "--policy", "policies", multiple=True, help="Who has this policy; may be said again.")
def entities(
    session: Session,
    target: str,
    *,
    users: tuple[str, ...],
    groups: tuple[str, ...],
    policies: tuple[str, ...],
) -> Iterator[Record]:
    r"""Say who has which policy.

    \b
    lakeshare admin policy entities lake
    lakeshare admin policy entities lake --policy readonly
    lakeshare admin policy entities lake --user ann --user bob
    """
    admin = session.admin(target)
    everything = not (users or groups or policies)
    for one in users:
        found = admin.get("users", one)
        yield Record(
            {"user": one, "policies": found["policies"]}, f"User: {one}\n  Policies: {names(found['policies'])}"
        )
    for one in groups:
        found = admin.get("groups", one)
        facts = {"group": one, "policies": found["policies"]}
        yield Record(facts, f"Group: {one}\n  Policies: {names(found['policies'])}")
    for one in _all_policies(admin) if everything else policies:
        found = admin.get("policies", one)
        if everything and not (found["users"] or found["groups"]):
            continue
        facts = {"policy": one, "users": found["users"], "groups": found["groups"]}
        rows = [("  Users", names(found["users"])), ("  Groups", names(found["groups"]))]
        yield Record(facts, pairs(f"Policy: {one}", rows))


def _all_policies(admin: Admin) -> Iterator[str]:
    return (one["name"] for one in admin.pages("policies", items="policies"))


@command()
@on_server
@click.argument("names_", nargs=-1, required=True, metavar="POLICY...")
def remove(session: Session, target: str, names_: tuple[str, ...]) -> Iterator[Record]:
    r"""Remove policies that nobody has.

    \b
    lakeshare admin policy remove lake reports
    """
    for name in names_:
        session.admin(target).send("DELETE", "policies", name)
        yield Record({"name": name}, f"Removed policy `{name}` successfully.")
